/* What fill.c and fill-content.c share. */
#ifndef CALLGATE_VIEW_COPY_FILL_PRIVATE_H
#define CALLGATE_VIEW_COPY_FILL_PRIVATE_H

#include <time.h>

#include "view/copy/fill.h"

struct fill_file {
	const struct copy_placeholder *made;
	enum fill_state state;
	bool is_in_doubt;     /* what was done could not be recorded: it is not opened in this run any more */
	bool is_torn;         /* after a crash of the machine, it cannot be told whether it has its content */
	struct timespec kept; /* as fill_record.kept */
	off_t record_at;      /* where its record is in the file; -1: it has none */
};

struct fills {
	int base_fd, layer_fd;
	int fd;                        /* FILLS_NAME; -1: not made yet */
	char *text;                    /* COPY_PLACEHOLDERS_NAME; owned */
	const struct copy_placeholder *made; /* sorted by inode number; in `text` */
	struct fill_file *file;        /* one for each of them; owned */
	size_t count;
	bool is_live;          /* of fills_open() */
	bool finds_holes;      /* COPY_FINDS_HOLES */
	bool is_after_restart; /* the machine was started since the copy was made: what was written may be lost */
	bool is_unknown; /* fills_reload() has failed: nothing is filled any more */
	char *paths; /* COPY_RECORDS_NAME, which has the paths, mapped; NULL: not yet */
	size_t paths_len;
	uint64_t last_filled_ns; /* when a file was filled for reading, at the latest; 0: never */
};

static inline struct copy_time fill_make_time(const struct timespec *time)
{
	return (struct copy_time){.sec = time->tv_sec, .nsec = time->tv_nsec};
}

static inline struct timespec fill_get_time(const struct copy_time *time)
{
	return (struct timespec){.tv_sec = time->sec, .tv_nsec = time->nsec};
}

static inline bool fill_is_time(const struct copy_time *time, const struct timespec *other)
{
	return time->sec == other->tv_sec && time->nsec == other->tv_nsec;
}

#endif
