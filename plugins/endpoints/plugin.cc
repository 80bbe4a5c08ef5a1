// SPDX-License-Identifier: Apache-2.0
// The family `endpoints`: no controller yet, so that every family builds and loads.
#include "kcm/sdk/controller.h"

extern "C" KCM_EXPORT const kcm_plugin kcm_plugin_entry = {sizeof(kcm_plugin),
                                                           KCM_PLUGIN_MAGIC,
                                                           KCM_ABI_MAJOR,
                                                           KCM_ABI_MINOR,
                                                           KCM_STR("endpoints"),
                                                           KCM_STR("0.1.0"),
                                                           KCM_STR("kcm-host"),
                                                           KCM_STR(KCM_BUILD_ID),
                                                           nullptr,
                                                           0};
