#include "egress/conn/pool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "egress/conn/sockaddr.h"

#include "base/banned.h"

#define REAL_MAX 4096u
#define SLOTS 8192u /* load factor at most 1/2: short probes */
_Static_assert(SLOTS >= 2 * POOL_NAMES_MAX && SLOTS >= 2 * REAL_MAX, "half of the slots stay empty");

struct address { /* IPv4 as IPv4-mapped IPv6 */
	uint8_t byte[16];
};

struct real {
	struct address address;
	char *host; /* owned */
};

struct pool {
	struct net_pool range;
	uint32_t capacity;             /* indices POOL_FIRST … POOL_FIRST + capacity - 1 */
	uint32_t next;                 /* first position to try for a new name */
	uint32_t from_policy;          /* number of names from the policy */
	char *name[POOL_NAMES_MAX];    /* owned; by index - POOL_FIRST; NULL: free */
	uint16_t by_name[SLOTS];       /* position in name + 1; 0: empty. Entries are never removed */
	struct real real[REAL_MAX];
	uint32_t reals;
	uint16_t by_address[SLOTS];
};

/* FNV-1a. A program that chooses names to collide has POOL_NAMES_MAX of them at most. */
static uint32_t pool_hash(const void *bytes, size_t len)
{
	uint32_t value = 2166136261u;

	for (size_t i = 0; i < len; i++)
		value = (value ^ ((const uint8_t *)bytes)[i]) * 16777619u;
	return value % SLOTS;
}

/* The slot of a name, or the empty one to put it in. */
static uint32_t name_slot(const struct pool *pool, const char *host)
{
	uint32_t slot = pool_hash(host, strlen(host));

	while (pool->by_name[slot] && strcmp(pool->name[pool->by_name[slot] - 1], host) != 0)
		slot = (slot + 1) % SLOTS;
	return slot;
}

static uint32_t address_slot(const struct pool *pool, const struct address *address)
{
	uint32_t slot = pool_hash(address, sizeof(*address));

	while (pool->by_address[slot] &&
	       memcmp(&pool->real[pool->by_address[slot] - 1].address, address, sizeof(*address)) != 0)
		slot = (slot + 1) % SLOTS;
	return slot;
}

static bool map_address(const struct sockaddr *from, struct address *ret)
{
	static const struct address mapped = {.byte = {[10] = 0xff, [11] = 0xff}};
	size_t len = sockaddr_len(from->sa_family);

	if (!len)
		return false;
	*ret = mapped;
	memcpy(ret->byte + sizeof(ret->byte) - len, sockaddr_bytes(from), len);
	return true;
}

/* ---- arithmetic ---- */

static uint32_t host_mask(unsigned prefix, unsigned width)
{
	unsigned bits = prefix < width ? width - prefix : 0;

	return bits >= 32 ? UINT32_MAX : (1u << bits) - 1;
}

static uint32_t v4_base(const struct pool *pool)
{
	return ntohl(pool->range.v4.s_addr) & ~host_mask(pool->range.v4_bits, 32);
}

static uint32_t v6_tail(const struct in6_addr *address)
{
	uint32_t tail;

	memcpy(&tail, address->s6_addr + 12, sizeof(tail));
	return ntohl(tail);
}

static bool same_prefix(const struct in6_addr *a, const struct in6_addr *b, unsigned bits)
{
	for (unsigned i = 0; i < 128 && i < bits; i++) {
		unsigned bit = 0x80u >> (i % 8);

		if ((a->s6_addr[i / 8] & bit) != (b->s6_addr[i / 8] & bit))
			return false;
	}
	return true;
}

/* Host bits in the policy's base address are ignored. */
static struct in6_addr v6_base(const struct pool *pool)
{
	struct in6_addr base = pool->range.v6;

	for (unsigned i = pool->range.v6_bits; i < 128; i++)
		base.s6_addr[i / 8] = (uint8_t)(base.s6_addr[i / 8] & ~(0x80u >> (i % 8)));
	return base;
}

/* False: not in the pool. An address past all indices has the index UINT32_MAX. */
static bool pool_index_of(const struct pool *pool, const struct sockaddr *address, uint32_t *ret_index)
{
	struct address at;
	struct in6_addr v6, base;
	uint32_t v4;

	if (!map_address(address, &at))
		return false;
	memcpy(&v6, at.byte, sizeof(v6));
	if (IN6_IS_ADDR_V4MAPPED(&v6)) {
		v4 = v6_tail(&v6);
		if ((v4 & ~host_mask(pool->range.v4_bits, 32)) != v4_base(pool))
			return false;
		*ret_index = v4 - v4_base(pool);
		return true;
	}
	base = v6_base(pool);
	if (!same_prefix(&v6, &base, pool->range.v6_bits))
		return false;
	*ret_index = same_prefix(&v6, &base, 96) ? v6_tail(&v6) - v6_tail(&base) : UINT32_MAX;
	return true;
}

void pool_address(const struct pool *pool, uint32_t index, int family, uint16_t port, struct sockaddr_storage *ret)
{
	struct in6_addr base = v6_base(pool);
	uint32_t tail = htonl((family == AF_INET ? v4_base(pool) : v6_tail(&base)) + index);

	memcpy(base.s6_addr + 12, &tail, sizeof(tail));
	sockaddr_set(ret, family, family == AF_INET ? (const void *)&tail : &base);
	sockaddr_set_port(ret, port);
}

void pool_find_own(unsigned char *address, size_t len, unsigned bits)
{
	for (size_t i = bits; i < len * 8; i++)
		address[i / 8] = (unsigned char)(address[i / 8] & ~(0x80u >> (i % 8)));
	address[len - 1] |= POOL_OWN;
}

/* ---- names ---- */

static int pool_put_name(struct pool *pool, uint32_t position, const char *host)
{
	char *copy = strdup(host);

	if (!copy)
		return -ENOMEM;
	pool->by_name[name_slot(pool, host)] = (uint16_t)(position + 1);
	pool->name[position] = copy;
	return 0;
}

int pool_add(struct pool *pool, const char *host, uint32_t *ret_index)
{
	uint32_t slot = name_slot(pool, host);
	int error;

	if (pool->by_name[slot]) {
		*ret_index = POOL_FIRST + pool->by_name[slot] - 1u;
		return 0;
	}
	while (pool->next < pool->capacity && pool->name[pool->next])
		pool->next++;
	if (pool->next >= pool->capacity)
		return -ENOSPC;
	error = pool_put_name(pool, pool->next, host);
	if (error < 0)
		return error;
	*ret_index = POOL_FIRST + pool->next++;
	return 0;
}

int pool_learn(struct pool *pool, uint32_t index, const char *host)
{
	uint32_t position = index - POOL_FIRST;
	char canonical[NET_HOST_MAX];
	uint32_t slot;

	if (index < POOL_FIRST || position >= pool->capacity ||
	    net_host_canonical(host, strlen(host), canonical) < 0 || strcmp(canonical, host) != 0)
		return -EBADMSG;
	slot = name_slot(pool, host);
	if (pool->by_name[slot])
		return pool->by_name[slot] == position + 1 ? 0 : -EBADMSG;
	return pool->name[position] ? -EBADMSG : pool_put_name(pool, position, host);
}

int pool_learn_real(struct pool *pool, const struct sockaddr *address, const char *host)
{
	struct address at;
	uint32_t slot;

	if (pool_holds(pool, address) || !map_address(address, &at))
		return -EEXIST;
	slot = address_slot(pool, &at);
	if (pool->by_address[slot])
		return strcmp(pool->real[pool->by_address[slot] - 1].host, host) == 0 ? 0 : -EEXIST;
	if (pool->reals >= REAL_MAX)
		return -ENOSPC;
	pool->real[pool->reals].host = strdup(host);
	if (!pool->real[pool->reals].host)
		return -ENOMEM;
	pool->real[pool->reals++].address = at;
	pool->by_address[slot] = (uint16_t)pool->reals;
	return 0;
}

const char *pool_find(const struct pool *pool, const struct sockaddr *address)
{
	struct address at;
	uint32_t index;

	if (pool_index_of(pool, address, &index))
		return index >= POOL_FIRST && index - POOL_FIRST < pool->capacity ? pool->name[index - POOL_FIRST] :
										    NULL;
	if (!map_address(address, &at))
		return NULL;
	index = pool->by_address[address_slot(pool, &at)];
	return index ? pool->real[index - 1].host : NULL;
}

void pool_replace_address(const struct pool *pool, char host[NET_HOST_MAX])
{
	struct sockaddr_storage address;
	const char *name = NULL;

	if (sockaddr_parse(host, &address))
		name = pool_find(pool, (const struct sockaddr *)(const void *)&address);
	if (name)
		(void)snprintf(host, NET_HOST_MAX, "%s", name);
}

bool pool_holds(const struct pool *pool, const struct sockaddr *address)
{
	uint32_t index;

	return pool_index_of(pool, address, &index);
}

bool pool_is_own(const struct pool *pool, const struct sockaddr *address)
{
	uint32_t index;

	return pool_index_of(pool, address, &index) && index == POOL_OWN;
}

const char *pool_name(const struct pool *pool, uint32_t index)
{
	return index >= POOL_FIRST && index - POOL_FIRST < pool->from_policy ? pool->name[index - POOL_FIRST] : NULL;
}

/* ---- from the policy ---- */

/* The last IPv4 address is the broadcast address; at most 32 bits of an IPv6 range are used. */
static uint32_t capacity_of(const struct net_pool *range)
{
	uint32_t v4 = host_mask(range->v4_bits, 32), v6 = host_mask(range->v6_bits, 128);
	uint32_t least = v4 < v6 ? v4 : v6;

	if (least <= POOL_FIRST)
		return 0;
	return least - POOL_FIRST < POOL_NAMES_MAX ? least - POOL_FIRST : POOL_NAMES_MAX;
}

int pool_create(const struct policy *policy, struct pool **ret_pool)
{
	struct pool *pool = calloc(1, sizeof(*pool));
	const struct net_rule *rule;
	size_t count;
	int error = 0;

	if (!pool)
		return -ENOMEM;
	pool->range = policy_net_pool(policy);
	pool->capacity = capacity_of(&pool->range);
	rule = policy_net_rules(policy, &count);
	for (size_t i = 0; error == 0 && i < count; i++) {
		uint32_t index;

		if (!rule[i].is_address && !strchr(rule[i].host, '*'))
			error = pool_add(pool, rule[i].host, &index);
	}
	if (error == -ENOMEM) {
		pool_free(pool);
		return error;
	}
	/* names beyond the capacity have no address; the name server answers SERVFAIL */
	pool->from_policy = pool->next;
	*ret_pool = pool;
	return 0;
}

void pool_free(struct pool *pool)
{
	if (!pool)
		return;
	for (size_t i = 0; i < POOL_NAMES_MAX; i++)
		free(pool->name[i]);
	for (size_t i = 0; i < pool->reals; i++)
		free(pool->real[i].host);
	free(pool);
}
