/* The view's own links: those of the host that lead into a grant, so that other ways of writing it work as well. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/view-private.h"

#include "base/banned.h"

int view_add_links(struct view *view, const char *written)
{
	char path[PATH_MAX], target[PATH_MAX];
	struct stat object;

	if ((size_t)snprintf(path, sizeof(path), "%s", written) >= sizeof(path))
		return -ENAMETOOLONG;
	for (char *at = path + 1; at && *at;) {
		char *slash = strchr(at, '/');
		ssize_t len;
		int r;

		if (slash)
			*slash = '\0';
		if (lstat(path, &object) == 0 && S_ISLNK(object.st_mode) && !view_covered(view, path)) {
			len = readlink(path, target, sizeof(target) - 1);
			if (len > 0) {
				target[len] = '\0';
				r = view_add_node(view, path, NULL, target);
				if (r == 0)
					r = view_skeleton_entry(view, path, S_IFLNK, target);
				if (r < 0 && r != -EEXIST)
					return r;
			}
		}
		if (slash)
			*slash = '/';
		at = slash ? slash + 1 : NULL;
	}
	return 0;
}

int view_add_merged_usr(struct view *view)
{
	static const char *const links[] = {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(links) / sizeof(links[0]); i++) {
		_cleanup_free_ char *real = realpath(links[i], NULL);

		if (real && strcmp(real, links[i]) != 0 && view_covered(view, real))
			r = view_add_links(view, links[i]);
	}
	return r;
}
