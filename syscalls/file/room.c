/*
 * Whether a descriptor table is full. The program changes its table natively, so the kernel is asked, but not each
 * time: no thread gets more than one descriptor in FD_TABLE_FILL_NS_PER_FD, so a table with many free entries will not
 * be full for some time. The value of RLIMIT_NOFILE is remembered until a process of the run sets a resource limit,
 * because such a call is notified.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/file/resolve.h"

/*
 * The shortest time in which a table can get one more descriptor. The fastest way, 253 descriptors by one recvmsg(2),
 * takes 100 ns for each; threads that share a table wait for its lock.
 */
#define FD_TABLE_FILL_NS_PER_FD 20u
#define FD_TABLE_RECHECK_PAUSE_MAX_NS 100000000u /* the kernel is asked again after this time */

/*
 * The number of open descriptors: the size of /proc/TID/fd since Linux 6.2; 0 before. The directory is kept open, which
 * saves a path walk, and cannot lead to a later task with the same tid.
 */
static uint64_t fd_table_count_open(const struct call *call)
{
	struct task_fd_dir *table = &call->sandbox->cached_fd_dir[(unsigned)call->tid % CALL_CACHED_FD_DIRS_MAX];
	char path[32];
	struct stat status;

	if (table->tid == call->tid && fstat(table->fd, &status) == 0)
		return (uint64_t)status.st_size;
	if (table->tid)
		(void)close(table->fd);
	table->tid = 0;
	(void)snprintf(path, sizeof(path), "/proc/%d/fd", call->tid);
	table->fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (table->fd < 0)
		return stat(path, &status) < 0 ? 0 : (uint64_t)status.st_size;
	table->tid = call->tid;
	return fstat(table->fd, &status) < 0 ? 0 : (uint64_t)status.st_size;
}

/* Whether all descriptors below the limit are open. If the limit was lowered, some may be open above it. */
static bool fd_table_is_full_below(pid_t tid, uint64_t limit)
{
	const struct dirent *entry;
	uint64_t taken = 0;
	char path[32];
	_cleanup_closedir_ DIR *dir = NULL;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", tid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		taken += entry->d_name[0] != '.' && strtoull(entry->d_name, NULL, 10) < limit;
	return taken >= limit;
}

/* Whether the table has a free entry, or this is unknown. limit_known: room->limit is up to date. */
static bool fd_table_has_room(const struct call *call, bool limit_known, struct fd_table_room *room)
{
	struct rlimit limit;
	uint64_t size, spare;

	if (!limit_known) {
		if (prlimit(call->tid, RLIMIT_NOFILE, NULL, &limit) < 0)
			return true;
		room->nofile_limit = limit.rlim_cur;
	}
	size = fd_table_count_open(call);
	if (size >= room->nofile_limit)
		return false;
	spare = room->nofile_limit - size;
	/* call->start_ns was read before the descriptors were counted. */
	room->valid_until_ns = call->start_ns + (spare < FD_TABLE_RECHECK_PAUSE_MAX_NS / FD_TABLE_FILL_NS_PER_FD
							 ? spare * FD_TABLE_FILL_NS_PER_FD
							 : FD_TABLE_RECHECK_PAUSE_MAX_NS);
	return true;
}

bool fd_table_is_full(struct call *call)
{
	struct fd_table_room *room = &call->task->fd_table_room;
	unsigned changes = task_table_get_nofile_limit_version(call->sandbox->tree, call->task);
	bool known = changes && room->nofile_limit_version == changes;

	if (known && call->start_ns < room->valid_until_ns)
		return false;
	room->valid_until_ns = 0;
	room->nofile_limit_version = changes;
	/* Before a table counts as full, the limit is read again: a process outside the run can raise it. */
	if (fd_table_has_room(call, known, room) || (known && fd_table_has_room(call, false, room)) ||
	    !fd_table_is_full_below(call->tid, room->nofile_limit) || !call_thread_still_waits(call))
		return false;
	call->sandbox->rlimit_usage.open_files_limit_hit = true;
	call_fail(call, -EMFILE);
	return true;
}

void fd_table_note_limit_change(struct call *call)
{
	(void)task_table_begin_rlimit_nofile_change(call->sandbox->tree, call->task);
}
