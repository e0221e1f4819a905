/*
 * Emits a BPF program backwards, from its last instruction to its first. So each jump's target exists and its distance
 * is known at once. Equal returns are shared where a jump reaches them: the kernel's JIT time at each start of a run is
 * proportional to the program's length.
 */
#ifndef CALLGATE_CONFINE_BPF_EMIT_H
#define CALLGATE_CONFINE_BPF_EMIT_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "confine/bpf.h"

#define BPF_RETURNS 8

struct bpf {
	struct sock_filter *code; /* BPF_MAXINSNS, in reverse order */
	size_t len;               /* counts on past BPF_MAXINSNS, without storing */
	struct {
		uint32_t action;
		size_t at;
	} last[BPF_RETURNS]; /* the nearest return of each action; further actions are not shared */
	size_t returns;
};

/* The target of a jump: a return of an action, or the instruction at `at`. */
struct bpf_target {
	bool returns;
	uint32_t action;
	size_t at;
};

static inline struct bpf_target bpf_make_return_target(uint32_t action)
{
	return (struct bpf_target){.returns = true, .action = action};
}

/* Compares the accumulator. Like the functions below, it returns the target that is its first instruction. */
struct bpf_target bpf_emit_jump(struct bpf *bpf, unsigned comparison, uint32_t value, struct bpf_target yes,
				struct bpf_target no);
/* Loads a word of struct seccomp_data, and continues with the instruction emitted before. */
struct bpf_target bpf_emit_load(struct bpf *bpf, size_t offset);
/* Loads a word (unless the accumulator holds it already), masks it, and compares it with the value. */
struct bpf_target bpf_emit_word_test(struct bpf *bpf, size_t offset, bool load, uint32_t mask, uint32_t value,
				     struct bpf_target yes, struct bpf_target no);
/* The decision for one system call number. The accumulator may hold anything. */
struct bpf_target bpf_emit_leaf(struct bpf *bpf, const struct bpf_leaf *leaf);

#endif
