/*
 * A session: a run whose first process is the spawner (spawner.h), in which clients start programs, one after the other
 * or at once. Clients are processes of the user, who connect to the session's Unix socket. Everything runs in the
 * supervisor thread and never waits.
 *
 * The protocol: SOCK_SEQPACKET, one JSON object a message. The client's first message has "op":
 *
 *   {"op": "exec", "argv": [...], "env": {...}, "cwd": "/…", "wall_ms": 0}  with descriptors 0 to 2 of the program,
 *       which are pipes or /dev/null; or, with "terminal": {"columns": N, "rows": N}, without descriptors
 *       answers: {"program": N, "pid": N} when it runs, with the master side of its terminal, if it has one; then one
 *       {"program": N, "status": …} when it has ended
 *       meanwhile: {"op": "signal", "signal": N}. A client that hangs up ends its program, unless "detached": true.
 *       {"op": "denials"}: what was denied since the last such request; the result has only what comes after it
 *       answers: {"program": N, "denials": [...], "denials_unlisted": N}
 *       With "inspect" in the policy, "inspected": true says that the client has looked at what it starts.
 *   {"op": "look", "path": "…", "cwd": "/…", "program": BOOL, "PATH": "…"}
 *       answers: {"session": "…", "inspect": {"refuse": BITS, "warn": BITS, "modules": [...]}, "path": "/…"}: what the
 *       policy says of inspecting, if it does, and, with a descriptor to read, the file that a program would find by
 *       this path, or as a program along PATH; without "path": none, or none that programs may read or execute
 *   {"op": "refused", "path": "…", "why": "…"}
 *       puts on record that the client does not ask for a program because of what it has found; no answer.
 *       With "changed": which files the program, which has ended, had looked at and were changed meanwhile; with
 *       "changes_unknown": that the client could not look at them again
 *   {"op": "hold"}
 *       answers: {"session": "…", "inspects": BOOL, "workdir": "/…"}: whether the policy says "inspect". The session
 *       ends when this client hangs up, and is not idle before.
 *   {"op": "list"}
 *       answers: {"session": "…", "started": N, "programs": [...], "unlisted": N}: how many more run than are listed
 *   {"op": "usage"}
 *       answers: {"session": "…", "cpu_ms": N}: processor time of the whole run so far
 *   {"op": "pause", "paused": true}
 *       stops all programs, or with false lets them go on. No program can be started meanwhile, and the time until
 *       "wall_ms" is over does not go on
 *       answers: {"session": "…", "paused": BOOL}: whether they are stopped now; with "why" when they were to be
 *       stopped and could not be
 *   {"op": "workspace", "for": "checkpoint" or "restore"}
 *       stops all programs as "pause" does, for a client that is to read or write the workspace of the session (--cow)
 *       answers: {"session": "…", "paused": true, "programs": N}: how many programs are stopped, with a descriptor of
 *       the directory as the programs see it, and with "disk_left": N, "disk_limit": N if limits.disk is set; or
 *       {…, "paused": false, "why": "…"}
 *       After {"op": "release", "checkpoint": "…", "error": N}, or when this client hangs up, they go on, unless they
 *       were stopped before. Which checkpoint was made or restored, and the errno or 0, is put on record. With
 *       "checkpoint_bytes": N, checkpoints count so many bytes more in limits.disk, or less if it is negative.
 *       answers: {"session": "…", "paused": BOOL}
 *   {"op": "stop"}
 *       answers: the end of the connection
 *
 * An answer with "error": {"code", "message"} is the last one.
 */
#ifndef CALLGATE_SUPERVISOR_SESSION_SESSION_H
#define CALLGATE_SUPERVISOR_SESSION_SESSION_H

#include "supervisor/closing/pause.h"
#include "supervisor/launch.h"
#include "syscalls/call/call.h"

struct session;

/* What a session needs of its run. Borrowed until session_free(). */
struct session_options {
	int listen_fd;             /* the socket to which clients connect */
	int holding_client_fd;     /* the first client, connected already; taken by session_begin(); -1: none */
	uint64_t idle_limit_ns;  /* the session ends after this time without programs; 0: never */
	const char *run_id;
	char *const *envp; /* environment of each program; a program's request may add variables */
	/* the view with which denied calls are judged again, for --ask; NULL: no denial is asked about */
	struct view *second_view;
};

/* Makes what the spawner needs, and adds it to the options of its launch. 0 or -errno. */
int session_create(const struct session_options *options, struct launch_options *launch, struct session **ret_session);
void session_free(struct session *session);

/* Begins to serve clients. Called when the spawner has its filter. Borrows sandbox, pause and copies. 0 or -errno. */
int session_begin(struct session *session, struct sandbox *sandbox, struct pause *pause, struct copies *copies,
		  pid_t spawner);

/* A descriptor for epoll(7): session_handle_ready_fds() handles what it reports. */
int session_get_epoll_fd(const struct session *session);
void session_handle_ready_fds(struct session *session);

/*
 * Whether a pause waits for the calls whose files are being copied. Then no call is received that may need a further
 * copy, with which the programs could put off the pause.
 */
bool session_awaits_copies(const struct session *session);

/*
 * Answers clients that have waited until no worker fills a file. Called at each turn of the loop, after
 * copies_collect() and before calls are handled again, of which one may begin the next copy.
 */
void session_answer_waiting_clients(struct session *session);

/* Does what is due by the clock. Returns the milliseconds until more is due; -1: nothing is. */
int session_handle_deadlines(struct session *session, uint64_t now_ns);

/* Handles the end of a child of the supervisor that was reaped. False: it is no monitor of a program. */
bool session_on_child_exit(struct session *session, pid_t pid);

/* Stores in `task` the number of the session's program that the task belongs to, unless it is stored already. */
void session_assign_task_to_program(struct session *session, struct task *task);

/* Answers all clients whose programs the end of the session has ended. Called when no process of it is left. */
void session_end_programs(struct session *session);

#endif
