#include "policy/match.h"

#include <string.h>

#include "base/path.h"
#include "policy/model.h"
#include "policy/paths/explain.h"

/* ---- paths ---- */

/* True when a rule matches the path, at one of its literal paths (NULL: the rule begins with "**"). */
static bool match_rule_at_literal_path(const struct rule *rule, const char *literal, const char *path)
{
	const char *rest = path_get_rest_below(path, literal ? literal : "/");

	return rest && (!rule->pattern || glob_matches(&rule->glob, rest, strlen(rest)));
}

/*
 * Whether the rule is about the path. A deny rule also counts by its alias and by the path that it denies in the view.
 */
static bool match_rule_on_path(const struct rule *rule, const char *path)
{
	if (match_rule_at_literal_path(rule, rule->literal_path, path))
		return true;
	if (!kind_is_deny(rule->kind))
		return false;
	return (rule->literal_alias && match_rule_at_literal_path(rule, rule->literal_alias, path)) ||
	       (rule_get_denied_path(rule) && match_rule_at_literal_path(rule, rule_get_denied_path(rule), path));
}

/*
 * True when a rule about paths has a part in the answer to the question. A grant of reading also matches an attempt to
 * write: because of the grant the error is EROFS, not ENOENT.
 */
static bool match_path_rule(const struct policy *policy, const struct rule *rule,
			    const struct policy_question *question)
{
	const struct policy_mount *mount;
	char host[PATH_MAX];

	if (question->kind != POLICY_QUESTION_PATH ||
	    (rule->kind == RULE_EXEC_DENY && !(question->wanted_rights & POLICY_EXEC)))
		return false;
	if (match_rule_on_path(rule, question->path))
		return true;
	/* deny rules also apply to the host path of what a mount shows */
	mount = kind_is_deny(rule->kind) ? policy_find_mount(policy, question->path) : NULL;
	return mount && mount->kind == POLICY_MOUNT_TREE &&
	       policy_map_to_host(policy, question->path, host) > 0 && match_rule_on_path(rule, host);
}

/* ---- network ---- */

static bool match_port_is_listed(const uint16_t *port, size_t ports, unsigned wanted)
{
	for (size_t i = 0; i < ports; i++)
		if (port[i] == wanted)
			return true;
	return false;
}

/*
 * True when a network rule allows the connection or request of the question. Where callgate does not see the requests
 * of a connection, a rule that allows the connection allows every request.
 */
static bool match_net_rule(const struct policy *policy, const struct net_rule *rule,
			   const struct policy_question *question)
{
	bool request = question->kind == POLICY_QUESTION_REQUEST;

	if ((question->kind != POLICY_QUESTION_CONNECT && !request) || !net_host_matches(rule->host, question->host) ||
	    !match_port_is_listed(rule->port, rule->port_count, question->port))
		return false;
	if (!request)
		return (rule->proto == NET_UDP) == question->udp;
	if (rule->proto == NET_UDP)
		return false;
	return !policy_net_judges_requests(policy, rule, question->host, question->port) ||
	       net_rule_allows_request(rule, question->method, question->path, question->asks_for_websocket);
}

/* Whether the deny rule is about the question's host and port. Without ports it is about all. */
static bool match_net_deny(const struct net_deny *deny, const struct policy_question *question)
{
	return (question->kind == POLICY_QUESTION_CONNECT || question->kind == POLICY_QUESTION_REQUEST) &&
	       net_host_matches(deny->host, question->host) &&
	       (!deny->port_count || match_port_is_listed(deny->port, deny->port_count, question->port));
}

/* Whether the question is of listening at a port in the range. */
static bool match_listen_range(const struct net_listen_range *range, const struct policy_question *question)
{
	return question->kind == POLICY_QUESTION_LISTEN && question->port >= range->first &&
	       question->port <= range->last;
}

/* ---- iterating over all rules ---- */

/* False for rules by which no access is decided: overridden ones, entries of after_read, grants without a tree node. */
static bool match_rule_affects_decisions(const struct rule *rule)
{
	return !rule->is_overridden && !kind_is_after(rule->kind) &&
	       (kind_is_deny(rule->kind) || rule->tree_node_index != PATH_TREE_NO_NODE);
}

/* Numbers all network rules: allowing ones, denying ones, ranges to listen on. Returns false beyond the last. */
static bool match_get_net_rule(const struct policy *policy, const struct policy_question *question, size_t at,
			       struct policy_rule_label *ret_rule)
{
	const struct policy_network *network = &policy->network;

	if (at < network->rule_count) {
		*ret_rule = (struct policy_rule_label){network->rule[at].label,
						       match_net_rule(policy, &network->rule[at], question)};
		return true;
	}
	at -= network->rule_count;
	if (at < network->deny_count) {
		*ret_rule = (struct policy_rule_label){network->deny[at].label,
						       match_net_deny(&network->deny[at], question)};
		return true;
	}
	at -= network->deny_count;
	if (at >= network->listen_range_count)
		return false;
	*ret_rule = (struct policy_rule_label){network->listen_range[at].label,
					       match_listen_range(&network->listen_range[at], question)};
	return true;
}

bool policy_match_next_rule(const struct policy *policy, const struct policy_question *question, size_t *at,
			    struct policy_rule_label *ret_rule)
{
	for (; *at < policy->rule_count; ++*at) {
		const struct rule *rule = &policy->rule[*at];

		if (!match_rule_affects_decisions(rule))
			continue;
		*ret_rule = (struct policy_rule_label){rule->label, match_path_rule(policy, rule, question)};
		++*at;
		return true;
	}
	return match_get_net_rule(policy, question, (*at)++ - policy->rule_count, ret_rule);
}
