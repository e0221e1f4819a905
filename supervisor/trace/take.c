/*
 * Takes descriptors and mappings away from a stopped thread, by injected calls. The filter allows all of these calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/io.h"
#include "supervisor/trace/private.h"

/*
 * Opens what replaces descriptors: the read end of a pipe without a writer. Reading finds the end of file, writing
 * fails with EBADF, socket calls fail with ENOTSOCK. Returns its number, or -errno.
 */
static int64_t remove_open_replacement_fd(struct injection *injection, uint64_t addr)
{
	const struct tracer *tracer = injection->tracer;
	pid_t tid = injection->pending->tid;
	int ends[2] = {-1, -1};
	int64_t r = inject_write_memory(tracer, tid, addr, ends, sizeof(ends));

	if (r == 0)
		r = inject_syscall(injection, SYS_pipe2, addr, O_CLOEXEC, 0);
	if (r == 0)
		r = memory_copy_in(tracer->sandbox->target_memory, tid, addr, ends, sizeof(ends));
	if (r < 0)
		return r;
	(void)inject_syscall(injection, SYS_close, (uint64_t)ends[1], 0, 0);
	return ends[0];
}

/*
 * Makes a socket drop the bytes in its send queue when it is closed, instead of sending them after that. Fails for
 * other descriptors.
 */
static void remove_set_no_linger(struct injection *injection, uint64_t addr, int fd)
{
	const struct linger now = {.l_onoff = 1};
	const uint64_t arg[6] = {(uint64_t)fd, SOL_SOCKET, SO_LINGER, addr, sizeof(now), 0};

	if (inject_write_memory(injection->tracer, injection->pending->tid, addr, &now, sizeof(now)) == 0)
		(void)inject_syscall_with_args(injection, SYS_setsockopt, arg);
}

/* Replaces the descriptor. Without a replacement, because the descriptor table was full, closes it. */
static int64_t remove_replace_or_close_fd(struct injection *injection, uint64_t addr, int fd, int64_t replacement)
{
	remove_set_no_linger(injection, addr, fd);
	if (replacement < 0)
		return inject_syscall(injection, SYS_close, (uint64_t)fd, 0, 0);
	return inject_syscall(injection, SYS_dup3, (uint64_t)replacement, (uint64_t)fd, O_CLOEXEC);
}

/*
 * Replaces the mapping by inaccessible memory. So its addresses stay occupied: no later mapping appears where the
 * program still has pointers to this one.
 */
static int64_t remove_unmap_range(struct injection *injection, const struct trace_range *range)
{
	const uint64_t arg[6] = {range->start, range->len, PROT_NONE,
				 MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS | MAP_NORESERVE, UINT64_MAX, 0};
	int64_t r = inject_syscall_with_args(injection, SYS_mmap, arg);

	return r >= 0 || r < -4095 ? 0 : r; /* an address may be a negative number that is no -errno */
}

/* Makes a stopped thread unmap, close or replace all that it must lose. -ETIME: the deadline has passed. */
static int64_t remove_fds_and_mappings(struct injection *injection, const struct trace_removal *removal)
{
	uint64_t addr = inject_find_stack_room(injection, sizeof(struct linger));
	int64_t replacement = -1, r = 0;

	for (size_t i = 0; r >= 0 && i < removal->range_count; i++)
		r = io_read_clock_ns() < removal->deadline_ns ? remove_unmap_range(injection, &removal->range[i])
							      : -ETIME;
	if (r >= 0 && removal->fds > 0)
		replacement = remove_open_replacement_fd(injection, addr);
	for (size_t i = 0; r >= 0 && i < removal->fds; i++)
		r = io_read_clock_ns() < removal->deadline_ns
			    ? remove_replace_or_close_fd(injection, addr, removal->fd[i], replacement)
			    : -ETIME;
	if (replacement >= 0)
		(void)inject_syscall(injection, SYS_close, (uint64_t)replacement, 0, 0);
	return r < 0 ? r : 0;
}

int trace_remove_fds_and_mappings(const struct tracer *tracer, pid_t tid, pid_t tgid,
				  const struct trace_removal *removal)
{
	struct pending thread = {.tid = tid, .tgid = tgid};
	struct injection injection;
	int r = inject_prepare_at_any_instruction(tracer, &thread, &injection), restored;

	if (r < 0)
		return r;
	r = (int)remove_fds_and_mappings(&injection, removal);
	restored = inject_restore_thread(&injection);
	return r < 0 ? r : restored;
}
