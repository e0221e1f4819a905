#ifndef TESTS_UNIT_SUPERVISOR_CPU_RIG_H
#define TESTS_UNIT_SUPERVISOR_CPU_RIG_H
/* Processes of the test's own, for the tests of supervisor/cpu/cpu.h, which pins and unpins them. */
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "supervisor/cpu/cpu.h"
#include "view/tree.h"

#define MS UINT64_C(1000000)

extern struct cpu *cpu;
extern struct task_table *tree;
extern struct task task; /* the program; makes grandchildren when told to */
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
/* `task` and the supervisor thread have all their CPUs. */
void ck_assert_free(void);

/* Pins `task` and the supervisor thread. ret_mask, unless NULL: the mask that they have then. */
void pin(cpu_set_t *ret_mask);

/* As the dispatcher and the loop do; time is real here, as the kernel's is. */
void call(pid_t tid, int nr);
void call_of(struct task *caller, int nr);
void call_opening(pid_t tid, const char *virt);
void turn(void);
void turns(unsigned ms);

#endif
