/* The compiled policy from within: built by the files load.c calls, read by decide.c, show.c, explain.c. */
#ifndef CALLGATE_POLICY_MODEL_H
#define CALLGATE_POLICY_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sha256.h"
#include "policy/arena.h"
#include "policy/network/network.h"
#include "policy/parse/source.h"
#include "policy/paths/glob.h"
#include "policy/paths/tree.h"
#include "policy/paths/ways.h"
#include "policy/policy.h"

/* Where a rule's text begins. */
enum rule_place {
	PLACE_HOST,    /* an absolute path: the same name outside and in the view */
	PLACE_WORKDIR, /* @workdir */
	PLACE_SCRATCH, /* @scratch: has no name in the view */
};

/* A rule text with its variables replaced. */
struct expanded {
	const char *path;  /* absolute and normalised: a name in the view (SCRATCH: a host path); may hold globs */
	const char *shown; /* the same with @workdir and @scratch kept, for `callgate show` */
	enum rule_place place;
	bool interpreter;  /* from @interpreter */
};

struct rule {
	enum rule_kind kind;
	size_t source;       /* which file: later ones override earlier ones */
	bool profile;        /* that file is a profile */
	const char *label;   /* "data.json: filesystem.read[1] /usr/share" */
	const char *where;   /* "file:line: key" for messages */
	struct expanded name;
	/* canonical name in the view of the part without globs; NULL: there is none (leading "**") */
	const char *literal;
	uint32_t node;       /* of literal in the tree; TREE_NONE: it is not there for this rule */
	const char *alias;   /* deny rules: the same part as written, when a symbolic link makes it another name */
	const char *host;    /* canonical host path of the literal part; NULL: nothing there, the rule grants nothing */
	const char *pattern; /* what follows the literal part; NULL: the whole subtree */
	struct glob glob;    /* compiled from pattern */
	struct expanded to;  /* REDIRECT: target; to.path NULL otherwise */
	const char *content; /* PROVIDE, DECOY */
	bool overridden;     /* a later file says something else about this very path */
};

static inline bool rule_is_deny(const struct rule *rule)
{
	return rule->kind == RULE_DENY || rule->kind == RULE_EXEC_DENY;
}

/* True when the policy itself decides what the name shows; false for grants and denies. */
static inline bool rule_is_made(const struct rule *rule)
{
	return rule->kind == RULE_REDIRECT || rule->kind == RULE_PROVIDE || rule->kind == RULE_DECOY;
}

static inline bool rule_is_grant(const struct rule *rule)
{
	return rule->kind == RULE_READ || rule->kind == RULE_WRITE || rule->kind == RULE_EXEC;
}

struct policy {
	struct arena arena;
	const char *name;
	const char *workdir;      /* virtual */
	const char *workdir_host;
	struct rule *rule;
	size_t rule_count, rule_room;
	struct tree tree;
	struct policy_mount *mount; /* has room for one of each rule */
	size_t mount_count;
	struct policy_link *link;
	size_t link_count;
	struct policy_env *env;
	size_t env_count;
	struct policy_limits limits;
	unsigned required; /* LAYER_BITs */
	const char *audit_file;
	const char *user; /* NULL: not said */
	bool audit_allowed, audit_compact, audit_fstat;
	struct policy_network network;
	struct policy_way *way;
	size_t ways;
	unsigned phases; /* 1 << enum policy_phase: those that some file speaks of */
	const char **warning;
	size_t warnings;
	char sha256[SHA256_HEX_SIZE];
};

/* What the rules say about one path; see decide.c. */
struct finding {
	unsigned rights;
	const struct rule *grant[3];   /* the rules that grant READ, WRITE, EXEC */
	const struct rule *deny;
	const struct rule *exec_deny;
	const struct tree_node *remap; /* the innermost remapped mount at or above the path; NULL: none */
};
struct finding policy_find(const struct policy *policy, const char *path, size_t len);

struct json_t;
/* net-show.c: "network" and "secrets" of the effective policy. 0, or not when memory ran out. */
int show_network(struct json_t *root, const struct policy_network *network);

/* ---- compiling: one step each, in this order ---- */

struct compiler {
	struct policy *policy;
	const struct policy_host *host;
	struct policy_errors *errors;
	bool failed;    /* a message was due */
	bool no_memory;
};

__attribute__((format(printf, 3, 4))) void compiler_fail(struct compiler *compiler, const char *where,
							  const char *format, ...);
/* The text in the policy's arena, NULL when memory ran out (remembered in the compiler). */
const char *compiler_keep(struct compiler *compiler, const char *text);

/* ways.c: remembers a host path that a rule or setting names. `where` and `text` (NULL: no memory) are borrowed. */
void compiler_add_way(struct compiler *compiler, enum policy_way_kind kind, const char *where, const char *text);

/* vars.c: what a path rule may hold. */
enum vars_flag {
	VARS_GLOB = 1 << 0,
	VARS_DEEP = 1 << 1,    /* may begin with "**" and a slash */
	VARS_SCRATCH = 1 << 2, /* may begin with @scratch */
	VARS_WORKDIR = 1 << 3, /* may begin with @workdir */
	VARS_MANY = 1 << 4,    /* may begin with @interpreter */
};

/* Replaces variables. Calls take for each path the text stands for; messages for what is wrong. */
void vars_expand(struct compiler *compiler, const struct source_text *text, unsigned flags,
		 void (*take)(struct compiler *compiler, void *ctx, const struct expanded *expanded), void *ctx);
/* Replaces variables in an environment value: parts between ":" may begin with @workdir or @interpreter. */
const char *vars_value(struct compiler *compiler, const struct source_text *text);

/* rules.c: sources to rules with expanded names. */
void compile_rules(struct compiler *compiler, struct source *const *sources, size_t count);
/* canon.c: literal, alias, host and pattern of each rule. */
void compile_names(struct compiler *compiler);
/*
 * index.c: the host's name of what a deny rule below the workdir means, when it is not its name in the view: another
 * grant may show the workdir by that name, too. NULL: there is none. Borrows.
 */
const char *rule_outside(const struct rule *rule);
/* index.c: the tree of names, before mounts. */
void compile_index(struct compiler *compiler);
/* mounts.c: mounts and links; marks the remapped mounts in the tree. */
void compile_mounts(struct compiler *compiler);
/* remaps.c: rights and aliases of remapped mounts. */
void compile_remaps(struct compiler *compiler);
/* net-compile.c: the network and its secrets. */
void compile_network(struct compiler *compiler, struct source *const *sources, size_t count);
/* settings.c: environment, limits, audit. */
void compile_settings(struct compiler *compiler, struct source *const *sources, size_t count);

#endif
