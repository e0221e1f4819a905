/*
 * The number of tasks of a run, bounded by how many numbers its pid namespace has for them: kernel.pid_max is a pid
 * namespace's own since Linux 6.14. It costs nothing, and forks need not be judged; but it holds between 300 less
 * (numbers below that are not given twice) and exactly what is asked for.
 */
#ifndef CALLGATE_CONFINE_PIDMAX_H
#define CALLGATE_CONFINE_PIDMAX_H

#include <stdbool.h>
#include <stdint.h>

/*
 * True when this kernel can, for this many tasks. Where pid_max is the whole machine's it must not be written: there
 * the version alone tells.
 */
bool pidmax_possible(uint64_t tasks);

/* In the first process of a pid namespace, with CAP_SYS_ADMIN over it. 0 or -errno. */
int pidmax_set(uint64_t tasks);

#endif
