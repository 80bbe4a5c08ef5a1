/* SPDX-License-Identifier: Apache-2.0
 * kcm/status.h: the one list of status codes of the ABI. Kubernetes' own reasons first, ours after
 * 1000. A number is never reused and never changes its meaning. */
#ifndef KCM_STATUS_H
#define KCM_STATUS_H

#define KCM_OK 0

/* Reasons of an API server's Status. */
#define KCM_ERR_NOT_FOUND 1
#define KCM_ERR_ALREADY_EXISTS 2
#define KCM_ERR_CONFLICT 3
#define KCM_ERR_INVALID 4 /* the server's 422, and every argument of a call that is not legal */
#define KCM_ERR_FORBIDDEN 5
#define KCM_ERR_UNAUTHORIZED 6
#define KCM_ERR_TOO_MANY_REQUESTS 7
#define KCM_ERR_EXPIRED 8 /* 410 Gone and Expired: list again */
#define KCM_ERR_TIMEOUT 9
#define KCM_ERR_SERVER_TIMEOUT 10
#define KCM_ERR_UNAVAILABLE 11
#define KCM_ERR_BAD_REQUEST 12
#define KCM_ERR_METHOD_NOT_ALLOWED 13
#define KCM_ERR_NOT_ACCEPTABLE 14
#define KCM_ERR_UNSUPPORTED_MEDIA_TYPE 15

/* Ours. */
#define KCM_ERR_TRANSPORT 1000 /* no answer arrived: whether a write took place is unknown */
#define KCM_ERR_STOPPED 1001   /* after stop(): nothing is done for this instance any more */
#define KCM_ERR_FENCED \
  1002 /* the lease or the generation is not ours (any more): nothing was sent */
#define KCM_ERR_CANCELLED 1003   /* the caller's cancellation fired first */
#define KCM_ERR_UNSUPPORTED 1004 /* this host or server does not offer it */
#define KCM_ERR_INTERNAL 1005    /* a bug or an exception on the side that answers */

#endif /* KCM_STATUS_H */
