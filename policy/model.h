/*
 * The structure of a compiled policy, and the steps that compile it. For policy/ only. load.c calls the steps in the
 * order below; they fill struct policy, which does not change afterwards. paths/decide.c and network/judge.c judge by
 * it, and show.c prints it.
 */
#ifndef CALLGATE_POLICY_MODEL_H
#define CALLGATE_POLICY_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/arena.h"
#include "policy/network/network.h"
#include "policy/parse/load.h"
#include "policy/parse/source.h"
#include "policy/paths/glob.h"
#include "policy/paths/tree.h"
#include "policy/paths/host-paths.h"
#include "policy/policy.h"

/* The place that the path of a rule starts at. */
enum path_base {
	PATH_BASE_ROOT,    /* "/": the path is absolute, the same on the host and in the view */
	PATH_BASE_WORKDIR, /* @workdir: the working directory */
	PATH_BASE_SCRATCH, /* @scratch: the scratch directory, which has no name in the view */
};

/* The path of a rule, with its variables expanded. */
struct expanded_path {
	/* absolute and normalised, in the view (for PATH_BASE_SCRATCH: on the host); may have globs */
	const char *path;
	const char *text_shown_to_user; /* as `callgate show` prints the path: with @workdir and @scratch */
	enum path_base place;
	bool is_of_interpreter; /* the path began with @interpreter */
};

/* A rule about a path, compiled. */
struct rule {
	enum rule_kind kind;
	size_t source_index;       /* index of the file that has the rule; rules of later files override earlier ones */
	bool is_from_profile;      /* the file of the rule is a profile */
	const char *label;   /* name of the rule in records: "data.json: filesystem.read[1] /usr/share" */
	const char *source_location;   /* "file:line: key" for messages */
	const char *because_text; /* why the rule exists, for people; NULL: the policy does not say */
	struct expanded_path expanded_path;
	const char *literal_path; /* the path up to its first glob, canonical, in the view; NULL: it begins with "**" */
	/* index of the tree node of `literal_path`; PATH_TREE_NO_NODE: the rule is not in the tree */
	uint32_t tree_node_index;
	/* for deny rules: `literal_path` with its symbolic links unresolved, if that differs */
	const char *literal_alias;
	/* host path of `literal_path`, canonical; NULL: no such file, so the rule grants nothing */
	const char *host_path;
	const char *pattern; /* the path from its first glob on; NULL: the rule applies to the whole subtree */
	struct glob glob;    /* compiled from pattern */
	struct expanded_path to;  /* RULE_REDIRECT: the target. Other kinds: to.path is NULL */
	const char *file_content; /* RULE_PROVIDE, RULE_DECOY: the content of the file */
	bool is_overridden;  /* a rule of a later file replaces this rule */
	bool hides_name; /* RULE_DENY, made by compile_libraries(): nothing exists at the path (ENOENT) */
	bool is_listed;  /* hides_name: listings have the name all the same */
	bool is_of_observing_policy;      /* the rule was made for an observing policy: parse/observe.c */
	enum policy_on_deny on_deny;
	/* RULE_DENY, RULE_EXEC_DENY: a denial by this rule is a question. One that asks yields to one that does not. */
	bool denial_asks;
	bool decoy_read_ends_run;          /* RULE_DECOY: reading it ends the run */
	unsigned after_entry_index;      /* RULE_AFTER_READ, RULE_AFTER_WRITE: index of the entry */
};

/* An entry of "after_read". Its paths are rules of the kinds RULE_AFTER_READ and RULE_AFTER_WRITE. */
struct policy_after_entry {
	const struct source_after_entry *source_entry;
};

/* What a denial by one rule does to the process. */
struct policy_rule_on_deny {
	const char *label; /* of the rule */
	enum policy_on_deny on_deny;
};

/* A compiled policy. */
struct policy {
	struct arena arena;
	struct policy *judged_policy; /* the judged policy of an observing one; owned; NULL: this policy is enforced */
	/* the same without rules of exec.deny that ask: policy_get_with_asked_execs(); owned; NULL: there are none */
	struct policy *with_asked_execs;
	struct policy_settings settings;
	const char *judge_source_location; /* the position of the "judge" that counts; NULL: there is none */
	const char *workdir_host;          /* canonical host path of the working directory */
	struct rule *rule;
	size_t rule_count;
	struct path_tree tree;
	struct policy_mount *mount; /* an array with room for one mount for each rule */
	size_t mount_count;
	struct policy_link *link;
	size_t link_count;
	struct policy_env *env;
	size_t env_count;
	struct policy_network network;
	struct source_libraries libraries[POLICY_LANGUAGE_MAX]; /* "libraries" of all files together */
	struct policy_host_path *host_path;
	size_t host_path_count;
	struct policy_rule_on_deny *rule_on_deny; /* rules with "on_deny" */
	size_t rule_on_deny_count;
	struct policy_after_entry *after_entry; /* "after_read" */
	size_t after_entry_count;
	uint32_t after_entries_closing_network; /* set of the entries of "after_read" with "network": "none" */
	uint32_t after_entries_closing_writing; /* set of the entries of "after_read" with "write" */
	uint32_t *fired_after_entries;          /* the set of fired entries; NULL: the policy has no entries */
	unsigned phase_bits; /* bits 1 << enum policy_phase: the phases for which some file has rules */
	const char **warning;
	size_t warning_count;
};

/* What the rules say about one path. Made by policy_find_rules(). */
struct path_rules {
	unsigned rights;                     /* POLICY_ rights that are granted */
	const struct rule *grant_rules[3];   /* the rules that grant reading, writing, executing; NULL: none */
	const struct rule *deny_rule;
	const struct rule *exec_deny_rule;
	/* the innermost RULE_PUBLIC, unless a RULE_PRIVATE is at it or below; or NULL */
	const struct rule *public_rule;
	const struct rule
		*private_rule;         /* a RULE_PRIVATE with a glob, or the innermost without a RULE_PUBLIC below it */
	/* the innermost remapped mount that contains the path; NULL: none */
	const struct path_tree_node *innermost_remap;
	uint32_t after_read_entries;  /* entries of after_read that reading the path fires */
	uint32_t after_write_entries; /* entries of after_read whose "write" has the path */
};
struct path_rules policy_find_rules(const struct policy *policy, const char *path, size_t len);

struct json_t;
/* network/show.c: adds "network" and "secrets" to the JSON of policy_make_json. 0; not 0 when out of memory. */
int policy_show_network(struct json_t *root, const struct policy_network *network);

/* ---- the steps of compiling, in their order. When memory runs out, the arena jumps back to load.c ---- */

/* The state of compiling sources to a policy. */
struct compiler {
	struct policy *policy;
	const struct policy_host *host;
	struct policy_errors *errors;
	bool has_failed; /* a message was added to `errors` */
	bool asks_about_execs;    /* set when a rule of exec.deny asks */
	bool permits_asked_execs; /* such rules are left out */
	/* A wrong part of the policy was left out. So nothing is reported as missing: it may be in that part. */
	bool is_incomplete;
};

/* parse/errors.c: adds a warning about something that is valid but probably a mistake. */
__attribute__((format(printf, 2, 3))) void compiler_add_warning(struct compiler *compiler, const char *format, ...);
__attribute__((format(printf, 3, 4))) void compiler_add_error(struct compiler *compiler, const char *source_location,
							  const char *format, ...);
/*
 * paths/host-paths.c: adds a host path of a rule or setting to policy->host_path. Borrows `source_location` and `text`.
 */
void compiler_add_host_path(struct compiler *compiler, enum policy_host_path_kind kind, const char *source_location,
			    const char *text);

/* parse/vars.c: what the path of a rule may contain. */
enum vars_flag {
	VARS_ALLOW_GLOB = 1 << 0,
	VARS_ALLOW_NAME_ANYWHERE = 1 << 1, /* may begin with "**" and "/": a name in any directory */
	VARS_ALLOW_SCRATCH = 1 << 2, /* may begin with @scratch */
	VARS_ALLOW_WORKDIR = 1 << 3, /* may begin with @workdir */
	VARS_ALLOW_INTERPRETER = 1 << 4,    /* may begin with @interpreter, which gives many paths */
};

typedef void vars_visit_expanded_path(struct compiler *compiler, void *ctx, const struct expanded_path *expanded);
/* Expands the variables of a path, and calls `visit` with each result: @interpreter may give several, or none. */
void vars_expand_path(struct compiler *compiler, const struct source_text *text, unsigned flags,
		      vars_visit_expanded_path *visit, void *ctx);
/*
 * Expands the variables of an environment value. Its parts, separated by ":", may begin with @workdir or @interpreter.
 * Returns NULL with a message when that fails.
 */
const char *vars_expand_value(struct compiler *compiler, const struct source_text *text);

/* parse/rules.c: fills policy->rule from all sources. */
void compile_rules(struct compiler *compiler, struct policy_source *const *sources, size_t count);
/* paths/libraries.c: adds a rule for each path that "libraries" hides. */
void compile_libraries(struct compiler *compiler, struct policy_source *const *sources, size_t count);
/* paths/decoy.c: makes plausible but false content for a path. It depends only on the path. In the arena. */
const char *decoy_make_text(struct arena *arena, const char *path);
/* paths/canon.c: sets `literal_path`, `literal_alias`, `host_path` and `pattern` of each rule. */
void compile_rule_paths(struct compiler *compiler);
/*
 * paths/index.c: the host path that a deny rule below the workdir denies, when it differs from the path in the view:
 * another grant may show the same file by that path. NULL otherwise. Borrowed.
 */
const char *rule_get_denied_path(const struct rule *rule);
/* paths/index.c: fills policy->tree, except what depends on mounts. */
void compile_rule_tree(struct compiler *compiler);
/* parse/settings.c: sets which directories stay as they are. */
void compile_workspace(struct compiler *compiler, struct policy_source *const *sources, size_t count);
/* paths/mounts.c: makes the mounts and links of the view, and marks the remapped mounts in the tree. */
void compile_mounts(struct compiler *compiler);
/* paths/remaps.c: sets the rights and aliases of remapped mounts. */
void compile_remaps(struct compiler *compiler);
/* network/compile.c: merges the networks and secrets of all sources. */
void compile_network(struct compiler *compiler, struct policy_source *const *sources, size_t count);
/* network/observe.c: adds every public endpoint to the network of an observing policy. */
void compile_observing_network(struct compiler *compiler);
/* network/agree.c: reports contradictions between rules, secrets and fixed addresses. */
void net_check_contradictions(struct compiler *compiler);
/* network/warn.c: adds warnings about rules that are valid but probably a mistake. */
void net_warn_of_mistakes(struct compiler *compiler);
/* paths/after-rules.c: sets policy->after_entry, before compile_rules. */
void compile_after_entries(struct compiler *compiler, struct policy_source *const *sources, size_t count);
/*
 * paths/after-rules.c: completes the "write" paths of after entries. A path below @scratch has no name in the view: the
 * paths that are redirected to it are added in its place. Warns about "write" paths without effect.
 */
void compile_paths_of_after_entries(struct compiler *compiler);
/* modes.c, after compile_on_deny: refuses after_read together with "ask-file" or "ask". */
void on_deny_check_after_entries(struct compiler *compiler);
/* paths/reads.c, after compile_on_deny: warns of what prevents "judge": "changes". */
void compile_check_kernel_reads(struct compiler *compiler);
/* modes.c: sets policy->mode. */
void compile_on_deny(struct compiler *compiler);
/* parse/settings.c: sets the environment, limits, audit log and user. */
void compile_settings(struct compiler *compiler, struct policy_source *const *sources, size_t count);

#endif
