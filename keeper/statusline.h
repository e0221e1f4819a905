/* One line on a terminal about a run that takes long. It is never left on a line that the program writes on. */
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

/* fd: a terminal to show it on, or -1. */
void statusline_init(struct statusline *line, int fd);
/* Shows or renews it when due. at_line_start: whatever else went to the terminal ended with a newline. */
void statusline_tick(struct statusline *line, const struct run_counters *counters, bool at_line_start);
/* Before anything else is written to the terminal, and at the end. */
void statusline_clear(struct statusline *line);

#endif
