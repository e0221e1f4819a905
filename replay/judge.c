/* Judges questions by a policy and by what its view shows. */
#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "policy/paths/explain.h"
#include "policy/paths/move.h"
#include "policy/paths/shown.h"
#include "policy/paths/tree.h"
#include "policy/paths/host-paths.h"
#include "replay/query.h"
#include "view/fixed.h"

#define JUDGE_LINKS_FOLLOWED_MAX 40 /* as path_resolution(7) */

/* A policy that judges records, and the names that its view shows. */
struct query_judge {
	const struct policy *policy;
	struct arena arena;
	/*
	 * The directories and links that the view shows. has_grant of a node has another meaning than in a policy's
	 * tree: the node is a directory.
	 */
	struct path_tree shown_names;
};

/* ---- the names that the view shows ---- */

/* Adds a name, and marks the directories above it as ones that lead to a shown name. */
static void judge_add_shown_name(struct query_judge *judge, const char *path)
{
	uint32_t at = path_tree_add_path(&judge->shown_names, &judge->arena, arena_dup(&judge->arena, path));

	while (at != PATH_TREE_ROOT) {
		at = judge->shown_names.node[at].parent_index;
		judge->shown_names.node[at].has_grant = true;
	}
}

/*
 * Adds the path of a rule as it was written, whose components may be links (view_add_links_of_path() in view/nodes.c),
 * and the path to which the policy's links lead.
 */
static void judge_add_shown_path_and_target(struct query_judge *judge, const char *written)
{
	char path[PATH_MAX];

	judge_add_shown_name(judge, written);
	if (policy_follow_links(judge->policy, written, path) > 0)
		judge_add_shown_name(judge, path);
}

/* Adds what the view shows: paths of mounts, links and their targets, devices and /proc. */
static void judge_add_names_of_view(struct query_judge *judge)
{
	size_t count;
	const struct policy_mount *mount = policy_get_mounts(judge->policy, &count);
	const struct policy_link *link;

	for (size_t i = 0; i < count; i++)
		judge_add_shown_name(judge, mount[i].virt);
	link = policy_get_links(judge->policy, &count);
	for (size_t i = 0; i < count; i++) {
		judge_add_shown_path_and_target(judge, link[i].path);
		judge_add_shown_name(judge, link[i].target);
	}
	for (const char *const *device = view_fixed_devices; *device; device++)
		judge_add_shown_name(judge, *device);
	for (const struct view_fixed_link *fixed = view_fixed_links; fixed->path; fixed++)
		judge_add_shown_name(judge, fixed->path);
	judge_add_shown_name(judge, "/proc");
}

int query_judge_create(const struct policy *policy, struct query_judge **ret_judge)
{
	struct query_judge *judge = calloc(1, sizeof(*judge));
	jmp_buf no_memory;

	if (!judge)
		return -ENOMEM;
	judge->policy = policy;
	judge->arena.no_memory = &no_memory;
	if (setjmp(no_memory)) {
		query_judge_free(judge);
		return -ENOMEM;
	}
	judge_add_names_of_view(judge);
	judge->arena.no_memory = NULL;
	*ret_judge = judge;
	return 0;
}

void query_judge_free(struct query_judge *judge)
{
	if (!judge)
		return;
	arena_release(&judge->arena);
	free(judge);
}

const struct policy *query_judge_get_policy(const struct query_judge *judge)
{
	return judge->policy;
}

/* Whether a mount, a link or a device of the view is at the path, or below it. */
static bool judge_name_is_shown(const struct query_judge *judge, const char *path)
{
	return path_tree_find_path(&judge->shown_names, path) != NULL;
}

/*
 * Whether the view shows a path as a directory: something is shown below the path, and the path is no link that the
 * policy knows.
 */
static bool judge_name_is_directory(const struct query_judge *judge, const char *path)
{
	const struct path_tree_node *node = path_tree_find_path(&judge->shown_names, path);
	char target[PATH_MAX];

	return node && node->has_grant && !view_is_fixed_link(path) && !query_follow_merged_usr(path, target) &&
	       (policy_follow_links(judge->policy, path, target) <= 0 || strcmp(path, target) == 0);
}

/* ---- one path ---- */

/* Judges a path as view_judge_place() in view/judge.c does, without a view. */
static struct policy_decision judge_path(const struct query_judge *judge, const char *path, size_t len, unsigned want)
{
	struct policy_decision decision;

	if (strncmp(path, "/dev/", 5) == 0 && view_is_fixed_device(path))
		return policy_decide_provided(judge->policy, path, len, want, true);
	decision = policy_decide_access(judge->policy, path, len, want);
	if (decision.verdict != VERDICT_DENY || decision.error != ENOENT)
		return decision;
	if (judge_name_is_shown(judge, path) || policy_may_grant_below(judge->policy, path, len))
		return policy_decide_dir_above_grant(want);
	return decision;
}

/*
 * The length of `written` up to the end of its first component that the canonical path lacks. 0: it lacks none.
 */
static size_t judge_get_len_to_link(const char *written, const struct query_path *path)
{
	size_t same = 0, at = 0;

	while (at < path->len && written[at] && written[at] == path->canonical_path[at])
		if (written[at++] == '/')
			same = at;
	if (!written[at] && (at == path->len || path->canonical_path[at] == '/'))
		return 0; /* `written` is the canonical path or an ancestor of it */
	return same + strcspn(written + same, "/");
}

/* Replaces a link at the start of `path` by its target, if the target is known. True: `path` was changed. */
static bool judge_follow_link(const struct query_judge *judge, char path[PATH_MAX])
{
	char target[PATH_MAX];

	if (policy_follow_links(judge->policy, path, target) > 0 && strcmp(path, target) != 0)
		memcpy(path, target, strlen(target) + 1);
	else if (!query_follow_merged_usr(path, path))
		return false;
	return true;
}

bool query_follow_merged_usr(const char *path, char out[PATH_MAX])
{
	static const char usr[] = "/usr";
	size_t len = strlen(path);

	for (const char *const *link = view_merged_usr; *link; link++)
		if (path_is_below(path, *link) && len + sizeof(usr) <= PATH_MAX) {
			memmove(out + sizeof(usr) - 1, path, len + 1);
			memcpy(out, usr, sizeof(usr) - 1);
			return true;
		}
	return false;
}

/* What judge_find_visible_link() finds out about a link. */
enum link_sight { LINK_HIDDEN, LINK_VISIBLE, LINK_KNOWN };

/*
 * A link that the run followed must be visible under the policy, too. The canonical path has no links, so the link is
 * the first component of the written path that the canonical path does not have (`len`: up to its end), or a later one.
 * LINK_VISIBLE: the policy lets the program read the link. LINK_KNOWN: the link is one of the view's own. LINK_HIDDEN:
 * the view shows none of the names that could be the link.
 */
static enum link_sight judge_find_visible_link(const struct query_judge *judge, const char *written, size_t len,
					       struct policy_decision *ret_decision)
{
	char name[PATH_MAX];

	for (;; len += 1 + strcspn(written + len + 1, "/")) {
		memcpy(name, written, len);
		name[len] = '\0';
		if (written[len] && judge_name_is_directory(judge, name))
			continue;
		if (judge_name_is_shown(judge, name) || view_is_fixed_link(name))
			return LINK_KNOWN;
		*ret_decision = judge_path(judge, name, len, POLICY_READ);
		if (ret_decision->verdict == VERDICT_DENY)
			return LINK_HIDDEN;
		/* "ancestor": a directory, below which the link may be */
		if (strcmp(ret_decision->reason, "ancestor") != 0)
			return LINK_VISIBLE;
		if (!written[len])
			break;
	}
	*ret_decision = policy_make_denial(ENOENT, "not_granted", POLICY_READ);
	return LINK_HIDDEN;
}

/* Whether the path as written goes through a symbolic link that the view does not show; ret_decision then says why. */
static bool judge_link_is_hidden(const struct query_judge *judge, const struct query_path *path,
				 struct policy_decision *ret_decision)
{
	char written[PATH_MAX];
	size_t len;

	if (path->path_as_written_len == 0 || strncmp(path->path_as_written, "/proc/", 6) == 0)
		return false;
	memcpy(written, path->path_as_written, path->path_as_written_len + 1);
	for (unsigned links = 0; links < JUDGE_LINKS_FOLLOWED_MAX && (len = judge_get_len_to_link(written, path)) > 0;
	     links++) {
		enum link_sight sight = judge_find_visible_link(judge, written, len, ret_decision);

		if (sight != LINK_KNOWN || !judge_follow_link(judge, written))
			return sight == LINK_HIDDEN;
	}
	return false;
}

/* Judges reading of the directory that a name is in. */
static struct policy_decision judge_parent_directory(const struct query_judge *judge, const struct query_path *path)
{
	size_t len = (size_t)((const char *)memrchr(path->canonical_path, '/', path->len) - path->canonical_path);

	return policy_decide_access(judge->policy, path->canonical_path, len, POLICY_READ);
}

enum judged { JUDGED_ALLOWED, JUDGED_DENIED, JUDGED_UNKNOWN };

/*
 * Judges a denied path at which the run found no file. Outside of all grants the call fails as it would natively, which
 * is no denial (resolve_fail() in syscalls/file/resolve.c).
 */
static enum judged judge_denial_of_missing_path(const struct query_judge *judge, const struct query *query,
				const struct query_path *path, const struct policy_decision *decision)
{
	/* The file was missing at another path, or it is unknown which of the names was missing. */
	if (query->was_redirected || query->path_count > 1)
		return JUDGED_UNKNOWN;
	if (decision->error == ENOENT || policy_find_mount(judge->policy, path->canonical_path) == NULL)
		return JUDGED_ALLOWED;
	if (judge_parent_directory(judge, path).error == EACCES)
		return JUDGED_DENIED;
	return JUDGED_UNKNOWN; /* some calls look for the file before they ask the rules, others after that */
}

/*
 * Whether the path leads to another object than in the run: only one of the two policies redirects the path. A redirect
 * of a path to the same path does not count.
 */
static bool judge_redirect_differs_from_run(const struct query_judge *judge, const struct query *query,
					    const char *path)
{
	const struct policy_mount *mount = policy_find_mount(judge->policy, path);
	bool redirected = mount && mount->is_redirect && strcmp(mount->virt, mount->host_path) != 0;

	return query->was_allowed && redirected != query->was_redirected;
}

/*
 * Judges a path that the policy denies: a call that failed anyway, by its file's existence or absence, may go the same
 * way.
 */
static enum judged judge_denied_path(const struct query_judge *judge, const struct query *query,
				     const struct query_path *path, const struct policy_decision *decision,
				     const char **ret_why)
{
	*ret_why = "absent";
	/* A file that may be read is found to exist before the call is refused because of a read-only mount. */
	if (query->failed_because_file_exists && decision->error == EROFS)
		return JUDGED_ALLOWED;
	return query->was_found_absent ? judge_denial_of_missing_path(judge, query, path, decision) : JUDGED_DENIED;
}

/* Judges one path of a record under the policy of the replay. *ret_why: why the judgement is JUDGED_UNKNOWN. */
static enum judged judge_path_of_query(const struct query_judge *judge, const struct query *query, size_t at,
				       struct policy_decision *ret_decision, const char **ret_why)
{
	const struct query_path *path = &query->paths[at];

	*ret_why = "elsewhere";
	if (query->is_file_of_callgate && policy_net_is_enabled(judge->policy)) {
		*ret_decision = policy_decide_provided(judge->policy, path->canonical_path, path->len,
						       path->wanted_rights, false);
	} else if (path->path_as_written_len && judge_redirect_differs_from_run(judge, query, path->path_as_written)) {
		ret_decision->verdict = VERDICT_ALLOW;
		return JUDGED_UNKNOWN;
	} else if (!judge_link_is_hidden(judge, path, ret_decision)) {
		*ret_decision = judge_path(judge, path->canonical_path, path->len, path->wanted_rights);
	}
	if (ret_decision->verdict == VERDICT_DENY)
		return judge_denied_path(judge, query, path, ret_decision, ret_why);
	if (at == 0 && judge_redirect_differs_from_run(judge, query, path->canonical_path))
		return JUDGED_UNKNOWN;
	*ret_why = "public";
	if (strcmp(ret_decision->reason, "public") == 0)
		return query->was_read_as_public ? JUDGED_ALLOWED : JUDGED_UNKNOWN;
	return query->is_no_longer_public && strcmp(ret_decision->reason, "ancestor") == 0 ? JUDGED_UNKNOWN
											   : JUDGED_ALLOWED;
}

/* ---- all paths of a call ---- */

/* Marks the answer as one that cannot be known. why: static. */
static void answer_set_unknown(struct query_answer *answer, const char *why)
{
	answer->is_certain = false;
	answer->why = why;
}

/*
 * Adds the verdict on a path or endpoint. One denial makes the whole answer a denial; only rules of its verdict are
 * kept.
 */
static void answer_add_verdict(struct query_answer *answer, bool allow, size_t at, const char *rule, const char *reason)
{
	if (allow != answer->is_allowed) { /* a denial counts more than any grant */
		if (allow)
			return;
		answer->rule_count = 0;
		answer->is_allowed = false;
	}
	if (answer->rule_count == 0) {
		answer->deciding_path_index = at;
		answer->reason = reason;
	}
	answer->rules[answer->rule_count++] = rule;
}

/* Judges the rename of a directory, or the making of a symbolic link, as far as rules decide. */
static void judge_dir_rename_or_symlink(const struct query_judge *judge, const struct query *query,
					struct query_answer *answer)
{
	const char *from = query->paths[0].canonical_path, *to = query->paths[1].canonical_path, *rule;
	struct policy_move move;
	size_t count;
	const struct policy_mount *mount = policy_get_mounts(judge->policy, &count);

	if (query->symlink_target_len && !policy_link_is_allowed(judge->policy, from, query->symlink_target, &rule))
		answer_add_verdict(answer, false, 0, rule, "leads_to_denied");
	if (!query->is_rename || query->path_count < 2 || query->was_found_absent)
		return;
	for (size_t i = 0; i < count; i++)
		if (path_is_below(mount[i].virt, from) || path_is_below(mount[i].virt, to)) {
			answer_set_unknown(answer, "holds_mount");
			return;
		}
	policy_compare_rights(judge->policy, from, to, &move);
	if (move.kind != POLICY_MOVE_RIGHTS_SAME)
		answer_set_unknown(answer, "moved_directory");
}

/* Adds the rule that denies the directory of a path: the run recorded that rule if the name did not exist. */
static void judge_add_parent_rule(const struct query_judge *judge, const struct query_path *path,
				  struct query_answer *answer, size_t at)
{
	struct policy_decision parent = judge_parent_directory(judge, path);

	if (parent.verdict == VERDICT_DENY && parent.error == EACCES)
		answer_add_verdict(answer, false, at, parent.rule, parent.reason);
}

/* Judges the paths of a record. One that is denied makes the whole answer a denial. */
static void judge_paths(const struct query_judge *judge, const struct query *query, struct query_answer *answer)
{
	bool unknown = false;

	for (size_t i = 0; i < query->path_count; i++) {
		struct policy_decision decision;
		const char *why;
		enum judged judged = judge_path_of_query(judge, query, i, &decision, &why);

		unknown |= judged == JUDGED_UNKNOWN;
		if (judged == JUDGED_UNKNOWN)
			answer->why = why;
		else if (judged == JUDGED_ALLOWED && decision.verdict == VERDICT_DENY)
			answer_add_verdict(answer, true, i, query->failed_because_file_exists ? decision.rule : NULL,
					   query->failed_because_file_exists ? "granted" : "absent");
		else
			answer_add_verdict(answer, judged == JUDGED_ALLOWED, i, decision.rule, decision.reason);
		if (judged == JUDGED_DENIED && decision.error == EACCES)
			judge_add_parent_rule(judge, &query->paths[i], answer, i);
	}
	if (answer->is_allowed && unknown)
		answer->is_certain = false;
	else if (answer->is_allowed)
		judge_dir_rename_or_symlink(judge, query, answer);
}

/* ---- the network ---- */

/* Judges a record of the network by the policy of the replay. */
static struct net_verdict judge_endpoint(const struct policy *policy, const struct query *query)
{
	struct net_verdict verdict;

	if (!policy_net_is_enabled(policy))
		return (struct net_verdict){.reason = "network_not_granted"};
	switch (query->kind) {
	case QUERY_LISTEN:
		verdict = policy_net_judge_listen(policy, query->any_port ? 0 : query->port_number);
		if (!verdict.is_allowed && query->any_port)
			verdict = policy_net_judge_listen(policy, query->port_number);
		return verdict;
	case QUERY_HTTP_REQUEST:
		return policy_net_judge_request(policy, query->host_name, query->port_number, query->http_method,
						query->request_path, query->upgrade);
	case QUERY_RESOLVE_NAME:
		return policy_net_judge_name(policy, query->host_name);
	case QUERY_CONNECT:
	case QUERY_RULES_DO_NOT_DECIDE:
	case QUERY_PATHS:
	case QUERY_KIND_MAX:
	default:
		return policy_net_judge_connect(policy, query->host_name, query->port_number, query->uses_udp);
	}
}

void query_judge(const struct query_judge *judge, const struct query *query, struct query_answer *ret_answer)
{
	struct net_verdict verdict;

	*ret_answer = (struct query_answer){.is_certain = true, .is_allowed = true};
	if (query->kind == QUERY_PATHS) {
		judge_paths(judge, query, ret_answer);
		return;
	}
	verdict = judge_endpoint(judge->policy, query);
	answer_add_verdict(ret_answer, verdict.is_allowed, 0, verdict.label, verdict.reason);
}

size_t query_get_object(const struct query *query, size_t at, char *out, size_t cap)
{
	const char *method = query->kind == QUERY_HTTP_REQUEST ? query->http_method : "";
	int len;

	if (query->kind == QUERY_PATHS)
		len = snprintf(out, cap, "%s", query->paths[at].canonical_path);
	else if (query->kind == QUERY_RESOLVE_NAME)
		len = snprintf(out, cap, "%s", query->host_name);
	else
		len = snprintf(out, cap, strchr(query->host_name, ':') ? "%s%s[%s]:%u%s" : "%s%s%s:%u%s", method,
			       *method ? " " : "", query->host_name, query->port_number,
			       query->kind == QUERY_HTTP_REQUEST ? query->request_path
			       : query->uses_udp                 ? "/udp"
								 : "");
	return len < 0 ? 0 : (size_t)len < cap ? (size_t)len : cap - 1;
}
