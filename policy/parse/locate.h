/* Where in a JSON text a key stands: jansson keeps no line numbers. */
#ifndef CALLGATE_POLICY_PARSE_LOCATE_H
#define CALLGATE_POLICY_PARSE_LOCATE_H

#include <stddef.h>

/* Deeper than any key of a policy. */
#define LOCATE_DEPTH_MAX 8

struct locate_step {
	const char *name; /* of an object's member; NULL: an array's item */
	size_t index;     /* of the item */
};

struct locate_path {
	struct locate_step step[LOCATE_DEPTH_MAX];
	size_t depth;
};

/* Where the last search ended, for the next one in the same container: items are asked for one after the other. */
struct locate_memo {
	struct locate_path parent;
	size_t index;
	unsigned line;
	const char *at; /* of the item; NULL: nothing was found yet */
};

/*
 * The line (from 1) of the member or item the path leads to; of the deepest step that exists when it does not lead to
 * the end. The text must be valid JSON, and the same with the same memo; so must what the names of the steps point to.
 */
unsigned locate_line(const char *text, const struct locate_path *path, struct locate_memo *memo);

/*
 * Writes the path as messages show it: filesystem.read[2], filesystem.provide["/etc/motd"]. Cut when it does not fit.
 * Returns its length.
 */
size_t locate_print(const struct locate_path *path, char *out, size_t cap);

/*
 * Write behind the `used` bytes of out what fits there beside a NUL, which is the caller's, and return how many there
 * are.
 */
size_t locate_put(char *out, size_t used, size_t cap, const char *text);
size_t locate_put_number(char *out, size_t used, size_t cap, size_t number);

#endif
