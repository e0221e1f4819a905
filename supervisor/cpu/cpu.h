/*
 * CPU placement: while at most one task of the run wants a CPU, all its tasks and the supervisor thread are pinned to
 * the same CPU. A notification is then a switch between two tasks instead of two interrupts between CPUs: ADDFD, the
 * stops of a traced exec, fork and exit wake a task without the hint that keeps it on the waker's CPU, so an idle CPU
 * takes it.
 *
 * Runs in the supervisor thread. Dispatch and the loop report three events and know nothing else of it. The program
 * never sees a mask of ours: the run is unpinned before an affinity mask is read or set. A run that sets a mask itself
 * is left alone from then on.
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
struct tree;

struct cpu_ops {
	/* Pins the supervisor thread and the program, before its execve gets a response and before it is reaped. */
	void (*begin)(struct cpu *cpu, pid_t program);
	/*
	 * A notification has arrived; row may be NULL. Unpins the run when the call reads or sets an affinity mask.
	 * True when the call needs nothing else: it is to be continued, unrecorded, as the filter would have done.
	 */
	bool (*received)(struct cpu *cpu, const struct syscall_row *row, const struct seccomp_notif *notification);
	/* The call is about to get its response, so its task still waits. May pin or unpin the run. */
	void (*responding)(struct cpu *cpu, const struct call *call);
	/* The loop has waited. Returns the milliseconds until it must do so again, or -1: at the next notification. */
	int (*waited)(struct cpu *cpu, uint64_t now_ns);
	/* Puts back all masks. */
	void (*unpin)(struct cpu *cpu);
	/* Likewise, and frees it. */
	void (*free)(struct cpu *cpu);
};

/* The first member of the implementation. NULL: placement is off, and no notification is made for it. */
struct cpu {
	const struct cpu_ops *ops;
};

/* False on a machine, or with an affinity mask, of one CPU: calls that read or set masks need not be notified. */
bool cpu_possible(void);

/*
 * /proc/loadavg, whose last field is the newest task number in our pid namespace. proc_fd: a procfs to open it in;
 * -1: /proc. Returns an owned descriptor, or -errno, also where the file is not the kernel's (lxcfs).
 */
int cpu_open_loadavg(int proc_fd);

/*
 * For the calling thread, which becomes the one that is pinned. Borrows the tree. Takes loadavg_fd; with a negative
 * one, or on a kernel that does not tell run-queue delays (schedstat), nothing is ever pinned. 0 or -ENOMEM.
 */
int cpu_create(struct tree *tree, int loadavg_fd, struct cpu **ret_cpu);

/*
 * The calling thread, and those that it makes from here on, ask for the shortest time slice, so that the scheduler
 * runs them first when they wake beside tasks that compute (Linux 6.12). They get no more CPU time. Best effort.
 */
void cpu_request_short_slice(void);

static inline void cpu_begin(struct cpu *cpu, pid_t program)
{
	if (cpu)
		cpu->ops->begin(cpu, program);
}

static inline bool cpu_received(struct cpu *cpu, const struct syscall_row *row,
				const struct seccomp_notif *notification)
{
	return cpu && cpu->ops->received(cpu, row, notification);
}

static inline void cpu_responding(struct cpu *cpu, const struct call *call)
{
	if (cpu)
		cpu->ops->responding(cpu, call);
}

static inline int cpu_waited(struct cpu *cpu, uint64_t now_ns)
{
	return cpu ? cpu->ops->waited(cpu, now_ns) : -1;
}

static inline void cpu_unpin(struct cpu *cpu)
{
	if (cpu)
		cpu->ops->unpin(cpu);
}

static inline void cpu_free(struct cpu *cpu)
{
	if (cpu)
		cpu->ops->free(cpu);
}

#endif
