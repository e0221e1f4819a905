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

/* Ends the call that would have needed the content. Returns -1. */
static int filling_fail(struct call *call, int error)
{
	return call_fail(call, error == -ENOSPC || error == -EDQUOT || error == -ENOMEM ? error : -EIO);
}

int filling_complete_file(struct call *call, int fd, bool for_change)
{
	struct fills *fills;
	struct fill_file *file;
	struct stat st;
	int r;

	if (!filling_is_possible(call) || fstat(fd, &st) < 0)
		return 0;
	file = view_find_placeholder(call->sandbox->view, fd, "", &st, &fills);
	if (!file)
		return 0;
	if (disk_admit_bytes(call, fill_file_get_bytes(file)) < 0)
		return -1;
	r = fills_fill(fills, file, fd, for_change ? FILL_FOR_CHANGE : 0);
	if (r < 0)
		return filling_fail(call, r);
	disk_count_filled_file(call, fd);
	return 0;
}

int filling_complete_directory(struct call *call, int fd)
{
	_cleanup_closedir_ DIR *dir =
		filling_is_possible(call)
			? io_take_dir_stream(openat2_retry(fd, ".", O_RDONLY | O_DIRECTORY, 0, IO_RESOLVE_BELOW))
			: NULL; /* also of what is no directory, or may not be read */
	const struct dirent *entry;
	int r = 0;

	while (dir && r == 0 && (entry = readdir(dir))) {
		_cleanup_close_ int file = entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN
						   ? openat(dirfd(dir), entry->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC)
						   : -1;

		if (file >= 0)
			r = filling_complete_file(call, file, false);
	}
	return r;
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
