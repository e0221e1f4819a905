/* Functions on the text of paths. They make no system calls. */
#ifndef CALLGATE_BASE_PATH_H
#define CALLGATE_BASE_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Joins `base` (canonical and absolute) and `path` (used alone when absolute) into out. Removes "//", "." and a
 * trailing slash, and resolves ".." lexically. Returns the length, or -ENAMETOOLONG when the result and its NUL do not
 * fit in `cap`. *ret_lexical is false when ".." follows a name of `path`. If that name is a symbolic link, only the
 * kernel can resolve the path (path_resolution(7)).
 */
int path_join(const char *base, const char *path, char *out, size_t cap, bool *ret_lexical);

/* Writes the path of `name` in the directory `dir`, "" being where relative paths begin. 0 or -ENAMETOOLONG. */
int path_append_name(const char *dir, const char *name, char ret_path[PATH_MAX]);

/*
 * Splits a path at its last slash, borrowing the name. The directory of a name alone is "", as for path_append_name().
 * 0 or -ENAMETOOLONG.
 */
int path_split(const char *path, char ret_dir[PATH_MAX], const char **ret_name);

/* True when `path` is `dir` or below it. Both are canonical. Every path is below "/". */
bool path_is_below(const char *path, const char *dir);

/* Returns the part of `path` after `dir` and a slash ("" when equal), borrowed, or NULL when not below `dir`. */
const char *path_get_rest_below(const char *path, const char *dir);

/* True when the path must be a directory because of its end: "x/", "x/." or "x/..". */
bool path_requires_directory(const char *path);

/* True for "." and "..", which every directory has. */
bool path_is_dot_name(const char *name);

#endif
