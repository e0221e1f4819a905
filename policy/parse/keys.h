/* Every key a policy may have: the one list behind the parser, its messages and the JSON Schema's test. */
#ifndef CALLGATE_POLICY_PARSE_KEYS_H
#define CALLGATE_POLICY_PARSE_KEYS_H

#include <stdbool.h>
#include <stddef.h>

enum key_type {
	KEY_OBJECT,   /* a section: its members are the rows with this section's name */
	KEY_STRING,
	KEY_PATH,     /* a string: one path */
	KEY_VERSION,  /* the number 1 */
	KEY_BOOL,
	KEY_DURATION, /* "10s", a whole number of seconds, or "none" */
	KEY_SIZE,     /* "1M" or a whole number of bytes */
	KEY_AMOUNT,   /* the same, or "none" */
	KEY_COUNT,    /* a whole number, or "none" */
	KEY_STRINGS,  /* a list of strings */
	KEY_PATHS,    /* a list of strings: paths and globs */
	KEY_OBJECTS,  /* a list of objects: their members are the rows with this section's name and "[]" */
	KEY_TEXTS,    /* an object with any names and strings as values */
	/* an object with paths as names; values are strings or objects (rows of section and name with "{}") */
	KEY_PROVIDES,
	KEY_LAYERS,   /* a list of strings: names of policy/parse/layer-names.h */
	KEY_NETWORK,  /* an object (rows of its name) or "none" */
	KEY_PORTS,    /* a port or a list of ports */
	KEY_LISTEN,   /* a list of ports, "FIRST-LAST" and "*" */
	KEY_ADDRESSES, /* an object with hosts as names; values are addresses or lists of them */
	KEY_PROXY,    /* true, false or "env" */
	KEY_SECRETS,  /* an object with variables as names and objects as values (rows of its name with "{}") */
	KEY_PHASE,    /* an object: its members are rows of the top, those that policy_key_in_phase tells */
	KEY_DEFAULT,  /* words, each a list of its own */
	KEY_PROTO,
	KEY_DNS,
	KEY_LATER,    /* known, but this version does not support it */
	KEY_TYPE_MAX,
};

enum key_id {
	KEY_ID_NONE, /* checked only */
	KEY_ID_NAME,
	KEY_ID_EXTENDS,
	KEY_ID_WORKDIR,
	KEY_ID_READ,
	KEY_ID_WRITE,
	KEY_ID_EXEC,
	KEY_ID_DENY,
	KEY_ID_REDIRECT,
	KEY_ID_PROVIDE,
	KEY_ID_DECOY,
	KEY_ID_EXEC_DENY,
	KEY_ID_ENV_PASS,
	KEY_ID_ENV_SET,
	/* as enum policy_limit */
	KEY_ID_WALL,
	KEY_ID_CPU,
	KEY_ID_MEMORY,
	KEY_ID_PIDS,
	KEY_ID_OPEN_FILES,
	KEY_ID_FILE_SIZE,
	KEY_ID_DISK,
	KEY_ID_STDOUT,
	KEY_ID_STDERR,
	KEY_ID_AUDIT_SIZE,
	KEY_ID_PROCESS_MAX,
	KEY_ID_AUDIT_FILE,
	KEY_ID_AUDIT_ALLOWED,
	KEY_ID_AUDIT_COMPACT,
	KEY_ID_AUDIT_FSTAT,
	KEY_ID_REQUIRE,
	KEY_ID_USER,
	KEY_ID_NETWORK, /* parse-network.c, by type */
	KEY_ID_PHASE_SETUP,
	KEY_ID_PHASE_RUN,
	KEY_ID_NET_EXTENDS,
	KEY_ID_NET_ALLOW,
	KEY_ID_NET_DENY,
	KEY_ID_NET_UPSTREAM_CA,
	KEY_ID_NET_POOL_V4,
	KEY_ID_NET_POOL_V6,
	KEY_ID_MAX,
};

struct policy_key {
	const char *section; /* "" at the top */
	const char *name;
	enum key_type type;
	enum key_id id;
	const char *help;    /* LATER: what it will be */
};

const struct policy_key *policy_keys(size_t *ret_count);

/* The row of section and name, or NULL. */
const struct policy_key *policy_key_find(const char *section, const char *name);

/* Whether a row of the top may be in a phase as well. */
bool policy_key_in_phase(const struct policy_key *key);

/* For DEFAULT, PROTO and DNS: the words it may be, NULL-ended; NULL for all other types. */
const char *const *policy_key_words(enum key_type type);

/* What a value of this type must be, for messages: "a list of paths". */
const char *policy_key_expects(enum key_type type);

#endif
