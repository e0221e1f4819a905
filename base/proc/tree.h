/* A snapshot of the processes of this pid namespace and their parents. Later the kernel may reuse these pids. */
#ifndef CALLGATE_BASE_PROC_TREE_H
#define CALLGATE_BASE_PROC_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum proctree_place {
	PROCTREE_UNKNOWN,        /* not computed yet */
	PROCTREE_DESCENDANT,     /* a descendant of the root, not the root itself */
	PROCTREE_NOT_DESCENDANT, /* the root itself, or no descendant of it */
};

/* One process of the snapshot. */
struct proctree_entry {
	pid_t pid;
	pid_t parent;              /* pid of the parent process; 0: the parent is outside this pid namespace */
	enum proctree_place place; /* set by proctree_mark_descendants() */
	bool is_zombie;            /* the first thread had ended, and was not reaped yet */
	bool has_other_threads;    /* there were threads besides the first one */
};

/* A snapshot of all processes. */
struct proctree {
	struct proctree_entry *entry; /* owned; in ascending order of pid */
	size_t entry_count;           /* entries of entry[] */
	bool has_missed_processes;    /* a process ended after /proc had listed it, and is not in entry[] */
	pid_t newest_before,
		newest_after; /* the pid given last when the reading began, and when it ended; -1: unknown */
};

/*
 * Reads /proc, or the procfs at proc_fd (-1: /proc) with the pids of its pid namespace. 0; or -errno with an incomplete
 * *ret_tree, which a caller without a better source may use. Release *ret_tree with proctree_release in both cases.
 */
int proctree_read(struct proctree *ret_tree);
int proctree_read_at(int proc_fd, struct proctree *ret_tree);

/*
 * Returns the pid that was given last in the pid namespace of this process, or -1: the kernel has no file about it, or
 * the container covers both. Then proctree_may_miss_descendants() is always true. machine_proc_fd: a procfs with files
 * about the machine, of any pid namespace; -1: /proc.
 */
pid_t proctree_read_newest_pid(int machine_proc_fd);

/*
 * As proctree_read(), and sets newest_before and newest_after. machine_proc_fd: as of proctree_read_newest_pid().
 */
int proctree_read_exactly(int machine_proc_fd, struct proctree *ret_tree);

/*
 * Whether a descendant of the process that reads may have run all the while and is missing in `now`, the snapshot
 * that was taken after `before`, and whose descendants are marked. Processes that fork and end at once get past a
 * list: the parent has ended when its turn comes, and the child has a pid that was passed already.
 */
bool proctree_may_miss_descendants(const struct proctree *before, const struct proctree *now);

/*
 * Sets each entry's place by its chain of parents, in O(n log n), since a hostile program may make many processes. A
 * circular chain is PROCTREE_NOT_DESCENDANT: it can occur because /proc is not read atomically.
 */
void proctree_mark_descendants(struct proctree *tree, pid_t root);

/* Returns the entry of a process, borrowed, or NULL. */
struct proctree_entry *proctree_find_entry(const struct proctree *tree, pid_t pid);

void proctree_release(struct proctree *tree);

/* Writes the pids of up to `cap` descendants of root, in ascending order. Returns how many descendants there are. */
size_t proctree_list_descendants(pid_t root, pid_t *out, size_t cap);

/* True when pid, which may be a thread id, is a descendant of root. Reads /proc/PID/stat of each ancestor. */
bool proctree_is_descendant(pid_t pid, pid_t root);

#endif
