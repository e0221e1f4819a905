/*
 * Sandboxes that the input of a harness plays, in place of agents/sandbox/: it says when they are ready or end, what
 * their programs write, take and end with. An input is a script (script.h).
 */
#ifndef CALLGATE_TESTS_FUZZ_STAGE_H
#define CALLGATE_TESTS_FUZZ_STAGE_H

#include <stdbool.h>

#include "agents/loop.h"
#include "base/buf.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/script.h"

#define STAGE_SANDBOXES_MAX 32
#define STAGE_PROGRAMS_MAX 64

void stage_begin(struct loop *loop);
/* Nothing of what was made may be left. */
void stage_end(void);
/*
 * Does what a segment says of sandboxes and programs, which are numbered as they are made:
 *     f n      from now on, sandboxes cannot be made (n = 1), or can be (0)
 *     r n      sandbox n is ready; with data: could not be made
 *     z n      sandbox n ends
 *     q n      the approver of sandbox n, if it has one, says data and a newline
 *     p n      what sandbox n was asked last, to pause or to go on, has left it paused; with data: running
 *     g n      from now on, programs cannot be started (n = 1), or can be (0)
 *     s n      program n has started, its pid is 100 + n
 *     o/e n    it writes data to stdout or stderr; byte 1 stands for RS and the nonce of the last context, byte 2 for
 *              these and the length of what comes after it
 *     O n      it writes as much as it may
 *     i n      its stdin takes nothing (data 0), all (1), is closed (e); m n: it has room again
 *     d n      it was denied the file that data names, or nothing, if that was asked
 *     x n      it ends; data: 1 with status 3, 2 by a signal, 3 by its time, 4 to 6 with an error, or well
 *     t n      n seconds pass
 * False: it says something else.
 */
bool stage_play(const struct script_segment *segment);
/* Runs the loop until nothing is due. */
void stage_turn(void);
/* `data` of a sandbox's options. NULL: there is no such sandbox any more. */
void *stage_get_sandbox_data(unsigned which);
/* The last signal that program `which` was sent. 0: none, or it was freed. */
int stage_get_last_signal(unsigned which);

#endif
