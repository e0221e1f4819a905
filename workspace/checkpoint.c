#include "workspace/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/content.h"
#include "base/io.h"
#include "base/path.h"
#include "base/text.h"
#include "base/times.h"
#include "view/copy/copy.h"
#include "view/copy/groups.h"
#include "workspace/dirs.h"
#include "workspace/copies.h"
#include "workspace/fold.h"
#include "workspace/place.h"

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

int checkpoint_remove(int all_fd, const char *name, uint64_t *ret_freed_bytes)
{
	_cleanup_close_ int fd = -1;
	int r = io_remove_tree(all_fd, CHECKPOINT_REMOVED_NAME); /* of a process that was killed */

	if (r < 0 && r != -ENOENT)
		return r;
	if (!checkpoint_is_name(name))
		return -ENOENT;
	if (renameat(all_fd, name, all_fd, CHECKPOINT_REMOVED_NAME) < 0)
		return -errno;
	fd = io_open_dir(all_fd, CHECKPOINT_REMOVED_NAME);
	*ret_freed_bytes = fd < 0 ? 0 : checkpoint_measure_removal(fd);
	return io_remove_tree(all_fd, CHECKPOINT_REMOVED_NAME);
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

/* ---- copying entries ---- */

/* The upper layer, of which a copy is made. */
struct copier {
	const struct workspace_layer *layer;
	int to_fd;                 /* the copy */
	int previous_fd;           /* the copy of the latest checkpoint; -1: there is none */
	struct known_files before; /* of which files previous_fd has copies */
	struct known_files after;  /* of which files to_fd has copies */
	struct copies copies;        /* paths in to_fd of files with several names */
	struct dir_list dirs;      /* the directories that were found */
	uint64_t max_bytes;        /* most that the copy may take */
	/* of a layer by copying: the directory of the entries that were copied last, -1: none */
	char last_path[PATH_MAX];
	int last_to_fd, last_previous_fd;
	struct checkpoint_work *work;
};

/* One directory of the layer and of the copies; previous_fd may be -1. */
struct copier_dirs {
	const char *path;
	int from_fd, to_fd, previous_fd;
};

/*
 * True for a file of git's that is named by its content: an object or a pack. git sets the times of one that it would
 * write again, and does not depend on them. Another name of it may be no such file: then it is copied.
 */
static bool copier_is_git_object(const char *path)
{
	const char *name = strrchr(path, '/'), *dir;

	for (dir = name; dir && dir > path && dir[-1] != '/'; dir--)
		;
	if (!dir || dir - path < (ptrdiff_t)strlen("objects/") || memcmp(dir - strlen("objects/"), "objects/", 8) != 0)
		return false;
	if (strncmp(dir, "pack/pack-", strlen("pack/pack-")) == 0)
		return true;
	return name - dir == 2 && strspn(dir, "0123456789abcdef") == 2 && strlen(name + 1) >= 38 &&
	       strspn(name + 1, "0123456789abcdef") == strlen(name + 1);
}

/* Whether the copy of the latest checkpoint has the content of a file. */
static bool copier_is_kept(const struct copier *copier, const struct copier_dirs *dirs, const char *path,
			   const char *name, int from_fd, const struct stat *st)
{
	_cleanup_close_ int previous = -1, left = -1, right = -1;
	const bool is_known = known_files_has(&copier->before, path, st);
	struct stat old;

	if (dirs->previous_fd < 0 || (!is_known && (st->st_nlink > 1 || !copier_is_git_object(path))))
		return false;
	if (is_known && !copier->before.compares_contents)
		return true;
	previous = workspace_open_entry(dirs->previous_fd, name);
	if (previous < 0 || fstat(previous, &old) < 0 || old.st_mode != st->st_mode || old.st_uid != st->st_uid ||
	    old.st_gid != st->st_gid || old.st_size != st->st_size)
		return false;
	left = workspace_open_content(from_fd);
	right = left < 0 ? left : workspace_open_content(previous);
	return right >= 0 && content_is_equal(left, right, (uint64_t)st->st_size) == 1;
}

/* Compares what was counted until now with the most that it may be. 0, or -EDQUOT. */
static int copier_compare_with_max(const struct copier *copier)
{
	copier->work->is_too_large = copier->work->held_bytes + copier->work->filled_bytes > copier->max_bytes;
	return copier->work->is_too_large ? -EDQUOT : 0;
}

/* Counts what the copy of an entry takes, which is like `st`. 0, or -EDQUOT. */
static int copier_count(const struct copier *copier, const struct stat *st)
{
	copier->work->held_bytes += checkpoint_get_entry_bytes(st);
	return copier_compare_with_max(copier);
}

/* Makes the copy of a regular file. 0 or -errno. */
static int copier_copy_file(struct copier *copier, const struct copier_dirs *dirs, const char *path, const char *name,
			    const struct stat *st)
{
	_cleanup_close_ int from = workspace_open_entry(dirs->from_fd, name);
	const char *other = st->st_nlink > 1 ? copies_find(&copier->copies, st->st_ino) : NULL;
	int r;

	if (from < 0)
		return from;
	if (other && copies_make(copier->to_fd, other, dirs->to_fd, name) == 0)
		return known_files_add(&copier->after, path, st);
	if (copier_is_kept(copier, dirs, path, name, from, st) &&
	    linkat(dirs->previous_fd, name, dirs->to_fd, name, 0) == 0) { /* fails for the 65,001st, of ext4 */
		copier->work->kept_files++;
	} else {
		r = copier_count(copier, st);
		if (r == 0)
			r = place_make_copy(copier->layer, dirs->to_fd, name, from, st->st_mode, PLACE_OWN_ATTRIBUTES);
		if (r < 0)
			return r;
		copier->work->copied_files++;
		copier->work->copied_bytes += (uint64_t)st->st_size;
	}
	r = st->st_nlink > 1 ? copies_add(&copier->copies, st->st_ino, path) : 0;
	return r < 0 ? r : known_files_add(&copier->after, path, st);
}

/* Copies what is neither a directory nor a regular file. 0 or -errno. */
static int copier_copy_other(struct copier *copier, const struct copier_dirs *dirs, const char *path, const char *name,
			     const struct stat *st)
{
	const char *other = st->st_nlink > 1 ? copies_find(&copier->copies, st->st_ino) : NULL;
	_cleanup_close_ int from = -1;
	int r = copier_count(copier, st);

	if (r < 0)
		return r;
	if (other && copies_make(copier->to_fd, other, dirs->to_fd, name) == 0)
		return 0;
	if (workspace_is_whiteout(st)) /* any user may make this device (Linux 5.8), which opens as nothing */
		return mknodat(dirs->to_fd, name, S_IFCHR, 0) < 0 ? -errno : 0;
	from = workspace_open_entry(dirs->from_fd, name);
	r = from < 0 ? from
		     : place_make_copy(copier->layer, dirs->to_fd, name, from, st->st_mode, PLACE_OWN_ATTRIBUTES);
	return r == 0 && st->st_nlink > 1 ? copies_add(&copier->copies, st->st_ino, path) : r;
}

static int copier_copy_entry(struct copier *copier, const struct copier_dirs *dirs, const char *name)
{
	char *path = copier->work->failed_path;
	struct stat st;
	int r = path_append_name(dirs->path, name, path);

	if (r < 0)
		return r;
	if (fstatat(dirs->from_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISREG(st.st_mode))
		return copier_copy_file(copier, dirs, path, name, &st);
	if (!S_ISDIR(st.st_mode))
		return copier_copy_other(copier, dirs, path, name, &st);
	if (mkdirat(dirs->to_fd, name, 0700) < 0)
		return -errno;
	return dir_list_add(&copier->dirs, path, false, false);
}

static int copier_copy_dir(struct copier *copier, const char *path)
{
	_cleanup_close_ int from = dirs_open(copier->layer->upper_fd, path), to = -1, previous = -1;
	_cleanup_name_list_ struct name_list names = {0};
	struct copier_dirs dirs;
	int r = from < 0 ? from : name_list_read(&names, from);

	(void)snprintf(copier->work->failed_path, PATH_MAX, "%s", path);
	to = r < 0 ? r : dirs_open(copier->to_fd, path);
	if (to < 0)
		return to;
	previous = copier->previous_fd < 0 ? -1 : dirs_open(copier->previous_fd, path);
	dirs = (struct copier_dirs){path, from, to, previous};
	for (size_t i = 0; r == 0 && i < names.count; i++)
		r = copier_copy_entry(copier, &dirs, names.name[i]);
	return r;
}

/* Gives the copy of a directory its attributes. 0 or -errno. */
static int copier_finish_dir(const struct copier *copier, const char *path)
{
	_cleanup_close_ int from = workspace_open_entry(copier->layer->upper_fd, path);
	_cleanup_close_ int to = from < 0 ? from : workspace_open_entry(copier->to_fd, path);

	(void)snprintf(copier->work->failed_path, PATH_MAX, "%s", path);
	return to < 0 ? to : place_copy_metadata(copier->layer, from, to, PLACE_OWN_ATTRIBUTES);
}

/* ---- copying what differs in a copy of the directory ---- */

/* Opens the directory of the checkpoint, and of the latest one, that an entry is in. 0 or -errno. */
static int copier_open_last_dir(struct copier *copier, const char *dir)
{
	if (copier->last_to_fd >= 0 && strcmp(dir, copier->last_path) == 0)
		return 0;
	close_fd(&copier->last_to_fd);
	close_fd(&copier->last_previous_fd);
	(void)snprintf(copier->last_path, sizeof(copier->last_path), "%s", dir);
	copier->last_to_fd = dirs_open(copier->to_fd, dir);
	if (copier->last_to_fd < 0)
		return copier->last_to_fd;
	if (copier->previous_fd >= 0)
		copier->last_previous_fd = dirs_open(copier->previous_fd, dir);
	return 0;
}

/* fold_target.put */
static int copier_put(void *ctx, int copy_dir_fd, const char *name, const char *path, const struct stat *st)
{
	struct copier *copier = ctx;
	const char *slash = strrchr(path, '/');
	struct copier_dirs dirs = {.from_fd = copy_dir_fd};
	char dir[PATH_MAX];
	int r;

	(void)snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path) : 0, path);
	(void)snprintf(copier->work->failed_path, PATH_MAX, "%s", path);
	r = copier_open_last_dir(copier, dir);
	if (r < 0)
		return r;
	dirs.path = copier->last_path;
	dirs.to_fd = copier->last_to_fd;
	dirs.previous_fd = copier->last_previous_fd;
	return S_ISREG(st->st_mode) ? copier_copy_file(copier, &dirs, path, name, st)
				    : copier_copy_other(copier, &dirs, path, name, st);
}

/* fold_target.admit */
static int copier_admit(void *ctx, uint64_t bytes)
{
	struct copier *copier = ctx;

	copier->work->filled_bytes += bytes;
	return copier_compare_with_max(copier);
}

static int copier_copy_changes(struct copier *copier, int layer_fd, const char *dir)
{
	const struct fold_target target = {.dir_fd = copier->to_fd,
					   .failed_path = copier->work->failed_path,
					   .put = copier_put,
					   .admit = copier_admit,
					   .ctx = copier};
	int r = workspace_fold_into(layer_fd, dir, &target);

	close_fd(&copier->last_to_fd);
	close_fd(&copier->last_previous_fd);
	return r;
}

/* ---- copying a layer ---- */

/* Copies the whole layer. 0 or -errno, with the path in copier->work. */
static int copier_copy_layer(struct copier *copier)
{
	int r = dir_list_add(&copier->dirs, "", false, false);

	for (size_t i = 0; r == 0 && i < copier->dirs.count; i++) {
		_cleanup_free_ char *path = strdup(copier->dirs.item[i].path); /* the list may move */

		r = path ? copier_copy_dir(copier, path) : -ENOMEM;
	}
	/* Afterwards, and the lower directories first: times and modes stay what they are set to. */
	for (size_t i = copier->dirs.count; r == 0 && i-- > 0;)
		r = copier_finish_dir(copier, copier->dirs.item[i].path);
	if (r == 0)
		copier->work->failed_path[0] = '\0';
	return r;
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
	/* Without the list, the next checkpoint copies all files. An old list may be of an older one of this name. */
	for (size_t at = 0; at < count; at++)
		if (known_files_remove(checkpoint_get_known_fd(&dirs[at], at, all_fd)) < 0)
			return -EIO;
	if (renameat2(all_fd, CHECKPOINT_NEW_NAME, all_fd, name, RENAME_NOREPLACE) < 0)
		return -errno;
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
