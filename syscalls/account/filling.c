#include "syscalls/account/filling.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "syscalls/account/disk.h"
#include "view/copy/fill.h"
#include "view/private.h"

bool filling_is_possible(const struct call *call)
{
	return call->sandbox->view->has_placeholders;
}

/* Ends the call that would have needed the content, if it was not filled. r: of filling_fill(). 0 or -1. */
static int filling_end(struct call *call, int r)
{
	if (r == 0 || r == -ECANCELED)
		return r < 0 ? -1 : 0;
	return call_fail(call, r == -ENOSPC || r == -EDQUOT || r == -ENOMEM ? r : -EIO);
}

/* Finds the placeholder of fd. NULL: it is none. */
static struct fill_file *filling_find(const struct call *call, int fd, struct fills **ret_fills)
{
	struct stat st;

	return filling_is_possible(call) && fstat(fd, &st) == 0
		       ? view_find_placeholder(call->sandbox->view, fd, "", &st, ret_fills)
		       : NULL;
}

static int filling_admit(void *ctx, uint64_t bytes)
{
	return disk_admit_bytes(ctx, bytes) < 0 ? -ECANCELED : 0;
}

/* Fills a file. 0, also for what is no placeholder; -ECANCELED with the outcome set; or -errno. */
static int filling_fill(struct call *call, int fd, bool for_change)
{
	const int r = filling_is_possible(call) ? view_fill_file(call->sandbox->view, fd,
								 for_change ? FILL_FOR_CHANGE : 0, filling_admit, call)
						: 0;

	if (r > 0)
		disk_count_filled_file(call->sandbox->disk, fd);
	return r < 0 ? r : 0;
}

int filling_complete_file(struct call *call, int fd, bool for_change)
{
	return filling_end(call, filling_fill(call, fd, for_change));
}

bool filling_find_emptied(const struct call *call, int fd, struct filling_emptied *ret_emptied)
{
	ret_emptied->file = filling_find(call, fd, &ret_emptied->fills);
	if (ret_emptied->file && !fills_may_empty(ret_emptied->fills, ret_emptied->file))
		ret_emptied->file = NULL;
	return ret_emptied->file;
}

void filling_end_emptied(const struct filling_emptied *emptied, int fd)
{
	if (emptied->file)
		fills_note_emptied(emptied->fills, emptied->file, fd);
}

int filling_complete_directory(struct call *call, int fd)
{
	_cleanup_closedir_ DIR *dir =
		filling_is_possible(call)
			? io_take_dir_stream(openat2_retry(fd, ".", O_RDONLY | O_DIRECTORY, 0, IO_RESOLVE_BELOW))
			: NULL; /* also of what is no directory, or may not be read */
	const struct dirent *entry;
	int r = 0;

	while (dir && r == 0 && (entry = io_read_entry(dir, &r))) {
		_cleanup_close_ int file = entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN
						   ? openat(dirfd(dir), entry->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC)
						   : -1;

		if (file >= 0)
			r = filling_fill(call, file, false);
		if (r == -ESTALE || r == -EUCLEAN)
			r = 0; /* it stays a placeholder, and opening it fails */
	}
	return filling_end(call, r);
}

void filling_await_change(const struct call *call, unsigned i)
{
	const struct place *place = &call->resolved_place[i];
	const struct view_layer *layer = place->mount ? place->mount->layer : NULL;

	if (layer && layer->fills && !place->is_magic_link)
		fills_await_change(layer->fills, place->mount->fd, place->path_below_mount_fd);
}

uint64_t filling_get_blocks(const struct call *call, const struct stat *st)
{
	const struct view *view = call->sandbox->view;
	uint64_t bytes = 0;

	if (view->has_placeholders && S_ISREG(st->st_mode) && (uint64_t)st->st_blocks * 512 < (uint64_t)st->st_size)
		for (size_t i = 0; bytes == 0 && i < view->mount_count; i++)
			if (view->mount[i]->layer && view->mount[i]->layer->fills)
				bytes = fills_get_bytes_by_status(view->mount[i]->layer->fills, st);
	return (uint64_t)st->st_blocks + bytes / 512;
}
