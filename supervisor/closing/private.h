/* Shared by the files of closing/ only. */
#ifndef CALLGATE_SUPERVISOR_CLOSING_PRIVATE_H
#define CALLGATE_SUPERVISOR_CLOSING_PRIVATE_H

#include <stdint.h>

#include "base/proc/tree.h"
#include "supervisor/closing/closing.h"
#include "syscalls/account/result/after.h"

/* ---- freeze.c: stops all threads of the run ---- */

enum frozen_state {
	FROZEN_ASKED_TO_STOP, /* seized and interrupted; it stops before it runs another instruction of the program */
	FROZEN_STOPPED,       /* in a ptrace stop */
	/* asked to stop, but waits in the kernel without doing anything: it stops later (closing_on_stop) */
	FROZEN_STOPS_WHEN_CALL_ENDS,
	FROZEN_KILLED, /* SIGKILL was sent; its death is awaited */
	FROZEN_EXITED, /* it is gone */
};

/* A thread that the freeze has found, and how far it is stopped. */
struct frozen_thread {
	pid_t tid, tgid;
	enum frozen_state state;
	int wait_status;       /* FROZEN_STOPPED: the wait status of the stop */
	unsigned delivered_signal_count; /* how many signals were delivered to the thread before it stopped */
};

/* What is done with a process that another process traces, and so cannot be stopped. */
enum freeze_mode {
	FREEZE_KILLS_ALREADY_TRACED,    /* it is killed */
	FREEZE_FAILS_ON_ALREADY_TRACED, /* freeze_all_threads() fails */
};

/* The stopping of all threads of the run. */
struct freeze {
	enum freeze_mode mode;
	struct frozen_thread *thread; /* owned */
	size_t count, room;
	uint64_t *seen_tid_bits;        /* owned: bits of the thread ids in `thread` */
	struct proctree processes;      /* owned: the processes of the machine when they were listed last */
	uint64_t deadline_ns;           /* when threads that have not stopped are given up */
};

/*
 * Stops every thread of the run, also those that are made meanwhile. Calls `asked` once, unless it is NULL, when the
 * thread `caller`, which waits for a response of the supervisor, will stop at that response. True: no thread runs any
 * more. False: a thread was spared (enum freeze_mode), new threads were made without end, or some threads did not stop:
 * those in FROZEN_ASKED_TO_STOP have to be killed.
 */
bool freeze_all_threads(struct freeze *freeze, const struct closing_options *options, enum freeze_mode mode,
			pid_t caller, void (*asked)(void *ctx, pid_t tid), void *ctx);
/* Kills a process and all its threads in the list. */
void freeze_kill_process(struct freeze *freeze, pid_t tgid);
/* Waits for the killed threads, a limited time. Returns whether all are dead. */
bool freeze_await_killed_threads(struct freeze *freeze);
/* Frees the lists. The threads stay stopped. */
void freeze_release(struct freeze *freeze);
/* Lets all threads go on, and frees the lists. */
void freeze_hand_stops_to_tracer(struct freeze *freeze, struct tracer *tracer);

/* ---- held.c: what has to be taken from a thread ---- */

/* A descriptor or mapping that a stopped thread must lose. */
struct held_item {
	bool is_mapping; /* `start` and `len` are set; otherwise `fd` is */
	int fd;
	uint64_t start, len;
	unsigned after_entry_index;    /* index of the entry of after_read because of which the item is taken */
	enum after_loss loss;
	char *path;        /* owned; NULL: no path */
};

/* All that one thread must lose. */
struct held_list {
	struct held_item *item; /* owned */
	size_t count;           /* entries of item[] */
};

/* The inode numbers of the internet sockets of the network namespace that are bound or connected, sorted. */
struct held_sockets {
	uint64_t *ino; /* owned */
	size_t count;  /* entries of ino[] */
};

/* 0 or -errno. */
int held_list_inet_sockets(struct held_sockets *ret_sockets);
void held_sockets_release(struct held_sockets *sockets);
/*
 * Lists what has to be taken from a stopped thread. sockets NULL: the network is open. until_ns: when
 * io_read_clock_ns() returns that, it gives up with -ETIME. 0 or -errno; *ret_list begins empty, and is to be released
 * in both cases.
 */
int held_list_items_of_thread(const struct sandbox *sandbox, pid_t tid, const struct held_sockets *sockets,
			      uint64_t until_ns, struct held_list *ret_list);
void held_list_release(struct held_list *list);

#endif
