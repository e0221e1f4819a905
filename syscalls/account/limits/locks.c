#include "syscalls/account/limits/locks.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc/tree.h"
#include "syscalls/call/call.h"
#include "syscalls/table/handlers.h"
#include "syscalls/table/terms.h"

#define LOCKS_PER_COMMAND_MAX 2u /* by how many one fcntl(2) can increase the number of locks */
/*
 * From this number of locks on, locks are counted at most once in LOCKS_RECOUNT_INTERVAL_NS, because a new count
 * would find few that were removed.
 */
#define LOCKS_NEARLY_FULL (LOCKS_OF_RUN_MAX / 4 * 3)
/* shortest time between two counts of all file locks of the run */
#define LOCKS_RECOUNT_INTERVAL_NS UINT64_C(100000000)

bool locks_command_needs_admission(uint64_t command)
{
	return table_terms_match(allow_fcntl_locks, (const uint64_t[6]){0, command});
}

/*
 * Counts a line of /proc/locks: "1: POSIX ADVISORY WRITE 123 08:01:99 0 0", "2: OFDLCK ADVISORY READ -1 …"; "1: ->
 * POSIX …" waits for the lock on the line before. A POSIX lock does not outlive the process that set it, because
 * processes of these runs share no descriptor tables (allow_clone_sampled).
 */
static void locks_count_proc_locks_line(const char *line, const struct proctree *tree, uint64_t *of_processes,
					uint64_t *of_files)
{
	const struct proctree_entry *owner;
	char kind[16];
	int pid;

	if (sscanf(line, "%*s %15s", kind) == 1 && strcmp(kind, "->") == 0)
		line = strchr(line, '>');
	if (sscanf(line, "%*s %15s %*s %*s %d", kind, &pid) != 2)
		return;
	if (strcmp(kind, "OFDLCK") == 0)
		++*of_files;
	if (strcmp(kind, "POSIX") != 0 || pid <= 0)
		return;
	owner = proctree_find_entry(tree, pid);
	if (!owner || owner->place != PROCTREE_NOT_DESCENDANT)
		++*of_processes;
}

void locks_init(struct locks *locks, int proc_fd)
{
	/* The supervisor's pid in the procfs of proc_fd (proc_self_get_link() of fs/proc/self.c). 0: it has none. */
	char text[16] = "";
	ssize_t len = proc_fd < 0 ? 0 : readlinkat(proc_fd, "self", text, sizeof(text) - 1);
	pid_t outside = len > 0 ? (pid_t)strtol(text, NULL, 10) : 0;

	*locks = (struct locks){.proc_fd = outside > 0 ? proc_fd : -1, .root = outside > 0 ? outside : getpid()};
}

bool locks_count_in_proc_locks(int fd, int proc_fd, pid_t root, uint64_t *ret_process_locks,
			       uint64_t *ret_description_locks)
{
	uint64_t of_processes = 0, of_files = 0, lines = 0;
	FILE *file = fd < 0 ? NULL : fdopen(fd, "re");
	struct proctree tree;
	char line[256];
	bool whole;

	if (!file) {
		cleanup_close(&fd);
		return false;
	}
	if (proctree_read_at(proc_fd, &tree) == 0)
		proctree_mark_descendants(&tree, root);
	while (lines < PROC_LOCKS_LINES_MAX && fgets(line, sizeof(line), file)) {
		locks_count_proc_locks_line(line, &tree, &of_processes, &of_files);
		lines++;
	}
	whole = lines < PROC_LOCKS_LINES_MAX && !ferror(file);
	(void)fclose(file);
	proctree_release(&tree);
	*ret_process_locks = of_processes;
	*ret_description_locks = of_files;
	return whole;
}

/*
 * Counts the run's locks. A file description may be in flight in a socket, so its process is unknown. Therefore all
 * locks of file descriptions on the machine count, but not more than the run can have set.
 */
static void locks_recount(struct locks *locks, uint64_t now_ns)
{
	int fd = openat(locks->proc_fd, locks->proc_fd < 0 ? "/proc/locks" : "locks", O_RDONLY | O_CLOEXEC);
	uint64_t of_processes, of_files;

	locks->last_count_ns = now_ns;
	if (!locks_count_in_proc_locks(fd, locks->proc_fd, locks->root, &of_processes, &of_files))
		return;
	locks->locks_at_last_count =
		of_processes + (of_files < locks->file_locks_max ? of_files : locks->file_locks_max);
	locks->added_since_last_count_max = 0;
}

/* Whether one more lock command certainly stays below the run's limit of locks. */
static bool locks_have_room(const struct locks *locks)
{
	return locks->locks_at_last_count + locks->added_since_last_count_max + LOCKS_PER_COMMAND_MAX <=
	       LOCKS_OF_RUN_MAX;
}

bool locks_admit_fcntl(struct locks *locks, uint64_t command, uint64_t now_ns)
{
	if (!locks_have_room(locks) && (locks->locks_at_last_count < LOCKS_NEARLY_FULL ||
					now_ns - locks->last_count_ns >= LOCKS_RECOUNT_INTERVAL_NS))
		locks_recount(locks, now_ns);
	if (!locks_have_room(locks))
		return false;
	locks->added_since_last_count_max += LOCKS_PER_COMMAND_MAX;
	if ((uint32_t)command == F_OFD_SETLK || (uint32_t)command == F_OFD_SETLKW)
		locks->file_locks_max += LOCKS_PER_COMMAND_MAX;
	return true;
}
