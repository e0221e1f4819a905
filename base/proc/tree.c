#include "base/proc/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/proc/stat.h"

#define PROCTREE_GROWTH_ENTRIES 256u /* the array of processes grows by so many */
#define PROCTREE_LISTED_BYTES 64u    /* of directory entries that are read at once: two processes */

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
	tree->entry[tree->entry_count++] = (struct proctree_entry){
		.pid = pid, .parent = stat->parent, .is_zombie = stat->state == 'Z' || stat->state == 'X'};
	return 0;
}

static int proctree_compare_pids(const void *a, const void *b)
{
	const struct proctree_entry *left = a, *right = b;

	return (left->pid > right->pid) - (left->pid < right->pid);
}

/* Reads the process to which an entry of /proc belongs, if it is one. 0 or -ENOMEM. */
static int proctree_read_process(int proc_fd, const char *name, struct proctree *tree)
{
	pid_t pid = (pid_t)strtol(name, NULL, 10);
	struct procstat stat;
	int r = pid > 0 ? procstat_read_at(proc_fd, pid, &stat) : -EPERM;

	if (r == 0)
		return proctree_add_entry(tree, pid, &stat);
	tree->has_missed_processes |= r != -EPERM;
	return 0;
}

int proctree_read_at(int proc_fd, struct proctree *ret_tree)
{
	/* proc_fd is an O_PATH descriptor, which cannot be read: open the directory again. */
	_cleanup_close_ int dir = io_open_dir(proc_fd, proc_fd < 0 ? "/proc" : ".");
	_Alignas(struct dirent64) char buffer[sizeof(struct dirent64)];
	ssize_t got = 0;
	int r = dir < 0 ? dir : 0;

	*ret_tree = (struct proctree){.newest_before = -1, .newest_after = -1};
	while (r == 0) {
		/* Few entries at a time, since a process that ends between this list and its turn is missed. */
		got = getdents64(dir, buffer, PROCTREE_LISTED_BYTES);
		if (got < 0 && errno == EINVAL) /* a longer name, which is no pid */
			got = getdents64(dir, buffer, sizeof(buffer));
		if (got <= 0)
			break;
		for (ssize_t at = 0; r == 0 && at < got;) {
			const struct dirent64 *entry = (const void *)(buffer + at);

			r = proctree_read_process(proc_fd, entry->d_name, ret_tree);
			at += entry->d_reclen;
		}
	}
	if (got < 0)
		r = -errno;
	if (ret_tree->entry_count > 0)
		qsort(ret_tree->entry, ret_tree->entry_count, sizeof(*ret_tree->entry), proctree_compare_pids);
	return r;
}

int proctree_read(struct proctree *ret_tree)
{
	return proctree_read_at(-1, ret_tree);
}

/* Returns the pid that was given last in the pid namespace of this process, or -1. */
static pid_t proctree_read_newest_pid(int machine_proc_fd)
{
	/* proc_sys_kernel(5); kernels without CONFIG_CHECKPOINT_RESTORE have it at the end of proc_loadavg(5) alone */
	static const char *const files[] = {"sys/kernel/ns_last_pid", "loadavg"};
	_cleanup_close_ int own_proc = machine_proc_fd < 0 ? io_open_dir(AT_FDCWD, "/proc") : -1;
	char text[128];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		/* RESOLVE_NO_XDEV: lxcfs mounts a file with other contents over loadavg. */
		_cleanup_close_ int fd = openat2_retry(machine_proc_fd < 0 ? own_proc : machine_proc_fd, files[i],
						       O_RDONLY, 0, RESOLVE_NO_XDEV);
		ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
		const char *last;

		if (len <= 0)
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
	int r = proctree_read(ret_tree);

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

bool proctree_may_miss_descendants(const struct proctree *before, const struct proctree *now)
{
	bool same_pids = proctree_pids_are_unique(before->newest_after, now->newest_before);

	if (now->has_missed_processes || !proctree_pids_are_unique(now->newest_before, now->newest_after))
		return true;
	/* A zombie may have ended after /proc had listed it, as those which are missing, unless it was one before. */
	for (size_t i = 0; i < now->entry_count; i++) {
		const struct proctree_entry *earlier;

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
