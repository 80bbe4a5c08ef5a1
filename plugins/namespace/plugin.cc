// SPDX-License-Identifier: Apache-2.0
// The family `namespace`: one plugin, its list of controllers.
#include "kcm/sdk/controller.h"
#include "plugins/namespace/clusterrole_aggregation/controller.h"
#include "plugins/namespace/clusterrole_aggregation/declaration.h"

KCM_PLUGIN("namespace", "0.1.0", "kcm-host",
           KCM_CONTROLLER(kcm::ns::clusterrole_aggregation::Controller,
                          kcm::ns::clusterrole_aggregation::kDeclaration));
