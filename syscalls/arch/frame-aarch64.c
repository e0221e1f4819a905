#if defined(__aarch64__)

/*
 * The stack pointer is at the siginfo; the ucontext follows (struct rt_sigframe in arch/arm64/kernel/signal.c). The
 * frame has the system call number in x8. In place of the first argument it has the result; the kernel does not tell
 * that argument (orig_x0). The argument is found if the code before the call sets it to a constant, as AT_FDCWD, or
 * copies it from a register that is unchanged.
 */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ucontext.h>

#include "syscalls/arch/frame.h"
#include "syscalls/arch/insn.h"
#include "syscalls/table/numbers.h"

#define SYSCALL_INSN_BYTES 4u                  /* length of "svc #0" */
#define SYSCALL_INSN_WORD UINT32_C(0xd4000001) /* svc #0 */

enum { WORD_X0 = 0, WORD_X8 = 8, WORD_SP = 31, WORD_PC = 32, WORDS = 33 };

static_assert(WORDS <= FRAME_REGISTERS_MAX, "the registers fit");
static_assert(offsetof(mcontext_t, sp) == offsetof(mcontext_t, regs) + WORD_SP * sizeof(uint64_t) &&
		      offsetof(mcontext_t, pc) == offsetof(mcontext_t, regs) + WORD_PC * sizeof(uint64_t),
	      "struct sigcontext");

static int frame_read_code(const struct memory_ops *memory, pid_t tid, uint64_t call, struct insn_code *ret_code)
{
	ssize_t got;

	/* Retries with fewer bytes before the call, which may be at the start of a page. */
	for (ret_code->readable_from = 0; ret_code->readable_from <= INSN_BYTES_BEFORE_SYSCALL;
	     ret_code->readable_from += INSN_BYTES_BEFORE_SYSCALL / 2) {
		got = memory->read(tid, call - INSN_BYTES_BEFORE_SYSCALL + ret_code->readable_from,
				   ret_code->byte + ret_code->readable_from,
				   sizeof(ret_code->byte) - ret_code->readable_from);
		if (got < 0)
			continue;
		ret_code->end = ret_code->readable_from + (size_t)got;
		return ret_code->end >= INSN_BYTES_BEFORE_SYSCALL + SYSCALL_INSN_BYTES ? 0 : -EFAULT;
	}
	return -EFAULT;
}

bool frame_read_signal_frame(const struct memory_ops *memory, pid_t tid, uint64_t stack, struct frame *ret_frame)
{
	ret_frame->registers_addr = stack + sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext.regs);
	if (memory_copy_in(memory, tid, ret_frame->registers_addr, ret_frame->registers, WORDS * sizeof(uint64_t)) < 0)
		return false;
	ret_frame->pc = ret_frame->registers[WORD_PC];
	ret_frame->stack_pointer = ret_frame->registers[WORD_SP];
	return ret_frame->registers[WORD_X0] == (uint64_t)-EINTR;
}

enum frame_kind frame_identify_interrupted_call(const struct memory_ops *memory, pid_t tid, struct frame *frame)
{
	struct insn_register_values held = {.unchanged_registers = ~(UINT32_C(1) << WORD_X0)};
	struct insn_code code;
	uint32_t call;

	if (frame_read_code(memory, tid, frame->pc - SYSCALL_INSN_BYTES, &code) < 0)
		return FRAME_NOT_AFTER_SYSCALL;
	memcpy(&call, &code.byte[INSN_BYTES_BEFORE_SYSCALL], sizeof(call));
	if (call != SYSCALL_INSN_WORD)
		return FRAME_NOT_AFTER_SYSCALL;
	frame->nr = (int)(uint32_t)frame->registers[WORD_X8];
	memcpy(frame->arg, &frame->registers[WORD_X0], sizeof(frame->arg));
	/* rt_sigreturn has no arguments that could be lost. */
	if (frame->nr == __SNR_rt_sigreturn)
		return FRAME_CALL_KNOWN;
	memcpy(held.reg, frame->registers, sizeof(held.reg));
	return insn_aarch64_find_value(&code, WORD_X0, &held, &frame->arg[0]) ? FRAME_CALL_KNOWN : FRAME_CALL_UNKNOWN;
}

int frame_restart_call(const struct memory_ops *memory, pid_t tid, const struct frame *frame)
{
	uint64_t pc = frame->pc - SYSCALL_INSN_BYTES, first = frame->registers_addr + WORD_X0 * sizeof(uint64_t);
	int r = memory_copy_out(memory, tid, first, &frame->arg[0], sizeof(frame->arg[0]));

	return r < 0 ? r
		     : memory_copy_out(memory, tid, frame->registers_addr + WORD_PC * sizeof(uint64_t), &pc,
				       sizeof(pc));
}

#endif
