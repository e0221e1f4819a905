/*
 * Shared by handoff.c, handoff-together.c (with handoff-callers.c) and handoff-homes.c, which say when, and handoff-mask.c,
 * which sets masks.
 */
#ifndef CALLGATE_SUPERVISOR_CPU_PRIVATE_H
#define CALLGATE_SUPERVISOR_CPU_PRIVATE_H

#include <sched.h>

#include "supervisor/cpu/cpu.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define KEPT_MAX 8u /* at a time */

struct mean {
	uint64_t total_ns;
	unsigned count;
};

/* Some time in which calls were made. */
struct span {
	uint64_t begin_ns;
	unsigned calls;
	unsigned turns;   /* calls of another task than the last one */
	unsigned slow;    /* descriptors that were given slowly */
	uint64_t lost_ns; /* by that */
};

struct kept {
	const struct task *task;
	bool called; /* since it was looked at last */
};

#define CALLERS_MAX 8u /* who are looked at: of more there is no need to know that they wait for each other */
#define SHOWN_MAX 8u

struct caller {
	pid_t tid;
	bool called;        /* since it was looked at last */
	uint64_t waited_ns; /* for a CPU, until then */
	int fd;             /* its schedstat, or -1: opened when it was looked at first */
};

struct callers {
	pid_t since; /* tasks with numbers above this one were made while the run was together */
	struct caller caller[CALLERS_MAX];
};

/* All tasks of the run, and the receiver, on one CPU: handoff-together.c. */
struct together {
	bool possible; /* the kernel says how long somebody waited for a CPU */
	bool on;
	bool divided; /* it is not, because several want a CPU */
	uint64_t begun_ns, looked_ns;
	unsigned calls;   /* since it was looked */
	uint64_t idle_ns; /* so long nobody called */
	uint64_t harm_ns; /* what callers waited for a CPU; at each look half of it is forgotten */
	struct callers callers;
	pid_t shown[SHOWN_MAX]; /* who are being told a mask, the last ones: 0 or who has not called since */
	unsigned shown_next;
	const struct task *taker;  /* who is given a descriptor */
	const struct task *looked; /* whose mask was looked at last, because that was slow */
	uint64_t pause_ns;         /* the next pause */
	uint64_t paused_until_ns;
};

#define HOMES_MAX 16u

struct home {
	const struct task *task;
	int cpu;
	bool called;    /* since it was looked at last */
	bool running;   /* when it was */
	unsigned quiet; /* so many looks since it called */
};

/* A CPU for each process that calls, while the run is divided: handoff-homes.c. More processes than fit have none. */
struct homes {
	struct home home[HOMES_MAX];
	unsigned count;
	uint64_t looked_ns;
	uint64_t paused_until_ns;
};

struct handoff {
	struct tree *tree;
	struct together together;
	struct homes homes;
	int loadavg_fd;     /* says which number was given to a task last, in our pid namespace */
	bool off;           /* the run sets masks itself */
	cpu_set_t whole;    /* what we would get if we asked for all */
	pid_t tid;          /* whose call was the last */
	struct mean loose;  /* its slow ones in a row, while it was not kept */
	struct span before; /* of everybody, while nobody was kept */
	uint64_t given_ns;  /* when the last was */
	uint64_t pause_ns;  /* the next pause */
	uint64_t paused_until_ns;
	uint64_t cost_ns; /* of keeping and releasing, the last time */
	uint64_t fast_ns; /* what it takes on one CPU */

	struct kept kept[KEPT_MAX];
	unsigned count;
	bool crowd;       /* several are kept, as they call by turns */
	cpu_set_t cpu;    /* where */
	cpu_set_t own;    /* our mask, to be put back */
	cpu_set_t theirs; /* everybody else's */
	cpu_set_t used;   /* where any were kept, ever */
	pid_t numbers;    /* there are no more, so that they may all be used within moments; 0: there are many */
	bool all_numbers; /* they may have been: look at each */
	pid_t from;       /* tasks with numbers above this one may have inherited a mask */
	/* The same at the look before: a task has its number for a moment before it can be found by it. */
	pid_t from_before;
	bool scatter;     /* several wait for that CPU: all but the first are taken to others at once */
	bool first_stays;
	unsigned late;                  /* looks at them still to come */
	uint64_t late_ns, late_step_ns; /* when the next is */
	uint64_t kept_ns;               /* since when */
	uint64_t looked_ns;             /* when we looked who still calls */
	struct mean here;               /* while they are kept */
	struct span during;
};

struct load {
	pid_t last;             /* the number that was given to a task last; -1: not known */
	unsigned long runnable; /* tasks, of the whole machine */
};

/* A mask that was read before. */
void handoff_put_back(const struct handoff *handoff, pid_t tid, const cpu_set_t *mask);
/* Its mask, unless the number is another's by now or somebody else has set one. */
void handoff_let_go(struct handoff *handoff, const struct kept *kept);
/* Its mask, if it still is this one of ours. */
void handoff_let_go_from(const struct handoff *handoff, const struct task *task, const cpu_set_t *ours);
/* From everybody's mask, or one of ours, to this one of ours. 0 or -errno. */
int handoff_move(struct handoff *handoff, const struct task *task, const cpu_set_t *mask);
/* Has a CPU, or waits for one. */
bool handoff_is_running(pid_t tid);
/* It may take a thread's number away. */
bool handoff_is_exec(int nr);
/* NULL: it is not kept. */
struct kept *handoff_find(struct handoff *handoff, pid_t tid);
struct load handoff_load(const struct handoff *handoff);
/* Enough to do for every CPU: none is idle that a task could be taken to, and the scheduler has to be free to divide them. */
bool handoff_is_crowded(const struct handoff *handoff, const struct load *load);
/* From now on those are new whose number is above this one. */
void handoff_new_from(struct handoff *handoff, pid_t last);
/* Of whoever was made since this was done last, or the time before, and inherited a mask. */
void handoff_put_back_new(struct handoff *handoff);
/* The same when it is due, after handoff_follow. */
void handoff_look_late(struct handoff *handoff, uint64_t now_ns);
/* Takes it off the list; the receiver, when it was the last one, gets its mask. */
void handoff_drop(struct handoff *handoff, struct kept *kept);
/* After some were let go. */
void handoff_follow(struct handoff *handoff);
/* Keeps the receiver where it is at this moment. 0 or -errno. */
int handoff_stay(struct handoff *handoff);
/* A task that waits for us, where we are. load: for the first one. 0, or -errno with nothing changed. */
int handoff_keep(struct handoff *handoff, const struct task *task, const struct load *load);
/* The mask of a task that has everybody else's: ours from now on. 0 or -errno. */
int handoff_take(const struct handoff *handoff, const struct task *task);
/* The same for one that cannot have died unnoticed. */
int handoff_take_number(const struct handoff *handoff, pid_t tid);
/* How many numbers there are, or 0 if they are too many to be used up soon. */
pid_t handoff_few_numbers(void);

/* What follows is handoff-together.c's. */

void together_init(struct handoff *handoff);
/* A call begins, of whomever. */
void together_call(struct handoff *handoff, pid_t tid);
/* A mask is about to be shown to it. */
void together_shown(struct handoff *handoff, pid_t tid);
/* A descriptor was given slowly: to somebody who is elsewhere. */
void together_slow(struct handoff *handoff);
/* Masks are put back until it begins again. Called by handoff_release. */
void together_release(struct handoff *handoff);
void together_pause(struct handoff *handoff, uint64_t until_ns);
void together_forget(struct handoff *handoff, const struct task *task);
/* Milliseconds until the next one, if they still are together. */
int together_tick(struct handoff *handoff, uint64_t now_ns);

/* What follows is handoff-callers.c's: how long those who call wait for a CPU. */

/* False where the kernel does not say. */
bool callers_init(struct callers *callers);
/* A call, of whomever. */
void callers_note(struct callers *callers, pid_t tid);
/*
 * How long those who called since the last time waited for a CPU meanwhile, but for what each does after one of so many calls:
 * until we wait for the next one.
 */
uint64_t callers_waited(struct callers *callers, unsigned calls);
/* All of them, with the descriptors. */
void callers_forget(struct callers *callers);

/* What follows is handoff-homes.c's. */

/* The task calls, while the run is divided and nobody is kept. */
void homes_call(struct handoff *handoff, const struct task *task, bool is_exec, uint64_t now_ns);
/* Whether the task has a home. */
bool homes_hold(const struct handoff *handoff, pid_t tid);
/* All get their masks back, and what they made meanwhile as well. */
void homes_release(struct handoff *handoff);
/* The task is dead, or about to be freed: its mask is nobody's. */
void homes_forget(struct handoff *handoff, const struct task *task);
/* Milliseconds until the next one, if anybody has a home. */
int homes_tick(struct handoff *handoff, uint64_t now_ns);

/* What a mask that leaves nothing out comes to. 0 or -errno. */
int handoff_find_whole(cpu_set_t *ret_whole);

#endif
