#if defined(__aarch64__)

#include <asm/ptrace.h>
#include <assert.h>
#include <linux/audit.h>

#include "syscalls/arch/arch.h"

/* struct user_pt_regs: x0 … x30, sp, pc, pstate. */
enum { REG_X0 = 0, REG_X8 = 8, REG_SP = 31, REG_PC = 32 };

static_assert(sizeof(struct user_pt_regs) <= sizeof(((struct arch_regs *)0)->word), "the registers fit");

uint32_t arch_audit(void)
{
	return AUDIT_ARCH_AARCH64;
}

uint64_t arch_pc(const struct arch_regs *regs)
{
	return regs->word[REG_PC];
}

uint64_t arch_stack(const struct arch_regs *regs)
{
	return regs->word[REG_SP];
}

size_t arch_red_zone_bytes(void)
{
	return 0; /* AAPCS64 has none; Apple's does */
}

void arch_rewind(struct arch_regs *regs, int nr, const uint64_t arg[6])
{
	regs->word[REG_PC] -= 4; /* "svc #0" */
	regs->word[REG_X8] = (uint64_t)nr;
	for (unsigned i = 0; i < 6; i++)
		regs->word[REG_X0 + i] = arg[i];
}

bool arch_was_call(const struct arch_regs *regs, int nr)
{
	return regs->word[REG_X8] == (uint64_t)nr;
}

void arch_restore_args(struct arch_regs *regs, const uint64_t arg[6])
{
	for (unsigned i = 1; i < 6; i++) /* x0 holds the result */
		regs->word[REG_X0 + i] = arg[i];
}

int64_t arch_result(const struct arch_regs *regs)
{
	return (int64_t)regs->word[REG_X0];
}

void arch_set_result(struct arch_regs *regs, int64_t value)
{
	regs->word[REG_X0] = (uint64_t)value;
}

#endif
