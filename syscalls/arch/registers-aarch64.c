#if defined(__aarch64__)

#include <asm/ptrace.h>
#include <assert.h>
#include <linux/audit.h>

#include "syscalls/arch/registers.h"

static_assert(sizeof(struct user_pt_regs) <= sizeof(((struct arch_regs *)0)->word), "the registers fit");

/* struct user_pt_regs: x0 … x30, sp, pc, pstate. */
const struct arch_layout arch_layout = {
	.audit_arch = AUDIT_ARCH_AARCH64,
	.pc = 32,
	.stack = 31,
	.next_call_number_index = 8,
	.last_call_number_index = 8,
	.result_index = 0,
	.arg = {0, 1, 2, 3, 4, 5},
	.syscall_insn_bytes = 4, /* of "svc #0" */
	.syscall_insn = {0x01, 0x00, 0x00, 0xd4},
	.red_zone_bytes = 0, /* AAPCS64 has none; Apple's does */
	.restart_is_prepared_before_stop = true,
};

#endif
