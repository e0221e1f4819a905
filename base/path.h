/* Path text only: no system calls. */
#ifndef CALLGATE_BASE_PATH_H
#define CALLGATE_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Joins `base` (canonical and absolute) and `path` (used alone when absolute) into out, without "//", "." and trailing
 * slash, with ".." resolved lexically. Returns the length, or -ENAMETOOLONG when it does not fit in `cap` with its NUL.
 * *ret_lexical: false when ".." follows a name. If that name is a symbolic link, only the kernel can resolve the path
 * (path_resolution(7)).
 */
int path_join(const char *base, const char *path, char *out, size_t cap, bool *ret_lexical);

/* True when `path` is `dir` or lies below it. Both canonical; everything is below "/". */
bool path_is_below(const char *path, const char *dir);

/* The text of `path` below `dir` ("" when equal), or NULL when it is not below. Borrows from path. */
const char *path_rest_below(const char *path, const char *dir);

/* True when the path must be a directory because of its end: "x/", "x/." or "x/..". */
bool path_needs_dir(const char *path);

#endif
