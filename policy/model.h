/*
 * The compiled policy and the compiler, for policy/ only. load.c calls the steps of compiling in the order below; they
 * fill struct policy, which is not modified afterwards. Judging (paths/decide.c, network/judge.c) and show.c read it.
 */
#ifndef CALLGATE_POLICY_MODEL_H
#define CALLGATE_POLICY_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/arena.h"
#include "policy/network/network.h"
#include "policy/parse/source.h"
#include "policy/paths/glob.h"
#include "policy/paths/tree.h"
#include "policy/paths/ways.h"
#include "policy/policy.h"

/* What a rule's path is relative to. */
enum rule_place {
	PLACE_HOST,    /* nothing: an absolute path, the same on the host and in the view */
	PLACE_WORKDIR, /* @workdir */
	PLACE_SCRATCH, /* @scratch, which has no name in the view */
};

/* A rule's path with its variables expanded. */
struct expanded {
	const char *path;  /* absolute and normalised: in the view (SCRATCH: on the host); may have globs */
	const char *shown; /* for `callgate show`: the path, but with @workdir and @scratch */
	enum rule_place place;
	bool interpreter;  /* from @interpreter */
};

struct rule {
	enum rule_kind kind;
	size_t source;       /* number of its file: later ones override earlier ones */
	bool profile;        /* the file is a profile */
	const char *label;   /* "data.json: filesystem.read[1] /usr/share" */
	const char *where;   /* "file:line: key" for messages */
	const char *because; /* why the rule is there, for people; NULL: not said */
	struct expanded name;
	const char *literal; /* canonical path in the view up to the first glob; NULL: a leading "**" */
	uint32_t node;       /* of literal in the tree; TREE_NONE: this rule is not in the tree */
	const char *alias;   /* deny rules: literal before symbolic links were resolved, when that differs */
	const char *host;    /* canonical host path of literal; NULL: no such file, so the rule grants nothing */
	const char *pattern; /* the rest of the path, a glob; NULL: the whole subtree */
	struct glob glob;    /* compiled from pattern */
	struct expanded to;  /* REDIRECT: target; to.path NULL otherwise */
	const char *content; /* PROVIDE, DECOY */
	bool overridden;     /* a rule of a later file replaces this one */
};

struct policy {
	struct arena arena;
	struct policy_settings settings;
	const char *workdir_host;
	struct rule *rule;
	size_t rule_count;
	struct tree tree;
	struct policy_mount *mount; /* allocated with one item for each rule */
	size_t mount_count;
	struct policy_link *link;
	size_t link_count;
	struct policy_env *env;
	size_t env_count;
	struct policy_network network;
	struct policy_way *way;
	size_t ways;
	unsigned phases; /* 1 << enum policy_phase: those that some file has rules for */
	const char **warning;
	size_t warnings;
};

/* What the rules say about one path; see decide.c. */
struct finding {
	unsigned rights;
	const struct rule *grant[3];   /* the rules that grant READ, WRITE, EXEC */
	const struct rule *deny;
	const struct rule *exec_deny;
	const struct rule *publish;    /* the innermost RULE_PUBLIC; NULL: none, or a RULE_PRIVATE is at it or below */
	const struct rule *withhold;   /* the innermost RULE_PRIVATE, unless publish is below it */
	const struct tree_node *remap; /* the innermost remapped mount at or above the path; NULL: none */
};
struct finding policy_find_rules(const struct policy *policy, const char *path, size_t len);

struct json_t;
/* network/show.c: adds "network" and "secrets" to policy_make_json's JSON. 0; not 0: no memory. */
int policy_show_network(struct json_t *root, const struct policy_network *network);

/* ---- compiling: one step each, in this order. When memory runs out, the arena jumps back to load.c ---- */

struct compiler {
	struct policy *policy;
	const struct policy_host *host;
	struct policy_errors *errors;
	bool failed; /* there was an error */
};

__attribute__((format(printf, 3, 4))) void compiler_add_error(struct compiler *compiler, const char *where,
							  const char *format, ...);
/* paths/ways.c: adds a host path of a rule or setting to policy->way. Borrows `where` and `text`. */
void compiler_add_host_path(struct compiler *compiler, enum policy_way_kind kind, const char *where, const char *text);

/* parse/vars.c: what is allowed in a path. */
enum vars_flag {
	VARS_GLOB = 1 << 0,
	VARS_DEEP = 1 << 1,    /* may begin with "**" and "/" */
	VARS_SCRATCH = 1 << 2, /* may begin with @scratch */
	VARS_WORKDIR = 1 << 3, /* may begin with @workdir */
	VARS_MANY = 1 << 4,    /* may begin with @interpreter */
};

typedef void vars_take(struct compiler *compiler, void *ctx, const struct expanded *expanded);
/* Expands the variables of a path. Calls take for each resulting path: @interpreter may give several, or none. */
void vars_expand_path(struct compiler *compiler, const struct source_text *text, unsigned flags, vars_take *take,
		      void *ctx);
/*
 * Expands the variables of an environment value: parts between ":" may begin with @workdir or @interpreter. NULL with
 * a message.
 */
const char *vars_expand_value(struct compiler *compiler, const struct source_text *text);

/* parse/rules.c: policy->rule from all sources. */
void compile_rules(struct compiler *compiler, struct source *const *sources, size_t count);
/* paths/decoy.c: plausible but false content for a path, chosen by its last component; deterministic. In the arena. */
const char *decoy_make_text(struct arena *arena, const char *path);
/* paths/canon.c: literal, alias, host and pattern of each rule. */
void compile_rule_paths(struct compiler *compiler);
/*
 * paths/index.c: the host path of what a deny rule below the workdir denies, when it differs from the path in the view:
 * another grant may show it there, too. Else NULL. Borrowed.
 */
const char *rule_get_other_path(const struct rule *rule);
/* paths/index.c: policy->tree, without mounts. */
void compile_index(struct compiler *compiler);
/* paths/mounts.c: mounts and links; marks the remapped mounts in the tree. */
void compile_mounts(struct compiler *compiler);
/* paths/remaps.c: rights and aliases of remapped mounts. */
void compile_remaps(struct compiler *compiler);
/* network/compile.c: the network and its secrets. */
void compile_network(struct compiler *compiler, struct source *const *sources, size_t count);
/* network/agree.c: reports contradictions between rules, secrets and fixed addresses. */
void net_check_agreement(struct compiler *compiler);
/* network/warn.c: warns about what is valid and probably a mistake. */
void net_warn_of_mistakes(struct compiler *compiler);
/* parse/settings.c: environment, limits, audit log, user. */
void compile_settings(struct compiler *compiler, struct source *const *sources, size_t count);

#endif
