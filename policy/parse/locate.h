/* Finds the line of a key in a JSON text, for messages: jansson keeps no line numbers. Pure. */
#ifndef CALLGATE_POLICY_PARSE_LOCATE_H
#define CALLGATE_POLICY_PARSE_LOCATE_H

#include <stddef.h>

/* Limit of depth: no key of a policy is nested deeper. */
#define LOCATE_DEPTH_MAX 8

struct locate_step {
	const char *name; /* of a member of an object; NULL: an item of an array */
	size_t index;     /* of the member or item; jansson keeps the members of an object in the text's order */
};

struct locate_path {
	struct locate_step step[LOCATE_DEPTH_MAX];
	size_t depth;
};

/*
 * Where the last search ended. The next one in the same container continues there: items are looked up in order. Starts
 * zero-initialised.
 */
struct locate_memo {
	struct locate_path parent;
	size_t index;
	unsigned line;
	const char *at; /* start of the item; NULL: nothing found yet */
};

/*
 * The line, from 1, of a member or item; when that does not exist, of the deepest step that does. The text must be
 * valid JSON. One memo is for one text.
 */
unsigned locate_find_line(const char *text, const struct locate_path *path, struct locate_memo *memo);

/*
 * Writes the path as in messages: filesystem.read[2], filesystem.provide["/etc/motd"]. Cut to `cap` bytes with the NUL.
 * Returns its length.
 */
size_t locate_print_path(const struct locate_path *path, char *out, size_t cap);

#endif
