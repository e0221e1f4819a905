#include "syscalls/account/workspace/filling.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "syscalls/account/limits/copying.h"
#include "syscalls/account/limits/disk.h"
#include "syscalls/call/work.h"
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
	return call_fail(call, copying_lacks_room(r) ? r : -EIO);
}

/* Finds the placeholder of fd. NULL: it is none. */
static struct fill_file *filling_find(const struct call *call, int fd, struct fills **ret_fills)
{
	struct stat st;

	return filling_is_possible(call) && fstat(fd, &st) == 0
		       ? view_find_placeholder(call->sandbox->view, fd, "", &st, ret_fills)
		       : NULL;
}

/* ---- large files, in a worker thread ---- */

struct filling_work {
	struct call_work work;
	struct view_fill fill;
	struct sandbox *sandbox; /* borrowed */
	int *result;             /* borrowed; NULL: it is not wanted */
};

static int64_t filling_run_work(struct call_work *work, int fd, bool (*go_on)(void *ctx), void *ctx)
{
	struct filling_work *filling = (struct filling_work *)work;

	return view_fill_file(&filling->fill, fd, &(const struct io_go_on){go_on, ctx});
}

static void filling_end_work(struct call_work *work, int fd, int64_t result)
{
	const struct filling_work *filling = (const struct filling_work *)work;

	if (result == 0)
		disk_count_filled_file(filling->sandbox->disk, fd);
	if (filling->result)
		*filling->result = (int)result;
}

static void filling_free_work(struct call_work *work)
{
	struct filling_work *filling = (struct filling_work *)work;

	filling->sandbox->is_filling = false;
	close_fd(&filling->fill.source_fd);
	free(filling);
}

struct call_work *filling_create_work(struct sandbox *sandbox, struct view_fill *fill, int *ret_result)
{
	struct filling_work *filling = malloc(sizeof(*filling));

	if (!filling)
		return NULL;
	*filling = (struct filling_work){
		.work = {.run = filling_run_work, .end = filling_end_work, .free = filling_free_work},
		.fill = *fill,
		.sandbox = sandbox,
		.result = ret_result};
	fill->source_fd = -1;
	sandbox->is_filling = true;
	return &filling->work;
}

/* Lets a worker fill the file, after which the call is judged again. Takes fill->source_fd. -ECANCELED; or -errno. */
static int filling_give_to_worker(struct call *call, int fd, struct view_fill *fill)
{
	_cleanup_close_ int copied = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	struct call_work *work = copied < 0 ? NULL : filling_create_work(call->sandbox, fill, NULL);

	if (!work) {
		close_fd(&fill->source_fd);
		return -ENOMEM;
	}
	call->outcome.kind = OUTCOME_COPY_FIRST;
	call->outcome.fd = steal_fd(&copied);
	call->outcome.blocking_work = work;
	return -ECANCELED;
}

/* ---- any file ---- */

/* Fills the file, or lets a worker do it. Takes fill->source_fd. Returns as filling_fill(). */
static int filling_fill_found(struct call *call, int fd, struct view_fill *fill)
{
	int r;

	if (fill->bytes >= COPYING_INLINE_BYTES_MAX && !call->copies_inline)
		return filling_give_to_worker(call, fd, fill);
	r = view_fill_file(fill, fd, NULL);
	close_fd(&fill->source_fd);
	if (r == 0)
		disk_count_filled_file(call->sandbox->disk, fd);
	return r;
}

/* Fills a file of a view with placeholders. 0, also for what is none; -ECANCELED with the outcome set; or -errno. */
static int filling_fill(struct call *call, int fd, bool for_change)
{
	struct view_fill fill;
	int r;

	/* A program's content is needed to judge it. */
	if (call_is_only_judged(call) && call->row->basis != BASIS_EXEC)
		return 0;
	if (call->sandbox->is_filling) {
		call->outcome.kind = OUTCOME_COPY_FIRST; /* it waits for that of another call */
		return -ECANCELED;
	}
	r = view_begin_fill(call->sandbox->view, fd, for_change ? FILL_FOR_CHANGE : 0, &fill);
	if (r <= 0)
		return r;
	r = call->fill_error;
	if (r == 0 && disk_admit_bytes(call, fill.bytes) < 0)
		r = -ECANCELED;
	if (r == 0)
		return filling_fill_found(call, fd, &fill);
	close_fd(&fill.source_fd);
	return r;
}

int filling_complete_file(struct call *call, int fd, bool for_change)
{
	return filling_is_possible(call) ? filling_end(call, filling_fill(call, fd, for_change)) : 0;
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
