/*
 * Reads and writes target memory, through an ops table, so that tests need no process. Used by decode.c, transfer.c and
 * the readers of signal frames and machine code. Uses process_vm_readv(2) and process_vm_writev(2), never
 * /proc/PID/mem, which ignores page protections (FOLL_FORCE).
 */
#ifndef CALLGATE_SYSCALLS_CALL_MEMORY_H
#define CALLGATE_SYSCALLS_CALL_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* How target memory is read and written: by process_vm_readv(2), or by a test. */
struct memory_ops {
	/*
	 * Returns the number of bytes copied until the first inaccessible page; -EFAULT: none were; -ESRCH: the target
	 * is dead; -EPERM: no permission.
	 */
	ssize_t (*read)(pid_t tid, uint64_t addr, void *out, size_t len);
	ssize_t (*write)(pid_t tid, uint64_t addr, const void *from, size_t len);
};

extern const struct memory_ops memory_of_process; /* process_vm_readv, process_vm_writev */

/* Copies exactly len bytes. 0, -EFAULT, -ESRCH or -EPERM. */
int memory_copy_in(const struct memory_ops *ops, pid_t tid, uint64_t addr, void *out, size_t len);
int memory_copy_out(const struct memory_ops *ops, pid_t tid, uint64_t addr, const void *from, size_t len);

/* Copies a string of at most cap - 1 bytes. Returns its length; -EFAULT; or `too_long` if cap bytes have no NUL. */
ssize_t memory_copy_string(const struct memory_ops *ops, pid_t tid, uint64_t addr, char *out, size_t cap, int too_long);

#endif
