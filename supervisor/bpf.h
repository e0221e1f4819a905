/* Making seccomp filters: a binary search over numbers of system calls, with what to do about each at its leaves. */
#ifndef CALLGATE_SUPERVISOR_BPF_H
#define CALLGATE_SUPERVISOR_BPF_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "syscalls/table.h"

#define BPF_NR_END 512 /* x32's numbers, 0x40000000 up, are above it as well: a foreign ABI on our architecture */

struct bpf {
	struct sock_filter *code; /* BPF_MAXINSNS of them */
	size_t len;               /* may grow past that: then nothing more is stored */
};

void bpf_return(struct bpf *bpf, uint32_t action);
/* Allows when all comparisons of one of the terms hold; otherwise goes on with what is emitted next. */
void bpf_terms(struct bpf *bpf, const struct row_term *term);

struct bpf_tree {
	const void *ctx;
	/* True when two numbers may share a leaf. */
	bool (*same)(const void *ctx, int a, int b);
	/* Emits what is done about the number; every way through it ends in a bpf_return. */
	void (*leaf)(const void *ctx, struct bpf *bpf, int nr);
	uint32_t foreign; /* the action for numbers from BPF_NR_END on, and for every call of another architecture */
};

/* Says the same in fewer instructions, about half. 0 or -ENOMEM. */
int bpf_shorten(struct bpf *bpf);

/* 0 with ret_program->filter owned by the caller (free), -ENOMEM, or -E2BIG. */
int bpf_build(const struct bpf_tree *tree, struct sock_fprog *ret_program);

#endif
