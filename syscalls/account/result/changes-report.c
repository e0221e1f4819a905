/* Reports changes: compares each touched path with its state before the first touch. */
#include <fcntl.h>
#include <search.h>

#include "base/cleanup.h"
#include "base/content.h"
#include "base/io.h"
#include "base/sha256.h"
#include "syscalls/account/result/changes-private.h"
#include "view/copy/copy.h"
#include "view/copy/fill.h"

_Static_assert(sizeof(((struct change *)0)->sha256) == SHA256_HEX_SIZE, "a hash must fit");

static bool changes_is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* Times and size of a directory are ignored, because they change with its entries, which are reported. */
static bool changes_is_modified(const struct touched_file *before, const struct stat *now)
{
	if (before->state == TOUCHED_UNKNOWN)
		return true;
	if (before->dev != now->st_dev || before->ino != now->st_ino || before->mode != now->st_mode ||
	    before->uid != now->st_uid || before->gid != now->st_gid)
		return true;
	if (S_ISDIR(now->st_mode))
		return false;
	return before->size != (uint64_t)now->st_size || !changes_is_same_time(&before->mtime, &now->st_mtim) ||
	       !changes_is_same_time(&before->ctime, &now->st_ctim);
}

/* The writing of the list of changed files, with their hashes. */
struct changes_report {
	uint64_t hash_bytes, hash_end_ns; /* bytes that hashing may still read, and when it must end */
	void (*each)(void *ctx, const struct change *change);
	void *ctx;
};

/* Takes the bytes of a file that is to be read for the report. False: that would take too long. */
static bool changes_may_read(struct changes_report *report, uint64_t bytes)
{
	if (bytes > CHANGES_HASHED_FILE_BYTES_MAX || bytes > report->hash_bytes ||
	    io_read_clock_ns() > report->hash_end_ns)
		return false;
	report->hash_bytes -= bytes;
	return true;
}

/* Hashes a regular file. The hash is "" if the file cannot be read, or hashing would exceed its limits. */
static void changes_add_hash(const struct place *place, struct change *change, struct changes_report *report)
{
	_cleanup_close_ int fd = -1;
	const struct fill_file *placeholder;
	struct fills *fills;
	struct stat file;
	uint64_t bytes;

	fd = view_open_uncovered(place, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &file) < 0 || !S_ISREG(file.st_mode))
		return;
	placeholder = view_find_placeholder(place->mount->view, fd, "", &file, &fills);
	if (placeholder) { /* only its attributes were changed */
		cleanup_close(&fd);
		fd = fills_open_source(fills, placeholder, 0, &file);
		if (fd < 0)
			return;
	}
	bytes = (uint64_t)file.st_size;
	if (!changes_may_read(report, bytes))
		return;
	if (sha256_hash_fd(fd, change->sha256, &bytes) < 0)
		change->sha256[0] = '\0';
}

/*
 * Whether a file of an overlay differs from the one below only in time of change and numbers: the kernel has copied it
 * when the program opened it for writing, and the program has written nothing. `before` is of the file below.
 */
static bool changes_was_only_copied(const struct touched_file *before, const struct place *place,
				    const struct stat *now, struct changes_report *report)
{
	const struct view_layer *layer = place->mount->flags & MOUNT_OVERLAY ? place->mount->layer : NULL;
	_cleanup_close_ int fd = -1, below = -1;
	struct stat st;

	if (!layer || before->state != TOUCHED_PRESENT || !S_ISREG(now->st_mode) || before->mode != now->st_mode ||
	    before->size != (uint64_t)now->st_size || !changes_is_same_time(&before->mtime, &now->st_mtim))
		return false;
	below = io_open_keeping_atime(layer->lower_fd, place->path_below_mount_fd,
				      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
				      IO_RESOLVE_BELOW | RESOLVE_NO_XDEV);
	if (below < 0 || fstat(below, &st) < 0 || !changes_is_same_time(&before->ctime, &st.st_ctim) ||
	    !changes_may_read(report, before->size))
		return false;
	fd = view_open_uncovered(place, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	return fd >= 0 && copy_has_same_attributes(fd, below) && content_is_equal(fd, below, before->size) == 1;
}

/* Whether a touched path has changed. True: *ret_change says how. */
static bool changes_find_change_of_touched(const struct touched_file *entry, struct change *ret_change,
					   struct changes_report *report)
{
	_cleanup_close_ int fd = -1;
	struct place place;
	struct stat now;
	bool present;

	changes_get_touched_place(entry, &place);
	fd = view_open_uncovered(&place, O_PATH | O_NOFOLLOW);
	present = fd >= 0 && fstat(fd, &now) == 0;
	memset(ret_change, 0, sizeof(*ret_change));
	ret_change->path = entry->path;
	if (!present) {
		ret_change->kind = CHANGE_DELETED;
		ret_change->size_bytes = S_ISREG(entry->mode) ? entry->size : 0;
		return entry->state == TOUCHED_PRESENT;
	}
	if (entry->state != TOUCHED_ABSENT &&
	    (!changes_is_modified(entry, &now) || changes_was_only_copied(entry, &place, &now, report)))
		return false;
	ret_change->kind = entry->state == TOUCHED_ABSENT ? CHANGE_ADDED : CHANGE_MODIFIED;
	if (S_ISREG(now.st_mode)) {
		ret_change->size_bytes = (uint64_t)now.st_size;
		changes_add_hash(&place, ret_change, report);
	}
	return true;
}

/* Callback of twalk_r(3), which visits the paths in order. */
static void changes_report_touched(const void *node, VISIT visit, void *closure)
{
	const struct touched_file *entry = *(const struct touched_file *const *)node;
	struct changes_report *report = closure;
	struct change change;

	if ((visit == postorder || visit == leaf) && changes_mount_is_reported(entry->mount) &&
	    changes_find_change_of_touched(entry, &change, report))
		report->each(report->ctx, &change);
}

int changes_report(struct changes *changes, const struct view *view,
		   void (*each)(void *ctx, const struct change *change), void *ctx)
{
	struct changes_report report = {.hash_bytes = CHANGES_HASHED_TOTAL_BYTES_MAX, .each = each, .ctx = ctx};
	int r = changes_list_all_renamed_trees(changes);

	(void)view; /* the entries point to mounts of the view, so the caller must not free the view before this call */
	if (r < 0)
		return r;
	report.hash_end_ns = io_read_clock_ns() + CHANGES_HASHING_TIME_MAX_NS;
	twalk_r(changes->tree, changes_report_touched, &report);
	return 0;
}
