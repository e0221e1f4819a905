/* What the result says of the network: equal requests and connections counted, in the order of their first. */
#include <stdlib.h>
#include <string.h>

#include "base/texthash.h"
#include "supervisor/gateway/client-private.h"
#include "supervisor/report.h"

#include "base/banned.h"

#define SLOTS 4096 /* a power of two, well above NETWORK_MAX */
_Static_assert(SLOTS > 2 * NETWORK_MAX, "the index would fill up");

struct entry {
	char *host, *method, *path, *rule, *reason; /* owned; never NULL */
	unsigned port, status;
	bool allow;
	uint64_t bytes_up, bytes_down, count;
};

struct advice {
	char *host, *reason;
};

struct network {
	struct texthash hash;
	struct entry entry[NETWORK_MAX];
	size_t count;
	uint64_t unlisted;
	uint16_t slot[SLOTS]; /* index + 1 */
	struct advice advice[ADVICE_MAX];
	size_t advices;
};

struct network *network_create(void)
{
	struct network *network = calloc(1, sizeof(*network));

	if (network)
		texthash_init(&network->hash);
	return network;
}

static void entry_done(struct entry *entry)
{
	free(entry->host);
	free(entry->method);
	free(entry->path);
	free(entry->rule);
	free(entry->reason);
}

void network_free(struct network *network)
{
	if (!network)
		return;
	for (size_t i = 0; i < network->count; i++)
		entry_done(&network->entry[i]);
	for (size_t i = 0; i < network->advices; i++) {
		free(network->advice[i].host);
		free(network->advice[i].reason);
	}
	free(network);
}

static const char *text(const char *maybe)
{
	return maybe ? maybe : "";
}

static uint64_t hash_of(const struct network *network, const struct network_item *item)
{
	uint64_t hash = texthash(&network->hash, item->port, text(item->host), strlen(text(item->host)));

	hash = texthash(&network->hash, hash ^ item->status, text(item->path), strlen(text(item->path)));
	return texthash(&network->hash, hash, text(item->method), strlen(text(item->method)));
}

static bool is_same(const struct entry *entry, const struct network_item *item)
{
	return entry->port == item->port && entry->status == item->status && entry->allow == item->allow &&
	       strcmp(entry->host, text(item->host)) == 0 && strcmp(entry->path, text(item->path)) == 0 &&
	       strcmp(entry->method, text(item->method)) == 0 && strcmp(entry->rule, text(item->rule)) == 0 &&
	       strcmp(entry->reason, text(item->reason)) == 0;
}

static bool fill(struct entry *entry, const struct network_item *item)
{
	*entry = (struct entry){.host = strdup(text(item->host)), .method = strdup(text(item->method)),
				.path = strdup(text(item->path)), .rule = strdup(text(item->rule)),
				.reason = strdup(text(item->reason)), .port = item->port, .status = item->status,
				.allow = item->allow};
	if (entry->host && entry->method && entry->path && entry->rule && entry->reason)
		return true;
	entry_done(entry);
	return false;
}

uint64_t network_sum(uint64_t one, uint64_t other)
{
	uint64_t both;

	return __builtin_add_overflow(one, other, &both) || both > INT64_MAX ? INT64_MAX : both;
}

void network_add(struct network *network, const struct network_item *item)
{
	size_t at = hash_of(network, item) & (SLOTS - 1);
	struct entry *entry;

	while (network->slot[at] && !is_same(&network->entry[network->slot[at] - 1], item))
		at = (at + 1) & (SLOTS - 1);
	if (!network->slot[at]) {
		if (network->count == NETWORK_MAX || !fill(&network->entry[network->count], item)) {
			network->unlisted = network_sum(network->unlisted, item->count);
			return;
		}
		network->slot[at] = (uint16_t)++network->count;
	}
	entry = &network->entry[network->slot[at] - 1];
	entry->count = network_sum(entry->count, item->count);
	entry->bytes_up = network_sum(entry->bytes_up, item->bytes_up);
	entry->bytes_down = network_sum(entry->bytes_down, item->bytes_down);
}

static json_t *text_json(const char *bytes)
{
	return report_text(bytes[0] ? bytes : NULL);
}

static json_t *number_json(unsigned number)
{
	return number ? json_integer(number) : json_null();
}

static json_t *entry_json(const struct entry *entry)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:s, s:o, s:o, s:I}", "host", text_json(entry->host), "port",
			 number_json(entry->port), "method", text_json(entry->method), "path", text_json(entry->path),
			 "status", number_json(entry->status), "bytes_up", (json_int_t)entry->bytes_up, "bytes_down",
			 (json_int_t)entry->bytes_down, "decision", entry->allow ? "allow" : "deny", "rule",
			 text_json(entry->rule), "reason", text_json(entry->reason), "count", (json_int_t)entry->count);
}

json_t *network_json(const struct network *network, uint64_t *ret_unlisted)
{
	json_t *list = json_array();

	for (size_t i = 0; i < network->count; i++)
		(void)json_array_append_new(list, entry_json(&network->entry[i]));
	*ret_unlisted = network->unlisted;
	return list;
}

void network_advise(struct network *network, const char *host, const char *reason)
{
	struct advice *advice = &network->advice[network->advices];

	for (size_t i = 0; i < network->advices; i++)
		if (strcmp(network->advice[i].host, host) == 0 && strcmp(network->advice[i].reason, reason) == 0)
			return;
	if (network->advices == ADVICE_MAX)
		return;
	*advice = (struct advice){.host = strdup(host), .reason = strdup(reason)};
	if (advice->host && advice->reason) {
		network->advices++;
		return;
	}
	free(advice->host);
	free(advice->reason);
}

json_t *network_advice(const struct network *network)
{
	static const char advice[] =
		"the program did not accept the certificate callgate made for this host: it pins one, or has a trust store of its "
		"own. Let its TLS pass unopened: drop \"http\" and \"credential\" from the host's rules; or add the run's "
		"authority, the file SSL_CERT_FILE names in its environment, to that store";
	json_t *list = json_array();

	for (size_t i = 0; i < network->advices; i++)
		(void)json_array_append_new(list, json_pack("{s:o, s:o, s:s}", "host", text_json(network->advice[i].host),
							    "reason", text_json(network->advice[i].reason), "advice", advice));
	return list;
}
