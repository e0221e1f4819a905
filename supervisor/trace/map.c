/*
 * mmap(2) of a file in place of anonymous memory. The thread is given the file's descriptor, which injected calls make
 * it map and close. Another thread may use the descriptor meanwhile, which does no harm: the file stays counted.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "supervisor/trace/private.h"

#include "base/banned.h"

int64_t map_carried(const struct tracer *tracer, const struct pending *pending)
{
	uint64_t arg[6];
	struct injection injection;
	int64_t result;
	int r = inject_begin(tracer, pending, &injection);

	if (r < 0)
		return r;
	memcpy(arg, pending->arg, sizeof(arg));
	/* MAP_POPULATE is only a hint, and would take longer than a single step may. */
	arg[3] &= ~(uint64_t)(MAP_ANONYMOUS | MAP_POPULATE);
	arg[4] = (uint64_t)pending->carrier;
	arg[5] = 0;
	result = inject_call_six(&injection, __NR_mmap, arg);
	(void)inject_call(&injection, __NR_close, (uint64_t)pending->carrier, 0, 0); /* fails only for a dead thread */
	arch_set_result(&injection.behind, result);
	(void)inject_end(&injection); /* fails only for a dead thread */
	return result;
}
