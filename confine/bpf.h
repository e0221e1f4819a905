/* Making seccomp filters: a search over numbers of system calls, with what to do about each at its leaves. */
#ifndef CALLGATE_CONFINE_BPF_H
#define CALLGATE_CONFINE_BPF_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

#include "syscalls/table/table.h"

#define BPF_NR_END 512 /* x32's numbers, 0x40000000 up, are above it as well: a foreign ABI on our architecture */
#define BPF_LISTS_MAX 4

/* What is done about a number: allowed when all comparisons of one term of one of the lists hold, else the action. */
struct bpf_leaf {
	const struct row_term *terms[BPF_LISTS_MAX];
	size_t lists;
	uint32_t action;
};

struct bpf_tree {
	const void *ctx;
	struct bpf_leaf (*leaf)(const void *ctx, int nr);
	uint32_t foreign; /* the action for numbers from BPF_NR_END on, and for every call of another architecture */
};

/* 0 with ret_program->filter owned by the caller (free), -ENOMEM, or -E2BIG. */
int bpf_build(const struct bpf_tree *tree, struct sock_fprog *ret_program);

#endif
