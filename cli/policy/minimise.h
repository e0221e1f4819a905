/* callgate policy minimise: what its files share. */
#ifndef CALLGATE_CLI_POLICY_MINIMISE_H
#define CALLGATE_CLI_POLICY_MINIMISE_H

#include <jansson.h>

#include "base/buf.h"
#include "cli/load.h"
#include "cli/policy/used.h"

/* Runs of one program with one workdir: the policy is compiled for these. */
struct minimise_runs {
	struct cli_host host; /* comes first: its `load` finds the others by it */
	int (*load)(void *ctx, const char *name, const char *from, char **ret_text, char **ret_path);
	const struct minimise *all;
	char *program, *workdir; /* owned; NULL: none */
	struct used used;
};

struct minimise {
	struct cli_policy_options policy;
	const char *path;   /* of the policy; main's argv */
	const char *output; /* -o; NULL: stdout */
	bool flatten, allow_damaged;
	json_t *root;       /* the policy as it is by now; owned */
	char *text;         /* the same, for the compiler; owned */
	struct minimise_runs **runs; /* owned */
	size_t count;
	bool listens;       /* a connection within the run was made: rules about ports that listen are not dropped */
	uint64_t denied;    /* accesses that the run was granted, but are denied by the policy as it was */
	size_t dropped, narrowed;
};

/* A rule that may be dropped. */
struct minimise_rule {
	json_t *list;  /* borrowed from root; holds entry */
	json_t *entry;
	const char *key; /* "filesystem.read"; static */
	const char *right; /* key of the list in "filesystem"; NULL: a rule about the network */
};

/* ---- attempt.c ---- */

/* Lets the compiler read the policy from all->text, in place of its file. To be called after cli_host_init. */
void minimise_watch_policy(struct minimise_runs *runs);

typedef int minimise_loss_fn(void *ctx, const struct query *query, const struct query_answer *answer);
/*
 * Compiles root as it is now, and calls `each` (NULL: the first loss ends it) for what it loses. 0: nothing is lost, 1,
 * or -errno: it is no policy.
 */
int minimise_find_losses(struct minimise *all, minimise_loss_fn *each, void *ctx);

/* The entry's path or host; NULL: none. Borrowed. */
const char *minimise_get_text(const json_t *entry);
size_t minimise_find_entry(const struct minimise_rule *rule);
void minimise_print(const char *what, const struct minimise_rule *rule, const char *entry, const char *into);

/* ---- narrow.c ---- */

/* Makes the rule's right or path smaller. 0 or -ENOMEM. */
int minimise_narrow_rule(struct minimise *all, struct minimise_rule *rule);

#endif
