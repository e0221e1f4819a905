#include "workspace/beside.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/content.h"
#include "base/io.h"
#include "workspace/place.h"

/* What is written, and where. */
struct beside {
	const struct workspace_layer *layer;
	const struct workspace_change *change;
	int dir_fd;  /* the directory that it is written into */
	int from_fd; /* open for reading */
	uint64_t size, bytes_on_disk;
	bool is_ours; /* it is the directory's file, */
	uid_t uid;    /* of this owner */
	gid_t gid;
};

/* ---- names ---- */

/* Formats the name with a number. 0 or -ENAMETOOLONG. */
static int beside_format_name(const char *name, const char *word, int number, char ret_name[NAME_MAX + 1])
{
	const int len = number == 1 ? snprintf(ret_name, NAME_MAX + 1, "%s.%s", name, word)
				    : snprintf(ret_name, NAME_MAX + 1, "%s.%s.%d", name, word, number);

	return len > NAME_MAX ? -ENAMETOOLONG : 0;
}

/* Whether the layer has a name, or says that it was removed: another apply may put it there. */
static bool beside_is_in_layer(const struct beside *beside, const char *name)
{
	const char *path = beside->change->path, *slash = strrchr(path, '/');
	char other[PATH_MAX + NAME_MAX + 2];
	_cleanup_close_ int fd = -1;

	(void)snprintf(other, sizeof(other), "%.*s%s", slash ? (int)(slash - path) + 1 : 0, path, name);
	fd = workspace_open_entry(beside->layer->upper_fd, other);
	return fd != -ENOENT && fd != -ENOTDIR &&
	       fd != -ELOOP; /* ELOOP: the layer has a link in place of a directory */
}

/* Whether a name has the content already. 1; 0: it has something else; or -ENOENT: it has nothing. */
static int beside_has_content(const struct beside *beside, const char *name)
{
	_cleanup_close_ int entry = workspace_open_entry(beside->dir_fd, name), fd = -1;
	struct stat st;

	if (entry == -ENOENT)
		return -ENOENT;
	if (entry < 0 || fstat(entry, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size != beside->size)
		return 0;
	fd = workspace_open_content(entry);
	return fd >= 0 && content_is_equal(fd, beside->from_fd, beside->size) == 1;
}

/* ---- writing ---- */

/* What the files of the change allow both, and reading and writing for its user; of none, that alone. */
static mode_t beside_get_mode(const struct workspace_change *change)
{
	const bool has_base = change->base.exists && S_ISREG(change->base.mode);
	const bool has_upper = change->upper.exists && S_ISREG(change->upper.mode);
	const mode_t base = has_base ? change->base.mode : 0777, upper = has_upper ? change->upper.mode : 0777;

	return 0600 | (has_base || has_upper ? base & upper & 0777 : 0);
}

/*
 * True when all files that are known have one owner, which the version may have then, too: else it would show what one
 * user has to another one. The directory's file may be another one than what was compared.
 */
static bool beside_has_one_owner(const struct beside *beside)
{
	const struct workspace_entry *base = &beside->change->base, *upper = &beside->change->upper;

	if (base->exists && upper->exists && (base->uid != upper->uid || base->gid != upper->gid))
		return false;
	return !beside->is_ours || (beside->uid == base->uid && beside->gid == base->gid);
}

/* Sets owner and mode of a file. Where the owner is not set, it is the user's own alone. 0 or -errno. */
static int beside_set_mode(const struct beside *beside, int fd)
{
	const struct workspace_change *change = beside->change;
	const struct workspace_entry *of = change->base.exists ? &change->base : &change->upper;
	mode_t mode = beside_get_mode(change);

	if (!beside_has_one_owner(beside) || fchown(fd, of->uid, of->gid) < 0)
		mode &= 0700;
	return fchmod(fd, mode) < 0 ? -errno : 0;
}

/* Makes the file under its temporary name. 0 or -errno; then it is not there, unless it is another's. */
static int beside_make_file(const struct beside *beside, const char *temporary)
{
	_cleanup_close_ int fd =
		openat(beside->dir_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r = 0;

	if (fd < 0)
		return errno == EEXIST ? -EBUSY : -errno;
	if (ioctl(fd, FICLONE, beside->from_fd) < 0)
		r = beside->bytes_on_disk > BESIDE_FILE_BYTES_MAX ? -EFBIG : io_copy_sparse(beside->from_fd, fd, NULL);
	if (r == 0)
		r = beside_set_mode(beside, fd);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(beside->dir_fd, temporary, 0); /* as far as it was made */
	return r;
}

/* Gives the file the first name that nothing has. 0 or -errno. */
static int beside_rename(const struct beside *beside, const char *name, const char *word, const char *temporary,
			 char ret_name[NAME_MAX + 1])
{
	int r = -EEXIST;

	for (int number = 1; r == -EEXIST && number <= BESIDE_NUMBERS_MAX; number++) {
		r = beside_format_name(name, word, number, ret_name);
		if (r == 0 && beside_is_in_layer(beside, ret_name))
			r = -EEXIST;
		if (r == 0)
			r = io_rename_new(beside->dir_fd, temporary, beside->dir_fd, ret_name);
	}
	return r;
}

/* Finds a file that has the content already. False: there is none. */
static bool beside_find(const struct beside *beside, const char *name, const char *word, char ret_name[NAME_MAX + 1])
{
	for (int number = 1; number <= BESIDE_NUMBERS_MAX; number++) {
		if (beside_format_name(name, word, number, ret_name) < 0)
			return false;
		if (beside_has_content(beside, ret_name) == 1)
			return true;
	}
	return false;
}

int workspace_write_beside(const struct workspace_layer *layer, const struct workspace_change *change, const char *word,
			   int from_fd, const char *temporary, char ret_name[NAME_MAX + 1])
{
	const char *name;
	_cleanup_close_ int dir = place_open_parent(layer->base_fd, change->path, &name), from = -1;
	struct beside beside = {.layer = layer, .change = change, .dir_fd = dir};
	char found[NAME_MAX + 1];
	struct stat st;
	int r;

	if (dir < 0)
		return dir;
	if (fstat(from_fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (beside_format_name(name, word, 1, found) < 0)
		return -ENAMETOOLONG;
	beside.from_fd = from = workspace_open_content(from_fd);
	if (from < 0)
		return from;
	beside.size = (uint64_t)st.st_size;
	beside.is_ours = strcmp(word, "ours") == 0;
	beside.uid = st.st_uid;
	beside.gid = st.st_gid;
	beside.bytes_on_disk = (uint64_t)st.st_blocks * 512;
	if (!beside_find(&beside, name, word, found)) {
		r = beside_make_file(&beside, temporary);
		if (r < 0)
			return r;
		r = beside_rename(&beside, name, word, temporary, found);
		if (r < 0) {
			(void)unlinkat(dir, temporary, 0);
			return r;
		}
	}
	memcpy(ret_name, found, sizeof(found));
	return 0;
}
