/* Copies arguments from target memory, each once. Called by the dispatcher (decode_call_args) and by handlers. */
#ifndef CALLGATE_SYSCALLS_CALL_DECODE_H
#define CALLGATE_SYSCALLS_CALL_DECODE_H

#include "syscalls/call/call.h"

/*
 * Fills path, paths and text by the row's ARG kinds. If a path or text cannot be copied (EFAULT, ENAMETOOLONG), its
 * errno is stored in path[i].error or text_arg_error for the handler, because the kernel checks flags before paths, and
 * paths in order. Returns 0; -EPERM: the target's memory is not accessible; -ESRCH: the target is dead.
 */
int decode_call_args(struct call *call);

/* Copies exactly len bytes from an address that a decoded struct contains (execve's argv, iovecs). 0 or -EFAULT. */
static inline int decode_memory_at(const struct call *call, uint64_t addr, void *out, size_t len)
{
	int r = memory_copy_in(call->sandbox->target_memory, call->tid, addr, out, len);

	if (r == 0 && call->effect_check)
		call->effect_check->note_copied_bytes(call->effect_check, out, len);
	return r;
}

/* Copies exactly len bytes of a struct or array argument. 0 or -EFAULT. */
static inline int decode_struct(const struct call *call, unsigned arg, void *out, size_t len)
{
	return decode_memory_at(call, call->arg[arg], out, len);
}

/*
 * Copies a struct of usize bytes (openat2 …) to one of ksize bytes, like copy_struct_from_user(): pads it with zeros.
 * -EINVAL: usize is below min; -E2BIG: bytes beyond ksize are not zero.
 */
int decode_extensible_struct(const struct call *call, unsigned arg, void *out, size_t ksize, size_t usize, size_t min);

/*
 * Writes an output argument. 0, -EFAULT, or -ECANCELED: call->effect_check permits no effect. Calls with an output
 * argument have no other effect, so it is asked here only.
 */
static inline int decode_write_output(const struct call *call, uint64_t addr, const void *from, size_t len)
{
	if (!call_may_take_effect(call))
		return -ECANCELED;
	return memory_copy_out(call->sandbox->target_memory, call->tid, addr, from, len);
}

#endif
