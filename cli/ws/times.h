/* Times of directories that an apply changes: as the program has left them, and not those of the apply. */
#ifndef CALLGATE_CLI_WS_TIMES_H
#define CALLGATE_CLI_WS_TIMES_H

#include <stddef.h>

#include "cli/ws/plan.h"

/* Directories that were there before. Zero-initialise; ws_times_release() frees. */
struct ws_times {
	char **path; /* below the directory; "" is it itself; owned */
	size_t count, room;
};

/*
 * Before anything is applied: notes the directories whose entries the plan changes, unless they were changed outside
 * since the run began. 0 or -ENOMEM.
 */
int ws_times_note(struct ws_times *times, const struct plan *plan);

/* When all is applied: gives them the times of modification of the layer. What fails stays as it is. */
void ws_times_set(const struct ws_times *times, const struct workspace_layer *layer);

void ws_times_release(struct ws_times *times);
#define _cleanup_ws_times_ __attribute__((cleanup(ws_times_release)))

#endif
