/* Builds seccomp filters: a binary search over system call numbers, which ends in a decision for each number. */
#ifndef CALLGATE_CONFINE_BPF_H
#define CALLGATE_CONFINE_BPF_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

#include "syscalls/table/table.h"

/* one past the numbers that a row can have; x32 calls (0x40000000 and up) count as foreign */
#define BPF_CALL_NUMBERS_END 512
#define BPF_TERM_LISTS_MAX (1 + ROW_MORE_TERMS_MAX) /* lists of terms: row->allowed_if and those of row->more_terms */

/*
 * The decision for one system call number: the call is allowed if all comparisons of at least one term of the lists are
 * true, otherwise `action` is taken.
 */
struct bpf_call_decision {
	const struct row_term *terms[BPF_TERM_LISTS_MAX];
	size_t term_list_count; /* used entries of terms[]; 0: always `action` */
	uint32_t action;        /* SECCOMP_RET_* if no term matches */
};

/* What a filter is built from: a decision for each system call number. */
struct bpf_decisions {
	const void *ctx;
	struct bpf_call_decision (*leaf)(const void *ctx, int nr);
	/* the action for numbers from BPF_CALL_NUMBERS_END on, and for other architectures */
	uint32_t foreign_arch_action;
};

/* Builds the filter. 0 with ret_program->filter owned by the caller (free(3)), -ENOMEM, or -E2BIG. */
int bpf_build_program(const struct bpf_decisions *tree, struct sock_fprog *ret_program);

#endif
