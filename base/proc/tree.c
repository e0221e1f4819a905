#include "base/proc/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/proc/stat.h"

#define PROCTREE_GROWTH_ENTRIES 256u /* the array of processes grows by so many */

static int proctree_add_entry(struct proctree *tree, pid_t pid, pid_t parent)
{
	if (tree->entry_count % PROCTREE_GROWTH_ENTRIES == 0) {
		/* Need not double: the three system calls that read an entry cost more than realloc(3). */
		struct proctree_entry *more =
			reallocarray(tree->entry, tree->entry_count + PROCTREE_GROWTH_ENTRIES, sizeof(*more));

		if (!more)
			return -ENOMEM;
		tree->entry = more;
	}
	tree->entry[tree->entry_count++] = (struct proctree_entry){.pid = pid, .parent = parent};
	return 0;
}

static int proctree_compare_pids(const void *a, const void *b)
{
	const struct proctree_entry *left = a, *right = b;

	return (left->pid > right->pid) - (left->pid < right->pid);
}

int proctree_read_at(int proc_fd, struct proctree *ret_tree)
{
	/* proc_fd is an O_PATH descriptor, which cannot be read: open the directory again. */
	_cleanup_closedir_ DIR *dir = io_take_dir_stream(io_open_dir(proc_fd, proc_fd < 0 ? "/proc" : "."));
	const struct dirent *entry;
	int r = dir ? 0 : -errno;

	*ret_tree = (struct proctree){0};
	while (r == 0 && (entry = io_read_entry(dir, &r))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		struct procstat stat;

		/* Skips names that are no pid, and processes that have ended. */
		if (pid > 0 && procstat_read_at(proc_fd, pid, &stat) == 0)
			r = proctree_add_entry(ret_tree, pid, stat.parent);
	}
	if (ret_tree->entry_count > 0)
		qsort(ret_tree->entry, ret_tree->entry_count, sizeof(*ret_tree->entry), proctree_compare_pids);
	return r;
}

int proctree_read(struct proctree *ret_tree)
{
	return proctree_read_at(-1, ret_tree);
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
