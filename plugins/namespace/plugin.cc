// SPDX-License-Identifier: Apache-2.0
// The family `namespace`: one plugin, its list of controllers.
#include "kcm/sdk/controller.h"
#include "plugins/namespace/clusterrole_aggregation/controller.h"
#include "plugins/namespace/clusterrole_aggregation/declaration.h"
#include "plugins/namespace/namespace/controller.h"
#include "plugins/namespace/namespace/declaration.h"
#include "plugins/namespace/serviceaccount/controller.h"
#include "plugins/namespace/serviceaccount/declaration.h"

KCM_PLUGIN("namespace", "0.1.0", "kcm-host",
           KCM_CONTROLLER(kcm::ns::namespaces::Controller, kcm::ns::namespaces::kDeclaration),
           KCM_CONTROLLER(kcm::ns::serviceaccount::Controller,
                          kcm::ns::serviceaccount::kDeclaration),
           KCM_CONTROLLER(kcm::ns::clusterrole_aggregation::Controller,
                          kcm::ns::clusterrole_aggregation::kDeclaration));
