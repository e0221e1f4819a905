/*
 * The part of a session that lives inside the sandbox. The spawner is the session's first process. It has the filter
 * and never executes another file: on each request it makes a monitor, and the monitor makes the program. The monitor
 * is the program's subreaper, so that every descendant of the program is a descendant of the monitor. Both are children
 * of the supervisor, are hidden from the programs, and stay undumpable.
 */
#ifndef CALLGATE_SUPERVISOR_SESSION_SPAWNER_H
#define CALLGATE_SUPERVISOR_SESSION_SPAWNER_H

#include <stdatomic.h>
#include <stdint.h>

#define SPAWNER_PROGRAMS_MAX 256u           /* programs that run at once */
#define SPAWNER_SOCKET_FD 3                 /* the spawner's end of its socket */
#define SPAWNER_TEXT_BYTES_MAX (128u << 10) /* directory, path, arguments and variables of one program */

enum spawner_step { SPAWNER_PREPARE, SPAWNER_CHDIR, SPAWNER_EXEC };

#define SPAWNER_SHARED_SLOT_BYTES 65536u /* a multiple of every page size; of each, one page is used */

/*
 * Shared with the spawner, the monitors, and each program until its exec. A program keeps only its own slot, because
 * another program may write to its memory then.
 */
struct spawner_page {
	union {
		struct {
			_Atomic uint32_t go;    /* a futex: the number of the program that may go on */
			volatile uint32_t step; /* enum spawner_step: the step that failed */
			volatile int32_t error; /* errno of the step that failed; 0: no step has failed */
		};
		/* makes the slot this large: an alignment attribute would promise more than mmap(2) gives */
		char size[SPAWNER_SHARED_SLOT_BYTES];
	} slot[SPAWNER_PROGRAMS_MAX];
};

/* Asks for a program. One message of the socket, with three descriptors: the program's stdin, stdout and stderr. */
struct spawner_request {
	uint32_t program_number; /* number of the program in the session, from 1 */
	uint32_t slot;   /* index of the program's slot in struct spawner_page */
	uint32_t arguments, variables;
	uint32_t has_terminal; /* the descriptors are one terminal, which becomes the controlling terminal */
	/* directory ("": the workdir), path of the program, arguments, variables: each ends with NUL */
	char text[SPAWNER_TEXT_BYTES_MAX];
};

enum spawner_event {
	SPAWNER_STARTED, /* the program was made, and waits until `go` of its slot is its number */
	SPAWNER_FAILED,  /* the program could not be started; wait_status_or_errno is the errno */
	SPAWNER_ENDED,   /* the program has ended; wait_status_or_errno is its wait status */
};

/* A message of the spawner or of a monitor to the supervisor. */
struct spawner_message {
	uint32_t program_number;  /* the program that it is about */
	uint32_t event;           /* SPAWNER_*: what has happened */
	int32_t monitor_pid, pid; /* of SPAWNER_STARTED */
	int32_t wait_status_or_errno; /* SPAWNER_ENDED: wait status; SPAWNER_FAILED: errno */
	/* with SPAWNER_ENDED: 1: descendants of the program are left; 0: none are, and the monitor exits by itself */
	uint32_t has_descendants;
	uint64_t cpu_us, max_rss_kb; /* SPAWNER_ENDED */
};

/* Serves requests until the other end of the socket is closed. Uses only what is safe in a forked child. */
_Noreturn void spawner_run(struct spawner_page *page, int socket_fd);

#endif
