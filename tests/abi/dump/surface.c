/* SPDX-License-Identifier: Apache-2.0
 * A library whose debug information holds the whole interface, for abidw and abidiff
 * (tests/abi/dump). Every struct and table is a parameter of one exported function; a new one is
 * added at the end, or 'abi-lint surface' fails. */
#include <kcm/kcm.h>

KCM_EXPORT void kcm_surface(
    const kcm_str* a0, const kcm_cursor* a1, const kcm_error* a2, const kcm_host_api* a3,
    const kcm_query* a4, const kcm_cache_api* a5, const kcm_cancel_api* a6, const kcm_request* a7,
    const kcm_answer* a8, const kcm_client_api* a9, const kcm_clock_api* a10,
    const kcm_config_api* a11, const kcm_flag* a12, const kcm_rbac_rule* a13, const kcm_index* a14,
    const kcm_watch* a15, const kcm_queue_declaration* a16, const kcm_task* a17,
    const kcm_controller_declaration* a18, const kcm_resource* a19, const kcm_discovery_api* a20,
    const kcm_reference* a21, const kcm_event_api* a22, const kcm_log_pair* a23,
    const kcm_log_api* a24, const kcm_metric_description* a25, const kcm_metric_api* a26,
    const kcm_object_api* a27, const kcm_create* a28, const kcm_event* a29,
    const kcm_reconcile* a30, const kcm_outcome* a31, const kcm_controller_api* a32,
    const kcm_queue_api* a33, const kcm_plugin* a34);

void kcm_surface(const kcm_str* a0, const kcm_cursor* a1, const kcm_error* a2,
                 const kcm_host_api* a3, const kcm_query* a4, const kcm_cache_api* a5,
                 const kcm_cancel_api* a6, const kcm_request* a7, const kcm_answer* a8,
                 const kcm_client_api* a9, const kcm_clock_api* a10, const kcm_config_api* a11,
                 const kcm_flag* a12, const kcm_rbac_rule* a13, const kcm_index* a14,
                 const kcm_watch* a15, const kcm_queue_declaration* a16, const kcm_task* a17,
                 const kcm_controller_declaration* a18, const kcm_resource* a19,
                 const kcm_discovery_api* a20, const kcm_reference* a21, const kcm_event_api* a22,
                 const kcm_log_pair* a23, const kcm_log_api* a24, const kcm_metric_description* a25,
                 const kcm_metric_api* a26, const kcm_object_api* a27, const kcm_create* a28,
                 const kcm_event* a29, const kcm_reconcile* a30, const kcm_outcome* a31,
                 const kcm_controller_api* a32, const kcm_queue_api* a33, const kcm_plugin* a34) {
  (void)a0;
  (void)a1;
  (void)a2;
  (void)a3;
  (void)a4;
  (void)a5;
  (void)a6;
  (void)a7;
  (void)a8;
  (void)a9;
  (void)a10;
  (void)a11;
  (void)a12;
  (void)a13;
  (void)a14;
  (void)a15;
  (void)a16;
  (void)a17;
  (void)a18;
  (void)a19;
  (void)a20;
  (void)a21;
  (void)a22;
  (void)a23;
  (void)a24;
  (void)a25;
  (void)a26;
  (void)a27;
  (void)a28;
  (void)a29;
  (void)a30;
  (void)a31;
  (void)a32;
  (void)a33;
  (void)a34;
}
