/*
 * How a process of callgate's ends when its work is done: at once. The kernel takes back memory and descriptors many
 * times faster than they are given back one by one, and who started it waits for that. Builds that look for what was
 * not given back, or that write something at the end (sanitizers, coverage), tidy up.
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

/* What stdio holds has to be flushed before. */
static inline _Noreturn void ending(int status)
{
	if (ending_is_tidy)
		exit(status);
	_exit(status);
}

#endif
