#if defined(__x86_64__)

/*
 * When the handler has returned, the stack pointer is at the ucontext, which has the registers
 * (arch/x86/kernel/signal_64.c).
 */
#include <assert.h>
#include <errno.h>
#include <sys/ucontext.h>

#include "syscalls/arch/frame.h"
#include "syscalls/arch/insn.h"
#include "syscalls/table/numbers.h"

#define SYSCALL_INSN_BYTES 2u /* length of the instruction `syscall` (0f 05) */
#define SIGNAL_RESTORER_BYTES 32u   /* most code from the start of sa_restorer to its rt_sigreturn */
#define SEARCHED_STACK_WORDS_MAX 16 /* words of the stack that are searched for a return address or the number */
#define BIT(reg) (UINT32_C(1) << (reg))

enum { RAX = 0, RCX = 1, RBX = 3, RBP = 5, R11 = 11, R12 = 12, R15 = 15 };

/* Maps the instruction set's register numbers to indices in the frame. */
static const unsigned char register_order[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
					REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

static_assert(REG_RIP < FRAME_REGISTERS_MAX && sizeof(greg_t) == sizeof(uint64_t), "the registers fit");
static_assert(REG_RIP == REG_RAX + 3, "RAX to RIP are written in one piece");

/* Reads the code around a system call instruction. 0 or -errno. */
static int frame_read_code(const struct memory_ops *memory, pid_t tid, uint64_t call, struct insn_code *ret_code)
{
	uint64_t page = call & ~UINT64_C(4095), first = call - INSN_BYTES_BEFORE_SYSCALL;
	ssize_t got;

	ret_code->readable_from = 0;
	got = memory->read(tid, first, ret_code->byte, sizeof(ret_code->byte));
	if (got < 0 && page > first) { /* the page before is not mapped, so reads only the page of the instruction */
		ret_code->readable_from = (size_t)(page - first);
		got = memory->read(tid, page, ret_code->byte + ret_code->readable_from,
				   sizeof(ret_code->byte) - ret_code->readable_from);
	}
	if (got < 0)
		return (int)got;
	ret_code->end = ret_code->readable_from + (size_t)got;
	return ret_code->end >= INSN_BYTES_BEFORE_SYSCALL + SYSCALL_INSN_BYTES ? 0 : -EFAULT;
}

/*
 * Whether the call was rt_sigreturn: then it is in the restorer, whose address is in the word below the stack pointer.
 * A signal may interrupt a notified rt_sigreturn. If the rt_sigreturn is not restarted, the thread continues behind it,
 * where there is no code.
 */
static bool frame_is_sigreturn_restorer_code(const struct memory_ops *memory, pid_t tid, const struct frame *frame)
{
	uint64_t restorer, call = frame->pc - SYSCALL_INSN_BYTES;

	return memory_copy_in(memory, tid, frame->registers[REG_RSP] - sizeof(restorer), &restorer, sizeof(restorer)) ==
		       0 &&
	       call >= restorer && call - restorer <= SIGNAL_RESTORER_BYTES;
}

/*
 * ---- functions that get the system call number as an argument: syscall(2), and the C libraries' for cancellation
 * points. They are recognised by the call instruction before the return address on the stack. ----
 */

static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};

/* Target of a jump or call with a 32-bit offset. behind: address of the next instruction. */
static uint64_t frame_get_relative_target(uint64_t behind, const uint8_t *offset)
{
	int32_t value;

	memcpy(&value, offset, sizeof(value));
	return behind + (uint64_t)(int64_t)value;
}

/* Follows the jump at `addr`, if any, also through a procedure linkage table. Returns its target, or addr. */
static uint64_t frame_follow_jump(const struct memory_ops *memory, pid_t tid, uint64_t addr)
{
	uint8_t stub[11];
	uint64_t target;
	size_t at = 0;

	if (memory_copy_in(memory, tid, addr, stub, sizeof(stub)) < 0)
		return addr;
	if (memcmp(stub, endbr, sizeof(endbr)) == 0)
		at = sizeof(endbr);
	at += stub[at] == 0xf2; /* bnd */
	if (stub[at] == 0xe9)
		return frame_get_relative_target(addr + at + 5, &stub[at + 1]);
	if (stub[at] != 0xff || stub[at + 1] != 0x25 || at + 6 > sizeof(stub))
		return addr;
	if (memory_copy_in(memory, tid, frame_get_relative_target(addr + at + 6, &stub[at + 2]), &target,
			   sizeof(target)) < 0)
		return addr;
	return target;
}

/* Finds the function that the instruction before `back` calls. Returns the instruction's length; 0: unknown. */
static size_t frame_find_called_function(const struct memory_ops *memory, pid_t tid, uint64_t back, uint64_t *ret_entry)
{
	uint8_t byte[6];

	if (memory_copy_in(memory, tid, back - sizeof(byte), byte, sizeof(byte)) < 0)
		return 0;
	if (byte[0] == 0xff && byte[1] == 0x15 &&
	    memory_copy_in(memory, tid, frame_get_relative_target(back, &byte[2]), ret_entry, sizeof(*ret_entry)) == 0)
		return 6;
	if (byte[1] != 0xe8)
		return 0;
	*ret_entry = frame_follow_jump(memory, tid, frame_get_relative_target(back, &byte[2]));
	return 5;
}

/*
 * Returns the number of the system call, if the function that made it was called right before the return address
 * held.stack[index]; else -1.
 */
static int frame_find_syscall_by_return(const struct memory_ops *memory, pid_t tid, const struct frame *frame,
					const struct insn_code *code, size_t index, struct insn_register_values held)
{
	uint64_t entry, back = held.stack[index], call = frame->pc - SYSCALL_INSN_BYTES;
	struct insn_code caller;
	size_t len, before, stack;
	unsigned from;
	uint32_t nr;

	len = frame_find_called_function(memory, tid, back, &entry);
	if (len == 0 || entry >= call || call - entry > INSN_BYTES_BEFORE_SYSCALL - code->readable_from)
		return -1;
	before = (size_t)(call - entry);
	if (!insn_x86_64_find_argument(&code->byte[INSN_BYTES_BEFORE_SYSCALL - before], before, RAX, &from, &stack) ||
	    stack != index * sizeof(held.stack[0]) || frame_read_code(memory, tid, back - len, &caller) < 0)
		return -1;
	held.unchanged_registers = BIT(RBX) | BIT(RBP) | (BIT(R15 + 1) - BIT(R12)); /* callee-saved registers */
	held.stack += index + 1; /* as before the call of the function */
	held.stack_words -= index + 1;
	return insn_x86_64_find_value(&caller, from, &held, &nr) ? (int)nr : -1;
}

/* Finds the call's number by return addresses on the stack: of a function like syscall(3). -1: unknown. */
static int frame_find_syscall_by_stack(const struct memory_ops *memory, pid_t tid, const struct frame *frame,
				       const struct insn_code *code, const struct insn_register_values *held)
{
	int nr = -1;

	for (size_t i = 0; i < held->stack_words && nr < 0; i++)
		nr = frame_find_syscall_by_return(memory, tid, frame, code, i, *held);
	return nr;
}

/* ---- reading and writing the signal frame ---- */

/* Finds which call was interrupted, by the code before it. -1: unknown. */
static int frame_find_syscall_number(const struct memory_ops *memory, pid_t tid, const struct frame *frame,
				     const struct insn_code *code)
{
	/* All registers but the result and those that the syscall instruction overwrites. */
	struct insn_register_values held = {.unchanged_registers = ~(BIT(RAX) | BIT(RCX) | BIT(R11))};
	uint64_t stack[SEARCHED_STACK_WORDS_MAX];
	ssize_t got = memory->read(tid, frame->registers[REG_RSP], stack, sizeof(stack));
	uint32_t nr;
	int called_with;

	held.stack = stack;
	held.stack_words = got > 0 ? (size_t)got / sizeof(stack[0]) : 0;
	for (unsigned i = 0; i < 16; i++)
		held.reg[i] = frame->registers[register_order[i]];
	if (insn_x86_64_find_value(code, RAX, &held, &nr))
		return (int)nr;
	called_with = frame_find_syscall_by_stack(memory, tid, frame, code, &held);
	return called_with < 0 && frame_is_sigreturn_restorer_code(memory, tid, frame) ? __SNR_rt_sigreturn
										       : called_with;
}

bool frame_read_signal_frame(const struct memory_ops *memory, pid_t tid, uint64_t stack, struct frame *ret_frame)
{
	ret_frame->registers_addr = stack + offsetof(ucontext_t, uc_mcontext.gregs);
	if (memory_copy_in(memory, tid, ret_frame->registers_addr, ret_frame->registers,
			   (REG_RIP + 1) * sizeof(uint64_t)) < 0)
		return false;
	ret_frame->pc = ret_frame->registers[REG_RIP];
	ret_frame->stack_pointer = ret_frame->registers[REG_RSP];
	return ret_frame->registers[REG_RAX] == (uint64_t)-EINTR;
}

enum frame_kind frame_identify_interrupted_call(const struct memory_ops *memory, pid_t tid, struct frame *frame)
{
	static const unsigned char arguments[6] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};
	struct insn_code code;

	if (frame_read_code(memory, tid, frame->pc - SYSCALL_INSN_BYTES, &code) < 0 ||
	    code.byte[INSN_BYTES_BEFORE_SYSCALL] != 0x0f || code.byte[INSN_BYTES_BEFORE_SYSCALL + 1] != 0x05)
		return FRAME_NOT_AFTER_SYSCALL;
	for (unsigned i = 0; i < 6; i++)
		frame->arg[i] = frame->registers[arguments[i]];
	frame->nr = frame_find_syscall_number(memory, tid, frame, &code);
	return frame->nr < 0 ? FRAME_CALL_UNKNOWN : FRAME_CALL_KNOWN;
}

int frame_restart_call(const struct memory_ops *memory, pid_t tid, const struct frame *frame)
{
	uint64_t word[REG_RIP - REG_RAX + 1];

	memcpy(word, &frame->registers[REG_RAX], sizeof(word));
	word[0] = (uint64_t)frame->nr;
	word[REG_RIP - REG_RAX] -= SYSCALL_INSN_BYTES;
	return memory_copy_out(memory, tid, frame->registers_addr + REG_RAX * sizeof(uint64_t), word, sizeof(word));
}

#endif
