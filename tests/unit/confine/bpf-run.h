/* Interprets a seccomp program: the instructions that seccomp(2) permits, as net/core/filter.c runs them. */
#ifndef CALLGATE_TESTS_BPF_RUN_H
#define CALLGATE_TESTS_BPF_RUN_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define BPF_RUN_BAD UINT32_MAX /* an unknown instruction, or a jump out of the program */

static inline bool bpf_jump_taken(const struct sock_filter *at, uint32_t a)
{
	switch (BPF_OP(at->code)) {
	case BPF_JEQ:
		return a == at->k;
	case BPF_JGT:
		return a > at->k;
	case BPF_JGE:
		return a >= at->k;
	default: /* BPF_JSET */
		return a & at->k;
	}
}

/* The filter's return value. *ret_steps: the number of instructions run. */
static inline uint32_t bpf_run(const struct sock_fprog *program, const struct seccomp_data *data, unsigned *ret_steps)
{
	uint32_t a = 0;

	*ret_steps = 0;
	for (uint32_t pc = 0; pc < program->len; pc++) {
		const struct sock_filter *at = &program->filter[pc];

		++*ret_steps;
		switch (at->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (at->k > sizeof(*data) - sizeof(a))
				return BPF_RUN_BAD;
			memcpy(&a, (const char *)data + at->k, sizeof(a));
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= at->k;
			break;
		case BPF_JMP | BPF_JA:
			pc += at->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
		case BPF_JMP | BPF_JGT | BPF_K:
		case BPF_JMP | BPF_JGE | BPF_K:
		case BPF_JMP | BPF_JSET | BPF_K:
			pc += bpf_jump_taken(at, a) ? at->jt : at->jf;
			break;
		case BPF_RET | BPF_K:
			return at->k;
		default:
			return BPF_RUN_BAD;
		}
	}
	return BPF_RUN_BAD;
}

#endif
