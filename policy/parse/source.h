/*
 * The content of one policy file or of the command line, before composing: variables are not expanded, paths are not
 * resolved. parse.c and source.c make sources, load.c composes them. Everything is in the arena of the policy.
 */
#ifndef CALLGATE_POLICY_PARSE_SOURCE_H
#define CALLGATE_POLICY_PARSE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/arena.h"
#include "policy/network/network.h"
#include "policy/parse/load.h"
#include "policy/policy.h"

/* Rules of one file. All pairs of rules are compared, so the number is limited. */
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
	RULE_PUBLIC,  /* grants what everybody on the host may read */
	RULE_PRIVATE, /* takes a path out of RULE_PUBLIC; other grants still apply */
	RULE_AFTER_READ,  /* after_read[].paths: reading a match fires the entry */
	RULE_AFTER_WRITE, /* after_read[].then.write: what may still be written afterwards */
	RULE_MAX,
};

/* True for rules of after_read, which neither grant nor deny anything before their entry has fired. */
static inline bool kind_is_after(enum rule_kind kind)
{
	return kind == RULE_AFTER_READ || kind == RULE_AFTER_WRITE;
}

/* True for rules that grant nothing. They apply at and below every match, even if nothing exists there yet. */
static inline bool kind_is_deny(enum rule_kind kind)
{
	return kind == RULE_DENY || kind == RULE_EXEC_DENY || kind == RULE_PRIVATE || kind_is_after(kind);
}

/* True for substitutes: the policy itself decides what the path shows. False for grants and denies. */
static inline bool kind_is_substitute(enum rule_kind kind)
{
	return kind == RULE_REDIRECT || kind == RULE_PROVIDE || kind == RULE_DECOY;
}

/* Whether rules of this kind grant something at their path. */
static inline bool kind_is_grant(enum rule_kind kind)
{
	return kind == RULE_READ || kind == RULE_WRITE || kind == RULE_EXEC || kind == RULE_PUBLIC;
}

/* A text of a policy, and its position for messages: "file:line: key". */
struct source_text {
	const char *text;
	const char *source_location;
};

/* An entry of "after_read"; its paths are among the rules. */
struct source_after_entry {
	const char *label; /* name of the entry in records: "data.json: after_read[0]" */
	const char *source_location;
	const char *because_text; /* why the entry exists, for people; NULL: not said */
	bool closes_network; /* "network": "none" */
	bool closes_writing;   /* has "write" */
	bool is_disabled;      /* has "disabled": only checked for mistakes */
};

/* A rule about paths, as the source has it. */
struct source_rule {
	enum rule_kind kind;
	const struct source_after_entry *after_entry; /* for a rule of after_read: the entry that has the rule */
	struct source_text path; /* the path of the rule; of a redirect: "from" */
	struct source_text to;   /* redirect: "to"; provide: content, or a name for policy_host.load */
	bool has_provided_file;  /* provide: `to` is a name for policy_host.load */
	/* contradicts an earlier rule of the file, or is of a disabled entry of after_read */
	bool is_excluded_from_policy;
	const char *key;         /* "filesystem.read[1]" */
	const char *because_text;     /* why the rule exists, for people; NULL: the policy does not say */
	enum policy_on_deny on_deny;
	bool decoy_read_ends_run; /* a decoy: reading it ends the run */
};

/* A variable that the source passes on or sets. */
struct source_env_variable {
	struct source_text name;
	struct source_text value; /* the value; when its text is NULL, the user's value is passed on */
	bool is_expanded;             /* from the command line: the shell has already expanded variables */
};

enum source_flag { FLAG_UNSAID, FLAG_OFF, FLAG_ON };

/* A list of "libraries". */
struct source_libraries {
	const char *source_location; /* for messages; NULL: there is no such list */
	const char **name;
	size_t count;
};

/* A source of a policy, as parsed: a file, one of its phases, or the command line. */
struct policy_source {
	const char *path;  /* path of the file, for messages */
	const char *label; /* name of the file in records: the last component of path */
	const char *name;  /* NULL: not set */
	struct source_text workdir;
	struct source_text audit_file;
	const char *user; /* NULL: not set */
	enum policy_on_deny on_deny;
	/* the "on_deny" of this file, or else of the last file before it; ON_DENY_UNSET: none has it. Set by load.c */
	enum policy_on_deny on_deny_so_far;
	enum policy_judge judge;
	enum policy_workspace workspace;
	struct source_text *workspace_dir; /* workspace.directories */
	size_t workspace_dir_count;
	const char *judge_source_location; /* the position of "judge", for messages; NULL: not set */
	struct source_text *extends;
	size_t extends_count;
	struct source_text *net_extends; /* network.extends */
	size_t net_extends_count;
	bool is_profile;                        /* a profile, not a file of the user */
	bool is_observing;                      /* made by source_make_for_observing() */
	bool is_network_only;                        /* loaded for network.extends: only the network counts */
	struct policy_source *phase[POLICY_PHASE_MAX]; /* the sources of "phases"; NULL: no such member */
	struct source_rule *rule;
	size_t rule_count;
	struct source_after_entry **after_entry;
	size_t after_entry_count;
	struct source_env_variable *env;
	size_t env_count;
	struct policy_limits limits;
	unsigned given_limits_mask; /* POLICY_LIMIT_BITs */
	/* the values of audit.allowed, audit.compact, audit.fstat and process.unix_datagrams */
	enum source_flag flag[4];
	unsigned required_layers; /* LAYER_BITs */
	uint32_t refused_findings, warned_findings; /* "inspect": INSPECT_BITs of policy/findings.h */
	struct source_text *modules;                /* "inspect.modules" */
	size_t module_count;
	struct source_libraries libraries[POLICY_LANGUAGE_MAX];
	struct policy_network network;
};

/*
 * Parses the text of a policy to a source in the arena, which does not refer to the text afterwards. False with a
 * message for each mistake: the source then has the valid parts, so that later steps can report mistakes in them, too.
 * Not thread-safe: see parse_malloc.
 */
bool source_parse(struct arena *arena, const char *path, const char *text, struct policy_errors *errors,
		  struct policy_source **ret_source);

/* Makes a source named "command line" from options. False with a message for each mistake. */
bool source_make_from_cli(struct arena *arena, const struct policy_cli *cli, struct policy_errors *errors,
		     struct policy_source **ret_source);

/* In parse/observe.c: makes the source with the rules of an observing policy, which comes after all others. */
struct policy_source *source_make_for_observing(struct arena *arena, const struct policy_observe *observe, bool home);

/* In network/cli.c: adds the network rules and secrets of the command line to a source. 0, or -EINVAL with messages. */
int source_add_network_from_cli(struct arena *arena, const struct policy_cli *cli, struct policy_errors *errors,
			    struct policy_source *source);

/* Append an empty rule or variable to a source, and return it for the caller to fill. */
struct source_rule *source_add_rule(struct arena *arena, struct policy_source *source, enum rule_kind kind);
struct source_env_variable *source_add_env(struct arena *arena, struct policy_source *source);

/* The "on_deny" of the policy that the sources make: that of the last one with it. */
enum policy_on_deny source_find_on_deny(struct policy_source *const *sources, size_t count);
/*
 * The mode of the rules of "deny" of a source that have no "on_deny". ON_DENY_UNSET: that of the policy. A later source
 * cannot make them ask: an answer would beat what the earlier one denies.
 */
enum policy_on_deny source_find_on_deny_of_denies(const struct policy_source *source, enum policy_on_deny of_policy);

/* Checks the name of a variable; `pass` allows a trailing "*". Returns the end of a message, static; NULL: valid. */
const char *source_find_env_name_error(const char *name, bool pass);

/* False, with messages, when two rules or variables of a source contradict each other. The later rule is left out. */
bool source_check_contradictions(struct policy_source *source, struct policy_errors *errors);

#endif
