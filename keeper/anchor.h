/*
 * Writes checkpoints of the log to a place outside, in the form of C2SP's tlog-checkpoint: after every N lines or N
 * seconds, as --anchor-every says, and at the end. The run never waits for that place: a checkpoint that cannot be
 * written at once is skipped and counted.
 */
#ifndef CALLGATE_KEEPER_ANCHOR_H
#define CALLGATE_KEEPER_ANCHOR_H

#include <stdint.h>

#include "keeper/private.h"

/* Asks the supervisor for the head of the log. Called once, before anchor_write_due_checkpoint(). */
void anchor_request_first_progress(struct keeper *keeper);
/* Writes a checkpoint if one is due. */
void anchor_write_due_checkpoint(struct keeper *keeper, uint64_t now_ns);
/* Returns when anchor_write_due_checkpoint is to be called next; UINT64_MAX: never. */
uint64_t anchor_get_next_ns(const struct keeper *keeper);
/* Writes the last checkpoint, of the signed log. Waits for at most a second. */
void anchor_write_last_checkpoint(struct keeper *keeper);

#endif
