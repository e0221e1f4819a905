#include "policy/network/pack.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/model.h"

#define PACK_LEN_OF_NULL_TEXT UINT32_MAX /* stands for a NULL text where the length of a text is expected */

/* State of packing or unpacking. Both use the same functions, so that they cannot differ. */
struct packer {
	struct buf *out; /* buffer to pack into; NULL: unpacking from `in` */
	const char *in;
	size_t bytes_left; /* bytes of `in` that are not unpacked yet */
	struct arena *arena;
	int error; /* -errno: unpacking has failed */
};

/* Packs bytes, or unpacks them into `bytes`. After an error they become zero. */
static void pack_bytes(struct packer *packer, void *bytes, size_t len)
{
	if (packer->out) {
		buf_add(packer->out, bytes, len);
	} else if (packer->error == 0 && len <= packer->bytes_left) {
		memcpy(bytes, packer->in, len);
		packer->in += len;
		packer->bytes_left -= len;
	} else {
		memset(bytes, 0, len);
		packer->error = packer->error < 0 ? packer->error : -EINVAL;
	}
}

/* copies the bytes of a variable into the packed form, or back */
#define PACK(packer, value) pack_bytes(packer, &(value), sizeof(value))

/* Packs a text, or unpacks it into the arena. NULL stays NULL. */
static void pack_text(struct packer *packer, const char **text)
{
	uint32_t len = packer->out && *text ? (uint32_t)strlen(*text) : PACK_LEN_OF_NULL_TEXT;

	PACK(packer, len);
	if (packer->out) {
		if (*text)
			buf_add(packer->out, *text, len);
		return;
	}
	*text = NULL;
	if (len == PACK_LEN_OF_NULL_TEXT || packer->error < 0)
		return;
	if (len > packer->bytes_left) {
		packer->error = -EINVAL;
		return;
	}
	*text = arena_dupn(packer->arena, packer->in, len);
	packer->error = *text ? 0 : -ENOMEM;
	packer->in += len;
	packer->bytes_left -= len;
}

/* Packs the number of items; the caller packs the items. Unpacking allocates these and one zeroed item more. */
static void *pack_list(struct packer *packer, const void *items, size_t *count, size_t size)
{
	void *list;

	PACK(packer, *count);
	if (packer->out)
		return (void *)(uintptr_t)items; /* only read */
	if (*count > packer->bytes_left)         /* every item takes at least one byte */
		packer->error = -EINVAL;
	list = packer->error == 0 ? arena_alloc(packer->arena, (*count + 1) * size) : NULL;
	if (!list) {
		packer->error = packer->error < 0 ? packer->error : -ENOMEM;
		*count = 0;
	}
	return list;
}

/* copies a list and each item's texts into the packed form, or back */
#define PACK_ITEMS(packer, items, count, pack_item)                          \
	do {                                                                 \
		(items) = pack_list((packer), (items), (count), sizeof(*(items))); \
		for (size_t i = 0; i < *(count); i++)                        \
			pack_item((packer), &(items)[i]);                    \
	} while (false)

/* Packs the ports of a rule, or unpacks them into the arena. Returns the unpacked ones, or NULL if there are none. */
static const uint16_t *pack_ports(struct packer *packer, const uint16_t *ports, size_t *count)
{
	uint16_t *list = pack_list(packer, ports, count, sizeof(*list));

	if (*count > 0)
		pack_bytes(packer, list, *count * sizeof(*list));
	return *count > 0 ? list : NULL; /* in a deny rule NULL means all ports */
}

static void pack_http_rule(struct packer *packer, struct net_http_rule *http)
{
	_Static_assert(sizeof(*http) == 24, "every field of a rule of requests is packed");
	pack_text(packer, &http->methods);
	pack_text(packer, &http->path);
	PACK(packer, http->is_websocket);
}

static void pack_rule(struct packer *packer, struct net_rule *rule)
{
	struct net_http_rule *http =
		(struct net_http_rule *)(uintptr_t)rule->http_rule; /* changed only when unpacking */

	_Static_assert(sizeof(*rule) == 168, "every field of a rule is packed");
	PACK(packer, rule->index);
	pack_text(packer, &rule->label);
	pack_text(packer, &rule->source_location);
	pack_text(packer, &rule->host);
	PACK(packer, rule->is_address);
	rule->port = pack_ports(packer, rule->port, &rule->port_count);
	PACK(packer, rule->proto);
	PACK_ITEMS(packer, http, &rule->http_rule_count, pack_http_rule);
	rule->http_rule = http;
	pack_text(packer, &rule->credential_header);
	pack_text(packer, &rule->credential_value);
	PACK(packer, rule->asks_about_requests);
	PACK(packer, rule->allows_private_addresses);
	PACK(packer, rule->uses_real_dns);
	PACK(packer, rule->allows_any_body);
	PACK(packer, rule->budget);
	pack_text(packer, &rule->reason);
	PACK(packer, rule->on_deny);
}

static void pack_deny(struct packer *packer, struct net_deny *deny)
{
	_Static_assert(sizeof(*deny) == 48, "every field of a deny rule is packed");
	pack_text(packer, &deny->host);
	deny->port = pack_ports(packer, deny->port, &deny->port_count);
	pack_text(packer, &deny->reason);
	pack_text(packer, &deny->label);
	PACK(packer, deny->on_deny);
}

static void pack_listen_range(struct packer *packer, struct net_listen_range *range)
{
	_Static_assert(sizeof(*range) == 16, "every field of a range is packed");
	PACK(packer, range->first);
	PACK(packer, range->last);
	pack_text(packer, &range->label);
}

static void pack_fixed_host(struct packer *packer, struct net_fixed_host *fixed)
{
	_Static_assert(sizeof(*fixed) == 24 + NET_ADDRESSES_MAX * sizeof(struct sockaddr_storage),
		       "every field of a fixed name is packed");
	pack_text(packer, &fixed->source_location);
	pack_text(packer, &fixed->host);
	PACK(packer, fixed->address);
	PACK(packer, fixed->address_count);
	if (fixed->address_count > NET_ADDRESSES_MAX)
		packer->error = -EINVAL;
}

static void pack_secret(struct packer *packer, struct net_secret *secret)
{
	const char **hosts;
	size_t count = 0;

	_Static_assert(sizeof(*secret) == 32, "every field of a secret is packed");
	while (packer->out && secret->hosts[count])
		count++;
	pack_text(packer, &secret->name);
	pack_text(packer, &secret->value_source);
	pack_text(packer, &secret->source_location);
	hosts = pack_list(packer, secret->hosts, &count, sizeof(*hosts));
	for (size_t i = 0; i < count; i++)
		pack_text(packer, &hosts[i]);
	secret->hosts = hosts; /* the additional item of pack_list() is the terminating NULL */
}

static void pack_network(struct packer *packer, struct policy_network *network)
{
	_Static_assert(sizeof(*network) == 144, "every field of a network is packed");
	PACK(packer, network->said);
	PACK_ITEMS(packer, network->rule, &network->rule_count, pack_rule);
	PACK_ITEMS(packer, network->deny, &network->deny_count, pack_deny);
	PACK_ITEMS(packer, network->listen_range, &network->listen_range_count, pack_listen_range);
	PACK_ITEMS(packer, network->fixed_host, &network->fixed_host_count, pack_fixed_host);
	PACK_ITEMS(packer, network->secret, &network->secret_count, pack_secret);
	pack_text(packer, &network->upstream_ca);
	pack_text(packer, &network->upstream_ca_source_location);
	PACK(packer, network->proxy);
	PACK(packer, network->pool);
	PACK(packer, network->asks_about_denials);
}

int net_pack_policy(const struct policy *policy, struct buf *buf)
{
	struct packer packer = {.out = buf};

	pack_network(&packer, (struct policy_network *)(uintptr_t)&policy->network); /* only read */
	return buf->failed ? -ENOMEM : 0;
}

int net_unpack_policy(const void *bytes, size_t len, struct policy **ret_policy)
{
	struct policy *policy = calloc(1, sizeof(*policy));
	struct packer packer = {.in = bytes, .bytes_left = len, .arena = policy ? &policy->arena : NULL};

	if (!policy)
		return -ENOMEM;
	pack_network(&packer, &policy->network);
	if (packer.error == 0 && packer.bytes_left > 0)
		packer.error = -EINVAL;
	if (packer.error < 0) {
		policy_free(policy);
		return packer.error;
	}
	*ret_policy = policy;
	return 0;
}
