/* All processes of this pid namespace at one moment, by parent. A moment later pids may be others'. */
#ifndef CALLGATE_BASE_PROCTREE_H
#define CALLGATE_BASE_PROCTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum proctree_place {
	PROCTREE_UNKNOWN,
	PROCTREE_BELOW, /* a descendant of the root; the root itself is none */
	PROCTREE_ELSEWHERE,
};

struct proctree_entry {
	pid_t pid;
	pid_t parent; /* 0: none here */
	enum proctree_place place; /* PROCTREE_UNKNOWN until it is marked */
};

struct proctree {
	struct proctree_entry *entry; /* owned; in ascending order of pid */
	size_t count;
};

/*
 * Lists /proc, each process once. 0, or -errno with what was met before in *ret_tree, so that a caller with nothing
 * else to go by can act on it. In both cases to be released by proctree_done.
 */
int proctree_read(struct proctree *ret_tree);

/*
 * Marks each entry by whether its parents lead to root. Every entry is passed a fixed number of times: the crowds of a
 * hostile program cost n log n. A chain that leads in a circle, put together from two moments, is PROCTREE_ELSEWHERE.
 */
void proctree_mark(struct proctree *tree, pid_t root);

/* The entry of a process, borrowed; NULL: none. */
struct proctree_entry *proctree_find(const struct proctree *tree, pid_t pid);

void proctree_done(struct proctree *tree);

/* Writes the descendants of root, ascending, at most `cap` of them. Returns how many there are. */
size_t proctree_list(pid_t root, pid_t *out, size_t cap);

/* True for a descendant of root, by /proc/PID/stat of each ancestor. pid may be a thread's. */
bool proctree_descends(pid_t pid, pid_t root);

#endif
