#include <elf.h>
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "syscalls/arch/arch.h"

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
