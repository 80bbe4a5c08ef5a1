/* SPDX-License-Identifier: Apache-2.0
 * kcm/kcm.h: the whole plugin interface. */
#ifndef KCM_KCM_H
#define KCM_KCM_H

#include "kcm/abi.h"
#include "kcm/cache.h"
#include "kcm/cancel.h"
#include "kcm/client.h"
#include "kcm/clock.h"
#include "kcm/config.h"
#include "kcm/declaration.h"
#include "kcm/discovery.h"
#include "kcm/event.h"
#include "kcm/log.h"
#include "kcm/metric.h"
#include "kcm/object.h"
#include "kcm/plugin.h"
#include "kcm/queue.h"
#include "kcm/status.h"

#endif /* KCM_KCM_H */
