/*
 * Synthetic addresses: each approved name has an index, and each index one IPv4 and one IPv6 address of the policy's
 * pool. Called in the supervisor (connect and sendto) and in egress (DNS). Names without wildcards have the same index
 * in both processes, from the policy. Egress adds other names on demand and announces them by CONTROL_NAME_APPROVED.
 */
#ifndef CALLGATE_EGRESS_CONN_POOL_H
#define CALLGATE_EGRESS_CONN_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/network/net.h"

#define POOL_FIRST_NAME_INDEX 16u        /* index n is address n of the pool; the addresses below are the run's own */
#define POOL_INDEX_OF_PROXIES 1u           /* index of the run's own address, where the proxies listen */
#define POOL_INDEX_OF_ANSWERED 2u          /* index of the address that stands for endpoints without one in the run */
#define POOL_NAMES_MAX 4096u  /* most names; then pool_add_name fails with -ENOSPC */

struct pool;

/* Creates a pool with the exact host names of the policy's rules ("resolve" alone approves no name). 0 or -ENOMEM. */
int pool_create(const struct policy *policy, struct pool **ret_pool);
void pool_free(struct pool *pool);

/* The index of a canonical name, added if it is new. The caller has judged the name. -ENOSPC: the pool is full. */
int pool_add_name(struct pool *pool, const char *host, uint32_t *ret_index);
/*
 * In the supervisor: adds a name that egress has announced. -EBADMSG: the index is out of range or belongs to another
 * name.
 */
int pool_set_name_at_index(struct pool *pool, uint32_t index, const char *host);
/* For "dns": "real": makes a real address stand for a name. -EEXIST: it stands for another name; -ENOSPC; -ENOMEM. */
int pool_add_real_address(struct pool *pool, const struct sockaddr *address, const char *host);

/* The name that an address, synthetic or real, stands for. Borrowed; NULL: none. */
const char *pool_find_name(const struct pool *pool, const struct sockaddr *address);
/* For proxies: replaces an address that stands for a name by the name. Leaves other hosts as they are. */
void pool_replace_address_by_name(const struct pool *pool, char host[NET_HOST_SIZE]);
/* Whether an address is in the pool, and (pool_is_run_address) whether it is the run's own (POOL_INDEX_OF_PROXIES). */
bool pool_holds_address(const struct pool *pool, const struct sockaddr *address);
bool pool_is_run_address(const struct pool *pool, const struct sockaddr *address);

/*
 * Changes any address of a pool's range to the run's own address in that range, the one with the index
 * POOL_INDEX_OF_PROXIES. bits: prefix length of the range. For callers without a struct pool.
 */
void pool_convert_to_run_address(unsigned char *address, size_t len, unsigned bits);

/* The address of an index. family: AF_INET or AF_INET6; port: host order. */
void pool_make_address(const struct pool *pool, uint32_t index, int family, uint16_t port,
		       struct sockaddr_storage *ret);

/* The policy's name with this index; NULL: the index is not a policy's name. For /etc/hosts. */
const char *pool_get_policy_name(const struct pool *pool, uint32_t index);

#endif
