/*
 * The state of parsing one policy file, and what the files that read its values share: the position in the text,
 * messages with that position, copies in the arena of the policy. parse.c reads each value by its row in keys.c;
 * lists.c, network.c, net-rule.c and secrets.c read values of some types. Most functions return nothing, because struct
 * parser remembers that one failed. When memory runs out, the arena jumps back to load.c.
 */
#ifndef CALLGATE_POLICY_PARSE_PARSER_H
#define CALLGATE_POLICY_PARSE_PARSER_H

#include <jansson.h>
#include <stdbool.h>

#include "policy/parse/errors.h"
#include "policy/parse/keys.h"
#include "policy/parse/locate.h"
#include "policy/parse/source.h"

/* Bytes of the longest key in a message, with its NUL. */
#define PARSER_KEY_PATH_SIZE 512

struct parser;
/* Reads a value of one type. parse.c has checked whether it is an object, an array or a boolean, as the type wants. */
typedef void parser_reader(struct parser *parser, const struct policy_key *key, const json_t *value);

/* The parsing of one policy file. */
struct parser {
	struct arena *arena;
	const char *file_text; /* the text of the whole file */
	struct policy_errors *errors;
	struct policy_source *source; /* the source that is being filled */
	struct json_path at; /* position of the current value */
	struct json_last_line_search last_search;
	parser_reader *read_value; /* parse.c sets it; parser_read_members calls it for each member */
	struct source_after_entry *after_entry; /* the entry of "after_read" that is being read; NULL: none */
	bool is_in_phase;           /* the source is one of "phases" */
	bool has_too_many_rules;    /* the source has more than SOURCE_RULES_MAX rules, and a message says so */
	bool has_failed;            /* there was an error, even if `errors` was full and has no message */
};

/* A member of an object, or an item of an array. */
struct parser_item {
	const char *name; /* name of the member; NULL: an item of an array */
	size_t index;     /* index in the object or array */
	const json_t *value;
	void *iter;       /* iterator of jansson */
};

/* Iterates over an object or array; the position of the parser follows. Do not leave the loop by break or return. */
#define PARSER_FOR_EACH_ITEM(parser, container, item) \
	for (struct parser_item item = {0}; parser_next_item((parser), (container), &(item));)
bool parser_next_item(struct parser *parser, const json_t *container, struct parser_item *item);

/* Moves the position to a member of the current object; parser_leave_member moves it back. The member or NULL. */
const json_t *parser_enter_member(struct parser *parser, const json_t *object, const char *name);
void parser_leave_member(struct parser *parser);

/* Add a message about the current value. */
__attribute__((format(printf, 2, 3))) void parser_fail(struct parser *parser, const char *format, ...);
/* Adds the message "TEXT" WHY. A long text is cut, so that the reason fits in the message. */
void parser_fail_text(struct parser *parser, const char *text, const char *why);
void parser_fail_type(struct parser *parser, enum key_type type, const json_t *value);

/* Copies a text to the arena, together with its position. */
struct source_text parser_keep_text(struct parser *parser, const char *text);
/* Returns the key of the current value in the form of messages. In the arena. */
const char *parser_copy_key_for_message(struct parser *parser);
/* Makes "data.json: network.allow[0] api.github.com:443"; `detail` is what follows the key, or NULL. In the arena. */
const char *parser_make_rule_label(struct parser *parser, const char *detail);

/* Returns the text of a string or of an integer (printed into `number`); NULL, without a message, for other types. */
const char *parser_get_amount_text(const json_t *value, char number[32]);
/* Returns a string that must not be empty, or NULL with a message. Borrowed from value. */
const char *parser_get_nonempty_string(struct parser *parser, enum key_type type, const json_t *value);

/* The mode that a value of KEY_ON_DENY_WORD names; ON_DENY_UNSET for NULL and other values. */
enum policy_on_deny parser_find_on_deny_word(const json_t *value);
/* The mode that the word stands for. POLICY_JUDGE_UNSET: another value. */
enum policy_judge parser_find_judge_word(const json_t *value);
/* The mode that the word stands for. POLICY_WORKSPACE_UNSET: another value. */
enum policy_workspace parser_find_workspace_word(const json_t *value);

/* Reads each member of an object by its row in keys.c. `section` names the rows of the object: "network.allow[]". */
void parser_read_members(struct parser *parser, const char *section, const json_t *object);

/* Reads an object by parser_read_members: the value of `key` or, with suffix "[]" or "{}", an object in that value. */
void parser_read_section(struct parser *parser, const struct policy_key *key, const char *suffix, const json_t *object);

/* implemented in lists.c */
parser_reader parser_read_paths, parser_read_objects, parser_read_provides, parser_read_env, parser_read_strings,
	parser_read_layers, parser_read_findings;
/* implemented in network.c; parser_read_net_text reads a string of the section "network" */
parser_reader parser_read_network, parser_read_listen, parser_read_addresses, parser_read_proxy;
void parser_read_net_text(struct parser *parser, const struct policy_key *key, const char *text);
/* implemented in net-rule.c: reads an object of network.allow or network.deny */
parser_reader parser_read_net_rule;
/* implemented in after.c: reads an object of after_read */
void parser_read_after_entry(struct parser *parser, const struct policy_key *key, const json_t *object);
/* implemented in secrets.c: reads the object "secrets" */
parser_reader parser_read_secrets;

#endif
