#include "egress/budget.h"

#include <errno.h>
#include <stdlib.h>

#include "base/io.h"
#include "base/times.h"

#define BUDGET_FULL_BUCKETS_PER_SECOND 4u  /* the bucket holds the bytes of a quarter of a second */
#define BUDGET_PORTIONS_PER_SECOND_MAX 20u /* bytes are moved in portions of at least what the rule allows in 1/20 s */

/* A token bucket. `tokens` is negative when more was spent than the bucket held. */
struct token_bucket {
	int64_t tokens;          /* what may be spent now, such as bytes */
	uint64_t last_filled_ns; /* up to when tokens were added */
};

/* How much of its budget a rule has used. */
struct rule_budget_use {
	uint64_t bytes_moved[2], requests, connections; /* bytes_moved: towards the program, towards the endpoint */
	struct token_bucket bytes, minute;
};

/* How much of its budget each rule of the policy has used. */
struct budgets {
	size_t count; /* number of rules with an entry in `use` */
	struct rule_budget_use use[];
};

int budgets_create(const struct policy *policy, struct budgets **ret_budgets)
{
	uint64_t now_ns = io_read_clock_ns();
	struct budgets *budgets;
	const struct net_rule *rule;
	size_t count;

	rule = policy_net_get_rules(policy, &count);
	budgets = calloc(1, sizeof(*budgets) + count * sizeof(budgets->use[0]));
	if (!budgets)
		return -ENOMEM;
	budgets->count = count;
	for (size_t i = 0; i < count; i++) {
		struct rule_budget_use *use = &budgets->use[i];

		use->bytes = (struct token_bucket){
			(int64_t)(rule[i].budget.bytes_per_second / BUDGET_FULL_BUCKETS_PER_SECOND), now_ns};
		use->minute = (struct token_bucket){(int64_t)rule[i].budget.requests_per_minute, now_ns};
	}
	*ret_budgets = budgets;
	return 0;
}

void budgets_free(struct budgets *budgets)
{
	free(budgets);
}

/* The use of a rule's budget. NULL: there is no rule, or no budgets are kept. */
static struct rule_budget_use *budget_find_rule_use(struct budgets *budgets, const struct net_rule *rule)
{
	return budgets && rule && rule->index < budgets->count ? &budgets->use[rule->index] : NULL;
}

/* Adds `rate` tokens for each period that has passed. last_filled_ns advances by the time of whole tokens only. */
static void budget_fill_bucket(struct token_bucket *bucket, uint64_t rate, uint64_t period_ns, uint64_t cap,
			       uint64_t now_ns)
{
	uint64_t passed = now_ns > bucket->last_filled_ns ? now_ns - bucket->last_filled_ns : 0;
	uint64_t due;

	if (passed >= period_ns) {
		bucket->tokens = bucket->tokens < 0 && (uint64_t)-bucket->tokens > rate ? bucket->tokens + (int64_t)rate
											: (int64_t)cap;
		bucket->last_filled_ns = now_ns;
	} else {
		due = (uint64_t)((unsigned __int128)passed * rate / period_ns);
		if (!due)
			return;
		bucket->tokens += (int64_t)due;
		bucket->last_filled_ns += (uint64_t)((unsigned __int128)due * period_ns / rate);
	}
	if (bucket->tokens > (int64_t)cap)
		bucket->tokens = (int64_t)cap;
}

int budget_add_connection(struct budgets *budgets, const struct net_rule *rule, struct budget_use *ret_use)
{
	struct rule_budget_use *use = budget_find_rule_use(budgets, rule);

	if (use) {
		if (rule->budget.connections_max && use->connections >= rule->budget.connections_max)
			return -EDQUOT;
		use->connections++;
	}
	*ret_use = (struct budget_use){.budgets = budgets, .rule = rule};
	return 0;
}

/* Ends the counting of a connection in the budget of its rule. */
void budget_drop_connection(struct budget_use *use)
{
	struct rule_budget_use *of = budget_find_rule_use(use->budgets, use->rule);

	if (of)
		of->connections--;
	*use = (struct budget_use){0};
}

const char *budget_count_request(struct budgets *budgets, const struct net_rule *rule, uint64_t now_ns)
{
	struct rule_budget_use *use = budget_find_rule_use(budgets, rule);

	if (!use)
		return NULL;
	if (rule->budget.requests_max && use->requests >= rule->budget.requests_max)
		return "cap_requests";
	if (rule->budget.requests_per_minute) {
		budget_fill_bucket(&use->minute, rule->budget.requests_per_minute, 60ULL * NS_PER_S,
			    rule->budget.requests_per_minute, now_ns);
		if (use->minute.tokens < 1)
			return "cap_rate";
		use->minute.tokens--;
	}
	use->requests++;
	return NULL;
}

static uint64_t budget_raise_to_at_least_1(uint64_t value)
{
	return value ? value : 1;
}

/* How many of `want` bytes the rate allows now. 0: none, and *ret_wait_ms says how long to wait. */
static size_t budget_get_bytes_by_rate(struct rule_budget_use *use, uint64_t rate, size_t want, uint64_t now_ns,
				 uint64_t *ret_wait_ms)
{
	int64_t portion = (int64_t)budget_raise_to_at_least_1(rate / BUDGET_PORTIONS_PER_SECOND_MAX);
	uint64_t missing;

	if (portion > (int64_t)want)
		portion = (int64_t)want;
	budget_fill_bucket(&use->bytes, rate, NS_PER_S,
			   budget_raise_to_at_least_1(rate / BUDGET_FULL_BUCKETS_PER_SECOND), now_ns);
	if (use->bytes.tokens >= portion)
		return (uint64_t)use->bytes.tokens < want ? (size_t)use->bytes.tokens : want;
	missing = (uint64_t)(portion - use->bytes.tokens);
	*ret_wait_ms = budget_raise_to_at_least_1((uint64_t)((unsigned __int128)missing * 1000 / rate) + 1);
	return 0;
}

size_t budget_get_allowed_bytes(const struct budget_use *use, bool up, size_t want, uint64_t now_ns,
				uint64_t *ret_wait_ms)
{
	struct rule_budget_use *of = budget_find_rule_use(use->budgets, use->rule);
	uint64_t cap, spent;

	if (!of || !want)
		return want;
	cap = up ? use->rule->budget.bytes_up : use->rule->budget.bytes_down;
	spent = of->bytes_moved[up];
	if (cap && spent >= cap) {
		*ret_wait_ms = UINT64_MAX;
		return 0;
	}
	if (cap && want > cap - spent)
		want = (size_t)(cap - spent);
	if (!use->rule->budget.bytes_per_second)
		return want;
	return budget_get_bytes_by_rate(of, use->rule->budget.bytes_per_second, want, now_ns, ret_wait_ms);
}

/* Counts bytes against the rule's budget. up: from the program to the server. */
void budget_spend_bytes(const struct budget_use *use, bool up, size_t bytes)
{
	struct rule_budget_use *of = budget_find_rule_use(use->budgets, use->rule);

	if (!of)
		return;
	of->bytes_moved[up] += bytes;
	if (use->rule->budget.bytes_per_second)
		of->bytes.tokens -= (int64_t)bytes;
}
