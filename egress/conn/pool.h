/*
 * Synthetic addresses: each approved name has an index, and each index one IPv4 and one IPv6 address of the policy's pool.
 * Names without wildcards are numbered from the policy, alike in supervisor and egress; others are added as they are asked
 * for (egress, told to the supervisor by CONTROL_NAME).
 */
#ifndef CALLGATE_EGRESS_CONN_POOL_H
#define CALLGATE_EGRESS_CONN_POOL_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "policy/network/net.h"

#define POOL_FIRST 16u        /* index n is the pool's address n; below: the run's own */
#define POOL_OWN 1u           /* what the program sees as its own address, and where proxies are */
#define POOL_NAMES_MAX 4096u  /* then the pool is exhausted */

struct pool;

/* From the exact host names of the policy's rules ("resolve" alone approves nothing). 0 or -ENOMEM. */
int pool_create(const struct policy *policy, struct pool **ret_pool);
void pool_free(struct pool *pool);

/* The index of a canonical name, added when it is not there; -ENOSPC: exhausted. The policy is the caller's to ask. */
int pool_add(struct pool *pool, const char *host, uint32_t *ret_index);
/* Supervisor: what egress has added. -EBADMSG: another name has that index or it is out of range. */
int pool_learn(struct pool *pool, uint32_t index, const char *host);
/* "dns": "real": an address stands for a name. -EEXIST: for another one already; -ENOSPC. */
int pool_learn_real(struct pool *pool, const struct sockaddr *address, const char *host);

/* The name an address stands for (synthetic or real), or NULL: it was never given out. Borrowed. */
const char *pool_find(const struct pool *pool, const struct sockaddr *address);
/* Whether it lies in the pool at all, and whether it is the run's own (POOL_OWN). */
bool pool_holds(const struct pool *pool, const struct sockaddr *address);
bool pool_is_own(const struct pool *pool, const struct sockaddr *address);

/* The address of an index, with this port (host order). family: AF_INET, AF_INET6. */
void pool_address(const struct pool *pool, uint32_t index, int family, uint16_t port, struct sockaddr_storage *ret);

/* Names known from the policy, in order of index: for /etc/hosts. NULL past the end. */
const char *pool_name(const struct pool *pool, uint32_t index);

#endif
