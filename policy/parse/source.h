/* One policy file as it was written: read by parse.c, composed by load.c. Everything lives in the policy's arena. */
#ifndef CALLGATE_POLICY_PARSE_SOURCE_H
#define CALLGATE_POLICY_PARSE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/arena.h"
#include "policy/network/network.h"
#include "policy/policy.h"

/* Comparing every rule with every other must stay quick. */
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
	RULE_MAX,
};

/* A piece of text with the place it stands at: "file:line: key". */
struct source_text {
	const char *text;
	const char *where;
};

struct source_rule {
	enum rule_kind kind;
	struct source_text path; /* REDIRECT: "from" */
	struct source_text to;   /* REDIRECT: "to"; PROVIDE: the content, or with `to_file` the name of a file */
	bool to_file;
	const char *key;         /* "filesystem.read[1]" */
};

struct source_env {
	struct source_text name;
	struct source_text value; /* text NULL: pass */
	bool literal;             /* from the command line, where the shell replaced variables already */
};

struct source {
	const char *path;  /* for messages */
	const char *label; /* for rule texts: the last component of path */
	const char *name;  /* NULL: not said */
	struct source_text workdir;
	struct source_text audit_file;
	const char *user; /* NULL: not said */
	struct source_text *extends;
	size_t extends_count;
	struct source_text *net_extends; /* network.extends */
	size_t net_extends_count;
	bool profile;                    /* named as one, so not the user's own words */
	bool partial;                    /* of the file only the network is here */
	struct source *phase[POLICY_PHASE_MAX]; /* NULL: says nothing of it */
	struct source_rule *rule;
	size_t rule_count;
	struct source_env *env;
	size_t env_count;
	bool has_audit_allowed, has_audit_compact, has_audit_fstat;
	struct policy_limits limits;
	unsigned limits_given; /* POLICY_LIMIT_BITs */
	uint64_t process_max;
	struct source_text process_max_given; /* where NULL: it was not */
	bool audit_allowed, audit_compact, audit_fstat;
	unsigned required; /* LAYER_BITs */
	struct source_network network;
};

/*
 * Reads a policy's text. Every mistake becomes a message. 0 with a source in the arena, -EINVAL with messages, -ENOMEM.
 * The text is not needed afterwards.
 */
int source_parse(struct arena *arena, const char *path, const char *text, struct policy_errors *errors,
		 struct source **ret_source);

/* The command line as a source named "command line". 0, -EINVAL with messages, -ENOMEM. */
int source_from_cli(struct arena *arena, const struct policy_cli *cli, struct policy_errors *errors,
		    struct source **ret_source);

/* net-cli.c: what the command line says of the network, into its source. 0, -EINVAL with messages, -ENOMEM. */
int source_network_from_cli(struct arena *arena, const struct policy_cli *cli, struct policy_errors *errors,
			    struct source *source);

/* Shared by both: append to the source's lists. NULL when memory ran out. */
struct source_rule *source_add_rule(struct arena *arena, struct source *source, enum rule_kind kind);
struct source_env *source_add_env(struct arena *arena, struct source *source);

/* What is wrong with an environment variable's name, or NULL. `pass` permits a trailing "*". */
const char *source_env_name_error(const char *name, bool pass);

/* Contradictions within one source: a message for each. True when there is none. */
bool source_check(const struct source *source, struct policy_errors *errors);

#endif
