/* Builds seccomp filters: a binary search over system call numbers, with a decision for each number at its leaves. */
#ifndef CALLGATE_CONFINE_BPF_H
#define CALLGATE_CONFINE_BPF_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

#include "syscalls/table/table.h"

#define BPF_NR_END 512 /* x32 system calls (0x40000000 and up) are above it: treated as a foreign ABI */
#define BPF_LISTS_MAX (1 + ROW_MORE_MAX) /* row->allow, row->more */

/* The decision for a number: allow when all comparisons of one term in one of the lists are true, else the action. */
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

/* 0 with ret_program->filter owned by the caller (free), -ENOMEM, or -E2BIG. */
int bpf_build_program(const struct bpf_tree *tree, struct sock_fprog *ret_program);

#endif
