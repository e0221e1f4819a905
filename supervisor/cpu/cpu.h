/*
 * CPU placement: while at most one task (thread) of the run is runnable, all its tasks and the supervisor thread are
 * pinned to one CPU. For a notification the kernel then only switches between two tasks on that CPU. Otherwise it often
 * wakes the task on an idle CPU, by an inter-processor interrupt: ADDFD and the stops of a traced exec, fork or exit
 * wake without WF_SYNC.
 *
 * Called in the supervisor thread, by dispatch and by the loop. The program never sees these affinity masks: the run is
 * unpinned before the program reads or sets one. A run that sets a mask itself is never pinned again.
 */
#ifndef CALLGATE_SUPERVISOR_CPU_CPU_H
#define CALLGATE_SUPERVISOR_CPU_CPU_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct call;
struct cpu;
struct seccomp_notif;
struct syscall_row;
struct task_table;

/* False if only one CPU is usable. Then calls that read or set masks need not be notified. */
bool cpu_can_pin(void);

/*
 * Opens loadavg of the procfs proc_fd, or of /proc for -1. Its last field is the newest pid of that PID namespace.
 * Returns an owned descriptor, or -errno; -ENODEV: the file is not the kernel's (lxcfs).
 */
int cpu_open_loadavg(int proc_fd);

/*
 * To be called in the supervisor thread. Borrows the tasks and takes loadavg_fd. If loadavg_fd is negative, or the
 * kernel does not report run-queue delays (/proc/PID/schedstat), no task is ever pinned. 0 or -ENOMEM.
 */
int cpu_create(struct task_table *tasks, int loadavg_fd, struct cpu **ret_cpu);

/* ---- in all these functions cpu may be NULL: CPU placement is off ---- */

/* Pins the supervisor thread and the program. Called before the program's execve(2) gets its response. */
void cpu_pin_program(struct cpu *cpu, pid_t program);
/*
 * Called when a notification has arrived; row may be NULL. Unpins the run if the call reads or sets an affinity mask.
 * True: the call is to be continued without a record, because the filter would have allowed it.
 */
bool cpu_unpin_before_affinity_call(struct cpu *cpu, const struct syscall_row *row,
				    const struct seccomp_notif *notification);
/* Called before the response is sent, while the call's task still waits. Pins or unpins the run if necessary. */
void cpu_update_placement_before_response(struct cpu *cpu, const struct call *call);
/* Called after each wait of the loop. Returns the timeout of the next wait in milliseconds; -1: no timeout. */
int cpu_update_placement_after_wait(struct cpu *cpu, uint64_t now_ns);
/* Restores all masks. */
void cpu_unpin_run(struct cpu *cpu);
/* Restores all masks and frees the object. */
void cpu_free(struct cpu *cpu);

/*
 * Sets the shortest time slice for the calling thread and the threads that it creates later. The scheduler then runs
 * them before computing tasks when they wake, without giving them more CPU time (Linux 6.12). Best effort.
 */
void cpu_request_short_time_slice(void);

#endif
