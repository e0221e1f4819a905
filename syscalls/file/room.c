/*
 * Table and limit change natively, so the kernel is asked; but not each time. No task gets descriptors faster than one in
 * ROOM_FD_NS, whichever way, so a table with room for many cannot be full before so long; and the limit stays what it was
 * as long as nobody of the run sets one, which is notified.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "syscalls/file/room.h"

#include "base/banned.h"

/* The fastest way, 253 by one recvmsg(2), takes 100 to 120 ns each here; threads with one table wait for its lock. */
#define ROOM_FD_NS 20u
#define ROOM_MOST_NS 100000000u /* however large the table */

/*
 * The size of /proc/TID/fd is the count of open descriptors since Linux 6.2, and 0 before. Its directory is held, which
 * finds the task again without a walk, and never another one that has its number: whoever ended has no size.
 */
static uint64_t table_size(const struct call *call)
{
	struct task_table *table = &call->sandbox->table[(unsigned)call->tid % CALL_TABLES_MAX];
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

/* As many as the limit may lie above it, when it was lowered: are all numbers below it taken? */
static bool taken_below(pid_t tid, uint64_t limit)
{
	const struct dirent *entry;
	uint64_t taken = 0;
	char path[32];
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", tid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		taken += entry->d_name[0] != '.' && strtoull(entry->d_name, NULL, 10) < limit;
	if (dir)
		(void)closedir(dir);
	return taken >= limit;
}

/* Also when it cannot be found out. The limit is asked for when it is not known. */
static bool has_room(const struct call *call, bool limit_known, struct task_room *room)
{
	struct rlimit limit;
	uint64_t size, spare;

	if (!limit_known) {
		if (prlimit(call->tid, RLIMIT_NOFILE, NULL, &limit) < 0)
			return true;
		room->limit = limit.rlim_cur;
	}
	size = table_size(call);
	if (size >= room->limit)
		return false;
	spare = room->limit - size;
	/* By a clock that was read before it was counted. */
	room->until_ns = call->start_ns + (spare < ROOM_MOST_NS / ROOM_FD_NS ? spare * ROOM_FD_NS : ROOM_MOST_NS);
	return true;
}

bool room_full(struct call *call)
{
	struct task_room *room = &call->task->room;
	unsigned changes = tree_limit_changes(call->sandbox->tree, call->task);
	bool known = changes && room->changes == changes;

	if (known && call->start_ns < room->until_ns)
		return false;
	room->until_ns = 0;
	room->changes = changes;
	/* Who says that it is full has asked for the limit just now: somebody outside can raise it. */
	if (has_room(call, known, room) || (known && has_room(call, false, room)) ||
	    !taken_below(call->tid, room->limit) || !call_valid(call))
		return false;
	call->sandbox->notes.open_files_full = true;
	call_fail(call, -EMFILE);
	return true;
}

void room_limit_set(struct call *call)
{
	(void)tree_limit_change(call->sandbox->tree, call->task);
}
