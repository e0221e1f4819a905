#include "egress/conn/pool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "egress/conn/sockaddr.h"

#define POOL_REAL_ADDRESSES_MAX 4096u /* most addresses found by DNS whose host name is remembered */

/* An IPv6 address, or an IPv4 address mapped to IPv6, as a number. */
typedef unsigned __int128 address_number;

/* An address that DNS gave to the program for a name whose rule has "dns": "real". */
struct pool_real_address {
	address_number address;
	char *host; /* the name that the address stands for; owned */
};

/* The names are in lists, not hash tables: a program that makes them long by its choice of names slows down itself. */
struct pool {
	address_number v4, v6;         /* the first address of each family's range */
	unsigned v4_free, v6_free;     /* number of address bits within the range */
	/* most names that the pool can hold; their indices begin at POOL_FIRST_NAME_INDEX */
	uint32_t names_max;
	uint32_t next_index;                 /* first position to try for a new name */
	uint32_t policy_name_count;          /* number of names from the policy */
	char *name[POOL_NAMES_MAX];    /* owned; position is index - POOL_FIRST_NAME_INDEX; NULL: free */
	struct pool_real_address real_addresses[POOL_REAL_ADDRESSES_MAX];
	uint32_t real_address_count;
};

/* Returns the address as one number. IPv4 comes as ::ffff:a.b.c.d, so that both families are compared alike. */
static address_number pool_address_bytes_to_number(int family, const uint8_t *bytes)
{
	address_number number = family == AF_INET ? 0xffff : 0;

	for (size_t i = 0; i < sockaddr_get_address_len(family); i++)
		number = number << 8 | bytes[i];
	return number;
}

/* Returns false if the address is neither of IPv4 nor of IPv6. */
static bool pool_sockaddr_to_number(const struct sockaddr *address, address_number *ret)
{
	if (!sockaddr_get_address_len(address->sa_family))
		return false;
	*ret = pool_address_bytes_to_number(address->sa_family, sockaddr_get_bytes(address));
	return true;
}

/* Finds the index of an address. False: not in the pool. UINT32_MAX: an address above all indices. */
static bool pool_find_index(const struct pool *pool, const struct sockaddr *address, uint32_t *ret_index)
{
	address_number number, first;
	unsigned free_bits;
	bool v4;

	if (!pool_sockaddr_to_number(address, &number))
		return false;
	v4 = number >> 32 == 0xffff;
	first = v4 ? pool->v4 : pool->v6;
	free_bits = v4 ? pool->v4_free : pool->v6_free;
	if (free_bits < 128 && number >> free_bits != first >> free_bits)
		return false;
	*ret_index = number - first < UINT32_MAX ? (uint32_t)(number - first) : UINT32_MAX;
	return true;
}

void pool_make_address(const struct pool *pool, uint32_t index, int family, uint16_t port, struct sockaddr_storage *ret)
{
	address_number number = (family == AF_INET ? pool->v4 : pool->v6) + index;
	uint8_t bytes[sizeof(number)] = {0};

	for (size_t i = sockaddr_get_address_len(family); i-- > 0; number >>= 8)
		bytes[i] = (uint8_t)number;
	sockaddr_set_address(ret, family, bytes);
	sockaddr_set_port(ret, port);
}

void pool_convert_to_run_address(unsigned char *address, size_t len, unsigned bits)
{
	for (size_t i = bits; i < len * 8; i++)
		address[i / 8] = (unsigned char)(address[i / 8] & ~(0x80u >> (i % 8)));
	address[len - 1] |= POOL_INDEX_OF_PROXIES;
}

/* Finds the position of a name; pool->names_max: the name has none. */
static uint32_t pool_find_name_position(const struct pool *pool, const char *host)
{
	uint32_t position = 0;

	while (position < pool->names_max && (!pool->name[position] || strcmp(pool->name[position], host) != 0))
		position++;
	return position;
}

int pool_add_name(struct pool *pool, const char *host, uint32_t *ret_index)
{
	uint32_t position = pool_find_name_position(pool, host);

	if (position == pool->names_max) {
		while (pool->next_index < pool->names_max && pool->name[pool->next_index])
			pool->next_index++;
		if (pool->next_index >= pool->names_max)
			return -ENOSPC;
		pool->name[pool->next_index] = strdup(host);
		if (!pool->name[pool->next_index])
			return -ENOMEM;
		position = pool->next_index++;
	}
	*ret_index = POOL_FIRST_NAME_INDEX + position;
	return 0;
}

int pool_set_name_at_index(struct pool *pool, uint32_t index, const char *host)
{
	uint32_t position = index - POOL_FIRST_NAME_INDEX, known;
	char canonical[NET_HOST_SIZE];

	if (index < POOL_FIRST_NAME_INDEX || position >= pool->names_max ||
	    net_host_canonicalise(host, strlen(host), canonical) < 0 || strcmp(canonical, host) != 0)
		return -EBADMSG;
	known = pool_find_name_position(pool, host);
	if (known < pool->names_max || pool->name[position])
		return known == position ? 0 : -EBADMSG;
	pool->name[position] = strdup(host);
	return pool->name[position] ? 0 : -ENOMEM;
}

/* Finds the name that a real address stands for; NULL: none. */
static const char *pool_find_real_name(const struct pool *pool, address_number address)
{
	for (uint32_t i = 0; i < pool->real_address_count; i++)
		if (pool->real_addresses[i].address == address)
			return pool->real_addresses[i].host;
	return NULL;
}

int pool_add_real_address(struct pool *pool, const struct sockaddr *address, const char *host)
{
	struct pool_real_address *real = &pool->real_addresses[pool->real_address_count];
	address_number number;
	const char *known;

	if (pool_holds_address(pool, address) || !pool_sockaddr_to_number(address, &number))
		return -EEXIST;
	known = pool_find_real_name(pool, number);
	if (known)
		return strcmp(known, host) == 0 ? 0 : -EEXIST;
	if (pool->real_address_count >= POOL_REAL_ADDRESSES_MAX)
		return -ENOSPC;
	real->host = strdup(host);
	if (!real->host)
		return -ENOMEM;
	real->address = number;
	pool->real_address_count++;
	return 0;
}

const char *pool_find_name(const struct pool *pool, const struct sockaddr *address)
{
	address_number number;
	uint32_t index;

	if (pool_find_index(pool, address, &index))
		return index >= POOL_FIRST_NAME_INDEX && index - POOL_FIRST_NAME_INDEX < pool->names_max
			       ? pool->name[index - POOL_FIRST_NAME_INDEX]
			       : NULL;
	return pool_sockaddr_to_number(address, &number) ? pool_find_real_name(pool, number) : NULL;
}

void pool_replace_address_by_name(const struct pool *pool, char host[NET_HOST_SIZE])
{
	struct sockaddr_storage address;
	const char *name = NULL;

	if (sockaddr_parse(host, &address))
		name = pool_find_name(pool, (const struct sockaddr *)(const void *)&address);
	if (name)
		(void)snprintf(host, NET_HOST_SIZE, "%s", name);
}

bool pool_holds_address(const struct pool *pool, const struct sockaddr *address)
{
	uint32_t index;

	return pool_find_index(pool, address, &index);
}

bool pool_is_run_address(const struct pool *pool, const struct sockaddr *address)
{
	uint32_t index;

	return pool_find_index(pool, address, &index) && index == POOL_INDEX_OF_PROXIES;
}

const char *pool_get_policy_name(const struct pool *pool, uint32_t index)
{
	return index >= POOL_FIRST_NAME_INDEX && index - POOL_FIRST_NAME_INDEX < pool->policy_name_count
		       ? pool->name[index - POOL_FIRST_NAME_INDEX]
		       : NULL;
}

/*
 * Sets the ranges, without host bits that the policy may have. The last IPv4 address is left out, as the broadcast
 * address. At most 32 bits of an IPv6 range are used.
 */
static void pool_set_ranges(struct pool *pool, const struct net_pool_ranges *range)
{
	unsigned bits;

	pool->v4_free = range->v4_bits < 32 ? 32 - range->v4_bits : 0;
	pool->v6_free = range->v6_bits < 128 ? 128 - range->v6_bits : 0;
	pool->v4 = pool_address_bytes_to_number(AF_INET, (const uint8_t *)&range->v4);
	pool->v4 = pool->v4 >> pool->v4_free << pool->v4_free;
	pool->v6 = pool_address_bytes_to_number(AF_INET6, range->v6.s6_addr);
	pool->v6 = pool->v6_free < 128 ? pool->v6 >> pool->v6_free << pool->v6_free : 0;
	bits = pool->v4_free < pool->v6_free ? pool->v4_free : pool->v6_free;
	if (bits > 4) /* in a smaller range there is room for the run's own addresses only */
		pool->names_max = bits < 13 ? (1u << bits) - 1 - POOL_FIRST_NAME_INDEX : POOL_NAMES_MAX;
	if (pool->names_max > POOL_NAMES_MAX)
		pool->names_max = POOL_NAMES_MAX;
}

int pool_create(const struct policy *policy, struct pool **ret_pool)
{
	struct pool *pool = calloc(1, sizeof(*pool));
	const struct net_rule *rule;
	struct net_pool_ranges range;
	size_t count;
	int error = 0;

	if (!pool)
		return -ENOMEM;
	range = policy_net_get_pool(policy);
	pool_set_ranges(pool, &range);
	rule = policy_net_get_rules(policy, &count);
	for (size_t i = 0; error == 0 && i < count; i++) {
		uint32_t index;

		if (!rule[i].is_address && !strchr(rule[i].host, '*'))
			error = pool_add_name(pool, rule[i].host, &index);
	}
	if (error == -ENOMEM) {
		pool_free(pool);
		return error;
	}
	/* Names beyond the capacity have no address. The name server answers them with SERVFAIL. */
	pool->policy_name_count = pool->next_index;
	*ret_pool = pool;
	return 0;
}

void pool_free(struct pool *pool)
{
	if (!pool)
		return;
	for (size_t i = 0; i < POOL_NAMES_MAX; i++)
		free(pool->name[i]);
	for (size_t i = 0; i < pool->real_address_count; i++)
		free(pool->real_addresses[i].host);
	free(pool);
}
