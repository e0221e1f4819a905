#if defined(__x86_64__)

#include <assert.h>
#include <linux/audit.h>
#include <sys/user.h>

#include "syscalls/arch/registers.h"

#define REG(name) (offsetof(struct user_regs_struct, name) / sizeof(uint64_t))

static_assert(sizeof(struct user_regs_struct) <= sizeof(((struct arch_regs *)0)->word), "the registers fit");

const struct arch_layout arch_layout = {
	.audit_arch = AUDIT_ARCH_X86_64,
	.pc = REG(rip),
	.stack = REG(rsp),
	.next_call_number_index = REG(rax),
	.last_call_number_index = REG(orig_rax),
	.result_index = REG(rax),
	.arg = {REG(rdi), REG(rsi), REG(rdx), REG(r10), REG(r8), REG(r9)},
	/* length of the instruction "syscall"; "int 0x80" is as long, but the filter refuses all its calls */
	.syscall_insn_bytes = 2,
	.syscall_insn = {0x0f, 0x05},
	.red_zone_bytes = 128, /* System V ABI, AMD64 supplement, 3.2.2 */
};

#endif
