/*
 * Checkpoints of the log for a place outside: signed notes in C2SP's tlog-checkpoint form, every so many lines or
 * seconds and at the end. They never make the run wait: what the place does not take at once is left out and counted.
 */
#ifndef CALLGATE_KEEPER_ANCHOR_H
#define CALLGATE_KEEPER_ANCHOR_H

#include <stdint.h>

#include "keeper/private.h"

/* Before the first call: asks the supervisor for the head of the log. */
void anchor_begin(struct keeper *keeper);
/* Writes a checkpoint if one is due. */
void anchor_check(struct keeper *keeper, uint64_t now_ns);
/* Returns when anchor_check is to be called next; UINT64_MAX: never. */
uint64_t anchor_get_next_ns(const struct keeper *keeper);
/* Writes the last checkpoint, of the signed log. Waits for at most a second. */
void anchor_end(struct keeper *keeper);

#endif
