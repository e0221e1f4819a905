#if defined(__x86_64__)

#include <assert.h>
#include <linux/audit.h>
#include <sys/user.h>

#include "syscalls/arch/arch.h"

#define REG(name) (offsetof(struct user_regs_struct, name) / sizeof(uint64_t))

static_assert(sizeof(struct user_regs_struct) <= sizeof(((struct arch_regs *)0)->word), "the registers fit");

uint32_t arch_audit(void)
{
	return AUDIT_ARCH_X86_64;
}

uint64_t arch_pc(const struct arch_regs *regs)
{
	return regs->word[REG(rip)];
}

uint64_t arch_stack(const struct arch_regs *regs)
{
	return regs->word[REG(rsp)];
}

size_t arch_red_zone_bytes(void)
{
	return 128; /* System V ABI, AMD64 supplement, 3.2.2 */
}

void arch_rewind(struct arch_regs *regs, int nr, const uint64_t arg[6])
{
	uint64_t *word = regs->word;

	word[REG(rip)] -= 2; /* the length of "syscall", and of "int 0x80", which the filter never lets come this far */
	word[REG(rax)] = (uint64_t)nr;
	word[REG(orig_rax)] = UINT64_MAX; /* no call is under way: the kernel must not restart one on top of ours */
	arch_restore_args(regs, arg);
}

bool arch_was_call(const struct arch_regs *regs, int nr)
{
	return regs->word[REG(orig_rax)] == (uint64_t)nr;
}

void arch_restore_args(struct arch_regs *regs, const uint64_t arg[6])
{
	uint64_t *word = regs->word;

	word[REG(rdi)] = arg[0];
	word[REG(rsi)] = arg[1];
	word[REG(rdx)] = arg[2];
	word[REG(r10)] = arg[3];
	word[REG(r8)] = arg[4];
	word[REG(r9)] = arg[5];
}

int64_t arch_result(const struct arch_regs *regs)
{
	return (int64_t)regs->word[REG(rax)];
}

void arch_set_result(struct arch_regs *regs, int64_t value)
{
	regs->word[REG(rax)] = (uint64_t)value;
}

#endif
