/* The positions of the general registers in PTRACE_GETREGSET, for arch.c. Each architecture has one table. */
#ifndef CALLGATE_SYSCALLS_ARCH_REGISTERS_H
#define CALLGATE_SYSCALLS_ARCH_REGISTERS_H

#include "syscalls/arch/arch.h"

/* The members without `audit`, `insn` and `bytes` in their names are indices in arch_regs.word. */
struct arch_layout {
	uint32_t audit_arch; /* AUDIT_ARCH_* of the architecture, as in struct seccomp_data */
	unsigned pc, stack;
	unsigned next_call_number_index; /* index of the register with the number of the thread's next call */
	unsigned last_call_number_index; /* index of the register with the number of the thread's last call */
	unsigned result_index;           /* index of the register with a call's result */
	unsigned arg[6];
	unsigned syscall_insn_bytes; /* length of the system call instruction */
	uint8_t syscall_insn[4];     /* the instruction */
	size_t red_zone_bytes;       /* below the stack pointer, which signal handlers leave alone */
	/* the kernel sets registers back to restart a call before the thread stops, not when the thread is resumed */
	bool restart_is_prepared_before_stop;
};

extern const struct arch_layout arch_layout;

/* The part of arch_read_regs_after_call() behind the reading; changes *regs only when it returns 0. */
int arch_find_end_of_call(struct arch_regs *regs, int nr, uint64_t pc_after_call);

#endif
