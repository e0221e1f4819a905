#include "workspace/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup-json.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "supervisor/report.h"
#include "view/copy/copy.h"
#include "view/copy/leftover.h"
#include "workspace/checkpoint/checkpoint.h"
#include "workspace/fold.h"
#include "workspace/journal.h"
#include "workspace/layer.h"

#define STORE_INFO_NAME "info.json"
#define STORE_KEPT_NAME "kept"          /* file in a workspace that is kept; its content is the label */
#define STORE_REMOVED_PREFIX "removed-" /* prefix of a workspace that is being removed */
#define STORE_INFO_BYTES_MAX 524288     /* a path takes four bytes a byte at most */
#define STORE_CREATE_ATTEMPTS_MAX 100
#define STORE_LOCK_ATTEMPTS_MAX 50
#define STORE_LOCK_PAUSE_NS 2000000
#define STORE_WORKSPACES_MAX 100000u /* most workspaces that are listed */

bool workspace_is_id(const char *text)
{
	return strspn(text, "0123456789abcdef") == WORKSPACE_ID_LEN && text[WORKSPACE_ID_LEN] == '\0';
}

/* ---- creating ---- */

/* Returns what is known of a workspace. Owned by the caller; NULL: no memory. */
static json_t *store_make_info(const char *const *dirs, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++) {
		_cleanup_close_ int dir = open(dirs[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
		json_t *one = json_pack("{s:o}", "dir", report_make_text_json(dirs[i]));
		struct dir_id id;

		if (dir >= 0 && dir_id_read(dir, &id) == 0)
			(void)dir_id_put(one, &id);
		(void)json_array_append_new(list, one);
	}
	return json_pack("{s:i, s:o, s:I}", "version", 2, "dirs", list, "time", (json_int_t)time(NULL));
}

static int store_write_info(int workspace_fd, const char *const *dirs, size_t count)
{
	_cleanup_json_ json_t *info = store_make_info(dirs, count);
	_cleanup_free_ char *text = info ? json_dumps(info, JSON_COMPACT) : NULL;
	_cleanup_close_ int fd = -1;

	if (!text)
		return -ENOMEM;
	fd = openat(workspace_fd, STORE_INFO_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : io_write_all(fd, text, strlen(text));
}

/* Makes the directory of a workspace, and locks it. A descriptor or -errno. */
static int store_make_dir(int base_fd, const char *id)
{
	_cleanup_close_ int store = -1, fd = -1;

	if (mkdirat(base_fd, WORKSPACE_DIR_NAME, 0700) < 0 && errno != EEXIST)
		return -errno;
	store = io_open_dir(base_fd, WORKSPACE_DIR_NAME);
	if (store < 0)
		return store;
	if (mkdirat(store, id, 0700) < 0)
		return -errno;
	fd = io_open_dir(store, id);
	if (fd < 0)
		return fd;
	return flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : steal_fd(&fd);
}

int workspace_create(int base_fd, const char *id, const char *const *dirs, size_t count)
{
	_cleanup_close_ int fd = -ENOENT;
	int r;

	/* -ENOENT: another process has just removed the empty store. */
	for (int i = 0; i < STORE_CREATE_ATTEMPTS_MAX && fd == -ENOENT; i++)
		fd = store_make_dir(base_fd, id);
	if (fd < 0)
		return fd;
	r = store_write_info(fd, dirs, count);
	if (r == 0)
		return steal_fd(&fd);
	(void)workspace_remove(base_fd, id); /* the first error is the one to report */
	return r;
}

/* ---- removing ---- */

bool workspace_dir_is_empty(int workspace_fd, size_t at, const char *dir_path)
{
	_cleanup_close_ int layer = workspace_open_layer_dir(workspace_fd, at);
	const int fd = layer < 0 ? layer : io_open_dir(layer, "upper");
	_cleanup_closedir_ DIR *dir = io_take_dir_stream(fd);
	int error = 0;

	if (workspace_layer_root_is_changed(workspace_fd, at, dir_path) != 0)
		return false;
	if (fd < 0)
		return fd == -ENOENT && workspace_copy_is_changed(workspace_fd, at, dir_path) == 0;
	return dir && !io_read_entry(dir, &error) && error == 0; /* what cannot be read is kept */
}

static bool store_is_kept(int workspace_fd)
{
	return io_may_have_name(workspace_fd, STORE_KEPT_NAME);
}

/* Removes what workspace_remove() has renamed, also in a process that was killed meanwhile. 0 or -errno. */
static int store_remove_renamed(int store_fd)
{
	_cleanup_closedir_ DIR *dir = io_take_dir_stream(io_open_dir(store_fd, "."));
	const struct dirent *entry;
	int r = 0, error, read_error = dir ? 0 : -errno;

	while (read_error == 0 && (entry = io_read_entry(dir, &read_error))) {
		if (strncmp(entry->d_name, STORE_REMOVED_PREFIX, strlen(STORE_REMOVED_PREFIX)) != 0)
			continue;
		error = io_remove_tree(store_fd, entry->d_name);
		if (error < 0 && error != -ENOENT) /* ENOENT: another process removes it as well */
			r = error;
	}
	return r < 0 ? r : read_error;
}

int workspace_remove_leftovers(int base_fd)
{
	_cleanup_close_ int store = io_open_dir(base_fd, WORKSPACE_DIR_NAME);
	int r;

	if (store < 0)
		return store == -ENOENT ? 0 : store;
	r = store_remove_renamed(store);
	(void)unlinkat(base_fd, WORKSPACE_DIR_NAME, AT_REMOVEDIR); /* fails unless it is empty */
	return r;
}

int workspace_remove(int base_fd, const char *id)
{
	_cleanup_close_ int store = io_open_dir(base_fd, WORKSPACE_DIR_NAME);
	char removed[sizeof(STORE_REMOVED_PREFIX) + WORKSPACE_ID_LEN];
	int r;

	if (store < 0)
		return store;
	(void)snprintf(removed, sizeof(removed), STORE_REMOVED_PREFIX "%.*s", WORKSPACE_ID_LEN, id);
	if (renameat(store, id, store, removed) < 0)
		return -errno;
	r = io_remove_tree(store, removed);
	(void)workspace_remove_leftovers(base_fd); /* of others, which are not asked for */
	return r == -ENOENT ? 0 : r;               /* ENOENT: another process has removed it as well */
}

/* Whether an apply of one of the directories was interrupted. */
static bool store_has_journal(int workspace_fd)
{
	for (size_t i = 0; i < WORKSPACE_DIRS_MAX; i++) {
		_cleanup_close_ int fd = workspace_open_journal_dir(workspace_fd, i);

		if (fd >= 0 && journal_exists(fd))
			return true;
	}
	return false;
}

int workspace_open_journal_dir(int workspace_fd, size_t at)
{
	return at == 0 ? io_open_dir(workspace_fd, ".") : workspace_open_layer_dir(workspace_fd, at);
}

int workspace_lock(int workspace_fd)
{
	const struct timespec pause = {.tv_nsec = STORE_LOCK_PAUSE_NS};

	for (int i = 0; flock(workspace_fd, LOCK_EX | LOCK_NB) < 0; i++) {
		if (errno != EWOULDBLOCK)
			return -errno;
		if (i == STORE_LOCK_ATTEMPTS_MAX)
			return WORKSPACE_IN_USE;
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

int workspace_discard(int base_fd, const char *id)
{
	_cleanup_close_ int store = io_open_dir(base_fd, WORKSPACE_DIR_NAME), fd = -1;
	int r;

	if (store < 0)
		return store;
	fd = io_open_dir(store, id);
	if (fd < 0)
		return fd;
	r = workspace_lock(fd);
	if (r < 0)
		return r;
	if (checkpoint_is_being_used(fd)) /* by a client of the session, which has ended meanwhile */
		return WORKSPACE_IN_USE;
	if (store_has_journal(fd)) /* callgate ws recover needs it */
		return WORKSPACE_INTERRUPTED;
	if (flock(store, LOCK_EX) < 0) /* against workspace_keep() */
		return -errno;
	return store_is_kept(fd) ? WORKSPACE_KEPT : workspace_remove(base_fd, id);
}

/* ---- keeping ---- */

/* Writes the file that marks a workspace, in one step. 0 or -errno. */
static int store_write_kept(int workspace_fd, const char *label)
{
	static const char new_name[] = STORE_KEPT_NAME ".new";
	_cleanup_close_ int fd = -1;
	int r;

	(void)unlinkat(workspace_fd, new_name, 0); /* of a process that was killed */
	fd = openat(workspace_fd, new_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = io_write_all(fd, label, strlen(label));
	if (r == 0 && renameat(workspace_fd, new_name, workspace_fd, STORE_KEPT_NAME) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(workspace_fd, new_name, 0);
	return r;
}

int workspace_keep(int base_fd, const char *id, const char *label)
{
	_cleanup_close_ int store = io_open_dir(base_fd, WORKSPACE_DIR_NAME), fd = -1;

	if (store < 0)
		return store;
	if (flock(store, LOCK_EX) < 0) /* against workspace_discard() */
		return -errno;
	fd = io_open_dir(store, id);
	if (fd < 0)
		return fd;
	if (label)
		return store_write_kept(fd, label);
	return unlinkat(fd, STORE_KEPT_NAME, 0) < 0 && errno != ENOENT ? -errno : 0;
}

/* ---- listing ---- */

/* Gets directory `at` of store_make_info(). False: there is none. */
static bool store_parse_dir(const json_t *info, size_t at, struct workspace *ret_workspace)
{
	const json_t *one = json_array_get(json_object_get(info, "dirs"), at);
	const char *text = json_string_value(json_object_get(one, "dir"));
	_cleanup_free_ char *path = text ? strdup(text) : NULL;

	if (!path || path[0] != '/')
		return false;
	path[text_unescape_backslashes(path, strlen(path))] = '\0';
	dir_id_get(one, &ret_workspace->dir_id);
	return (size_t)snprintf(ret_workspace->dir, PATH_MAX, "%s", path) < PATH_MAX;
}

/* Reads info.json. Owned by the caller; NULL: there is none, or it is no JSON. */
static json_t *store_read_info(int workspace_fd)
{
	_cleanup_free_ char *text = NULL;
	size_t len;

	if (io_read_file(workspace_fd, STORE_INFO_NAME, STORE_INFO_BYTES_MAX, &text, &len) < 0)
		return NULL;
	return json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
}

/* Reads whether a workspace is kept, and why. */
static void store_read_kept(int workspace_fd, struct workspace *ret_workspace)
{
	_cleanup_free_ char *label = NULL;
	size_t len;

	ret_workspace->is_kept = store_is_kept(workspace_fd);
	ret_workspace->label[0] = '\0';
	if (io_read_file(workspace_fd, STORE_KEPT_NAME, WORKSPACE_LABEL_BYTES_MAX, &label, &len) == 0)
		(void)snprintf(ret_workspace->label, sizeof(ret_workspace->label), "%s", label);
}

/* Reads a workspace. False: it is none, or it is being made or removed. */
static bool store_read_workspace(int store_fd, const char *id, struct workspace *ret_workspace)
{
	_cleanup_close_ int fd = io_open_dir(store_fd, id);
	_cleanup_json_ json_t *info = fd < 0 ? NULL : store_read_info(fd);

	if (!info || !store_parse_dir(info, 0, ret_workspace))
		return false;
	(void)snprintf(ret_workspace->id, sizeof(ret_workspace->id), "%.*s", WORKSPACE_ID_LEN, id);
	ret_workspace->dir_count = json_array_size(json_object_get(info, "dirs"));
	ret_workspace->time = json_integer_value(json_object_get(info, "time"));
	ret_workspace->is_in_use = flock(fd, LOCK_SH | LOCK_NB) < 0;
	store_read_kept(fd, ret_workspace);
	return true;
}

int workspace_read_dir(int workspace_fd, size_t at, struct workspace *workspace)
{
	_cleanup_json_ json_t *info = store_read_info(workspace_fd);

	return info && store_parse_dir(info, at, workspace) ? 0 : -EIO;
}

bool workspace_is_empty(int workspace_fd)
{
	_cleanup_json_ json_t *info = store_read_info(workspace_fd);
	const size_t count = json_array_size(json_object_get(info, "dirs"));
	struct workspace workspace;

	if (store_is_kept(workspace_fd))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!store_parse_dir(info, i, &workspace) || !workspace_dir_is_empty(workspace_fd, i, workspace.dir))
			return false;
	return count > 0; /* what does not say its directories is kept */
}

static int store_compare_times(const void *left, const void *right)
{
	const struct workspace *a = left, *b = right;

	return a->time != b->time ? (a->time > b->time) - (a->time < b->time) : strcmp(a->id, b->id);
}

int workspace_open_of_run(int base_fd, const char *id, struct workspace *ret_workspace)
{
	_cleanup_close_ int store = io_open_dir(base_fd, WORKSPACE_DIR_NAME), fd = -1;

	if (store < 0)
		return store;
	fd = io_open_dir(store, id);
	if (fd < 0)
		return fd;
	return store_read_workspace(store, id, ret_workspace) ? steal_fd(&fd) : -ENOENT;
}

/* True when a process was killed that had made an entry in layer `at` with a temporary name. */
static bool store_has_leftover(int workspace_fd, size_t at)
{
	_cleanup_close_ int layer = workspace_open_layer_dir(workspace_fd, at);

	return layer >= 0 && leftover_is_noted(layer);
}

/*
 * Removes such an entry from layer `at`, or from the copy of the directory. It stays, with its note, where the program
 * has closed the directory that it is in. 0 or -errno.
 */
static int store_remove_leftover(int workspace_fd, size_t at)
{
	_cleanup_close_ int layer = workspace_open_layer_dir(workspace_fd, at), top = -1;
	int r;

	if (layer < 0 || !leftover_is_noted(layer))
		return 0;
	top = io_open_dir(layer, COPY_DIR_NAME);
	if (top == -ENOENT)
		top = io_open_dir(layer, "upper");
	r = top < 0 ? top : leftover_remove(layer, top);
	return r == -EACCES || r == -EPERM ? 0 : r;
}

/* Whether a layer is to be made of a copy, or to be cleaned. */
static bool store_needs_fold(int workspace_fd, bool may_do_again)
{
	struct workspace workspace;
	bool is_needed = false;

	for (size_t i = 0; !is_needed && workspace_read_dir(workspace_fd, i, &workspace) == 0; i++)
		is_needed = store_has_leftover(workspace_fd, i) ||
			    workspace_needs_fold(workspace_fd, i, workspace.dir, may_do_again);
	return is_needed;
}

/*
 * Makes the layers of copies, and cleans all layers. The workspace has a shared lock, also afterwards. 0;
 * WORKSPACE_IN_USE: others read it; or -errno.
 */
static int store_fold(int workspace_fd)
{
	const bool may_do_again = !store_has_journal(workspace_fd);
	struct workspace workspace;
	int r;

	if (!store_needs_fold(workspace_fd, may_do_again))
		return 0;
	r = workspace_lock(workspace_fd);
	for (size_t i = 0; r == 0 && workspace_read_dir(workspace_fd, i, &workspace) == 0; i++) {
		r = store_remove_leftover(workspace_fd, i);
		if (r == 0)
			r = workspace_fold(workspace_fd, i, workspace.dir, may_do_again);
	}
	return r != WORKSPACE_IN_USE && flock(workspace_fd, LOCK_SH) < 0 && r == 0 ? -errno : r;
}

int workspace_open(int base_fd, const char *id, struct workspace *ret_workspace)
{
	_cleanup_close_ int store = io_open_dir(base_fd, WORKSPACE_DIR_NAME), fd = -1;
	struct workspace workspace;
	int r;

	if (store < 0)
		return store;
	fd = io_open_dir(store, id);
	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_SH | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? WORKSPACE_IN_USE : -errno;
	if (checkpoint_is_being_used(fd))
		return WORKSPACE_IN_USE;
	if (!store_read_workspace(store, id, &workspace))
		return -ENOENT;
	r = store_fold(fd);
	if (r < 0)
		return r;
	*ret_workspace = workspace;
	return steal_fd(&fd);
}

int workspace_visit(int base_fd, int (*visit)(void *ctx, const struct workspace *workspace, int workspace_fd),
		    void *ctx)
{
	_cleanup_close_ int store = io_open_dir(base_fd, WORKSPACE_DIR_NAME);
	_cleanup_free_ struct workspace *all = NULL;
	_cleanup_closedir_ DIR *dir = NULL;
	size_t count = 0, room = 0;
	const struct dirent *entry;
	int r;

	if (store < 0)
		return store == -ENOENT ? 0 : store;
	dir = io_take_dir_stream(io_open_dir(store, "."));
	r = dir ? 0 : -errno;
	while (r == 0 && count < STORE_WORKSPACES_MAX && (entry = io_read_entry(dir, &r))) {
		if (!workspace_is_id(entry->d_name))
			continue;
		if (!array_reserve(&all, count, &room))
			return -ENOMEM;
		count += store_read_workspace(store, entry->d_name, &all[count]);
	}
	if (count > 0)
		qsort(all, count, sizeof(*all), store_compare_times);
	for (size_t i = 0; r == 0 && i < count; i++) {
		_cleanup_close_ int one = io_open_dir(store, all[i].id);

		r = one < 0 ? 0 : visit(ctx, &all[i], one); /* removed meanwhile */
	}
	return r;
}
