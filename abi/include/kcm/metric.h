/* SPDX-License-Identifier: Apache-2.0
 * kcm/metric.h: metrics of a controller, table "kcm.metric/1". Families are the host's and survive
 * a swap: two builds that declare one alike share it. */
#ifndef KCM_METRIC_H
#define KCM_METRIC_H

#include "kcm/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KCM_METRIC_COUNTER 1u
#define KCM_METRIC_GAUGE 2u
#define KCM_METRIC_HISTOGRAM 3u

typedef struct kcm_metric kcm_metric; /* a family */

typedef struct kcm_metric_description {
  uint32_t size;
  uint32_t type;
  kcm_str name;
  kcm_str help;
  kcm_str stability; /* "ALPHA", "BETA", "STABLE" */
  const kcm_str* labels;
  uint64_t label_count;
  const double* buckets; /* histograms: upper bounds, rising */
  uint64_t bucket_count;
} kcm_metric_description;

#define KCM_METRIC_API_ID "kcm.metric/1"

typedef struct kcm_metric_api {
  uint32_t size;
  uint32_t flags; /* none defined: 0 */

  /* Registers a family or finds the one with this name.
   * Threads:   [control]
   * Ownership: the host's
   * Lifetime:  as long as the process
   * Errors:    KCM_ERR_INVALID; KCM_ERR_CONFLICT when the name exists with another shape
   * Since:     kcm.metric/1 */
  int32_t (*define)(kcm_context* context, const kcm_metric_description* description,
                    kcm_metric** out, kcm_error* error);

  /* Adds to a counter or gauge, observes a histogram.
   * Threads:   [any]
   * Ownership: label values are copied when new
   * Lifetime:  -
   * Errors:    ignored when the number of labels is wrong
   * Since:     kcm.metric/1 */
  void (*add)(kcm_metric* metric, const kcm_str* label_values, uint64_t count, double value);

  /* Sets a gauge.
   * Threads:   [any]
   * Ownership: label values are copied when new
   * Lifetime:  -
   * Errors:    ignored when it is no gauge
   * Since:     kcm.metric/1 */
  void (*set)(kcm_metric* metric, const kcm_str* label_values, uint64_t count, double value);

  /* append below this line */
} kcm_metric_api;

#ifdef __cplusplus
}
#endif
#endif /* KCM_METRIC_H */
