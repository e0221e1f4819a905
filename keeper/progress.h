/*
 * Reports the progress of the run while it lasts: a status line on stderr for people, lines of JSON on the descriptor
 * of --status-fd for programs. Both are skipped when writing would have to wait. Used by the keeper's loop.
 */
#ifndef CALLGATE_KEEPER_PROGRESS_H
#define CALLGATE_KEEPER_PROGRESS_H

#include "keeper/private.h"

/* The first status line and the first line of JSON are due after a while, since most runs are short. */
void progress_start(struct keeper *keeper);

/* When the next report is due, by io_read_clock_ns(); UINT64_MAX: never. */
uint64_t progress_get_next_ns(const struct keeper *keeper);

/* Reports if that is due. */
void progress_report_due(struct keeper *keeper, uint64_t now_ns);

/* Removes the status line from the terminal. To be called before anything else is written there, and at the end. */
void progress_clear_status_line(struct keeper *keeper);

/* Notes what was forwarded to a terminal: there is no status line while the last line of the output is unfinished. */
void progress_note_output(struct keeper *keeper, const struct capture *capture, size_t pending_before);

#endif
