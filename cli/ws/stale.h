/* Tells what a run has read that was changed outside since: callgate ws diff and ws apply. */
#ifndef CALLGATE_CLI_WS_STALE_H
#define CALLGATE_CLI_WS_STALE_H

#include <stdbool.h>

#include "workspace/layer.h"

/*
 * Warns on standard error, or with as_json by lines of JSON on standard output. dir: what paths are shown below; NULL:
 * nothing. reads_dir_fd: as in workspace/reads.h. The exit status of the verb does not depend on it.
 */
void ws_tell_stale_reads(const char *verb, const char *dir, const struct workspace_layer *layer, int reads_dir_fd,
			 bool as_json);

#endif
