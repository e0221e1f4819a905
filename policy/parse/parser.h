/* What the files of the parser share: where it is in the text, its messages, the string it takes. */
#ifndef CALLGATE_POLICY_PARSE_PARSER_H
#define CALLGATE_POLICY_PARSE_PARSER_H

#include <jansson.h>
#include <stdbool.h>

#include "policy/parse/keys.h"
#include "policy/parse/locate.h"
#include "policy/parse/source.h"

/* Longest key path shown in a message. */
#define PARSER_WHERE_MAX 512

struct parser {
	struct arena *arena;
	const char *text;
	struct policy_errors *errors;
	struct source *source;
	struct locate_path at;
	struct locate_memo memo;
	bool no_memory;
	bool in_phase; /* source is a phase's */
	bool failed; /* a message was due: the list itself is capped and may lose some */
};

/* Steps into a member or an item, and out again. */
void parser_push_name(struct parser *parser, const char *name);
void parser_push_index(struct parser *parser, size_t index);
void parser_pop(struct parser *parser);

/* A message about the value the parser is at. */
__attribute__((format(printf, 2, 3))) void parser_fail(struct parser *parser, const char *format, ...);
void parser_fail_type(struct parser *parser, enum key_type type, const json_t *value);

/* The text in the arena; with its place. NULL when memory ran out, which the parser remembers. */
const char *parser_keep(struct parser *parser, const char *text);
struct source_text parser_keep_here(struct parser *parser, const char *text);
/* The key of the place where the parser is, borrowed from its text; NULL when memory ran out. */
const char *parser_key_of(struct parser *parser, const char *where);

/* The text of a string that must not be empty, or NULL with a message. Borrows from value. */
const char *parser_text(struct parser *parser, enum key_type type, const json_t *value);

/* parse.c: each member of an object by its row in the key table. */
void parser_members(struct parser *parser, const char *section, const json_t *object);

/* parse-limits.c: a limit; process.max; and, at the end, what the two say together about processes. */
void parser_limit(struct parser *parser, const struct policy_key *key, const json_t *value);
void parser_process_max(struct parser *parser, const struct policy_key *key, const json_t *value);
void parser_settle_pids(struct parser *parser);

/* parse-network.c: a value of the network's, by its key's type; a list of rules; a path or a prefix. */
void parser_network(struct parser *parser, const struct policy_key *key, const json_t *value);
void parser_net_objects(struct parser *parser, const struct policy_key *key, const json_t *list);
void parser_net_text(struct parser *parser, const struct policy_key *key, const char *text);

/* parse-lists.c: a value that holds others, of the type its key wants. */
void parser_container(struct parser *parser, const struct policy_key *key, const json_t *value);

#endif
