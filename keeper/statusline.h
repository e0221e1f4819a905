/* A status line on the terminal during a long run. It is cleared before the program's output is written. */
#ifndef CALLGATE_KEEPER_STATUSLINE_H
#define CALLGATE_KEEPER_STATUSLINE_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisor/supervise.h"

#define STATUSLINE_FIRST_NS UINT64_C(2000000000)
#define STATUSLINE_EVERY_NS UINT64_C(500000000)

struct statusline {
	int fd; /* -1: none */
	uint64_t start_ns;
	uint64_t next_ns;
	bool shown;
};

/* fd: a terminal, or -1. */
void statusline_init(struct statusline *line, int fd);
/* Shows or updates it when due. at_line_start: the last output on the terminal ended with a newline. */
void statusline_tick(struct statusline *line, const struct run_counters *counters, bool at_line_start);
/* To be called before anything else is written to the terminal, and at the end. */
void statusline_clear(struct statusline *line);

#endif
