#include "workspace/closed.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "view/copy/copy.h"

#define CLOSED_BYTES_MAX \
	((size_t)64 << 20) /* most bytes of the file, of texts such as "644 5:a/dir", each with NULs around it */

/* The directory of the tree, and the file. */
static const struct closed_names {
	const char *top, *file;
} closed_names[] = {
	[CLOSED_OF_LAYER] = {"upper", "closed"},
	[CLOSED_OF_COPY] = {COPY_DIR_NAME, "copy-closed"},
};

struct closed_entry {
	ino_t inode;
	mode_t mode; /* without the type */
};

struct closed {
	int dir_fd;
	const char *file_name;
	struct closed_entry *entry; /* sorted by inode number */
	size_t count, room;
};

/* The index of the first entry whose number is not smaller. */
static size_t closed_find(const struct closed *closed, ino_t inode)
{
	size_t first = 0, end = closed->count;

	while (first < end) {
		const size_t middle = first + (end - first) / 2;

		if (closed->entry[middle].inode < inode)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

static bool closed_has(const struct closed *closed, ino_t inode)
{
	const size_t at = closed_find(closed, inode);

	return at < closed->count && closed->entry[at].inode == inode;
}

/* Adds an entry, unless it is there: the first mode is the program's. 0 or -ENOMEM. */
static int closed_add(struct closed *closed, ino_t inode, mode_t mode)
{
	const size_t at = closed_find(closed, inode);

	if (closed_has(closed, inode))
		return 0;
	if (!array_reserve(&closed->entry, closed->count, &closed->room))
		return -ENOMEM;
	memmove(closed->entry + at + 1, closed->entry + at, (closed->count - at) * sizeof(*closed->entry));
	closed->entry[at] = (struct closed_entry){inode, mode};
	closed->count++;
	return 0;
}

/* The inode number of an entry of the tree; 0: it is not there. */
static ino_t closed_find_inode(int top_fd, const char *path)
{
	_cleanup_close_ int fd =
		openat2_retry(top_fd, *path ? path : ".", O_PATH | O_NOFOLLOW, 0, IO_RESOLVE_BELOW | RESOLVE_NO_XDEV);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 ? st.st_ino : 0;
}

/* Adds what an older version has written, which had lines with inode numbers: "1234 644". 0 or -ENOMEM. */
static int closed_parse_lines(struct closed *closed, const char *text)
{
	const char *end;
	int r = 0;

	for (; r == 0 && (end = strchr(text, '\n')); text = end + 1) {
		unsigned long long inode;
		unsigned mode;

		if (sscanf(text, "%llu %o", &inode, &mode) == 2)
			r = closed_add(closed, (ino_t)inode, (mode_t)mode & 07777);
	}
	return r;
}

/* Adds what is in the text. One that was not wholly written is none: nothing was changed then. 0 or -ENOMEM. */
static int closed_parse(struct closed *closed, int top_fd, const char *text, size_t len)
{
	int r = *text == '\n' ? closed_parse_lines(closed, text) : 0;

	for (const char *at = text; r == 0 && at < text + len; at += strlen(at) + 1) {
		unsigned mode;
		size_t path_len;
		int start = 0;
		ino_t inode;

		if (sscanf(at, "%o %zu:%n", &mode, &path_len, &start) != 2 || start == 0 ||
		    strlen(at + start) != path_len)
			continue;
		inode = closed_find_inode(top_fd, at + start);
		if (inode != 0)
			r = closed_add(closed, inode, (mode_t)mode & 07777);
	}
	return r;
}

bool closed_is_noted(int dir_fd, enum closed_tree tree)
{
	return io_may_have_name(dir_fd, closed_names[tree].file);
}

int closed_load(int dir_fd, enum closed_tree tree, struct closed **ret_closed)
{
	const struct closed_names *names = &closed_names[tree];
	struct closed *closed = calloc(1, sizeof(*closed));
	_cleanup_close_ int top = openat(dir_fd, names->top, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_free_ char *text = NULL;
	size_t len;
	int r;

	if (!closed)
		return -ENOMEM;
	closed->dir_fd = dir_fd;
	closed->file_name = names->file;
	r = io_read_file(dir_fd, names->file, CLOSED_BYTES_MAX, &text, &len);
	r = r == -ENOENT ? 0 : r < 0 ? r : closed_parse(closed, top, text, len);
	if (r < 0)
		closed_free(closed);
	else
		*ret_closed = closed;
	return r;
}

void closed_free(struct closed *closed)
{
	if (closed)
		free(closed->entry);
	free(closed);
}

void closed_fix_status(const struct closed *closed, struct stat *st)
{
	size_t at;

	if (!closed || closed->count == 0 || !closed_has(closed, st->st_ino))
		return;
	at = closed_find(closed, st->st_ino);
	st->st_mode = (st->st_mode & S_IFMT) | closed->entry[at].mode;
}

/* Writes an entry to the file, and forces it to the disk. 0 or -errno. */
static int closed_write(const struct closed *closed, const char *path, mode_t mode)
{
	_cleanup_close_ int fd =
		openat(closed->dir_fd, closed->file_name, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	char line[PATH_MAX + 64] = ""; /* a NUL first: what is before may not have been wholly written */
	const int len = snprintf(line + 1, sizeof(line) - 1, "%o %zu:%s", (unsigned)mode, strlen(path), path);
	int r = fd < 0 ? -errno : io_write_all(fd, line, (size_t)len + 2);

	return r < 0 ? r : fdatasync(fd) < 0 ? -errno : 0;
}

int closed_open(struct closed *closed, const char *path, int fd, struct stat *st)
{
	const mode_t needs = S_ISDIR(st->st_mode) ? S_IRUSR | S_IXUSR : S_ISREG(st->st_mode) ? S_IRUSR : 0;
	const struct io_proc_fd_path link = io_proc_fd_path(fd);
	int r = 0;

	if (!closed)
		return 0;
	closed_fix_status(closed, st);
	if ((st->st_mode & needs) == needs || st->st_uid != geteuid() ||
	    faccessat(AT_FDCWD, link.path, needs & S_IXUSR ? R_OK | X_OK : R_OK, AT_EACCESS) == 0)
		return 0;
	/* It is noted already, if that was interrupted. */
	if (!closed_has(closed, st->st_ino)) {
		r = closed_write(closed, path, st->st_mode & 07777);
		if (r == 0)
			r = closed_add(closed, st->st_ino, st->st_mode & 07777);
	}
	if (r == 0 && chmod(link.path, (st->st_mode & 07777) | needs) < 0)
		r = -errno;
	return r;
}
