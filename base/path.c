#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"

int path_join(const char *base, const char *path, char *out, size_t cap, bool *ret_lexical)
{
	size_t len = 0, size, names = 0; /* names: how many of the last components in out come from `path` */
	bool lexical = true;
	const char *end;

	if (cap < 2)
		return -ENAMETOOLONG;
	if (*path != '/') {
		len = strlen(base);
		if (len >= cap)
			return -ENAMETOOLONG;
		memcpy(out, base, len);
		if (len == 1)
			len = 0; /* here "" stands for "/": each component adds its own slash */
	}
	for (;; path = end) {
		while (*path == '/')
			path++;
		if (!*path)
			break;
		end = strchrnul(path, '/');
		size = (size_t)(end - path);
		if (size == 1 && path[0] == '.')
			continue;
		if (size == 2 && path[0] == '.' && path[1] == '.') {
			if (names > 0) { /* the name before ".." may be a symbolic link; only `base` is canonical */
				lexical = false;
				names--;
			}
			while (len > 0 && out[--len] != '/')
				;
			continue;
		}
		if (size + 2 > cap - len) /* the 2 bytes more are a slash and the NUL */
			return -ENAMETOOLONG;
		out[len++] = '/';
		memcpy(out + len, path, size);
		len += size;
		names++;
	}
	if (len == 0)
		out[len++] = '/';
	if (len > INT_MAX)
		return -ENAMETOOLONG;
	out[len] = '\0';
	*ret_lexical = lexical;
	return (int)len;
}

const char *path_get_rest_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	if (len == 1 && dir[0] == '/')
		return path[0] == '/' ? path + 1 : NULL;
	if (strncmp(path, dir, len) != 0)
		return NULL;
	if (path[len] == '\0')
		return path + len;
	return path[len] == '/' ? path + len + 1 : NULL;
}

int path_append_name(const char *dir, const char *name, char ret_path[PATH_MAX])
{
	return (size_t)snprintf(ret_path, PATH_MAX, "%s%s%s", dir, *dir ? "/" : "", name) < PATH_MAX ? 0
												     : -ENAMETOOLONG;
}

int path_split(const char *path, char ret_dir[PATH_MAX], const char **ret_name)
{
	const char *slash = strrchr(path, '/');

	if (slash && slash - path >= PATH_MAX)
		return -ENAMETOOLONG;
	(void)snprintf(ret_dir, PATH_MAX, "%.*s", slash ? (int)(slash - path) : 0, path);
	*ret_name = slash ? slash + 1 : path;
	return 0;
}

bool path_is_below(const char *path, const char *dir)
{
	return path_get_rest_below(path, dir) != NULL;
}

bool path_requires_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *last = slash ? slash + 1 : path;

	if (!*last)
		return slash != NULL;
	return path_is_dot_name(last);
}

bool path_is_dot_name(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}
