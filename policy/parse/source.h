/*
 * The content of one policy file or of the command line, before composing: variables are not expanded, paths are not
 * resolved. parse.c and source.c make it, load.c composes several. Everything is in the policy's arena.
 */
#ifndef CALLGATE_POLICY_PARSE_SOURCE_H
#define CALLGATE_POLICY_PARSE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/arena.h"
#include "policy/network/network.h"
#include "policy/policy.h"

/* Per file: rules are compared in pairs. */
#define SOURCE_RULES_MAX 4096

enum rule_kind {
	RULE_READ,
	RULE_WRITE,
	RULE_EXEC,
	RULE_DENY,
	RULE_REDIRECT,
	RULE_PROVIDE,
	RULE_DECOY,
	RULE_EXEC_DENY,
	RULE_PUBLIC,  /* a grant of what everybody on the host may read */
	RULE_PRIVATE, /* excepted from RULE_PUBLIC; other grants apply */
	RULE_MAX,
};

/* Takes rights away at and below every match, also where nothing exists yet. */
static inline bool kind_is_deny(enum rule_kind kind)
{
	return kind == RULE_DENY || kind == RULE_EXEC_DENY || kind == RULE_PRIVATE;
}

/* True when the policy itself decides what the name shows; false for grants and denies. */
static inline bool kind_is_made(enum rule_kind kind)
{
	return kind == RULE_REDIRECT || kind == RULE_PROVIDE || kind == RULE_DECOY;
}

static inline bool kind_is_grant(enum rule_kind kind)
{
	return kind == RULE_READ || kind == RULE_WRITE || kind == RULE_EXEC || kind == RULE_PUBLIC;
}

/* A text and its position for messages: "file:line: key". */
struct source_text {
	const char *text;
	const char *where;
};

struct source_rule {
	enum rule_kind kind;
	struct source_text path; /* REDIRECT: "from" */
	struct source_text to;   /* REDIRECT: "to"; PROVIDE: content or, with `to_file`, a name for policy_host.load */
	bool to_file;
	const char *key;         /* "filesystem.read[1]" */
	const char *because;     /* why the rule is there, for people; NULL: not said */
};

struct source_env {
	struct source_text name;
	struct source_text value; /* text NULL: pass the user's value */
	bool literal;             /* of the command line: the shell has expanded variables */
};

enum source_flag { FLAG_UNSAID, FLAG_OFF, FLAG_ON };

struct source {
	const char *path;  /* for messages */
	const char *label; /* of its rules in records: the last component of path */
	const char *name;  /* NULL: not set */
	struct source_text workdir;
	struct source_text audit_file;
	const char *user; /* NULL: not set */
	struct source_text *extends;
	size_t extends_count;
	struct source_text *net_extends; /* network.extends */
	size_t net_extends_count;
	bool profile;                    /* a profile, not a file of the user */
	bool partial;                    /* loaded for network.extends: only the network is kept */
	struct source *phase[POLICY_PHASE_MAX]; /* members of "phases"; NULL: not there */
	struct source_rule *rule;
	size_t rule_count;
	struct source_env *env;
	size_t env_count;
	struct policy_limits limits;
	unsigned limits_given; /* POLICY_LIMIT_BITs */
	enum source_flag audit[3]; /* audit.allowed, compact, fstat */
	unsigned required; /* LAYER_BITs */
	struct policy_network network;
};

/*
 * Parses a policy's text, which is not needed afterwards. 0 with a source in the arena, -EINVAL with a message for each
 * error. Not thread-safe: see parse_malloc.
 */
int source_parse(struct arena *arena, const char *path, const char *text, struct policy_errors *errors,
		 struct source **ret_source);

/* As source_parse, for the command line, as a source named "command line". */
int source_from_cli(struct arena *arena, const struct policy_cli *cli, struct policy_errors *errors,
		    struct source **ret_source);

/* network/cli.c: adds the command line's network rules and secrets. 0, or -EINVAL with messages. */
int source_network_from_cli(struct arena *arena, const struct policy_cli *cli, struct policy_errors *errors,
			    struct source *source);

/* Append to the source's lists. */
struct source_rule *source_add_rule(struct arena *arena, struct source *source, enum rule_kind kind);
struct source_env *source_add_env(struct arena *arena, struct source *source);

/* A message about an environment variable's name, static; NULL: it is correct. `pass`: a trailing "*" is allowed. */
const char *source_find_env_name_error(const char *name, bool pass);

/* False, with messages, when rules or variables of one source contradict each other. */
bool source_check_contradictions(const struct source *source, struct policy_errors *errors);

#endif
