/*
 * The directory of all runs of a user: TMPDIR/callgate-UID. In /tmp another user may have taken that name. Then the
 * runs use TMPDIR/callgate-UID-XXXXXX: a directory of such a name that belongs to this user was created by an earlier
 * run. Where TMPDIR cannot be listed, the numbers 000000 to 000063 are tried instead of XXXXXX. If another user has
 * taken all these names, too, each run creates a new directory, and what killed runs leave is never found again.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "keeper/scratch-private.h"

#define SCRATCH_BASE_SUFFIX_TEMPLATE "-XXXXXX"       /* template of mkdtemp(3) */
#define SCRATCH_BASE_SUFFIX_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#define SCRATCH_BASE_NUMBERS_MAX 64u             /* how many numbers are tried: -000000 to -000063 */
#define TMPDIR_ENTRIES_MAX 100000u               /* names read from TMPDIR: other users may have filled /tmp */
#define SCRATCH_REASON_SIZE 128                  /* buffer for why a directory cannot hold the runs' directories */

/*
 * Opens a directory that only this user can enter. Nothing may be mounted there: FUSE with allow_other, which others
 * can mount over a directory of theirs in /tmp, tells any owner and mode. A descriptor owned by the caller, -EPERM with
 * `why`, or -errno.
 */
static int scratch_open_dir_of_this_user(const char *path, char why[SCRATCH_REASON_SIZE])
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *dir = text_copy_directory(path);
	_cleanup_close_ int parent = dir ? open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1, fd = -1;
	struct stat st;

	if (parent < 0)
		return dir ? -errno : -ENOMEM;
	fd = openat2_retry(parent, slash + 1, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0,
			   IO_RESOLVE_BELOW | RESOLVE_NO_XDEV);
	(void)snprintf(why, SCRATCH_REASON_SIZE, "%s",
		       fd == -EXDEV ? "something is mounted there"
		       : fd < 0     ? strerror(-fd)
				    : "");
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid == geteuid() && (st.st_mode & 077) == 0)
		return steal_fd(&fd);
	(void)snprintf(why, SCRATCH_REASON_SIZE, "it belongs to another user or is open to others (uid %u, mode %04o)",
		       (unsigned)st.st_uid, (unsigned)(st.st_mode & 07777));
	return -EPERM;
}

/*
 * Opens the directory of all runs by its usual name, TMPDIR/callgate-UID. 0 or -errno: -EPERM with `why`: the name is
 * taken; -ENOENT: try again.
 */
static int scratch_open_usual_base(struct scratch *scratch, char why[SCRATCH_REASON_SIZE])
{
	int made = scratch_make_dir(AT_FDCWD, scratch->base_path, 0700);

	if (made < 0 && made != -EEXIST)
		return made;
	scratch->base_fd = scratch_open_dir_of_this_user(scratch->base_path, why);
	if (scratch->base_fd >= 0)
		return 0;
	return scratch->base_fd == -ENOENT || made == 0 ? scratch->base_fd : -EPERM;
}

/* True when `name` has the form callgate-UID-XXXXXX. */
static bool scratch_is_private_base_name(const char *name, const char *known)
{
	size_t len = strlen(known);

	return strncmp(name, known, len) == 0 && name[len] == '-' &&
	       strlen(name) == len + sizeof(SCRATCH_BASE_SUFFIX_TEMPLATE) - 1;
}

/*
 * Finds, of the directories callgate-UID-XXXXXX that belong to this user, the first one in the order of names, so that
 * all runs find the same. Owned; NULL: there is none.
 */
static char *scratch_find_private_base(const char *dir, const char *known, bool *ret_listed)
{
	_cleanup_closedir_ DIR *entries = opendir(dir);
	char path[PATH_MAX], why[SCRATCH_REASON_SIZE];
	const struct dirent *entry;
	char *found = NULL;
	int error = 0;

	for (unsigned i = 0; entries && i < TMPDIR_ENTRIES_MAX && (entry = io_read_entry(entries, &error)); i++) {
		int fd, len;

		if (!scratch_is_private_base_name(entry->d_name, known))
			continue;
		len = snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		fd = len < 0 || (size_t)len >= sizeof(path) ? -ENAMETOOLONG : scratch_open_dir_of_this_user(path, why);
		if (fd < 0)
			continue;
		(void)close(fd);
		if (!found || strcmp(path, found) < 0) {
			free(found);
			found = strdup(path);
		}
	}
	*ret_listed = entries && error == 0;
	return found;
}

/*
 * Tries callgate-UID-000000, 000001 and so on, until a directory belongs to this user or can be created, and returns
 * its path. Owned; NULL: none.
 */
static char *scratch_find_numbered_base(const char *dir, const char *known)
{
	char why[SCRATCH_REASON_SIZE];

	for (unsigned i = 0; i < SCRATCH_BASE_NUMBERS_MAX; i++) {
		_cleanup_close_ int fd = -1;
		char *path = text_format("%s/%s-%06u", dir, known, i);

		if (!path)
			return NULL;
		(void)scratch_make_dir(AT_FDCWD, path, 0700); /* the directory may exist already */
		fd = scratch_open_dir_of_this_user(path, why);
		if (fd >= 0)
			return path;
		free(path);
	}
	return NULL;
}

/*
 * Creates a directory callgate-UID-XXXXXX. If another run has created one at the same time, both runs use the one whose
 * name is first in order. Owned; NULL with errno.
 */
static char *scratch_make_private_base(const char *dir, const char *known)
{
	_cleanup_free_ char *made = text_format("%s/%s" SCRATCH_BASE_SUFFIX_TEMPLATE, dir, known);
	bool listed;
	char *found;

	if (!made || !mkdtemp(made))
		return NULL;
	found = scratch_find_private_base(dir, known, &listed);
	if (!found || strcmp(found, made) == 0) {
		free(found);
		return steal_pointer(&made);
	}
	(void)rmdir(made); /* the directory is empty */
	return found;
}

/* Opens a base directory that has another name than callgate-UID, and sets scratch->base_name_notice. 0 or -errno. */
static int scratch_open_private_base(struct scratch *scratch, const char *why)
{
	_cleanup_free_ char *dir = strdup(scratch->base_path), *known = NULL, *name = NULL;
	char unused[SCRATCH_REASON_SIZE];
	bool listed;
	char *slash = dir ? strrchr(dir, '/') : NULL;

	if (!slash)
		return -ENOMEM;
	known = strdup(slash + 1);
	*(slash == dir ? slash + 1 : slash) = '\0';
	if (!known)
		return -ENOMEM;
	name = scratch_find_private_base(dir, known, &listed);
	if (!name && !listed)
		name = scratch_find_numbered_base(dir, known);
	if (!name)
		name = scratch_make_private_base(dir, known);
	if (!name)
		return -errno;
	scratch->base_name_notice =
		text_format("%s cannot be used as scratch space: %s; this run has %s", scratch->base_path, why, name);
	if (!scratch->base_name_notice)
		return -ENOMEM;
	free(scratch->base_path);
	scratch->base_path = steal_pointer(&name);
	scratch->base_fd = scratch_open_dir_of_this_user(scratch->base_path, unused);
	return scratch->base_fd < 0 ? scratch->base_fd : 0;
}

int scratch_open_base(struct scratch *scratch, struct policy_error *ret_error)
{
	const char *tmpdir = getenv("TMPDIR");
	_cleanup_free_ char *real = NULL;
	char why[SCRATCH_REASON_SIZE] = "";
	int error;

	if (!tmpdir || tmpdir[0] != '/')
		tmpdir = "/tmp";
	real = realpath(tmpdir, NULL);
	scratch->base_path = real ? text_format("%s/callgate-%u", strcmp(real, "/") == 0 ? "" : real, geteuid()) : NULL;
	if (!scratch->base_path) {
		error = errno == ENOENT ? -ENOTDIR : -errno; /* -ENOENT tells the caller to try again */
		(void)snprintf(ret_error->text, sizeof(ret_error->text),
			       "TMPDIR %s: %s; set TMPDIR to a directory that exists", tmpdir,
			       error == -ENOTDIR && access(tmpdir, F_OK) < 0 ? "it does not exist" : strerror(-error));
		return error;
	}
	error = scratch_open_usual_base(scratch, why);
	if (error == -EPERM && why[0])
		error = scratch_open_private_base(scratch, why);
	if (error < 0)
		(void)snprintf(ret_error->text, sizeof(ret_error->text),
			       "cannot use %s as scratch space: %s; set TMPDIR to a directory that can be written",
			       scratch->base_path, why[0] ? why : strerror(-error));
	return error;
}

int scratch_open_directory_of_runs(struct policy_error *ret_error)
{
	struct scratch scratch = {.base_fd = -1, .fd = -1};
	int error = scratch_open_base(&scratch, ret_error);

	free(scratch.base_path);
	free(scratch.base_name_notice);
	if (error == 0)
		return scratch.base_fd;
	cleanup_close(&scratch.base_fd);
	return error;
}

/* True for a directory of such a name with a directory `entry` that is not empty. */
static bool scratch_is_other_base(int dir_fd, const char *name, const char *known, const char *entry)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	/* mkdtemp(3) makes no other names; they are printed. */
	if (!scratch_is_private_base_name(name, known) ||
	    name[strlen(known) + 1 + strspn(name + strlen(known) + 1, SCRATCH_BASE_SUFFIX_BYTES)] != '\0')
		return false;
	fd = openat2_retry(dir_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, IO_RESOLVE_BELOW | RESOLVE_NO_XDEV);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 077) != 0)
		return false;
	/* Two links: "." and its name, and no directory in it. Where there are fewer, that does not tell. */
	return fstatat(fd, entry, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) && st.st_nlink != 2;
}

char *scratch_find_other_base(int base_fd, const char *entry)
{
	char base[PATH_MAX] = "", known[32], *slash, *found = NULL;
	_cleanup_closedir_ DIR *dir = NULL;
	const struct dirent *one;

	(void)snprintf(known, sizeof(known), "callgate-%u", geteuid());
	if (io_read_fd_name(base_fd, base) < 0 || !(slash = strrchr(base, '/')))
		return NULL;
	*slash = '\0';
	dir = opendir(*base ? base : "/");
	for (unsigned i = 0; dir && !found && i < TMPDIR_ENTRIES_MAX && (one = readdir(dir)); i++)
		if (strcmp(one->d_name, slash + 1) != 0 && scratch_is_other_base(dirfd(dir), one->d_name, known, entry))
			found = text_format("%s/%s", base, one->d_name);
	return found;
}
