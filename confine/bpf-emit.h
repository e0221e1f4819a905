/*
 * Emitting a program from its end to its start. Whatever an instruction jumps to is there already, so that each
 * distance is known at once, and equal returns are shared as far as a jump reaches. The kernel compiles a filter at
 * each start, which takes longer than making it, and by its length: the shorter the better.
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
	struct sock_filter *code; /* BPF_MAXINSNS of them, the last instruction first */
	size_t len;               /* may grow past that: then nothing more is stored */
	struct {
		uint32_t action;
		size_t at;
	} last[BPF_RETURNS]; /* for each action: where it is returned last. More than fit are not shared */
	size_t returns;
};

/* Where a jump leads: an action, wherever it is returned, or an instruction. */
struct bpf_target {
	bool returns;
	uint32_t action;
	size_t at;
};

static inline struct bpf_target bpf_returning(uint32_t action)
{
	return (struct bpf_target){.returns = true, .action = action};
}

/* A comparison of the accumulator. This and the others return the place of their first instruction. */
struct bpf_target bpf_jump(struct bpf *bpf, unsigned comparison, uint32_t value, struct bpf_target yes,
			   struct bpf_target no);
/* Loads a word of struct seccomp_data and goes on with what was emitted before. */
struct bpf_target bpf_load(struct bpf *bpf, size_t offset);
/* Loads a word, unless the accumulator holds it, masks it, and jumps if it is the value. */
struct bpf_target bpf_word(struct bpf *bpf, size_t offset, bool load, uint32_t mask, uint32_t value,
			   struct bpf_target yes, struct bpf_target no);
/* What is done about a number. The accumulator may hold anything. */
struct bpf_target bpf_emit_leaf(struct bpf *bpf, const struct bpf_leaf *leaf);

#endif
