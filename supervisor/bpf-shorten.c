/*
 * Makes a program shorter without changing what it says: the kernel compiles it at each start, which takes longer than building
 * it, and by its length. Two things are done. Returns are shared: a jump to one goes to the farthest equal one it reaches, and
 * what nobody reaches any more goes. And a word that the accumulator holds already is not loaded again.
 *
 * Jumps lead forward only, so one pass sees everything that comes before an instruction; and every distance only shrinks.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "supervisor/bpf.h"

#include "base/banned.h"

#define UNKNOWN UINT32_MAX         /* what the accumulator holds */
#define UNREACHED (UINT32_MAX - 1) /* nobody has come here yet */

static bool is_return(const struct sock_filter *code)
{
	return code->code == (BPF_RET | BPF_K);
}

static bool is_jump(const struct sock_filter *code)
{
	return BPF_CLASS(code->code) == BPF_JMP && BPF_OP(code->code) != BPF_JA;
}

static bool is_load(const struct sock_filter *code)
{
	return code->code == (BPF_LD | BPF_W | BPF_ABS);
}

/* For each value that is returned: the last return of it among the instructions seen. More values than fit are not shared. */
struct returns {
	struct {
		uint32_t value;
		size_t at;
	} last[8];
	size_t count;
};

static void see(const struct bpf *bpf, size_t at, struct returns *returns)
{
	size_t i = 0;

	if (at >= bpf->len || !is_return(&bpf->code[at]))
		return;
	while (i < returns->count && returns->last[i].value != bpf->code[at].k)
		i++;
	if (i == sizeof(returns->last) / sizeof(returns->last[0]))
		return;
	returns->last[i].value = bpf->code[at].k;
	returns->last[i].at = at;
	if (i == returns->count)
		returns->count++;
}

/* `seen` has all that an eight-bit jump at `at` reaches. */
static uint8_t lead_on(const struct bpf *bpf, const struct returns *seen, size_t at, uint8_t offset)
{
	const struct sock_filter *target = &bpf->code[at + 1 + offset];

	for (size_t i = 0; is_return(target) && i < seen->count; i++)
		if (seen->last[i].value == target->k)
			return (uint8_t)(seen->last[i].at - at - 1);
	return offset;
}

static void share_returns(struct bpf *bpf)
{
	struct returns seen = {.count = 0};

	for (size_t at = 0; at <= UINT8_MAX; at++)
		see(bpf, at, &seen);
	for (size_t at = 0; at < bpf->len; at++) {
		struct sock_filter *code = &bpf->code[at];

		see(bpf, at + 1 + UINT8_MAX, &seen);
		if (is_jump(code)) {
			code->jt = lead_on(bpf, &seen, at, code->jt);
			code->jf = lead_on(bpf, &seen, at, code->jf);
		}
	}
}

/* Of several ways to an instruction: what the accumulator holds on all of them. */
static void meet(uint32_t *held, uint32_t value)
{
	*held = *held == UNREACHED || *held == value ? value : UNKNOWN;
}

static void flow(const struct bpf *bpf, uint32_t *held, size_t at)
{
	const struct sock_filter *code = &bpf->code[at];
	uint32_t after = is_load(code) ? code->k : BPF_CLASS(code->code) == BPF_JMP ? held[at] : UNKNOWN;

	if (is_return(code))
		return;
	if (BPF_CLASS(code->code) != BPF_JMP) {
		meet(&held[at + 1], after);
	} else if (is_jump(code)) {
		meet(&held[at + 1 + code->jt], after);
		meet(&held[at + 1 + code->jf], after);
	} else {
		meet(&held[at + 1 + code->k], after);
	}
}

/* Where an instruction goes, or the next one that stays. */
static void renumber(const struct bpf *bpf, const uint32_t *held, size_t *to)
{
	size_t stay = 0;

	for (size_t at = 0; at < bpf->len; at++) {
		const struct sock_filter *code = &bpf->code[at];

		to[at] = stay;
		if (held[at] != UNREACHED && !(is_load(code) && held[at] == code->k))
			stay++;
	}
	to[bpf->len] = stay;
}

static void move(struct bpf *bpf, const size_t *to)
{
	for (size_t at = 0; at < bpf->len; at++) {
		struct sock_filter code = bpf->code[at];

		if (to[at] == to[at + 1])
			continue;
		if (is_jump(&code)) {
			code.jt = (uint8_t)(to[at + 1 + code.jt] - to[at] - 1);
			code.jf = (uint8_t)(to[at + 1 + code.jf] - to[at] - 1);
		} else if (BPF_CLASS(code.code) == BPF_JMP) {
			code.k = (uint32_t)(to[at + 1 + code.k] - to[at] - 1);
		}
		bpf->code[to[at]] = code;
	}
	bpf->len = to[bpf->len];
}

static void shorten_once(struct bpf *bpf, uint32_t *held, size_t *to)
{
	share_returns(bpf);
	for (size_t at = 0; at <= bpf->len; at++)
		held[at] = at == 0 ? UNKNOWN : UNREACHED;
	for (size_t at = 0; at < bpf->len; at++)
		if (held[at] != UNREACHED)
			flow(bpf, held, at);
	renumber(bpf, held, to);
	move(bpf, to);
}

int bpf_shorten(struct bpf *bpf)
{
	uint32_t *held = calloc(bpf->len + 1, sizeof(*held));
	size_t *to = malloc((bpf->len + 1) * sizeof(*to)), before;
	bool memory = held && to;

	/* What is nearer now may be reached. After one that took off less than a twentieth another costs more than it gives. */
	do {
		before = bpf->len;
		if (memory)
			shorten_once(bpf, held, to);
	} while (before - bpf->len > before / 20);
	free(held);
	free(to);
	return memory ? 0 : -ENOMEM;
}
