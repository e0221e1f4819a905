#ifndef TESTS_UNIT_HANDOFF_RIG_H
#define TESTS_UNIT_HANDOFF_RIG_H
/* Processes of the test's own, for the tests of supervisor/cpu/cpu.h, which keeps them on CPUs and lets them go. */
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "supervisor/cpu/cpu.h"
#include "view/tree.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define SLOW (60 * US)
#define FAST (2 * US)
#define GAP (20 * US)

extern struct handoff *handoff;
extern struct tree *tree;
extern struct task task; /* who calls; makes grandchildren when told to */
extern cpu_set_t full;
extern uint64_t now; /* a clock of the test's own, which starts at the real one */
extern int told[2];  /* numbers of grandchildren come here */

void rig_setup(void);
void rig_teardown(void);

/* A process that makes others: `task` is one. */
pid_t child(void);
/* One that `task` makes. It computes for "c". */
pid_t grandchild(void);
pid_t grandchild_that(const char *does);
void finish(pid_t pid);
/* What /proc/loadavg says of how many can run. */
void set_runnable(unsigned count);

bool is_mask(pid_t tid, const cpu_set_t *expected);
/* How many CPUs are in its mask, or -1. */
int cpus(pid_t tid);

/* A call that comes this long after the one before and takes so long; of `task`. */
void give_to(const struct task *taker, uint64_t gap, uint64_t took);
void give(uint64_t took);
void give_many(unsigned count, uint64_t took);
/* Calls until `task` is kept. */
void keep(void);
/* `task` and the receiver have all their CPUs. */
void ck_assert_free(void);

/* As the dispatcher and the loop do; time is real here, as the kernel's is. */
void call(pid_t tid, int nr);
void turn(void);
void turns(unsigned ms);

#endif
