/*
 * The network part of the result: requests and connections, where equal ones are one entry with a count, and the use of
 * each rule's budget as the records show it. Egress enforces the budgets.
 */
#include <stdlib.h>
#include <string.h>

#include "base/texthash.h"
#include "supervisor/gateway/private.h"
#include "supervisor/report.h"

#include "base/banned.h"

#define SLOTS 4096 /* a power of two, well above SUMMARY_MAX */
_Static_assert(SLOTS > 2 * SUMMARY_MAX, "the index would fill up");

struct entry {
	char *host, *method, *path, *rule, *reason; /* owned; never NULL */
	unsigned port, status;
	bool allow;
	uint64_t bytes_up, bytes_down, count;
};

struct advice {
	char *host, *reason;
};

struct summary {
	struct texthash hash;
	struct entry entry[SUMMARY_MAX];
	size_t count;
	uint64_t unlisted;
	uint16_t slot[SLOTS]; /* index + 1 */
	struct advice advice[ADVICE_MAX];
	size_t advices;
};

struct summary *summary_create(void)
{
	struct summary *summary = calloc(1, sizeof(*summary));

	if (summary)
		texthash_init(&summary->hash);
	return summary;
}

static void entry_done(struct entry *entry)
{
	free(entry->host);
	free(entry->method);
	free(entry->path);
	free(entry->rule);
	free(entry->reason);
}

void summary_free(struct summary *summary)
{
	if (!summary)
		return;
	for (size_t i = 0; i < summary->count; i++)
		entry_done(&summary->entry[i]);
	for (size_t i = 0; i < summary->advices; i++) {
		free(summary->advice[i].host);
		free(summary->advice[i].reason);
	}
	free(summary);
}

static const char *or_empty(const char *maybe)
{
	return maybe ? maybe : "";
}

static uint64_t entry_hash(const struct summary *summary, const struct summary_item *item)
{
	uint64_t hash = texthash(&summary->hash, item->port, or_empty(item->host), strlen(or_empty(item->host)));

	hash = texthash(&summary->hash, hash ^ item->status, or_empty(item->path), strlen(or_empty(item->path)));
	return texthash(&summary->hash, hash, or_empty(item->method), strlen(or_empty(item->method)));
}

static bool entry_is_same(const struct entry *entry, const struct summary_item *item)
{
	return entry->port == item->port && entry->status == item->status && entry->allow == item->allow &&
	       strcmp(entry->host, or_empty(item->host)) == 0 && strcmp(entry->path, or_empty(item->path)) == 0 &&
	       strcmp(entry->method, or_empty(item->method)) == 0 && strcmp(entry->rule, or_empty(item->rule)) == 0 &&
	       strcmp(entry->reason, or_empty(item->reason)) == 0;
}

static bool entry_init(struct entry *entry, const struct summary_item *item)
{
	*entry = (struct entry){.host = strdup(or_empty(item->host)), .method = strdup(or_empty(item->method)),
				.path = strdup(or_empty(item->path)), .rule = strdup(or_empty(item->rule)),
				.reason = strdup(or_empty(item->reason)), .port = item->port, .status = item->status,
				.allow = item->allow};
	if (entry->host && entry->method && entry->path && entry->rule && entry->reason)
		return true;
	entry_done(entry);
	return false;
}

/* Saturates at the largest JSON integer. The sums are only shown. */
static uint64_t summary_sum(uint64_t one, uint64_t other)
{
	uint64_t both;

	return __builtin_add_overflow(one, other, &both) || both > INT64_MAX ? INT64_MAX : both;
}

void summary_add(struct summary *summary, const struct summary_item *item)
{
	size_t at = entry_hash(summary, item) & (SLOTS - 1);
	struct entry *entry;

	while (summary->slot[at] && !entry_is_same(&summary->entry[summary->slot[at] - 1], item))
		at = (at + 1) & (SLOTS - 1);
	if (!summary->slot[at]) {
		if (summary->count == SUMMARY_MAX || !entry_init(&summary->entry[summary->count], item)) {
			summary->unlisted = summary_sum(summary->unlisted, item->count);
			return;
		}
		summary->slot[at] = (uint16_t)++summary->count;
	}
	entry = &summary->entry[summary->slot[at] - 1];
	entry->count = summary_sum(entry->count, item->count);
	entry->bytes_up = summary_sum(entry->bytes_up, item->bytes_up);
	entry->bytes_down = summary_sum(entry->bytes_down, item->bytes_down);
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
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:s, s:o, s:o, s:I}", "host", text_json(entry->host),
			 "port", number_json(entry->port), "method", text_json(entry->method), "path",
			 text_json(entry->path), "status", number_json(entry->status), "bytes_up",
			 (json_int_t)entry->bytes_up, "bytes_down", (json_int_t)entry->bytes_down, "decision",
			 entry->allow ? "allow" : "deny", "rule", text_json(entry->rule), "reason",
			 text_json(entry->reason), "count", (json_int_t)entry->count);
}

json_t *summary_json(const struct summary *summary, uint64_t *ret_unlisted)
{
	json_t *list = json_array();

	for (size_t i = 0; i < summary->count; i++)
		(void)json_array_append_new(list, entry_json(&summary->entry[i]));
	*ret_unlisted = summary->unlisted;
	return list;
}

void summary_advise(struct summary *summary, const char *host, const char *reason)
{
	struct advice *advice = &summary->advice[summary->advices];

	for (size_t i = 0; i < summary->advices; i++)
		if (strcmp(summary->advice[i].host, host) == 0 && strcmp(summary->advice[i].reason, reason) == 0)
			return;
	if (summary->advices == ADVICE_MAX)
		return;
	*advice = (struct advice){.host = strdup(host), .reason = strdup(reason)};
	if (advice->host && advice->reason) {
		summary->advices++;
		return;
	}
	free(advice->host);
	free(advice->reason);
}

json_t *summary_advice(const struct summary *summary)
{
	static const char advice[] = "the program did not accept the certificate that callgate made for this host: it "
				     "pins one, or has a trust store of its own. Let its TLS pass through: drop "
				     "\"http\" and \"credential\" from the host's rules; or add the run's authority, "
				     "the file named by SSL_CERT_FILE in its environment, to that store";
	json_t *list = json_array();

	for (size_t i = 0; i < summary->advices; i++)
		(void)json_array_append_new(list, json_pack("{s:o, s:o, s:s}", "host",
							    text_json(summary->advice[i].host), "reason",
							    text_json(summary->advice[i].reason), "advice", advice));
	return list;
}

/* ---- budgets of rules ---- */

struct use {
	uint64_t bytes_up, bytes_down, requests, connections, connections_peak;
	bool up_hit, down_hit, requests_hit, rate_hit, connections_hit;
};

struct usage {
	const struct net_rule *rule; /* the policy's */
	size_t count;
	struct use use[];
};

struct usage *usage_create(const struct policy *policy)
{
	size_t count;
	const struct net_rule *rules = policy_net_rules(policy, &count);
	struct usage *usage = calloc(1, sizeof(*usage) + count * sizeof(usage->use[0]));

	if (!usage)
		return NULL;
	usage->rule = rules;
	usage->count = count;
	return usage;
}

void usage_free(struct usage *usage)
{
	free(usage);
}

/* NULL: there is no such rule. */
static struct use *usage_find(struct usage *usage, const char *label)
{
	for (size_t i = 0; i < usage->count; i++)
		if (strcmp(usage->rule[i].label, label) == 0)
			return &usage->use[i];
	return NULL;
}

void usage_open(struct usage *usage, const char *label)
{
	struct use *use = usage_find(usage, label);

	if (use && ++use->connections > use->connections_peak)
		use->connections_peak = use->connections;
}

void usage_request(struct usage *usage, const char *label)
{
	struct use *use = usage_find(usage, label);

	if (use)
		use->requests++;
}

void usage_close(struct usage *usage, const char *label, uint64_t bytes_up, uint64_t bytes_down)
{
	struct use *use = usage_find(usage, label);

	if (!use)
		return;
	use->connections -= use->connections > 0;
	use->bytes_up = summary_sum(use->bytes_up, bytes_up);
	use->bytes_down = summary_sum(use->bytes_down, bytes_down);
}

void usage_hit(struct usage *usage, const char *label, const struct control_record *record)
{
	struct use *use = strncmp(record->reason, "cap_", 4) == 0 ? usage_find(usage, label) : NULL;

	if (!use)
		return;
	use->up_hit |= strcmp(record->cause, "cap_bytes_up") == 0;
	use->down_hit |= strcmp(record->cause, "cap_bytes_down") == 0;
	use->requests_hit |= strcmp(record->reason, "cap_requests") == 0;
	use->rate_hit |= strcmp(record->reason, "cap_rate") == 0;
	use->connections_hit |= strcmp(record->reason, "cap_connections") == 0;
}

/* Omits a budget that the rule does not have. */
static void usage_set_meter(json_t *object, const char *name, uint64_t limit, uint64_t used, bool hit)
{
	if (limit)
		(void)json_object_set_new(object, name,
					  json_pack("{s:I, s:I, s:b}", "limit", (json_int_t)limit, "used",
						    (json_int_t)used, "hit", (int)hit));
}

static json_t *usage_rule_json(const struct net_rule *rule, const struct use *use)
{
	const struct net_budget *budget = &rule->budget;
	json_t *object = json_object();

	usage_set_meter(object, "bytes_up", budget->bytes_up, use->bytes_up, use->up_hit);
	usage_set_meter(object, "bytes_down", budget->bytes_down, use->bytes_down, use->down_hit);
	usage_set_meter(object, "requests", budget->requests, use->requests, use->requests_hit);
	usage_set_meter(object, "requests_per_minute", budget->requests_per_minute, use->requests, use->rate_hit);
	usage_set_meter(object, "connections", budget->connections, use->connections_peak, use->connections_hit);
	if (json_object_size(object) > 0)
		(void)json_object_set_new(object, "rule", report_text(rule->label));
	return object;
}

json_t *usage_json(const struct usage *usage)
{
	json_t *list = json_array();

	for (size_t i = 0; i < usage->count; i++) {
		json_t *object = usage_rule_json(&usage->rule[i], &usage->use[i]);

		if (json_object_size(object) > 0)
			(void)json_array_append_new(list, object);
		else
			json_decref(object);
	}
	return list;
}
