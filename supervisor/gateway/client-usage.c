/* What each rule's budget came to, by the records; whoever keeps it is egress. */
#include <stdlib.h>
#include <string.h>

#include "supervisor/gateway/client-private.h"
#include "supervisor/report.h"

#include "base/banned.h"

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

/* NULL: it has none. */
static struct use *find(struct usage *usage, const char *label)
{
	for (size_t i = 0; i < usage->count; i++)
		if (strcmp(usage->rule[i].label, label) == 0)
			return &usage->use[i];
	return NULL;
}

void usage_open(struct usage *usage, const char *label)
{
	struct use *use = find(usage, label);

	if (use && ++use->connections > use->connections_peak)
		use->connections_peak = use->connections;
}

void usage_request(struct usage *usage, const char *label)
{
	struct use *use = find(usage, label);

	if (use)
		use->requests++;
}

void usage_close(struct usage *usage, const char *label, uint64_t bytes_up, uint64_t bytes_down)
{
	struct use *use = find(usage, label);

	if (!use)
		return;
	use->connections -= use->connections > 0;
	use->bytes_up = network_sum(use->bytes_up, bytes_up);
	use->bytes_down = network_sum(use->bytes_down, bytes_down);
}

void usage_hit(struct usage *usage, const char *label, const struct control_record *record)
{
	struct use *use = strncmp(record->reason, "cap_", 4) == 0 ? find(usage, label) : NULL;

	if (!use)
		return;
	use->up_hit |= strcmp(record->cause, "cap_bytes_up") == 0;
	use->down_hit |= strcmp(record->cause, "cap_bytes_down") == 0;
	use->requests_hit |= strcmp(record->reason, "cap_requests") == 0;
	use->rate_hit |= strcmp(record->reason, "cap_rate") == 0;
	use->connections_hit |= strcmp(record->reason, "cap_connections") == 0;
}

/* A budget the rule does not have is left out. */
static void set_meter(json_t *object, const char *name, uint64_t limit, uint64_t used, bool hit)
{
	if (limit)
		(void)json_object_set_new(object, name,
					  json_pack("{s:I, s:I, s:b}", "limit", (json_int_t)limit, "used", (json_int_t)used,
						    "hit", (int)hit));
}

static json_t *rule_json(const struct net_rule *rule, const struct use *use)
{
	const struct net_budget *budget = &rule->budget;
	json_t *object = json_object();

	set_meter(object, "bytes_up", budget->bytes_up, use->bytes_up, use->up_hit);
	set_meter(object, "bytes_down", budget->bytes_down, use->bytes_down, use->down_hit);
	set_meter(object, "requests", budget->requests, use->requests, use->requests_hit);
	set_meter(object, "requests_per_minute", budget->requests_per_minute, use->requests, use->rate_hit);
	set_meter(object, "connections", budget->connections, use->connections_peak, use->connections_hit);
	if (json_object_size(object) > 0)
		(void)json_object_set_new(object, "rule", report_text(rule->label));
	return object;
}

json_t *usage_json(const struct usage *usage)
{
	json_t *list = json_array();

	for (size_t i = 0; i < usage->count; i++) {
		json_t *object = rule_json(&usage->rule[i], &usage->use[i]);

		if (json_object_size(object) > 0)
			(void)json_array_append_new(list, object);
		else
			json_decref(object);
	}
	return list;
}
