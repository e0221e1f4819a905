#include "base/proc/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/proc/stat.h"

#define PROCTREE_GROWTH_ENTRIES 256u /* the array of processes grows by so many */
#define PROCTREE_ALL_BYTES 32768u    /* bytes of directory entries that are read at once: 1,000 processes */
#define PROCTREE_FEW_BYTES 64u       /* the same where no process is to be missed: two processes */
#define PROCTREE_FEW_MAX_NS UINT64_C(100000000) /* how long they are read two at a time: 10,000 processes */

static int proctree_add_entry(struct proctree *tree, pid_t pid, const struct procstat *stat)
{
	if (tree->entry_count % PROCTREE_GROWTH_ENTRIES == 0) {
		/* Need not double: the three system calls that read an entry cost more than realloc(3). */
		struct proctree_entry *more =
			reallocarray(tree->entry, tree->entry_count + PROCTREE_GROWTH_ENTRIES, sizeof(*more));

		if (!more)
			return -ENOMEM;
		tree->entry = more;
	}
	tree->entry[tree->entry_count++] =
		(struct proctree_entry){.pid = pid,
					.parent = stat->parent,
					.is_zombie = stat->state == 'Z' || stat->state == 'X',
					.has_other_threads = stat->threads > 1};
	return 0;
}

static int proctree_compare_pids(const void *a, const void *b)
{
	const struct proctree_entry *left = a, *right = b;

	return (left->pid > right->pid) - (left->pid < right->pid);
}

/* Reads a process. pid 0: the entry of /proc is none. 0 or -ENOMEM. */
static int proctree_read_process(int proc_fd, pid_t pid, struct proctree *tree)
{
	struct procstat stat;
	int r = pid > 0 ? procstat_read_at(proc_fd, pid, &stat) : -EPERM;

	if (r == 0)
		return proctree_add_entry(tree, pid, &stat);
	tree->has_missed_processes |= r != -EPERM;
	return 0;
}

/*
 * Reads the next entries of the directory /proc, and their processes. Returns the bytes of the entries, 0 at the end,
 * or -errno.
 */
static ssize_t proctree_read_next(int dir, int proc_fd, size_t size, struct proctree *tree)
{
	_Alignas(struct dirent64) char buffer[PROCTREE_ALL_BYTES];
	ssize_t got = getdents64(dir, buffer, size);
	int r = 0;

	if (got < 0 && errno == EINVAL) /* a longer name, which is no pid */
		got = getdents64(dir, buffer, sizeof(struct dirent64));
	if (got < 0)
		return -errno;
	for (ssize_t at = 0; r == 0 && at < got;) {
		const struct dirent64 *entry = (const void *)(buffer + at);

		r = proctree_read_process(proc_fd, (pid_t)strtol(entry->d_name, NULL, 10), tree);
		at += entry->d_reclen;
	}
	return r < 0 ? r : got;
}

/*
 * Reads all processes. For few_max_ns it reads two at a time, since a process that ends after it was listed, and before
 * it is read, is missed. That may follow a chain of processes that fork and end, until the pids begin anew. So then it
 * reads many at a time: the kernel lists faster than processes fork.
 */
static int proctree_read_all(int proc_fd, uint64_t few_max_ns, struct proctree *ret_tree)
{
	/* proc_fd is an O_PATH descriptor, which cannot be read: open the directory again. */
	_cleanup_close_ int dir = io_open_dir(proc_fd, proc_fd < 0 ? "/proc" : ".");
	uint64_t few_until_ns = few_max_ns ? io_read_clock_ns() + few_max_ns : 0;
	ssize_t got = dir < 0 ? dir : 1;

	*ret_tree = (struct proctree){.newest_before = -1, .newest_after = -1};
	while (got > 0) {
		bool few = few_until_ns && io_read_clock_ns() < few_until_ns;

		got = proctree_read_next(dir, proc_fd, few ? PROCTREE_FEW_BYTES : PROCTREE_ALL_BYTES, ret_tree);
	}
	if (ret_tree->entry_count > 0)
		qsort(ret_tree->entry, ret_tree->entry_count, sizeof(*ret_tree->entry), proctree_compare_pids);
	return (int)got;
}

int proctree_read_at(int proc_fd, struct proctree *ret_tree)
{
	return proctree_read_all(proc_fd, 0, ret_tree);
}

int proctree_read(struct proctree *ret_tree)
{
	return proctree_read_at(-1, ret_tree);
}

pid_t proctree_read_newest_pid(int machine_proc_fd)
{
	/* proc_sys_kernel(5); kernels without CONFIG_CHECKPOINT_RESTORE have it at the end of proc_loadavg(5) alone */
	static const char *const files[] = {"/proc/sys/kernel/ns_last_pid", "/proc/loadavg"};
	const size_t skip = machine_proc_fd < 0 ? 0 : strlen("/proc/");
	char text[128];
	struct statfs fs;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		_cleanup_close_ int fd = openat(machine_proc_fd, files[i] + skip, O_RDONLY | O_CLOEXEC);
		ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
		const char *last;

		/* lxcfs mounts a file of its own over loadavg. Containers have /proc/sys mounted over itself. */
		if (len <= 0 || fstatfs(fd, &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC)
			continue;
		text[len] = '\0';
		last = strrchr(text, ' ');
		return (pid_t)strtol(last ? last : text, NULL, 10);
	}
	return -1;
}

int proctree_read_exactly(int machine_proc_fd, struct proctree *ret_tree)
{
	pid_t newest = proctree_read_newest_pid(machine_proc_fd);
	int r = proctree_read_all(-1, PROCTREE_FEW_MAX_NS, ret_tree);

	ret_tree->newest_before = newest;
	ret_tree->newest_after = proctree_read_newest_pid(machine_proc_fd);
	return r;
}

/*
 * Whether no pid was given twice while the newest one became `later`. Pids are given in ascending order until they
 * begin anew. In the namespace of process 1, which is that of the run, there may be so few that they begin anew within
 * one reading: there none at all may have been given.
 */
static bool proctree_pids_are_unique(pid_t earlier, pid_t later)
{
	return earlier >= 0 && (getpid() == 1 ? later == earlier : later >= earlier);
}

/*
 * Whether the process had a parent that ended before its turn in the list: the chain from the process to the root is
 * cut. A parent that hidepid does not show is still its parent.
 */
static bool proctree_has_lost_parent(const struct proctree *tree, const struct proctree_entry *entry)
{
	return entry->place == PROCTREE_NOT_DESCENDANT && entry->parent > 0 &&
	       !proctree_find_entry(tree, entry->parent) && procstat_read_parent(entry->pid) != entry->parent;
}

bool proctree_may_miss_descendants(const struct proctree *before, const struct proctree *now)
{
	bool same_pids = proctree_pids_are_unique(before->newest_after, now->newest_before);

	if (now->has_missed_processes || !proctree_pids_are_unique(now->newest_before, now->newest_after))
		return true;
	/* A zombie may have ended after /proc had listed it, as those which are missing, unless it was one before. */
	for (size_t i = 0; i < now->entry_count; i++) {
		const struct proctree_entry *earlier;

		if (proctree_has_lost_parent(now, &now->entry[i]))
			return true;
		if (!now->entry[i].is_zombie || now->entry[i].place == PROCTREE_NOT_DESCENDANT)
			continue;
		earlier = same_pids ? proctree_find_entry(before, now->entry[i].pid) : NULL;
		if (!earlier || !earlier->is_zombie)
			return true;
	}
	return false;
}

struct proctree_entry *proctree_find_entry(const struct proctree *tree, pid_t pid)
{
	struct proctree_entry key = {.pid = pid};

	return tree->entry_count > 0 ? bsearch(&key, tree->entry, tree->entry_count, sizeof(key), proctree_compare_pids)
				     : NULL;
}

/*
 * Whether an ancestor that /proc does not show tells that the process is a descendant: in a pid namespace every process
 * that has a parent in it descends from process 1. A /proc with hidepid does not show undumpable processes.
 */
static bool proctree_unseen_parent_is_descendant(pid_t parent, pid_t root)
{
	return root == 1 && parent > 1;
}

/* Follows the chain of parents until an entry whose place is known, or the root. */
static enum proctree_place proctree_classify_by_parents(const struct proctree *tree, const struct proctree_entry *entry,
							pid_t root)
{
	for (size_t steps = 0; entry && entry->pid != root && steps <= tree->entry_count; steps++) {
		const pid_t parent = entry->parent;

		if (entry->place != PROCTREE_UNKNOWN)
			return entry->place;
		if (parent == root)
			return PROCTREE_DESCENDANT;
		entry = proctree_find_entry(tree, parent);
		if (!entry && proctree_unseen_parent_is_descendant(parent, root))
			return PROCTREE_DESCENDANT;
	}
	return PROCTREE_NOT_DESCENDANT;
}

void proctree_mark_descendants(struct proctree *tree, pid_t root)
{
	for (size_t i = 0; i < tree->entry_count; i++)
		tree->entry[i].place = tree->entry[i].pid == root ? PROCTREE_NOT_DESCENDANT : PROCTREE_UNKNOWN;
	for (size_t i = 0; i < tree->entry_count; i++) {
		struct proctree_entry *entry = &tree->entry[i];
		enum proctree_place place = proctree_classify_by_parents(tree, entry, root);

		/* The place is also that of all ancestors on the way: set it there, so that later walks stop early. */
		for (; entry && entry->place == PROCTREE_UNKNOWN; entry = proctree_find_entry(tree, entry->parent))
			entry->place = place;
	}
}

void proctree_release(struct proctree *tree)
{
	free(tree->entry);
	*tree = (struct proctree){0};
}

size_t proctree_list_descendants(pid_t root, pid_t *out, size_t cap)
{
	struct proctree all;
	size_t found = 0;

	(void)proctree_read(&all); /* proctree_read() may fail: then the list of processes is incomplete */
	proctree_mark_descendants(&all, root);
	for (size_t i = 0; i < all.entry_count; i++) {
		if (all.entry[i].place != PROCTREE_DESCENDANT)
			continue;
		if (found < cap)
			out[found] = all.entry[i].pid;
		found++;
	}
	proctree_release(&all);
	return found;
}

bool proctree_is_descendant(pid_t pid, pid_t root)
{
	if (pid == root)
		return false;
	/* The chain ends at process 1. The bound is for a chain that changes while it is read. */
	for (int depth = 0; pid > 1 && depth < 100000; depth++) {
		const pid_t parent = procstat_read_parent(pid);

		if (parent == root || (parent < 0 && depth > 0 && proctree_unseen_parent_is_descendant(pid, root)))
			return true;
		pid = parent;
	}
	return false;
}
