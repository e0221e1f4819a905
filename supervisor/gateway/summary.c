/*
 * The network part of the result: requests and connections, of which equal ones are one entry with a count; and how far
 * each rule's budget is used, as the records show it. Egress enforces the budgets.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "supervisor/gateway/private.h"
#include "supervisor/report.h"

void summary_init(struct summary *summary)
{
	*summary = (struct summary){.list = json_array(), .index = json_object(), .advice = json_array()};
}

void summary_release(struct summary *summary)
{
	json_decref(summary->list);
	json_decref(summary->index);
	json_decref(summary->advice);
}

static json_t *summary_make_text(const char *bytes)
{
	return report_make_text_json(bytes && bytes[0] ? bytes : NULL);
}

static json_t *summary_make_number(unsigned number)
{
	return number ? json_integer(number) : json_null();
}

/* Adds, up to the largest JSON integer. The sums are only shown. */
static uint64_t summary_add_saturating(uint64_t one, uint64_t other)
{
	uint64_t both;

	return __builtin_add_overflow(one, other, &both) || both > INT64_MAX ? INT64_MAX : both;
}

static void summary_increase_number(json_t *entry, const char *name, uint64_t more)
{
	json_t *sum = json_object_get(entry, name);

	(void)json_integer_set(sum, (json_int_t)summary_add_saturating((uint64_t)json_integer_value(sum), more));
}

void summary_add_entry(struct summary *summary, const struct summary_item *item)
{
	json_t *entry = json_pack("{s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:s, s:o, s:o, s:i}", "host",
				  summary_make_text(item->host), "port", summary_make_number(item->port), "method",
				  summary_make_text(item->method), "path", summary_make_text(item->path), "status",
				  summary_make_number(item->status), "bytes_up", 0, "bytes_down", 0, "decision",
				  item->is_allowed ? "allow" : "deny", "rule", summary_make_text(item->rule), "reason",
				  summary_make_text(item->reason), "count", 0);
	_cleanup_free_ char *key = json_dumps(entry, JSON_COMPACT); /* equal for equal entries */
	json_t *known = key ? json_object_get(summary->index, key) : NULL;

	if (!known && key && json_array_size(summary->list) < SUMMARY_ENTRIES_MAX &&
	    json_object_set(summary->index, key, entry) == 0 && json_array_append(summary->list, entry) == 0)
		known = entry;
	summary_increase_number(known, "bytes_up", item->bytes_up);
	summary_increase_number(known, "bytes_down", item->bytes_down);
	summary_increase_number(known, "count", item->count);
	if (!known)
		summary->unlisted_entry_count = summary_add_saturating(summary->unlisted_entry_count, item->count);
	json_decref(entry);
}

void summary_add_certificate_advice(struct summary *summary, const char *host, const char *reason)
{
	static const char advice[] = "the program did not accept the certificate that callgate made for this host: it "
				     "pins one, or has a trust store of its own. Let its TLS pass through: drop "
				     "\"http\" and \"credential\" from the host's rules; or add the run's authority, "
				     "the file named by SSL_CERT_FILE in its environment, to that store";
	json_t *item =
		json_pack("{s:o, s:s, s:s}", "host", summary_make_text(host), "reason", reason, "advice", advice);
	bool known = false;

	for (size_t i = 0; i < json_array_size(summary->advice); i++)
		known |= json_equal(json_array_get(summary->advice, i), item);
	if (!known && json_array_size(summary->advice) < SUMMARY_ADVICE_ENTRIES_MAX)
		(void)json_array_append(summary->advice, item);
	json_decref(item);
}

/* What was used of one network rule, and which of its limits were hit. */
struct network_rule_usage {
	uint64_t bytes_up, bytes_down, requests, connections, connections_peak;
	bool up_hit, down_hit, requests_hit, rate_hit, connections_hit;
};

/* What was used of all network rules. */
struct network_usage {
	const struct net_rule *policy_rules; /* the policy's rules */
	size_t entry_count;                  /* entries of use[] */
	struct network_rule_usage use[]; /* one for each rule, and one for labels without a rule */
};

struct network_usage *usage_create(const struct policy *policy)
{
	size_t count;
	const struct net_rule *rules = policy_net_get_rules(policy, &count);
	struct network_usage *usage = calloc(1, sizeof(*usage) + (count + 1) * sizeof(usage->use[0]));

	if (!usage)
		return NULL;
	usage->policy_rules = rules;
	usage->entry_count = count;
	return usage;
}

static struct network_rule_usage *usage_find_rule(struct network_usage *usage, const char *label)
{
	size_t i = 0;

	while (i < usage->entry_count && strcmp(usage->policy_rules[i].label, label) != 0)
		i++;
	return &usage->use[i];
}

void usage_count_connection(struct network_usage *usage, const char *label)
{
	struct network_rule_usage *use = usage_find_rule(usage, label);

	if (++use->connections > use->connections_peak)
		use->connections_peak = use->connections;
}

void usage_count_request(struct network_usage *usage, const char *label)
{
	usage_find_rule(usage, label)->requests++;
}

void usage_end_connection(struct network_usage *usage, const char *label, uint64_t bytes_up, uint64_t bytes_down)
{
	struct network_rule_usage *use = usage_find_rule(usage, label);

	use->connections -= use->connections > 0;
	use->bytes_up = summary_add_saturating(use->bytes_up, bytes_up);
	use->bytes_down = summary_add_saturating(use->bytes_down, bytes_down);
}

void usage_mark_hit_budget(struct network_usage *usage, const char *label, const struct control_record *record)
{
	struct network_rule_usage *use = usage_find_rule(usage, label);

	if (strncmp(record->reason, "cap_", 4) != 0)
		return;
	use->up_hit |= strcmp(record->close_cause, "cap_bytes_up") == 0;
	use->down_hit |= strcmp(record->close_cause, "cap_bytes_down") == 0;
	use->requests_hit |= strcmp(record->reason, "cap_requests") == 0;
	use->rate_hit |= strcmp(record->reason, "cap_rate") == 0;
	use->connections_hit |= strcmp(record->reason, "cap_connections") == 0;
}

/* Sets a budget's limit and use. A budget that the rule does not have is omitted. */
static void usage_add_budget_json(json_t *object, const char *name, uint64_t limit, uint64_t used, bool hit)
{
	if (limit)
		(void)json_object_set_new(object, name,
					  json_pack("{s:I, s:I, s:b}", "limit", (json_int_t)limit, "used",
						    (json_int_t)used, "hit", (int)hit));
}

/* What was used of each network rule's budget, for the result. */
json_t *usage_make_json(const struct network_usage *usage)
{
	json_t *list = json_array();

	for (size_t i = 0; i < usage->entry_count; i++) {
		const struct net_budget *budget = &usage->policy_rules[i].budget;
		const struct network_rule_usage *use = &usage->use[i];
		json_t *object = json_object();

		usage_add_budget_json(object, "bytes_up", budget->bytes_up, use->bytes_up, use->up_hit);
		usage_add_budget_json(object, "bytes_down", budget->bytes_down, use->bytes_down, use->down_hit);
		usage_add_budget_json(object, "requests", budget->requests_max, use->requests, use->requests_hit);
		usage_add_budget_json(object, "requests_per_minute", budget->requests_per_minute, use->requests,
				      use->rate_hit);
		usage_add_budget_json(object, "connections", budget->connections_max, use->connections_peak,
				      use->connections_hit);
		if (json_object_size(object) > 0) {
			(void)json_object_set_new(object, "rule", report_make_text_json(usage->policy_rules[i].label));
			(void)json_array_append(list, object);
		}
		json_decref(object);
	}
	return list;
}
