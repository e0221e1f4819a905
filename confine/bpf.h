/* Builds seccomp filters: a binary search over system call numbers, which ends in a decision for each number. */
#ifndef CALLGATE_CONFINE_BPF_H
#define CALLGATE_CONFINE_BPF_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

#include "syscalls/table/table.h"

#define BPF_NR_END 512 /* one past the numbers that a row can have; x32 calls (0x40000000 and up) count as foreign */
#define BPF_LISTS_MAX (1 + ROW_MORE_MAX) /* lists of terms: row->allow and row->more */

/* The decision for a number: allow, if all comparisons of any term of any list are true; else `action`. */
struct bpf_leaf {
	const struct row_term *terms[BPF_LISTS_MAX];
	size_t lists;
	uint32_t action;
};

struct bpf_tree {
	const void *ctx;
	struct bpf_leaf (*leaf)(const void *ctx, int nr);
	uint32_t foreign; /* the action for numbers from BPF_NR_END on, and for other architectures */
};

/* Builds the filter. 0 with ret_program->filter owned by the caller (free(3)), -ENOMEM, or -E2BIG. */
int bpf_build_program(const struct bpf_tree *tree, struct sock_fprog *ret_program);

#endif
