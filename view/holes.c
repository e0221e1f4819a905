/*
 * What is nowhere, whatever the policy grants: the scratch space of runs, and any procfs but the program's own /proc. A
 * procfs elsewhere (a chroot's, a container's) is read by the supervisor as itself: its "self" is the supervisor.
 */
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "view/private.h"

#include "base/banned.h"

bool view_is_procfs(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) < 0 || fs.f_type == PROC_SUPER_MAGIC;
}

/* A hole at each name by which the mounts show this host directory. */
static int add_hole(struct view *view, const char *host)
{
	for (size_t i = 0; i < view->mounts; i++) {
		const struct mount *mount = view->mount[i];
		const char *rest = path_rest(host, mount->host);
		struct place place;
		int r;

		if (!rest || !*rest || mount->flags & (MOUNT_SKELETON | MOUNT_FILE))
			continue;
		r = snprintf(place.virt, sizeof(place.virt), "%s/%s", mount->virt_len > 1 ? mount->virt : "", rest);
		if (r < 0 || (size_t)r >= sizeof(place.virt))
			return -ENAMETOOLONG;
		place.virt_len = (size_t)r;
		if (view_place(view, &place) < 0 || place.mount != mount)
			continue; /* another mount stands over it: /tmp, redirected, below a grant of the root */
		r = view_add_node(view, place.virt, NULL, NULL);
		if (r < 0 && r != -EEXIST)
			return r;
	}
	return 0;
}

/* mountinfo writes blanks and backslashes as three octal digits: proc_pid_mountinfo(5). */
static void unescape(char *text)
{
	char *out = text;
	unsigned byte;

	for (; *text; text++) {
		if (*text == '\\' && sscanf(text + 1, "%3o", &byte) == 1) {
			*out++ = (char)byte;
			text += 3;
		} else {
			*out++ = *text;
		}
	}
	*out = '\0';
}

/* "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAG...] - TYPE SOURCE OPTIONS": the point of a procfs, or NULL. */
static char *procfs_point(char *line)
{
	char *type = strstr(line, " - "), *save = NULL, *field = NULL;

	if (!type || strncmp(type, " - proc ", 8) != 0)
		return NULL;
	for (unsigned i = 0; i < 5; i++)
		field = strtok_r(i == 0 ? line : NULL, " ", &save);
	if (field)
		unescape(field);
	return field;
}

int view_add_holes(struct view *view, const char *scratch_base)
{
	_cleanup_fclose_ FILE *mounts = fopen("/proc/self/mountinfo", "re");
	_cleanup_free_ char *line = NULL;
	int r = add_hole(view, scratch_base);
	size_t cap = 0;

	if (!mounts)
		return -errno;
	while (r == 0 && getline(&line, &cap, mounts) > 0) {
		const char *point = procfs_point(line);

		if (point && !path_below(point, "/proc"))
			r = add_hole(view, point);
	}
	return r == 0 && ferror(mounts) ? -EIO : r;
}
