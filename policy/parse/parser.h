/*
 * The state of parsing one policy file and what its readers share: the position in the text, messages with that
 * position, and copies in the policy's arena. parse.c reads every value by its row in keys.c; lists.c, limits.c,
 * network.c, net-rule.c and secrets.c each read some types of values.
 * `no_memory` and `failed` are remembered here, so most functions return nothing.
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

struct parser {
	struct arena *arena;
	const char *text; /* the whole file */
	struct policy_errors *errors;
	struct source *source; /* that is being filled */
	struct locate_path at; /* of the current value */
	struct locate_memo memo;
	/* Reads the current value. A pointer, because values contain others: readers call parser_members. */
	void (*take_value)(struct parser *parser, const struct policy_key *key, const json_t *value);
	bool no_memory;
	bool in_phase; /* source is a member of "phases" */
	bool failed;   /* there was an error; `errors` is capped and may not have it */
};

/* Iterates over the members of an object; `at` is a jansson iterator, which cannot be const: hence the casts. */
#define PARSER_EACH(parser, object, at)                                                                  \
	for (void *at = json_object_iter((json_t *)(uintptr_t)(object)); at && !(parser)->no_memory;     \
	     at = json_object_iter_next((json_t *)(uintptr_t)(object), at))

/* Appends an item to an array in the arena. */
#define PARSER_APPEND(parser, list, count, item)                                               \
	((list) = arena_grow((parser)->arena, (list), (count), sizeof(*(list))),               \
	 (list) ? (void)((list)[(count)++] = (item)) : (void)((parser)->no_memory = true))

/* Move the position to a member or an item of the current value, and back. */
void parser_push_name(struct parser *parser, const char *name);
void parser_push_index(struct parser *parser, size_t index);
void parser_pop(struct parser *parser);

/* Add a message about the current value. */
__attribute__((format(printf, 2, 3))) void parser_fail(struct parser *parser, const char *format, ...);
void parser_fail_type(struct parser *parser, enum key_type type, const json_t *value);

/* Copy the text to the arena; the second one with its position. NULL when memory ran out. */
const char *parser_keep(struct parser *parser, const char *text);
struct source_text parser_keep_here(struct parser *parser, const char *text);
/* The key in `where`, which is from parser_keep_here at the current position. Borrowed; NULL when memory ran out. */
const char *parser_key_of(struct parser *parser, const char *where);
/* "data.json: network.allow[0] api.github.com:443"; `detail`: what follows the key, or NULL. In the arena. */
const char *parser_label(struct parser *parser, const char *detail);

/* The text of a string, or an integer printed into `number`; NULL, without a message, for other types. */
const char *parser_amount(const json_t *value, char number[32]);
/* A string that must not be empty, or NULL with a message. Borrowed from value. */
const char *parser_text(struct parser *parser, enum key_type type, const json_t *value);

/* Reads each member of an object by its row in keys.c. `section`: the object's own rows, such as "network.allow[]". */
void parser_members(struct parser *parser, const char *section, const json_t *object);

/* limits.c: a limit; process.max; and, when all keys are read, limits.pids from these two. */
void parser_limit(struct parser *parser, const struct policy_key *key, const json_t *value);
void parser_process_max(struct parser *parser, const struct policy_key *key, const json_t *value);
void parser_settle_pids(struct parser *parser);

/* network.c: "network" and its members, by the key's type; its strings. */
void parser_network(struct parser *parser, const struct policy_key *key, const json_t *value);
void parser_net_text(struct parser *parser, const struct policy_key *key, const char *text);
/* net-rule.c: the list network.allow or network.deny. */
void parser_net_rules(struct parser *parser, const struct policy_key *key, const json_t *list);
/* secrets.c: "secrets". */
void parser_secrets(struct parser *parser, const json_t *object);

/* lists.c: a section, or a list or object of rules, files, variables or names. */
void parser_container(struct parser *parser, const struct policy_key *key, const json_t *value);

#endif
