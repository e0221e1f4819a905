/* Declarations shared by the files of this folder. */
#ifndef CALLGATE_SUPERVISOR_SESSION_PRIVATE_H
#define CALLGATE_SUPERVISOR_SESSION_PRIVATE_H

#include <jansson.h>

#include "supervisor/session/session.h"
#include "supervisor/session/spawner.h"

#define SESSION_CLIENTS_MAX 512u               /* connections to a session at a time */
#define SESSION_MESSAGE_BYTES_MAX (192u << 10) /* below the default limit of a socket's buffer */
#define SESSION_DENIALS_IN_RESULT_MAX 100           /* denials of a program that its client is told in full */
/* most bytes of a program's denials in a message, as JSON; the rest of the message is short */
#define SESSION_DENIALS_JSON_BYTES_MAX (128u << 10)
#define SESSION_PROGRAM_LIST_BYTES_MAX (128u << 10)    /* most bytes of a list of programs, as JSON */

struct client;

enum program_state {
	PROGRAM_STARTING, /* the spawner was asked to start the program */
	PROGRAM_RUNNING,  /* the spawner has told its pid */
	PROGRAM_ENDING,   /* the program has ended, or is to end; its descendants are killed */
};

/* A program that a client of a session has started. */
struct program {
	unsigned number;           /* from 1, in the order in which programs were asked for */
	uint32_t slot_index;       /* index in session.program and in the spawner's page */
	enum program_state state;
	pid_t monitor, pid;  /* pids of the monitor and of the program; 0 while the program is starting */
	struct client *client; /* the client that asked for the program; NULL: the client has hung up */
	char *executed_path;  /* owned */
	char *cwd;           /* the directory that it starts in; owned; NULL: the workdir */
	struct denials *denials; /* owned */
	uint64_t start_ns;       /* when the client asked for it */
	uint64_t deadline_ns;    /* when its time limit ends; UINT64_MAX: no limit */
	uint64_t next_kill_ns; /* in the state PROGRAM_ENDING: when its descendants are searched for and killed again */
	/* master side of the program's terminal, for the client; owned; -1: no terminal, or handed over */
	int master_fd;
	bool is_detached;    /* goes on when its client has hung up */
	bool has_wait_status;     /* wait_status, cpu_us and max_rss_kb are set */
	bool has_timed_out;       /* its time limit has ended it */
	bool was_denied;          /* denials were told to the client, and are not in `denials` any more */
	int wait_status;          /* of waitpid(2), as the monitor has told it */
	uint64_t cpu_us, max_rss_kb;
};

/* A client's connection to the session. */
struct client {
	int fd, epoll_fd; /* epoll_fd is borrowed */
	struct program *program; /* the program that the client has started; NULL: none */
	bool holds_session;      /* the session ends when this client hangs up */
	json_t *look;            /* its question "look", until no file is being filled; owned; NULL: none */
	struct client *next;
};

/* A run in which clients start programs. */
struct session {
	const struct session_options *options;
	struct sandbox *sandbox; /* the run that the session is, as handlers of calls know it; borrowed */
	struct pause *pause;
	struct copies *copies;         /* borrowed */
	struct client *looking_client; /* the client for which a worker fills a file, or has; NULL: none */
	int look_result;               /* of filling that file: 0 or -errno */
	struct client *pausing_client; /* the client that has asked for a pause and has no answer yet; NULL: none */
	bool pausing_awaits_copies;    /* pausing_client waits for calls whose files are being copied */
	struct client *workspace_client;  /* the client that has asked for the workspace; NULL: none */
	const char *workspace_verb;       /* what it does there, "checkpoint" or "restore" */
	bool was_paused_before_workspace; /* the programs were stopped when workspace_client asked */
	uint64_t pausing_began_ns;        /* when pausing_client asked */
	uint64_t pausing_deadline_ns;  /* when pausing_client is told that the programs could not be stopped */
	uint64_t paused_since_ns;      /* when all programs were last stopped */
	struct spawner_page *spawner_page;
	int spawner_fd[2];  /* the supervisor's end; the spawner's end until session_begin() */
	int epoll_fd;       /* watches the clients, the spawner and the listening socket */
	struct program *program[SPAWNER_PROGRAMS_MAX]; /* NULL: the slot is free */
	/* number of the last program that a client asked for; programs are numbered from 1 */
	unsigned last_program_number;
	unsigned running_program_count; /* programs that have not ended */
	struct client *client;          /* list of the connected clients */
	unsigned client_count; /* clients in the list */
	unsigned holding_client_count; /* clients that hold the session */
	uint64_t idle_since_ns;        /* since when no program has run; UINT64_MAX: a program runs */
	bool is_ending;                /* no program is started any more */
	struct spawner_request spawn_request;     /* room for a request to the spawner; reused */
	char text[SESSION_MESSAGE_BYTES_MAX + 1]; /* reused */
	char spawner_mark, listen_mark;
};

/* What a client asks for. The texts are borrowed. */
struct program_request {
	const json_t *argv, *env;
	const char *cwd; /* NULL: the workdir */
	uint64_t time_limit_ns; /* 0: no limit */
	int stdio_fd[3]; /* borrowed */
	/*
	 * master side of the terminal whose slave side is each of stdio_fd; taken on success; NULL: there is no
	 * terminal
	 */
	int *master_fd;
	bool is_detached; /* the program goes on when the client hangs up */
};

/* ---- programs.c ---- */

/*
 * Hides a process from the programs of the session, in both views. 0 or -ENOMEM. When the process was reaped,
 * programs_unhide_process_from_run() undoes this.
 */
int programs_hide_process_from_run(const struct session *session, pid_t pid);
void programs_unhide_process_from_run(const struct session *session, pid_t pid);

/* Frees a program and its slot. */
void program_free(struct session *session, struct program *program);

/*
 * Asks the spawner for a program. 0; or -errno with *ret_code and a message. The client is told of the start, or of
 * its failure, later.
 */
int programs_start(struct session *session, struct client *client, const struct program_request *wanted,
		   const char **ret_code, char *message, size_t size);
/* Reads and handles the messages of spawner and monitors. */
void programs_read_spawner(struct session *session);
/* Ends a program and its descendants. */
void programs_end(struct program *program);
/* Tells the program's client what was denied since the last call, and forgets that. */
void programs_report_denials(struct program *program);
/* Ends the session with all programs. */
void programs_end_all(struct session *session);
struct program *programs_find(const struct session *session, unsigned number);

/* ---- clients.c: connections of clients ---- */

void clients_accept(struct session *session);
/* Adds a connection (O_NONBLOCK), and takes the descriptor. 0, or -errno, with which it is closed. */
int clients_add(struct session *session, int fd);
/* Sends a message, and takes the reference to it. A client that does not read is dropped. */
void clients_send(struct client *client, json_t *message);
/* As clients_send(), with a descriptor, borrowed. */
void clients_send_fd(struct client *client, json_t *message, int fd);
/* The same with `count` descriptors, at most FDPASS_FDS_MAX. */
void clients_send_fds(struct client *client, json_t *message, const int *fds, size_t count);
/* Sends an error, and closes the connection. */
void clients_send_error(struct client *client, const char *code, const char *message);
/* Closes a connection. session_handle_deadlines() ends its program, if it still has one, and frees the client. */
void clients_drop(struct client *client);

/* ---- pausing.c: stopping all programs, and letting them go on ---- */

/* Whether no program can be started: the programs are stopped, or are to be. */
bool pausing_is_requested(const struct session *session);
/* Handles a client's request to stop all programs (wants_pause), or to let them go on. */
void pausing_request(struct session *session, struct client *client, bool wants_pause);
/* Handles a client's request to have the workspace for itself, and to give it back. What it did is put on record. */
void pausing_request_workspace(struct session *session, struct client *client, const json_t *asked);
void pausing_release_workspace(struct session *session, struct client *client, const json_t *asked);
/* Tries again to stop the programs, if a client waits for that. Returns when to call it next; UINT64_MAX: never. */
uint64_t pausing_try_to_stop_programs(struct session *session, uint64_t now_ns);
/* Forgets a client that has hung up. If it had the workspace, the programs go on. */
void pausing_forget_client(struct session *session, struct client *client);

/* ---- looking.c: what clients look at before they start a program ---- */

/* Whether the policy has "inspect": clients must say that they have looked at what they start. */
bool looking_is_wanted(const struct session *session);
/*
 * Answers with what is to be looked for, and with the file that the client asks for; or lets the client wait for
 * session_answer_waiting_clients(), while a worker fills that file or another one.
 */
void looking_answer(struct session *session, struct client *client, const json_t *asked);
/*
 * Records what a client tells of a program: that it was not asked for because of what was found in it, or that files
 * were changed after they were looked at, or may have been. False: `op` is none of these.
 */
bool looking_record(const struct session *session, const char *op, const json_t *asked);

/* ---- requests.c ---- */

/* Reads and serves a client's next message. */
void requests_read_from_client(struct session *session, struct client *client);

#endif
