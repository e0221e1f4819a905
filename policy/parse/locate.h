/* Finds the line of a key in a JSON text, for messages: jansson keeps no line numbers. No I/O. */
#ifndef CALLGATE_POLICY_PARSE_LOCATE_H
#define CALLGATE_POLICY_PARSE_LOCATE_H

#include <stddef.h>

/* How deep keys can be nested: no key of a policy is nested deeper. */
#define JSON_PATH_DEPTH_MAX 8

/* A step on the way to a JSON value: into an object or an array. */
struct json_path_step {
	const char *name; /* name of a member of an object; NULL: an item of an array */
	size_t index;     /* index of the member or item; jansson keeps the order of the text */
};

/* The way from the root of a JSON text to one of its values. */
struct json_path {
	struct json_path_step steps[JSON_PATH_DEPTH_MAX];
	size_t depth; /* number of steps */
};

/*
 * The place where the last search ended. As items are looked up in order, the next search in the same container
 * continues there. Starts zero-initialised.
 */
struct json_last_line_search {
	struct json_path container; /* path of the object or array that was searched */
	size_t found_index;         /* index of found_item in its container */
	unsigned found_item_line;   /* line of found_item */
	const char *found_item; /* start of the item that was found; NULL: nothing found yet */
};

/*
 * Returns the line (from 1) of a member or item, or, when that does not exist, of the innermost container that does.
 * The text must be valid JSON. `memo` is for one text only.
 */
unsigned locate_find_line(const char *text, const struct json_path *path, struct json_last_line_search *memo);

/*
 * Writes a path in the form of messages: filesystem.read[2], filesystem.provide["/etc/motd"]. Cut to `cap` bytes with
 * the NUL. Returns the length.
 */
size_t locate_print_path(const struct json_path *path, char *out, size_t cap);

#endif
