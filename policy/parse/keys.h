/* The table of all keys of a policy: for the parser, its messages, and the test that schema.json is complete. */
#ifndef CALLGATE_POLICY_PARSE_KEYS_H
#define CALLGATE_POLICY_PARSE_KEYS_H

#include <stdbool.h>
#include <stddef.h>

enum key_type {
	KEY_OBJECT,         /* a section; its members are the rows of section NAME (below the top: SECTION.NAME) */
	KEY_STRING,         /* any string */
	KEY_PATH,           /* a string that is one path */
	KEY_FORMAT_VERSION, /* the number 1 */
	KEY_BOOL,           /* true or false */
	KEY_DURATION,       /* "10s", a whole number of seconds, or "none" */
	KEY_SIZE,           /* "1M" or a whole number of bytes */
	KEY_SIZE_OR_NONE,   /* a size as for KEY_SIZE, or "none" */
	KEY_NUMBER_OR_NONE, /* a whole number, or "none" */
	KEY_NUMBER,         /* a whole number from 0 */
	KEY_STRING_LIST,    /* a list of strings */
	KEY_PATH_LIST,      /* a list of paths and globs: strings, or objects with the rows of section "paths[]" */
	/* NAME below is the key's own name, and a section is what the table of keys lists under such a name. */
	KEY_OBJECT_LIST,     /* a list of objects, whose keys are those of section "NAME[]" */
	KEY_STRINGS_BY_NAME, /* an object of strings, with any names */
	/* an object: its names are paths, its values strings or objects with the keys of section "NAME{}" */
	KEY_FILES_BY_PATH,
	KEY_LAYER_LIST,        /* a list of names of sandbox layers: layer-names.h */
	KEY_FINDING_LIST,      /* a list of kinds and levels of policy/findings.h */
	KEY_NETWORK_OR_NONE,   /* an object as for KEY_OBJECT, or the string "none" */
	KEY_PORT_OR_PORT_LIST, /* a port or a list of ports */
	KEY_PORT_RANGE_LIST,   /* a list of ports, "FIRST-LAST" and "*" */
	KEY_ADDRESSES_BY_HOST, /* an object with hosts as names; values are addresses or lists of them */
	KEY_BOOL_OR_ENV,       /* true, false or "env" */
	/* an object: its names are variables, its values objects with the keys of section "NAME{}" */
	KEY_SECRETS_BY_NAME,
	KEY_PHASE_OBJECT, /* an object with those top keys for which policy_key_may_be_in_phase is true */
	/*
	 * KEY_NETWORK_DEFAULT_WORD, KEY_PROTOCOL_WORD, KEY_DNS_ANSWER_WORD, KEY_WORD_NONE, KEY_JUDGE_WORD,
	 * KEY_WORKSPACE_WORD: a word of policy_key_type_get_words
	 */
	KEY_NETWORK_DEFAULT_WORD,
	KEY_PROTOCOL_WORD,
	KEY_DNS_ANSWER_WORD,
	/* KEY_ON_DENY_WORD, KEY_ON_DENY_WORD_OF_NETWORK and KEY_ON_READ_WORD: a word for what happens to the process */
	KEY_ON_DENY_WORD,
	KEY_ON_DENY_WORD_OF_NETWORK, /* without "ask-file": only an approver is asked about the network */
	KEY_ON_READ_WORD,
	KEY_WORD_NONE,      /* "none" */
	KEY_JUDGE_WORD,     /* "all" or "changes" */
	KEY_WORKSPACE_WORD, /* "direct" or "cow" */
	KEY_TYPE_MAX,
};

/* clang-format off */
enum key_id {
	/* The parser checks the type of the value, and does no more: the value is not used, or read in another way. */
	KEY_ID_NONE,
	KEY_ID_COMMENT, /* a comment: a list of texts, which are checked and not used */
	KEY_ID_ON_DENY, KEY_ID_JUDGE,
	KEY_ID_NAME, KEY_ID_EXTENDS, KEY_ID_WORKDIR, KEY_ID_USER, KEY_ID_REQUIRE,
	/* rules of "filesystem", in the order of enum rule_kind */
	KEY_ID_READ, KEY_ID_WRITE, KEY_ID_EXEC, KEY_ID_DENY, KEY_ID_REDIRECT, KEY_ID_PROVIDE, KEY_ID_DECOY,
	KEY_ID_EXEC_DENY, KEY_ID_PUBLIC, KEY_ID_PRIVATE, KEY_ID_AFTER_READ, KEY_ID_AFTER_WRITE,
	KEY_ID_ASK, KEY_ID_EXEC_ASK, KEY_ID_NET_ASK, /* rules of "deny" with "on_deny": "ask" */
	KEY_ID_AFTER, KEY_ID_AFTER_NETWORK, /* an entry of "after_read"; its "network" */
	KEY_ID_ENV_PASS, KEY_ID_ENV_SET,
	KEY_ID_LIMIT, /* the limit that has the name of the key */
	KEY_ID_PROCESS_MAX,
	KEY_ID_AUDIT_FILE, KEY_ID_AUDIT_ALLOWED, KEY_ID_AUDIT_COMPACT, KEY_ID_AUDIT_FSTAT,
	KEY_ID_PROCESS_DATAGRAMS, /* index in policy_source.flag: this id minus KEY_ID_AUDIT_ALLOWED */
	KEY_ID_PHASE_SETUP, KEY_ID_PHASE_RUN,
	KEY_ID_INSPECT_REFUSE, KEY_ID_INSPECT_WARN, KEY_ID_INSPECT_MODULES,
	KEY_ID_WORKSPACE_MODE, KEY_ID_WORKSPACE_DIRECTORIES,
	KEY_ID_LIBRARIES_PYTHON, KEY_ID_LIBRARIES_NODE, /* in the order of enum policy_language */
	KEY_ID_NET_EXTENDS, KEY_ID_NET_ALLOW, KEY_ID_NET_DENY, KEY_ID_NET_UPSTREAM_CA, KEY_ID_NET_POOL_V4,
	KEY_ID_NET_POOL_V6,
	KEY_ID_MAX,
};
/* clang-format on */

struct policy_key {
	const char *section; /* the section of the key; "": the top of the file */
	const char *name;
	enum key_type type;
	enum key_id id;
	const char *help;    /* explains the key in one line */
};

const struct policy_key *policy_key_get_all(size_t *ret_count);

/* Finds the row of a key in a section, or returns NULL. */
const struct policy_key *policy_key_find(const char *section, const char *name);

/* True for a top key that is also allowed in a phase. */
bool policy_key_may_be_in_phase(const struct policy_key *key);

/* The words of a type from KEY_NETWORK_DEFAULT_WORD to KEY_WORKSPACE_WORD, NULL-ended. Else NULL. */
const char *const *policy_key_type_get_words(enum key_type type);

/* Describes the values of a type, for messages: "a list of paths". */
const char *policy_key_type_describe_value(enum key_type type);

#endif
