/* Declarations shared by the source files of `callgate policy minimise`. */
#ifndef CALLGATE_CLI_POLICY_MINIMISE_H
#define CALLGATE_CLI_POLICY_MINIMISE_H

#include <jansson.h>

#include "base/buf.h"
#include "cli/load.h"
#include "cli/policy/used.h"

/* The runs of one program in one workdir. The policy is compiled once for all of them. */
struct minimise_runs {
	/* must be the first member: callbacks of the host cast its address to struct minimise_runs */
	struct cli_host host;
	int (*load)(void *ctx, const char *name, const char *from, char **ret_text, char **ret_path);
	const struct minimise *all;
	char *program, *workdir; /* the runs' program and workdir; owned; NULL: none */
	struct used_accesses used_accesses; /* what the runs were allowed, and the policy still grants */
};

/* The state of `callgate policy minimise`. */
struct minimise {
	struct cli_policy_options policy; /* options with which the policy is loaded */
	const char *policy_path; /* path of the policy, in main's argv */
	const char *output_path; /* value of -o; NULL: stdout */
	bool flatten, allow_damaged;
	json_t *policy_root; /* the policy with all changes so far; owned */
	char *policy_text;         /* text of policy_root for the policy compiler; owned */
	struct minimise_runs **runs; /* array of groups of runs, one for each pair of program and workdir; owned */
	size_t run_group_count;
	bool a_run_connected_to_itself; /* a run connected to itself, so that rules about listening are not dropped */
	uint64_t denied_access_count;   /* accesses that a run was granted but the unchanged policy denies */
	size_t dropped, narrowed;
};

/* A rule that may be dropped. */
struct minimise_rule {
	json_t *list;  /* the list in policy_root that holds the entry; borrowed */
	json_t *entry;
	const char *key; /* key of the list, such as "filesystem.read"; static */
	const char *right; /* key of the list in "filesystem", such as "read"; NULL: a network rule */
};

/* ---- functions of attempt.c ---- */

/*
 * Lets the policy compiler read the policy from all->policy_text instead of its file. To be called after cli_host_init.
 */
void minimise_read_policy_from_memory(struct minimise_runs *runs);

typedef int minimise_loss_fn(void *ctx, const struct query *query, const struct query_answer *answer);
/*
 * Compiles all->policy_root, and calls `each` for each used access that the compiled policy would deny (NULL: stops at
 * the first). Returns 0: there is none; 1: there is one or more; -errno: the policy is invalid.
 */
int minimise_find_lost_accesses(struct minimise *all, minimise_loss_fn *each, void *ctx);

/* The path or host of a rule's entry, borrowed; NULL: none. */
const char *minimise_get_path_or_host_of_entry(const json_t *entry);
size_t minimise_get_index_of_entry(const struct minimise_rule *rule);
void minimise_print_change(const char *what, const struct minimise_rule *rule, const char *entry, const char *into);

/* ---- functions of drop.c ---- */

/* Drops and narrows the rules of all->policy_root. 0; 1: the result would lose accesses; or -errno. */
int minimise_drop_and_narrow_repeatedly(struct minimise *all);

/* ---- functions of narrow.c ---- */

/* Narrows the right or the path of a rule. 0 or -ENOMEM. */
int minimise_narrow_rule(struct minimise *all, struct minimise_rule *rule);

#endif
