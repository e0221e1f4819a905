/* Copies every pointed-to argument once: the only code that reads guest memory. */
#ifndef CALLGATE_SYSCALLS_CALL_DECODE_H
#define CALLGATE_SYSCALLS_CALL_DECODE_H

#include "syscalls/call/call.h"

/*
 * Fills path, paths, text from the row's ARG kinds. A path or text that cannot be copied keeps its errno (EFAULT,
 * ENAMETOOLONG) in path[i].error or text_error, because the kernel looks at flags first and at one name after the
 * other. 0, or -errno when the task's memory is closed to us (EPERM) or gone (ESRCH).
 */
int decode_call(struct call *call);

/* A struct or array argument, exactly len bytes. 0 or -EFAULT. */
int decode_struct(const struct call *call, unsigned arg, void *out, size_t len);

/*
 * An extensible struct (openat2, file_setattr …) as copy_struct_from_user: usize < min -EINVAL, > page -E2BIG, unknown
 * non-zero tail -E2BIG, missing tail zeroed.
 */
int decode_extensible(const struct call *call, unsigned arg, void *out, size_t ksize, size_t usize, size_t min);

/* Memory at an address taken from a decoded struct (execve's argv, iovecs). 0 or -EFAULT. */
int decode_at(const struct call *call, uint64_t addr, void *out, size_t len);
ssize_t decode_string_at(const struct call *call, uint64_t addr, char *out, size_t cap, int too_long);

/*
 * Writes an output buffer of the program. 0 or -EFAULT. No call has both an output and a side effect: nothing probes.
 */
int decode_output(const struct call *call, uint64_t addr, const void *from, size_t len);

#endif
