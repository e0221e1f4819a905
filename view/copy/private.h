/* What copy.c and records.c share. */
#ifndef CALLGATE_VIEW_COPY_PRIVATE_H
#define CALLGATE_VIEW_COPY_PRIVATE_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "view/copy/copy.h"

struct copy_dir {
	char *path; /* owned */
	/* it and those above may be searched later: copy_may_read_later(). Otherwise its files get their content now */
	bool may_be_searched_later;
};

struct copy {
	int from_fd, to_fd;
	struct copy_dir *dir; /* all directories, those above first; owned */
	size_t dirs, dir_room, entries;
	bool makes_placeholders;
	size_t asked;                         /* how often copy_check_go_on() was called */
	struct copy_placeholder *placeholder; /* those that were made; owned */
	size_t placeholders, placeholder_room;
	uint64_t written_bytes; /* of the file of records */
	uint64_t record_bytes;  /* what the records of all entries that were found take */
	void *links;            /* struct copy_link, for tsearch(3) */
	struct copy_context context;
	struct timespec last_ctime; /* the latest of the copy */
	uint64_t limit_bytes;       /* most that the copy may take; 0: any */
	struct copy_size before;    /* of other trees that were copied */
	struct copy_size size;      /* of these, and of what was found until now */
	struct copy_failure *failure;
};

#define COPY_ENTRIES_BETWEEN_CHECKS 32u

/* Called for each entry. 0; -ECANCELED: the run is to end. */
static inline int copy_check_go_on(struct copy *copy)
{
	const struct io_go_on *go_on = copy->context.go_on;

	return !go_on || copy->asked++ % COPY_ENTRIES_BETWEEN_CHECKS != 0 || go_on->asks(go_on->ctx) ? 0 : -ECANCELED;
}

static inline int copy_fail(const struct copy *copy, int error, const char *path, const char *what)
{
	(void)snprintf(copy->failure->path, sizeof(copy->failure->path), "%s", path);
	copy->failure->what = what;
	return error;
}

/* Opens a directory of one of both trees. A descriptor or -errno. */
static inline int copy_open_dir(int root_fd, const char *path)
{
	return io_open_keeping_atime(root_fd, *path ? path : ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
				     IO_RESOLVE_BELOW | RESOLVE_NO_XDEV);
}

static inline void copy_size_add_name(struct copy_size *size, const struct stat *st)
{
	size->names++;
	size->directories += S_ISDIR(st->st_mode);
}

static inline void copy_size_add_content(struct copy_size *size, const struct stat *st)
{
	if (S_ISREG(st->st_mode)) /* each name of a file has its part of it */
		size->content_bytes += (uint64_t)st->st_blocks * 512 / (st->st_nlink > 0 ? st->st_nlink : 1);
}

/*
 * Makes the file of records of all entries, and that of placeholders: from then on the copy is complete. Waits until a
 * later change of an entry has a later time. 0 or -errno.
 */
int copy_make_records(struct copy *copy, int dir_fd);

#endif
