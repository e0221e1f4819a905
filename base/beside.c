#include "base/beside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "base/banned.h"

/*
 * Who can replace the running program anyway: its owner and root; its group where that may write it, and that of its
 * directory likewise. These may write its companions as well, and nobody else. So a build with umask 002, where all is
 * its user's private group's, and Debian's /usr/local, where all is staff's, need no rule of their own.
 */
struct trust {
	uid_t owner;
	gid_t group[2];
	unsigned groups;
};

bool beside_path(const char *name, char ret_path[PATH_MAX])
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

static void add_group(struct trust *trust, const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0 && st.st_mode & S_IWGRP && !(st.st_mode & S_ISVTX))
		trust->group[trust->groups++] = st.st_gid;
}

static bool get_trust(struct trust *ret_trust)
{
	struct trust trust = {0};
	char dir[PATH_MAX];
	struct stat st;

	if (stat("/proc/self/exe", &st) < 0 || !beside_path(".", dir))
		return false;
	trust.owner = st.st_uid;
	add_group(&trust, "/proc/self/exe");
	add_group(&trust, dir);
	*ret_trust = trust;
	return true;
}

/*
 * Root's group is root. The bits of the group are those of the whole list where there is one: then they tell nothing.
 */
static bool group_may_write(const struct trust *trust, const char *path, const struct stat *st)
{
	if (lgetxattr(path, "system.posix_acl_access", NULL, 0) > 0)
		return false;
	for (unsigned i = 0; i < trust->groups; i++)
		if (st->st_gid == trust->group[i])
			return true;
	return st->st_gid == 0;
}

/* In a directory with the sticky bit nobody replaces what belongs to others, which is looked at by itself. */
static bool is_trusted(const struct trust *trust, const char *path, const struct stat *st)
{
	bool sticky = S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX;

	return (st->st_uid == 0 || st->st_uid == trust->owner) && (sticky || !(st->st_mode & S_IWOTH)) &&
	       (sticky || !(st->st_mode & S_IWGRP) || group_may_write(trust, path, st));
}

/* The directory and all above it, as far as they exist. */
static bool are_trusted(const struct trust *trust, const char *dir)
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
		if (stat(path, &st) == 0 && !is_trusted(trust, path, &st))
			return false;
	}
	return stat("/", &st) == 0 && is_trusted(trust, "/", &st);
}

/* What lies beside the program: whoever may write the directories above may replace the program. */
static bool is_companion(const struct trust *trust, const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && is_trusted(trust, path, &st);
}

int beside_find(const char *name, char ret_path[PATH_MAX])
{
	_cleanup_free_ char *real = NULL;
	struct trust trust;
	struct stat st;
	bool known = get_trust(&trust);

	if (known && beside_path(name, ret_path) && is_companion(&trust, ret_path))
		return 0;
	(void)snprintf(ret_path, PATH_MAX, "%s/%s", PKGLIBDIR, name);
	real = realpath(PKGLIBDIR, NULL);
	if (!real || stat(ret_path, &st) < 0)
		return 0; /* which whoever opens it will say */
	if (!known || !is_trusted(&trust, ret_path, &st) || !are_trusted(&trust, PKGLIBDIR) ||
	    !are_trusted(&trust, real))
		return -EPERM;
	return 0;
}
