#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "syscalls/arch/registers.h"

int arch_read_regs(pid_t tid, struct arch_regs *ret_regs)
{
	struct arch_regs regs = {0};
	struct iovec io = {.iov_base = regs.word, .iov_len = sizeof(regs.word)};

	if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &io) < 0)
		return -errno;
	regs.len_bytes = io.iov_len;
	*ret_regs = regs;
	return 0;
}

int arch_write_regs(pid_t tid, const struct arch_regs *regs)
{
	struct arch_regs copy = *regs; /* iovec has no const */
	struct iovec io = {.iov_base = copy.word, .iov_len = copy.len_bytes};

	return ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &io) < 0 ? -errno : 0;
}

uint32_t arch_get_audit_arch(void)
{
	return arch_layout.audit_arch;
}

uint64_t arch_get_pc(const struct arch_regs *regs)
{
	return regs->word[arch_layout.pc];
}

uint64_t arch_get_stack_pointer(const struct arch_regs *regs)
{
	return regs->word[arch_layout.stack];
}

size_t arch_get_red_zone_bytes(void)
{
	return arch_layout.red_zone_bytes;
}

void arch_rewind_call(struct arch_regs *regs, int nr, const uint64_t arg[6])
{
	regs->word[arch_layout.pc] -= arch_layout.syscall_insn_bytes;
	/* x86-64: tells the kernel that no system call is under way, so that it restarts none. */
	regs->word[arch_layout.last_call_number_index] = UINT64_MAX;
	regs->word[arch_layout.next_call_number_index] = (uint64_t)nr;
	for (unsigned i = 0; i < 6; i++)
		regs->word[arch_layout.arg[i]] = arg[i];
}

size_t arch_find_syscall_instruction(const uint8_t *code, size_t len, bool end)
{
	const size_t bytes = arch_layout.syscall_insn_bytes;

	for (size_t at = end && len > bytes ? len - bytes : 0; at + bytes <= len; at++)
		if (memcmp(code + at, arch_layout.syscall_insn, bytes) == 0)
			return at + bytes;
	return 0;
}

void arch_set_pc(struct arch_regs *regs, uint64_t pc)
{
	regs->word[arch_layout.pc] = pc;
	if (arch_layout.last_call_number_index != arch_layout.next_call_number_index)
		regs->word[arch_layout.last_call_number_index] = UINT64_MAX;
}

int arch_find_end_of_call(struct arch_regs *regs, int nr, uint64_t pc_after_call)
{
	const uint64_t pc = arch_get_pc(regs);

	/* The kernel takes the number as an int: it ignores bits 32 to 63 of the register. */
	if ((int)regs->word[arch_layout.last_call_number_index] != nr)
		return -EINTR;
	if (pc == pc_after_call)
		return 0;
	if (!arch_layout.restart_is_prepared_before_stop || pc != pc_after_call - arch_layout.syscall_insn_bytes)
		return -EINTR;
	regs->word[arch_layout.pc] = pc_after_call;
	arch_set_result(regs, ARCH_RESULT_RESTARTS);
	return 0;
}

int arch_read_regs_after_call(pid_t tid, int nr, uint64_t pc_after_call, struct arch_regs *ret_regs)
{
	struct arch_regs regs;
	int r = arch_read_regs(tid, &regs);

	if (r == 0)
		r = arch_find_end_of_call(&regs, nr, pc_after_call);
	if (r == 0)
		*ret_regs = regs;
	return r;
}

void arch_restore_args(struct arch_regs *regs, const uint64_t arg[6])
{
	for (unsigned i = 0; i < 6; i++)
		if (arch_layout.arg[i] != arch_layout.result_index)
			regs->word[arch_layout.arg[i]] = arg[i];
}

int64_t arch_get_result(const struct arch_regs *regs)
{
	return (int64_t)regs->word[arch_layout.result_index];
}

void arch_set_result(struct arch_regs *regs, int64_t value)
{
	regs->word[arch_layout.result_index] = (uint64_t)value;
}
