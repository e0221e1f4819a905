/* Path text only: nothing here asks the kernel. */
#ifndef CALLGATE_BASE_PATH_H
#define CALLGATE_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Joins `base` (canonical and absolute) and `path` (taken alone when absolute) into out: no "//", no ".", no trailing
 * slash, ".." taken lexically. Returns the length, or -ENAMETOOLONG when it would not fit in `cap` with its NUL.
 * *ret_lexical tells whether the text alone is safe: false when ".." follows a name, which only the kernel can resolve
 * if that name is a symbolic link (path_resolution(7)).
 */
int path_join(const char *base, const char *path, char *out, size_t cap, bool *ret_lexical);

/* True when `path` is `dir` or lies below it. Both canonical; "/" holds everything. */
bool path_below(const char *path, const char *dir);

/* The text of `path` below `dir` ("" when equal), or NULL when it is not below. Borrows from path. */
const char *path_rest(const char *path, const char *dir);

/* True when the path asks for a directory by its end: "x/", "x/." or "x/..". */
bool path_wants_dir(const char *path);

#endif
