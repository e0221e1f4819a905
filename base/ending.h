/*
 * Exit without atexit(3) handlers: the kernel releases memory and descriptors much faster than free(3) and close(2) do,
 * and the parent waits for it. Builds with sanitizers or coverage need the handlers and call exit(3).
 */
#ifndef CALLGATE_BASE_ENDING_H
#define CALLGATE_BASE_ENDING_H

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef CALLGATE_TIDY_ENDING
static const bool ending_is_tidy = true;
#else
static const bool ending_is_tidy = false;
#endif

/* stdio must be flushed before. */
static inline _Noreturn void ending(int status)
{
	if (ending_is_tidy)
		exit(status);
	_exit(status);
}

#endif
