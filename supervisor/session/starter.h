/*
 * The part of a session that lives inside the sandbox. The starter is the session's first process. It has the filter
 * and never executes another file: on each request it makes a monitor, and the monitor makes the program. The monitor
 * is the program's subreaper, so that every descendant of the program is a descendant of the monitor. Both are children
 * of the supervisor, are hidden from the programs, and stay undumpable.
 */
#ifndef CALLGATE_SUPERVISOR_SESSION_STARTER_H
#define CALLGATE_SUPERVISOR_SESSION_STARTER_H

#include <stdatomic.h>
#include <stdint.h>

#define STARTER_PROGRAMS_MAX 256u           /* programs that run at once */
#define STARTER_SOCKET_FD 3                 /* the starter's end of its socket */
#define STARTER_TEXT_BYTES_MAX (128u << 10) /* directory, path, arguments and variables of one program */

enum starter_step { STARTER_PREPARE, STARTER_CHDIR, STARTER_EXEC };

/* Shared with the starter, the monitors, and each program until its exec. */
struct starter_page {
	struct {
		_Atomic uint32_t go;    /* a futex: the number of the program that may go on */
		volatile uint32_t step; /* enum starter_step: the step that failed */
		volatile int32_t error; /* errno of that step; 0: none failed */
	} slot[STARTER_PROGRAMS_MAX];
};

/* Asks for a program. One message of the socket, with three descriptors: the program's stdin, stdout and stderr. */
struct starter_request {
	uint32_t number; /* of the program in the session, from 1 */
	uint32_t slot;   /* its place in the page */
	uint32_t arguments, variables;
	/* directory ("": the workdir), path of the program, arguments, variables: each ends with NUL */
	char text[STARTER_TEXT_BYTES_MAX];
};

enum starter_event {
	STARTER_STARTED, /* the program waits for slot.go */
	STARTER_FAILED,  /* there is no program; `value` is the errno */
	STARTER_ENDED,   /* `value` is the program's wait status */
};

/* What starter and monitors tell the supervisor. One message each. */
struct starter_message {
	uint32_t number;
	uint32_t event;
	int32_t monitor_pid, pid; /* of STARTER_STARTED */
	int32_t value;
	uint32_t has_descendants; /* STARTER_ENDED: the program has left processes; else the monitor exits by itself */
	uint64_t cpu_us, max_rss_kb; /* STARTER_ENDED */
};

/* Serves requests until the other end of the socket is closed. Uses only what is safe in a forked child. */
_Noreturn void starter_run(struct starter_page *page, int socket_fd);

#endif
