#include "keeper/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "keeper/scratch-private.h"
#include "keeper/session-client.h"

/* Names of runs' directories have a prefix, because earlier versions used ids without one and another kind of lock. */
#define SCRATCH_RUN_PREFIX "run-"
#define SCRATCH_RESULTS_DIR "results"   /* directory in the base for files that outlive their runs */
#define SCRATCH_DEAD_RUN_PREFIX "dead-" /* prefix of a dead run's directory that is being removed */
#define SCRATCH_CREATE_ATTEMPTS_MAX 100 /* names tried for the run's directory */
#define SCRATCH_SWEEP_TIME_MAX_NS UINT64_C(500000000) /* time for removing what dead runs have left */
#define SCRATCH_RESULTS_KEPT_SECONDS (7 * 24 * 3600)  /* age at which spill files of earlier runs are removed */
#define SCRATCH_RESULTS_SWEEP_SECONDS 3600 /* from one look at the age of all results to the next */

/* Locks the base: shared to create a directory, exclusively to look for dead runs. Closing the descriptor unlocks. */
static int scratch_lock_base(const struct scratch *scratch, int operation)
{
	/* A new file description, because all processes that inherit base_fd would share a lock on it. */
	_cleanup_close_ int fd = io_open_dir(scratch->base_fd, ".");

	if (fd < 0)
		return fd;
	while (flock(fd, operation) < 0)
		if (errno != EINTR)
			return -errno;
	return steal_fd(&fd);
}

/* ---- removing what dead runs left ---- */

/* True when the run's lock is free. The caller holds the base's lock, so that no run is being created. */
static bool scratch_run_is_dead(int base_fd, const char *name)
{
	_cleanup_close_ int dir = io_open_dir(base_fd, name);

	return dir >= 0 && flock(dir, LOCK_EX | LOCK_NB) == 0;
}

static bool scratch_is_run_name(const char *name)
{
	const char *id = name + strlen(SCRATCH_RUN_PREFIX);

	return strncmp(name, SCRATCH_RUN_PREFIX, strlen(SCRATCH_RUN_PREFIX)) == 0 &&
	       strspn(id, "0123456789abcdef") == strlen(id) && strlen(id) == SCRATCH_ID_SIZE - 1;
}

/* No other process removes the socket of a session that was killed, unless a client is refused there. */
static void scratch_remove_socket_of_dead_run(int base_fd, const char *run_name)
{
	char name[sizeof(SESSION_SOCKET_PREFIX) + SCRATCH_ID_SIZE];

	(void)snprintf(name, sizeof(name), "%s%s", SESSION_SOCKET_PREFIX, run_name + strlen(SCRATCH_RUN_PREFIX));
	(void)unlinkat(base_fd, name, 0); /* ENOENT: the run was no session */
}

/* Renames dead runs under the base's lock, so that no two processes remove the same one, and then removes them. */
static void scratch_sweep_dead_runs(const struct scratch *scratch)
{
	_cleanup_close_ int lock = scratch_lock_base(scratch, LOCK_EX | LOCK_NB);
	_cleanup_closedir_ DIR *dir = io_take_dir_stream(io_open_dir(scratch->base_fd, "."));
	uint64_t end = io_read_clock_ns() + SCRATCH_SWEEP_TIME_MAX_NS;
	char dead[sizeof(SCRATCH_DEAD_RUN_PREFIX) + NAME_MAX];
	struct dirent *entry;

	if (lock < 0 || !dir)
		return; /* another process removes dead runs now */
	while ((entry = readdir(dir))) {
		if (!scratch_is_run_name(entry->d_name) || !scratch_run_is_dead(scratch->base_fd, entry->d_name))
			continue;
		scratch_remove_socket_of_dead_run(scratch->base_fd, entry->d_name);
		(void)snprintf(dead, sizeof(dead), "%s%s", SCRATCH_DEAD_RUN_PREFIX, entry->d_name);
		(void)renameat(scratch->base_fd, entry->d_name, scratch->base_fd, dead);
	}
	(void)close(steal_fd(&lock));
	rewinddir(dir);
	while ((entry = readdir(dir)) && io_read_clock_ns() < end)
		if (strncmp(entry->d_name, SCRATCH_DEAD_RUN_PREFIX, strlen(SCRATCH_DEAD_RUN_PREFIX)) == 0)
			(void)io_remove_tree(scratch->base_fd, entry->d_name); /* on failure the next run retries */
}

/*
 * True when some run has looked at the results within the last hour: a week of runs can leave thousands, of which each
 * takes a stat(2). The access time of their directory tells when. Whatever else reads the directory delays the sweep.
 */
static bool scratch_results_were_swept(int results_fd, time_t now)
{
	const struct timespec times[2] = {{.tv_sec = now}, {.tv_nsec = UTIME_OMIT}};
	struct stat st;

	if (fstat(results_fd, &st) < 0 || (st.st_atime <= now && now - st.st_atime < SCRATCH_RESULTS_SWEEP_SECONDS))
		return true;
	(void)futimens(results_fd, times); /* on failure the next run looks again */
	return false;
}

static void scratch_sweep_old_results(const struct scratch *scratch)
{
	_cleanup_closedir_ DIR *dir = NULL;
	const time_t now = time(NULL), oldest = now - SCRATCH_RESULTS_KEPT_SECONDS;
	struct dirent *entry;
	struct stat st;
	_cleanup_close_ int results = io_open_dir(scratch->base_fd, SCRATCH_RESULTS_DIR);
	int fd;

	if (results < 0 || scratch_results_were_swept(results, now))
		return;
	fd = steal_fd(&results);
	dir = io_take_dir_stream(fd);
	while (dir && (entry = readdir(dir)))
		if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
		    st.st_mtime < oldest)
			(void)unlinkat(fd, entry->d_name, 0); /* ENOENT: removed by another run */
}

/* ---- creating and removing this run's directory ---- */

static int scratch_make_id(char id[SCRATCH_ID_SIZE])
{
	unsigned char random[(SCRATCH_ID_SIZE - 1) / 2];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -EIO;
	for (size_t i = 0; i < sizeof(random); i++)
		(void)snprintf(id + 2 * i, 3, "%02x", random[i]);
	return 0;
}

/* Creates the run's directory, but no directory that only some runs need: creating one is slow (scratch-inside.c). */
static int scratch_make_run_dir(struct scratch *scratch)
{
	_cleanup_close_ int base_lock = scratch_lock_base(scratch, LOCK_SH);
	int error;

	if (base_lock < 0)
		return base_lock;
	error = scratch_make_id(scratch->id);
	if (error < 0)
		return error;
	scratch->path = text_format("%s/" SCRATCH_RUN_PREFIX "%s", scratch->base_path, scratch->id);
	if (!scratch->path)
		return -ENOMEM;
	if (!scratch_reuse_spare_dir(scratch)) {
		error = scratch_make_dir(scratch->base_fd, scratch_get_run_name(scratch), 0700);
		if (error < 0)
			return error;
		scratch->fd = io_open_dir(scratch->base_fd, scratch_get_run_name(scratch));
	}
	if (scratch->fd < 0)
		return scratch->fd;
	return flock(scratch->fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
}

void scratch_remove_old_files(const struct scratch *scratch)
{
	scratch_sweep_dead_runs(scratch);
	scratch_sweep_old_results(scratch);
}

static void scratch_set_error(const struct scratch *scratch, int error, struct policy_error *ret_error)
{
	(void)snprintf(ret_error->text, sizeof(ret_error->text),
		       "cannot make a scratch directory in %s: %s; free some room or set TMPDIR to another directory",
		       scratch->base_path, strerror(-error));
}

static int scratch_create_or_reuse_run_dir(bool reusable, struct scratch *ret_scratch, struct policy_error *ret_error)
{
	struct scratch scratch;
	int error = -ENOENT;

	/* -ENOENT: another run has just ended and removed the empty base. */
	for (int i = 0; i < SCRATCH_CREATE_ATTEMPTS_MAX && error == -ENOENT; i++) {
		scratch = (struct scratch){.base_fd = -1, .fd = -1, .is_reusable = reusable};
		ret_error->text[0] = '\0';
		error = scratch_open_base(&scratch, ret_error);
		if (error == 0) {
			error = scratch_make_run_dir(&scratch);
			if (error < 0)
				scratch_set_error(&scratch, error, ret_error);
		}
		if (error < 0)
			(void)scratch_remove_run(&scratch); /* the first error is the one to report */
	}
	if (error == 0)
		*ret_scratch = scratch;
	return error;
}

int scratch_begin_run(struct scratch *ret_scratch, struct policy_error *ret_error)
{
	return scratch_create_or_reuse_run_dir(true, ret_scratch, ret_error);
}

int scratch_create(struct scratch *ret_scratch, struct policy_error *ret_error)
{
	int error = scratch_create_or_reuse_run_dir(false, ret_scratch, ret_error);

	if (error < 0)
		return error;
	scratch_remove_old_files(ret_scratch);
	error = scratch_make_dirs(ret_scratch);
	if (error < 0) {
		scratch_set_error(ret_scratch, error, ret_error);
		(void)scratch_remove_run(ret_scratch); /* the first error is the one to report */
	}
	return error;
}

char *scratch_move_file_to_results(const struct scratch *scratch, const char *name)
{
	char *path = text_format("%s/%s/%s", scratch->base_path, SCRATCH_RESULTS_DIR, name);
	int moved = -1;

	if (!path)
		return NULL;
	/* Tries again when another run has just removed the empty directory of results. */
	for (int i = 0; i < SCRATCH_CREATE_ATTEMPTS_MAX && moved < 0; i++) {
		(void)scratch_make_dir(scratch->base_fd, SCRATCH_RESULTS_DIR, 0700); /* EEXIST is fine */
		moved = renameat(scratch->fd, name, scratch->base_fd, path + strlen(scratch->base_path) + 1);
		if (moved < 0 && errno != ENOENT)
			break;
	}
	if (moved == 0)
		return path;
	free(path);
	return NULL;
}

int scratch_make_result_file(const struct scratch *scratch, const char *suffix)
{
	char name[sizeof(SCRATCH_RESULTS_DIR) + SCRATCH_ID_SIZE + 32];
	int fd = -1;

	(void)snprintf(name, sizeof(name), SCRATCH_RESULTS_DIR "/%s.%s", scratch->id, suffix);
	for (int i = 0; i < SCRATCH_CREATE_ATTEMPTS_MAX && fd < 0; i++) {
		(void)scratch_make_dir(scratch->base_fd, SCRATCH_RESULTS_DIR, 0700); /* EEXIST is fine */
		fd = openat(scratch->base_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0 && errno != ENOENT)
			break;
	}
	return fd;
}

int scratch_remove_view(const struct scratch *scratch)
{
	static const char *const made[] = {"provided", "view"};
	int error = 0;

	for (size_t i = 0; error == 0 && i < sizeof(made) / sizeof(made[0]); i++)
		error = io_remove_tree(scratch->fd, made[i]);
	return error;
}

/* Whether the entries that the view makes are to be removed at the end, so that the next run reuses the directory. */
static bool scratch_must_remove_view_entries(const struct scratch *scratch)
{
	return scratch->entries_made_by_view_count > 0 && scratch->is_reusable && scratch->may_be_reused_after_run;
}

void scratch_remove_empty_dirs(const struct scratch *scratch, bool all)
{
	static const char *const often_empty[] = {"tmp", "shm", "var-tmp"};

	(void)io_remove_tree(scratch->fd, "provided");
	(void)unlinkat(scratch->fd, "sockets", AT_REMOVEDIR);
	/* Entries of the view are removed when the supervisor has ended, and with it its mounts over them. */
	if (scratch_must_remove_view_entries(scratch))
		return;
	if (scratch_is_unchanged(scratch) && (!all || scratch_leave_as_spare(scratch)))
		return;
	for (size_t i = 0; i < sizeof(often_empty) / sizeof(often_empty[0]); i++)
		/* a directory that is not empty is removed later, by scratch_remove_run() */
		(void)unlinkat(scratch->fd, often_empty[i], AT_REMOVEDIR);
	if (!all)
		return;
	(void)unlinkat(scratch->fd, "work", AT_REMOVEDIR);
	if (unlinkat(scratch->base_fd, scratch_get_run_name(scratch), AT_REMOVEDIR) == 0)
		(void)rmdir(scratch->base_path);
}

int scratch_remove_run(struct scratch *scratch)
{
	/* scratch_remove_empty_dirs() may have removed the directory, or renamed it for the next run. */
	const bool exists = scratch->base_fd >= 0 && scratch->fd >= 0 &&
			    faccessat(scratch->base_fd, scratch_get_run_name(scratch), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	int error = 0;

	if (exists && scratch_must_remove_view_entries(scratch))
		scratch_remove_view_entries(scratch);
	if (exists && !(scratch_is_unchanged(scratch) && scratch_leave_as_spare(scratch)))
		error = io_remove_tree(scratch->base_fd, scratch_get_run_name(scratch));
	if (error == -ENOENT)
		error = 0;
	cleanup_close(&scratch->fd); /* closed after the removal, because it holds the run's lock */
	if (scratch->base_fd >= 0 && scratch->base_path) {
		(void)unlinkat(scratch->base_fd, SCRATCH_RESULTS_DIR, AT_REMOVEDIR); /* fails unless it is empty */
		(void)rmdir(scratch->base_path);
	}
	cleanup_close(&scratch->base_fd);
	for (size_t i = 0; i < scratch->entries_made_by_view_count; i++)
		free(scratch->entry_made_by_view[i]);
	free(scratch->base_path);
	free(scratch->path);
	free(scratch->base_name_notice);
	*scratch = (struct scratch){.base_fd = -1, .fd = -1};
	return error;
}
