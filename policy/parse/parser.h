/*
 * The state of parsing one policy file and what its readers share: the position in the text, messages with that
 * position, and copies in the policy's arena. parse.c reads every value by its row in keys.c; lists.c, network.c,
 * net-rule.c and secrets.c each read some types of values.
 * `failed` is remembered here, so most functions return nothing. When memory runs out, the arena jumps back to load.c.
 */
#ifndef CALLGATE_POLICY_PARSE_PARSER_H
#define CALLGATE_POLICY_PARSE_PARSER_H

#include <jansson.h>
#include <stdbool.h>

#include "policy/parse/keys.h"
#include "policy/parse/locate.h"
#include "policy/parse/source.h"

/* Longest key path in a message, in bytes with the NUL. */
#define PARSER_WHERE_MAX 512

struct parser;
/* Reads a value of one type. parse.c has checked whether it is an object, an array or a boolean, as the type wants. */
typedef void parser_reader(struct parser *parser, const struct policy_key *key, const json_t *value);

struct parser {
	struct arena *arena;
	const char *text; /* the whole file */
	struct policy_errors *errors;
	struct source *source; /* that is being filled */
	struct locate_path at; /* of the current value */
	struct locate_memo memo;
	parser_reader *read_value; /* a pointer, because values contain others: readers call parser_read_members */
	bool in_phase; /* source is a member of "phases" */
	bool failed;   /* there was an error; `errors` is capped and may not have it */
};

/* A member of an object, or an item of an array. */
struct parser_item {
	const char *name; /* of the member */
	size_t index;     /* in the object or array */
	const json_t *value;
	void *iter;       /* jansson's */
};

/* Iterates over an object or array with the position on each value in turn. Must not be left by break or return. */
#define PARSER_EACH(parser, container, item) \
	for (struct parser_item item = {0}; parser_next_item((parser), (container), &(item));)
bool parser_next_item(struct parser *parser, const json_t *container, struct parser_item *item);

/* Moves the position to a member of the current object, and back. Returns the member; NULL: no such member. */
const json_t *parser_enter_member(struct parser *parser, const json_t *object, const char *name);
void parser_leave_member(struct parser *parser);

/* Both add a message about the current value. */
__attribute__((format(printf, 2, 3))) void parser_fail(struct parser *parser, const char *format, ...);
void parser_fail_type(struct parser *parser, enum key_type type, const json_t *value);

/* Copies the text to the arena, with its position. */
struct source_text parser_keep_text(struct parser *parser, const char *text);
/* The key of the current value, as in messages, in the arena. */
const char *parser_keep_key(struct parser *parser);
/* "data.json: network.allow[0] api.github.com:443"; `detail`: what follows the key, or NULL. In the arena. */
const char *parser_make_label(struct parser *parser, const char *detail);

/* The text of a string, or an integer printed into `number`; NULL, without a message, for other types. */
const char *parser_get_amount_text(const json_t *value, char number[32]);
/* Returns a string that must not be empty, or NULL with a message. Borrowed from value. */
const char *parser_get_text(struct parser *parser, enum key_type type, const json_t *value);

/* Reads each member of an object by its row in keys.c. `section`: the object's own rows, such as "network.allow[]". */
void parser_read_members(struct parser *parser, const char *section, const json_t *object);

/* parser_read_members for an object that is the value of `key` or, with suffix "[]" or "{}", one in that value. */
void parser_read_section(struct parser *parser, const struct policy_key *key, const char *suffix, const json_t *object);

/* lists.c */
parser_reader parser_read_paths, parser_read_objects, parser_read_provides, parser_read_env, parser_read_strings,
	parser_read_layers;
/* network.c. parser_read_net_text reads a string of the section "network". */
parser_reader parser_read_network, parser_read_listen, parser_read_addresses, parser_read_proxy;
void parser_read_net_text(struct parser *parser, const struct policy_key *key, const char *text);
/* net-rule.c: an object of network.allow or network.deny. */
parser_reader parser_read_net_rule;
/* secrets.c */
parser_reader parser_read_secrets;

#endif
