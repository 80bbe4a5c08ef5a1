// SPDX-License-Identifier: Apache-2.0
// The pod family: controllers that keep pods running.
#include "kcm/sdk/controller.h"
#include "plugins/pod/cronjob/controller.h"
#include "plugins/pod/cronjob/declaration.h"
#include "plugins/pod/daemonset/controller.h"
#include "plugins/pod/daemonset/declaration.h"
#include "plugins/pod/deployment/controller.h"
#include "plugins/pod/deployment/declaration.h"
#include "plugins/pod/disruption/controller.h"
#include "plugins/pod/disruption/declaration.h"
#include "plugins/pod/hpa/controller.h"
#include "plugins/pod/hpa/declaration.h"
#include "plugins/pod/job/controller.h"
#include "plugins/pod/job/declaration.h"
#include "plugins/pod/podgc/controller.h"
#include "plugins/pod/podgc/declaration.h"
#include "plugins/pod/replicaset/controller.h"
#include "plugins/pod/replicaset/declaration.h"
#include "plugins/pod/replicationcontroller/controller.h"
#include "plugins/pod/replicationcontroller/declaration.h"
#include "plugins/pod/statefulset/controller.h"
#include "plugins/pod/statefulset/declaration.h"
#include "plugins/pod/ttl_after_finished/controller.h"
#include "plugins/pod/ttl_after_finished/declaration.h"

KCM_PLUGIN("pod", "0.1.0", "kcm-host",
           KCM_CONTROLLER(kcm::pod::cronjob::Controller, kcm::pod::cronjob::kDeclaration),
           KCM_CONTROLLER(kcm::pod::daemonset::Controller, kcm::pod::daemonset::kDeclaration),
           KCM_CONTROLLER(kcm::pod::deployment::Controller, kcm::pod::deployment::kDeclaration),
           KCM_CONTROLLER(kcm::pod::disruption::Controller, kcm::pod::disruption::kDeclaration),
           KCM_CONTROLLER(kcm::pod::hpa::Controller, kcm::pod::hpa::kDeclaration),
           KCM_CONTROLLER(kcm::pod::podgc::Controller, kcm::pod::podgc::kDeclaration),
           KCM_CONTROLLER(kcm::pod::job::Controller, kcm::pod::job::kDeclaration),
           KCM_CONTROLLER(kcm::pod::replicaset::Controller, kcm::pod::replicaset::kDeclaration),
           KCM_CONTROLLER(kcm::pod::replicationcontroller::Controller,
                          kcm::pod::replicationcontroller::kDeclaration),
           KCM_CONTROLLER(kcm::pod::statefulset::Controller, kcm::pod::statefulset::kDeclaration),
           KCM_CONTROLLER(kcm::pod::ttl_after_finished::Controller,
                          kcm::pod::ttl_after_finished::kDeclaration));
