/* The report: compares each touched path with its state before the first touch. */
#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/sha256.h"
#include "syscalls/account/changes-private.h"

_Static_assert(sizeof(((struct change *)0)->sha256) == SHA256_HEX_SIZE, "a hash must fit");

static int by_path(const void *a, const void *b)
{
	const struct touched *const *one = a, *const *other = b;

	return strcmp((*one)->path, (*other)->path);
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* Times and size of a directory are ignored: they follow from its entries, which are reported. */
static bool is_modified(const struct touched *before, const struct stat *now)
{
	if (before->state == TOUCHED_UNKNOWN)
		return true;
	if (before->dev != now->st_dev || before->ino != now->st_ino || before->mode != now->st_mode ||
	    before->uid != now->st_uid || before->gid != now->st_gid)
		return true;
	if (S_ISDIR(now->st_mode))
		return false;
	return before->size != (uint64_t)now->st_size || !is_same_time(&before->mtime, &now->st_mtim) ||
	       !is_same_time(&before->ctime, &now->st_ctim);
}

/* What hashing may still take. */
struct budget {
	uint64_t bytes;
	uint64_t end_ns;
};

/* Hashes a regular file; "" if it cannot be read or exceeds the budget. */
static void add_hash(const struct place *place, struct change *change, struct budget *left)
{
	_cleanup_close_ int fd = -1;
	struct stat file;
	uint64_t bytes;

	fd = view_open(place, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
	if (fd < 0 || fstat(fd, &file) < 0 || !S_ISREG(file.st_mode))
		return;
	bytes = (uint64_t)file.st_size;
	if (bytes > CHANGES_HASH_FILE_BYTES || bytes > left->bytes || io_now_ns() > left->end_ns)
		return;
	left->bytes -= bytes;
	if (sha256_fd(fd, change->sha256, &bytes) < 0)
		change->sha256[0] = '\0';
}

/* True, with the change, when the path has changed. */
static bool compare_touched(const struct touched *entry, struct change *ret_change, struct budget *left)
{
	_cleanup_close_ int fd = -1;
	struct place place;
	struct stat now;
	bool present;

	changes_place(entry, &place);
	fd = view_open(&place, O_PATH | O_NOFOLLOW, 0);
	present = fd >= 0 && fstat(fd, &now) == 0;
	memset(ret_change, 0, sizeof(*ret_change));
	ret_change->path = entry->path;
	if (!present) {
		ret_change->kind = CHANGE_DELETED;
		ret_change->size_bytes = S_ISREG(entry->mode) ? entry->size : 0;
		return entry->state == TOUCHED_PRESENT;
	}
	if (entry->state != TOUCHED_ABSENT && !is_modified(entry, &now))
		return false;
	ret_change->kind = entry->state == TOUCHED_ABSENT ? CHANGE_ADDED : CHANGE_MODIFIED;
	if (S_ISREG(now.st_mode)) {
		ret_change->size_bytes = (uint64_t)now.st_size;
		add_hash(&place, ret_change, left);
	}
	return true;
}

int changes_report(struct changes *changes, const struct view *view,
		   void (*each)(void *ctx, const struct change *change), void *ctx)
{
	_cleanup_free_ struct touched **sorted = NULL;
	struct budget left = {.bytes = CHANGES_HASH_TOTAL_BYTES};
	size_t count = 0;
	int r = changes_list_moved(changes);

	(void)view; /* entries point to mounts of the view, which has to live until now */
	if (r < 0)
		return r;
	sorted = calloc(changes->count + 1, sizeof(struct touched *));
	if (!sorted)
		return -ENOMEM;
	left.end_ns = io_now_ns() + CHANGES_HASH_NS;
	for (size_t i = 0; i < changes->slots; i++) {
		if (changes->slot[i] && changes_reported(changes->slot[i]->mount))
			sorted[count++] = changes->slot[i];
	}
	qsort(sorted, count, sizeof(*sorted), by_path);
	for (size_t i = 0; i < count; i++) {
		struct change change;

		if (compare_touched(sorted[i], &change, &left))
			each(ctx, &change);
	}
	return 0;
}
