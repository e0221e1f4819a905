#include "base/installed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"

/*
 * The owner and groups that could replace the running executable. These and root may also write the files that belong
 * to it, and no others. A group counts when it may write the executable or its directory. So a build with umask 002
 * (the user's private group) and Debian's /usr/local (group staff) need no rule of their own.
 */
struct trusted_writers {
	uid_t owner;
	gid_t group[2];
	unsigned group_count; /* used entries of group[] */
};

bool installed_get_sibling_path(const char *name, char ret_path[PATH_MAX])
{
	size_t size = strlen(name) + 1;
	ssize_t len = readlink("/proc/self/exe", ret_path, PATH_MAX - size);
	char *slash;

	if (len <= 0)
		return false;
	ret_path[len] = '\0';
	slash = strrchr(ret_path, '/');
	if (slash)
		memcpy(slash + 1, name, size);
	return slash != NULL;
}

/* Adds the group of a file that its group may write. */
static void installed_add_group_with_write_right(struct trusted_writers *writers, const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0 && st.st_mode & S_IWGRP && !(st.st_mode & S_ISVTX))
		writers->group[writers->group_count++] = st.st_gid;
}

/* Who may write to callgate's own files: these may also have written callgate-egress. */
static bool installed_find_trusted_writers(struct trusted_writers *ret_writers)
{
	struct trusted_writers writers = {0};
	char dir[PATH_MAX];
	struct stat st;

	if (stat("/proc/self/exe", &st) < 0 || !installed_get_sibling_path(".", dir))
		return false;
	writers.owner = st.st_uid;
	installed_add_group_with_write_right(&writers, "/proc/self/exe");
	installed_add_group_with_write_right(&writers, dir);
	*ret_writers = writers;
	return true;
}

/* Group 0 is root's. With a POSIX ACL the group bits of the mode are the ACL's mask, not the rights of the group. */
static bool installed_group_may_write(const struct trusted_writers *writers, const char *path, const struct stat *st)
{
	if (lgetxattr(path, "system.posix_acl_access", NULL, 0) > 0)
		return false;
	for (unsigned i = 0; i < writers->group_count; i++)
		if (st->st_gid == writers->group[i])
			return true;
	return st->st_gid == 0;
}

/* In a sticky directory other users cannot replace an entry of the owner; the entry itself is checked separately. */
static bool installed_is_trusted(const struct trusted_writers *writers, const char *path, const struct stat *st)
{
	bool sticky = S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX;

	return (st->st_uid == 0 || st->st_uid == writers->owner) && (sticky || !(st->st_mode & S_IWOTH)) &&
	       (sticky || !(st->st_mode & S_IWGRP) || installed_group_may_write(writers, path, st));
}

/* Checks the directory and all its parents, as far as they exist. */
static bool installed_path_is_trusted(const struct trusted_writers *writers, const char *dir)
{
	char path[PATH_MAX];
	struct stat st;
	size_t len;

	if ((size_t)snprintf(path, sizeof(path), "%s", dir) >= sizeof(path))
		return false;
	for (len = strlen(path); len > 0; len--) {
		if (path[len] != '/' && path[len] != '\0')
			continue;
		path[len] = '\0';
		if (stat(path, &st) == 0 && !installed_is_trusted(writers, path, &st))
			return false;
	}
	return stat("/", &st) == 0 && installed_is_trusted(writers, "/", &st);
}

int installed_find_file(const char *name, char ret_path[PATH_MAX])
{
	_cleanup_free_ char *real = NULL;
	struct trusted_writers writers;
	struct stat st;
	bool known = installed_find_trusted_writers(&writers);

	/* In the executable's directory parents need no check: their writers may replace the executable as well. */
	if (known && installed_get_sibling_path(name, ret_path) && lstat(ret_path, &st) == 0 && S_ISREG(st.st_mode) &&
	    installed_is_trusted(&writers, ret_path, &st))
		return 0;
	(void)snprintf(ret_path, PATH_MAX, "%s/%s", PKGLIBDIR, name);
	real = realpath(PKGLIBDIR, NULL);
	if (!real || stat(ret_path, &st) < 0)
		return 0; /* the caller's attempt to open the file will fail, and report why */
	if (!known || !installed_is_trusted(&writers, ret_path, &st) ||
	    !installed_path_is_trusted(&writers, PKGLIBDIR) || !installed_path_is_trusted(&writers, real))
		return -EPERM;
	return 0;
}
