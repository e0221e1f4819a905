/*
 * mmap(2) of a file in place of memory without one. The task is given the file's descriptor and, standing behind its
 * call, is made to map that and to close it, by single steps. Another thread may take the descriptor meanwhile:
 * whatever it does with it, the file stays one of ours, and counted.
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
	struct errand errand;
	int64_t result;
	int r = errand_begin(tracer, pending, &errand);

	if (r < 0)
		return r;
	memcpy(arg, pending->arg, sizeof(arg));
	/* Not populated: that is a hint, and would take longer than a step may. */
	arg[3] &= ~(uint64_t)(MAP_ANONYMOUS | MAP_POPULATE);
	arg[4] = (uint64_t)pending->carrier;
	arg[5] = 0;
	result = errand_run_six(&errand, __NR_mmap, arg);
	(void)errand_run(&errand, __NR_close, (uint64_t)pending->carrier, 0, 0); /* fails only for a dead task */
	arch_set_result(&errand.behind, result);
	(void)errand_end(&errand); /* fails only for a dead task */
	return result;
}
