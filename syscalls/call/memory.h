/*
 * The program's memory, behind a vtable so that decode can be tested without a process. Only decode.c reads it and only
 * handlers that fill an output buffer write it. process_vm_readv/writev, never /proc/pid/mem: that one reads PROT_NONE
 * and writes read-only pages (FOLL_FORCE).
 */
#ifndef CALLGATE_SYSCALLS_CALL_MEMORY_H
#define CALLGATE_SYSCALLS_CALL_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct guest_ops {
	/*
	 * Bytes copied up to the first unreadable page, or -EFAULT when none is (-ESRCH, -EPERM: the task is gone or
	 * closed).
	 */
	ssize_t (*read)(pid_t tid, uint64_t addr, void *out, size_t len);
	ssize_t (*write)(pid_t tid, uint64_t addr, const void *from, size_t len);
};

extern const struct guest_ops guest_process; /* the real one */

/* Exactly len bytes. 0 or -EFAULT, -ESRCH, -EPERM. */
int guest_read(const struct guest_ops *ops, pid_t tid, uint64_t addr, void *out, size_t len);
int guest_write(const struct guest_ops *ops, pid_t tid, uint64_t addr, const void *from, size_t len);

/*
 * A NUL-terminated text of at most cap-1 bytes, read page by page. Returns its length; -EFAULT when an unreadable page
 * comes before the NUL, `too_long` when there is no NUL within cap bytes.
 */
ssize_t guest_string(const struct guest_ops *ops, pid_t tid, uint64_t addr, char *out, size_t cap, int too_long);

#endif
