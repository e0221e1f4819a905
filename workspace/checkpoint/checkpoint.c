#include "workspace/checkpoint/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "base/times.h"
#include "view/copy/copy.h"
#include "view/copy/groups.h"
#include "view/copy/leftover.h"
#include "workspace/checkpoint/private.h"

#define CHECKPOINT_DIR_NAME "checkpoints"
#define CHECKPOINT_NEW_NAME ".new"         /* one that is being made */
#define CHECKPOINT_REMOVED_NAME ".removed" /* one that is being removed */

/* ---- the directory of all checkpoints ---- */

bool checkpoint_is_name(const char *text)
{
	const size_t len = strlen(text);

	return len > 0 && len < CHECKPOINT_NAME_SIZE && text[0] != '.' && text[0] != '-' &&
	       strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.") == len;
}

int checkpoint_open_all(int workspace_fd)
{
	_cleanup_close_ int fd = -1;

	if (mkdirat(workspace_fd, CHECKPOINT_DIR_NAME, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = io_open_dir(workspace_fd, CHECKPOINT_DIR_NAME);
	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	return steal_fd(&fd);
}

bool checkpoint_is_being_used(int workspace_fd)
{
	_cleanup_close_ int fd = io_open_dir(workspace_fd, CHECKPOINT_DIR_NAME);

	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0;
}

int checkpoint_open(int workspace_fd, const char *name)
{
	_cleanup_close_ int all = -1;

	if (!checkpoint_is_name(name))
		return -ENOENT;
	all = io_open_dir(workspace_fd, CHECKPOINT_DIR_NAME);
	return all < 0 ? all : io_open_dir(all, name);
}

static int checkpoint_compare_times(const void *left, const void *right)
{
	const struct checkpoint *a = left, *b = right;
	const int order = times_compare(&a->time, &b->time);

	return order ? order : strcmp(a->name, b->name);
}

/* Reads what is told of a checkpoint. False: there is none of this name. */
static bool checkpoint_read(int all_fd, const char *name, const struct known_files *known, struct checkpoint *ret)
{
	char path[CHECKPOINT_NAME_SIZE + sizeof("/0")];
	struct stat st;

	if (!checkpoint_is_name(name))
		return false;
	(void)snprintf(path, sizeof(path), "%s/0", name);
	if (fstatat(all_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	(void)snprintf(ret->name, sizeof(ret->name), "%s", name);
	ret->time = st.st_mtim; /* nothing is added to this directory later */
	ret->is_latest = strcmp(name, known->checkpoint) == 0;
	return true;
}

int checkpoint_visit(int workspace_fd, int (*visit)(void *ctx, const struct checkpoint *checkpoint), void *ctx)
{
	_cleanup_close_ int all_fd = io_open_dir(workspace_fd, CHECKPOINT_DIR_NAME);
	_cleanup_name_list_ struct name_list names = {0};
	_cleanup_known_files_ struct known_files known = {.checkpoint = ""};
	_cleanup_free_ struct checkpoint *all = NULL;
	size_t count = 0;
	int r = all_fd < 0 ? all_fd : name_list_read(&names, all_fd);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	all = calloc(names.count + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	known_files_read(&known, all_fd);
	for (size_t i = 0; i < names.count; i++)
		count += checkpoint_read(all_fd, names.name[i], &known, &all[count]);
	qsort(all, count, sizeof(*all), checkpoint_compare_times);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = visit(ctx, &all[i]);
	return r;
}

/* What the removal of the checkpoint that is being removed would free. */
static uint64_t checkpoint_measure_removed(int all_fd)
{
	_cleanup_close_ int fd = io_open_dir(all_fd, CHECKPOINT_REMOVED_NAME);

	return fd < 0 ? 0 : checkpoint_measure_removal(fd);
}

/* Removes what checkpoint_remove() has renamed. *freed_bytes: what that frees is added. 0 or -errno. */
static int checkpoint_remove_renamed(int all_fd, uint64_t *freed_bytes)
{
	const uint64_t before = checkpoint_measure_removed(all_fd);
	const int r = io_remove_tree(all_fd, CHECKPOINT_REMOVED_NAME);
	const uint64_t after = r < 0 ? checkpoint_measure_removed(all_fd) : 0;

	*freed_bytes += before > after ? before - after : 0;
	return r;
}

int checkpoint_remove(int all_fd, const char *name, uint64_t *ret_freed_bytes)
{
	int r;

	*ret_freed_bytes = 0;
	r = checkpoint_remove_renamed(all_fd, ret_freed_bytes); /* of a process that was killed */
	if (r < 0 && r != -ENOENT)
		return r;
	if (!checkpoint_is_name(name))
		return -ENOENT;
	if (renameat(all_fd, name, all_fd, CHECKPOINT_REMOVED_NAME) < 0)
		return -errno;
	return checkpoint_remove_renamed(all_fd, ret_freed_bytes);
}

/* Chooses the name of a new checkpoint, if it has none: one more than the highest number. 0 or -errno. */
static int checkpoint_choose_name(int all_fd, char name[CHECKPOINT_NAME_SIZE])
{
	_cleanup_name_list_ struct name_list names = {0};
	uint64_t highest = 0, number;
	int r = name_list_read(&names, all_fd);

	if (r < 0)
		return r;
	if (names.count >= CHECKPOINTS_MAX)
		return -E2BIG;
	for (size_t i = 0; i < names.count; i++) {
		if (*name && strcmp(names.name[i], name) == 0)
			return -EEXIST;
		if (text_parse_number(names.name[i], 0, UINT32_MAX, &number) == 0 && number > highest)
			highest = number;
	}
	if (!*name)
		(void)snprintf(name, CHECKPOINT_NAME_SIZE, "%llu", (unsigned long long)highest + 1);
	return 0;
}

/* ---- making ---- */

void checkpoint_await_clock_tick(void)
{
	const struct timespec pause = {.tv_nsec = 500000};
	struct timespec start, now;

	(void)clock_gettime(CLOCK_REALTIME_COARSE, &start);
	do {
		(void)nanosleep(&pause, NULL);
		(void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
	} while (times_compare(&now, &start) == 0);
}

bool checkpoint_must_compare(int upper_fd, bool programs_live)
{
	struct statfs fs;

	/* A write to a mapped file of a tmpfs does not change its time. */
	return programs_live || fstatfs(upper_fd, &fs) < 0 || fs.f_type == TMPFS_MAGIC;
}

/* Links what says of which kind the layer is: its time counts (layer.h). 0 or -errno. */
static int checkpoint_link_marks(int old_fd, int new_fd)
{
	static const char *const marks[] = {"user",         "trusted",       COPY_MARKER_NAME, COPY_RECORDS_NAME,
					    COPY_ROOT_NAME, VIEW_GROUPS_NAME};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (linkat(old_fd, marks[i], new_fd, marks[i], 0) < 0 && errno != ENOENT)
			return -errno;
	return 0;
}

/* Makes directory `name` of a new checkpoint, for the layer of a directory. 0 or -errno. */
static int checkpoint_make_layer(struct copier *copier, const struct checkpoint_dir *dir, int new_fd, const char *name)
{
	_cleanup_close_ int layer = -1, upper = -1;
	int r;

	if (mkdirat(new_fd, name, 0700) < 0)
		return -errno;
	layer = io_open_dir(new_fd, name);
	if (layer < 0)
		return layer;
	r = leftover_remove(dir->dir_fd, dir->view_fd); /* of a restore that was killed */
	if (r == 0 || r == -EACCES || r == -EPERM)      /* the program has closed its directory, and the note stays */
		r = checkpoint_link_marks(dir->dir_fd, layer);
	if (r < 0)
		return r;
	if (mkdirat(layer, "upper", 0700) < 0)
		return -errno;
	upper = io_open_dir(layer, "upper");
	if (upper < 0)
		return upper;
	copier->to_fd = upper;
	r = copier->layer->is_live_copy ? copier_copy_changes(copier, dir->dir_fd, dir->path)
					: copier_copy_layer(copier);
	copier->to_fd = -1;
	if (r < 0)
		return r;
	copier->work->held_bytes = checkpoint_measure_removal(new_fd); /* now with directories, and as it was written */
	return copier_compare_with_max(copier);
}

int checkpoint_open_upper(int all_fd, const char *name, size_t at)
{
	_cleanup_close_ int fd = *name ? io_open_dir(all_fd, name) : -ENOENT;
	_cleanup_close_ int layer = fd < 0 ? fd : workspace_open_layer_dir(fd, at);
	const int upper = layer < 0 ? layer : io_open_dir(layer, "upper");

	return upper < 0 ? -1 : upper;
}

int checkpoint_get_known_fd(const struct checkpoint_dir *dir, size_t at, int all_fd)
{
	return at == 0 ? all_fd : dir->dir_fd;
}

/* Makes a checkpoint of all directories as CHECKPOINT_NEW_NAME. 0 or -errno. */
static int checkpoint_make_new(struct copier *copier, const struct checkpoint_dir *dirs, size_t count, int all_fd)
{
	_cleanup_close_ int fd = -1;
	char name[24];
	int r = 0;

	if (mkdirat(all_fd, CHECKPOINT_NEW_NAME, 0700) < 0)
		return -errno;
	fd = io_open_dir(all_fd, CHECKPOINT_NEW_NAME);
	if (fd < 0)
		return fd;
	for (size_t at = 0; r == 0 && at < count; at++) {
		copier->work->failed_at = at;
		known_files_read(&copier[at].before, checkpoint_get_known_fd(&dirs[at], at, all_fd));
		copier[at].previous_fd = checkpoint_open_upper(all_fd, copier[at].before.checkpoint, at);
		(void)snprintf(name, sizeof(name), "%zu", at);
		r = checkpoint_make_layer(&copier[at], &dirs[at], fd, name);
	}
	return r;
}

/* Gives the new checkpoint its name, and notes of which files it has copies. 0 or -errno. */
static int checkpoint_publish(struct copier *copier, const struct checkpoint_dir *dirs, size_t count, int all_fd,
			      const char *name, bool programs_live)
{
	int r;

	/* Without the list, the next checkpoint copies all files. An old list may be of an older one of this name. */
	for (size_t at = 0; at < count; at++)
		if (known_files_remove(checkpoint_get_known_fd(&dirs[at], at, all_fd)) < 0)
			return -EIO;
	r = io_rename_new(all_fd, CHECKPOINT_NEW_NAME, all_fd, name);
	if (r < 0)
		return r;
	for (size_t at = 0; at < count; at++) {
		struct known_files *after = &copier[at].after;

		(void)snprintf(after->checkpoint, sizeof(after->checkpoint), "%s", name);
		after->compares_contents = checkpoint_must_compare(copier[at].layer->upper_fd, programs_live);
		(void)known_files_write(after, checkpoint_get_known_fd(&dirs[at], at, all_fd));
	}
	return 0;
}

static void copier_release(struct copier *copier)
{
	close_fd(&copier->previous_fd);
	known_files_release(&copier->before);
	known_files_release(&copier->after);
	copies_release(&copier->copies);
	dir_list_release(&copier->dirs);
}

int checkpoint_make(const struct checkpoint_dir *dirs, size_t count, int all_fd, char name[CHECKPOINT_NAME_SIZE],
		    bool programs_live, uint64_t max_bytes, struct checkpoint_work *ret_work)
{
	_cleanup_free_ struct copier *copier = calloc(count, sizeof(*copier)); /* one a directory */
	int r = copier ? checkpoint_choose_name(all_fd, name) : -ENOMEM;

	*ret_work = (struct checkpoint_work){.failed_path = ""};
	if (r == 0)
		r = io_remove_tree(all_fd, CHECKPOINT_NEW_NAME); /* of a process that was killed */
	if (r < 0 && r != -ENOENT)
		return r;
	for (size_t at = 0; at < count; at++)
		copier[at] = (struct copier){.layer = &dirs[at].layer,
					     .to_fd = -1,
					     .previous_fd = -1,
					     .last_to_fd = -1,
					     .last_previous_fd = -1,
					     .max_bytes = max_bytes,
					     .work = ret_work};
	checkpoint_await_clock_tick();
	r = checkpoint_make_new(copier, dirs, count, all_fd);
	if (r == 0)
		r = checkpoint_publish(copier, dirs, count, all_fd, name, programs_live);
	if (r < 0)
		(void)io_remove_tree(all_fd, CHECKPOINT_NEW_NAME); /* on failure the next one removes it */
	for (size_t at = 0; at < count; at++)
		copier_release(&copier[at]);
	return r;
}
