/*
 * Emits a BPF program backwards, from its last instruction to its first: so the target of each jump exists already, and
 * its distance is known. Equal returns are shared where a jump reaches them, because the kernel's JIT takes time in
 * proportion to the length of the program, at each start of a run.
 */
#ifndef CALLGATE_CONFINE_BPF_EMIT_H
#define CALLGATE_CONFINE_BPF_EMIT_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "confine/bpf.h"

#define BPF_SHARED_RETURNS_MAX 8 /* return instructions of the filter that several jumps may share */

/* A seccomp filter that is being emitted. */
struct bpf {
	struct sock_filter *code; /* BPF_MAXINSNS instructions, in reverse order */
	size_t len;               /* instructions emitted so far; counts on past BPF_MAXINSNS, where none is stored */
	struct {
		uint32_t action;
		size_t at;
	/*
	 * position of the nearest return instruction of each action; actions that are not in this array get a return
	 * each time
	 */
	} last[BPF_SHARED_RETURNS_MAX];
	size_t shared_return_count; /* used entries of last[] */
};

/* The target of a jump: a return of `action`, or the instruction at `at`. */
struct bpf_target {
	bool is_return;  /* the jump leads to a return of `action`; false: to the instruction at `at` */
	uint32_t action; /* SECCOMP_RET_* */
	size_t at;
};

static inline struct bpf_target bpf_make_return_target(uint32_t action)
{
	return (struct bpf_target){.is_return = true, .action = action};
}

/* Emits a comparison of the accumulator. Returns its first instruction as a target, as the functions below do. */
struct bpf_target bpf_emit_jump(struct bpf *bpf, unsigned comparison, uint32_t value, struct bpf_target yes,
				struct bpf_target no);
/* Emits a load of a word of struct seccomp_data. Execution continues with the instruction emitted before. */
struct bpf_target bpf_emit_load(struct bpf *bpf, size_t offset);
/* Emits a test of a word: loads it (load; else it is in the accumulator), masks it, and compares it with the value. */
struct bpf_target bpf_emit_word_test(struct bpf *bpf, size_t offset, bool load, uint32_t mask, uint32_t value,
				     struct bpf_target yes, struct bpf_target no);
/* Emits the decision for one system call number. The accumulator may hold anything. */
struct bpf_target bpf_emit_call_decision(struct bpf *bpf, const struct bpf_call_decision *leaf);

#endif
