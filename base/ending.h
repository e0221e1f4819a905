/*
 * Exit without atexit(3) handlers. The kernel releases memory and descriptors much faster than free(3) and close(2) do,
 * and the parent process waits for the exit. Builds with sanitizers or coverage need the handlers: these call exit(3).
 */
#ifndef CALLGATE_BASE_ENDING_H
#define CALLGATE_BASE_ENDING_H

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef CALLGATE_TIDY_ENDING
static const bool exit_runs_handlers = true;
#else
static const bool exit_runs_handlers = false;
#endif

/* The caller must have flushed stdio: _exit(2) does not. */
static inline _Noreturn void exit_quickly(int status)
{
	if (exit_runs_handlers)
		exit(status);
	_exit(status);
}

#endif
