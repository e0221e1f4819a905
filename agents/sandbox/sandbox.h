/*
 * A sandbox: a session (supervisor/session/session.h) that this process makes and keeps alive. When this process dies,
 * the session ends with all that runs in it. Functions return at once; what happens later is reported by callbacks,
 * called from loop_run(). Whatever comes out of a sandbox is hostile. SIGPIPE must be ignored, as loop_create() does.
 */
#ifndef CALLGATE_AGENTS_SANDBOX_SANDBOX_H
#define CALLGATE_AGENTS_SANDBOX_SANDBOX_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agents/loop.h"

struct sandbox;
struct sandbox_program;

#define SANDBOX_START_TIMEOUT_MS_DEFAULT 60000u

/* How a sandbox is made, and who is told of it. */
struct sandbox_options {
	const char *callgate_path; /* path of the executable callgate */
	/* Options of `callgate session create`, NULL-ended: -p, --profile, -w, --audit … */
	const char *const *arguments;
	bool looks_at_programs; /* what its programs run is looked at before, as "inspect" of the policy says */
	/* a socket for `--approve fd:N` of the session, borrowed while it is made; 0 or -1: none */
	int approver_fd;
	/* a sandbox that is not ready after this time has failed; 0: SANDBOX_START_TIMEOUT_MS_DEFAULT */
	uint64_t start_timeout_ms;
	/*
	 * Called once. `error` NULL: the sandbox is ready. Otherwise it could not be made, and `error` tells people
	 * why, on one or several lines.
	 */
	void (*on_ready)(void *data, const char *error);
	/*
	 * Called when a sandbox that was ready has ended, for whatever reason. Its programs report their own end,
	 * before or afterwards.
	 */
	void (*on_end)(void *data);
	/* The answer to sandbox_request_usage(): processor time of all programs so far. May be NULL. */
	void (*on_usage)(void *data, uint64_t cpu_ms);
	/*
	 * Called with the answer to sandbox_pause() or sandbox_resume(). is_paused: the programs are stopped now. why:
	 * the reason why they could not be stopped, borrowed; else NULL. May be NULL if neither function is called.
	 */
	void (*on_pause)(void *data, bool is_paused, const char *why);
	void *data;
};

/*
 * Raises this process's soft limit of open files to its hard one: each program takes four descriptors, and the usual
 * 1024 would be used up by some 200. Sandboxes get the former limit. Called once, before the first sandbox is made.
 */
void sandbox_raise_open_files_limit(void);
uint64_t sandbox_get_open_files_limit(void); /* UINT64_MAX: not known */
/* Keeps so many descriptors free of sandboxes and programs, which are refused instead. */
void sandbox_reserve_open_files(uint64_t count);
/* Returns a text for people about an errno of a function of this folder. */
const char *sandbox_describe_error(int error);
/* Whether this process (EMFILE) or the machine (ENFILE) had no descriptor left: another time there may be some. */
bool sandbox_error_is_lack_of_descriptors(int error);
/* Starts to make a sandbox. The options are copied. 0, -EMFILE: too many descriptors are in use, or -errno. */
int sandbox_create(struct loop *loop, const struct sandbox_options *options, struct sandbox **ret_sandbox);
/* Ends the sandbox with all that runs in it, and frees its programs. No callback is called afterwards. NULL is fine. */
void sandbox_free(struct sandbox *sandbox);
/*
 * When a sandbox was freed before it was ready, the process that makes it is still waited for. This stops that. Called
 * when all sandboxes are freed, before the loop is freed.
 */
void sandbox_forget_launchers(void);
/* Return the session's id, and the path of its workdir in the view. NULL: the sandbox is not ready yet. */
const char *sandbox_get_id(const struct sandbox *sandbox);
const char *sandbox_get_workdir(const struct sandbox *sandbox);

/* Asks for the processor time of the sandbox, which on_usage gets. Does nothing if the sandbox is not ready. */
void sandbox_request_usage(struct sandbox *sandbox);

/*
 * Stop all programs of the sandbox (pause), or let them go on (resume). No program can be started in a paused sandbox.
 * 0, or -errno, also if the sandbox is not ready.
 */
int sandbox_pause(struct sandbox *sandbox);
int sandbox_resume(struct sandbox *sandbox);
/* True from a call of sandbox_pause() on, until the sandbox's programs go on. */
bool sandbox_is_paused(const struct sandbox *sandbox);
/*
 * A clock for time limits of what runs in the sandbox: loop_get_now_ms() without the time of pauses. While
 * sandbox_is_paused(), it stands still.
 */
uint64_t sandbox_get_running_ms(const struct sandbox *sandbox);

/* ---- programs ---- */

#define SANDBOX_STDIN_QUEUE_BYTES_MAX (256u << 10) /* at most so much input is queued for one program */

enum sandbox_stream { SANDBOX_STDOUT, SANDBOX_STDERR, SANDBOX_STREAM_MAX };

/* How a program is started in a sandbox, and who is told of it. */
struct sandbox_program_options {
	const char *const *argv; /* NULL-ended */
	const json_t *env;       /* an object of texts, added after the policy's variables; or NULL */
	const char *cwd;         /* NULL: the sandbox' workdir */
	uint64_t time_limit_ms;  /* 0: no limit */
	bool stdin_is_open;      /* false: stdin is empty */
	/* stdin, stdout and stderr are a new terminal; its output is passed on as SANDBOX_STDOUT */
	bool has_terminal;
	unsigned columns, rows; /* size of the terminal */
	/*
	 * Called when the program runs. pid: in the sandbox' pid namespace, if it has one; number: the program's in the
	 * audit log. May be NULL.
	 */
	void (*on_start)(void *data, pid_t pid, unsigned number);
	/* Called with output of the program, which is borrowed. */
	void (*on_output)(void *data, enum sandbox_stream stream, const char *bytes, size_t len);
	/*
	 * Called with the answer to sandbox_program_request_denials(): an array of denials, as in the program's result,
	 * borrowed; empty when nothing was denied. May be NULL.
	 */
	void (*on_denials)(void *data, const json_t *denials);
	/* Called when sandbox_program_write() takes bytes again, after it took fewer than it was given. May be NULL. */
	void (*on_room)(void *data);
	/*
	 * Called once, after all output. `result`, borrowed, is the session's last answer (status, exit_code, signal,
	 * duration_ms, denials …). It has "error": {"code", "message"} when the program could not be started, or when
	 * its end is not known. No process of the program is left.
	 */
	void (*on_end)(void *data, const json_t *result);
	void *data;
};

/*
 * Starts a program in a sandbox that is ready. The options are borrowed during the call. 0 or -errno: -ENOTCONN: the
 * sandbox is not ready or has ended; -EMSGSIZE: arguments and variables are too long; -EILSEQ: an argument or variable
 * is not UTF-8.
 */
int sandbox_start_program(struct sandbox *sandbox, const struct sandbox_program_options *options,
			  struct sandbox_program **ret_program);
/* Ends the program and its descendants, if it runs, and frees it. No callback is called afterwards. */
void sandbox_program_free(struct sandbox_program *program);
/*
 * Queues at most len bytes for the program's stdin. Returns how many were taken, 0 when there is no room; -EPIPE: stdin
 * is closed.
 */
ssize_t sandbox_program_write(struct sandbox_program *program, const char *bytes, size_t len);
/* Closes stdin when all queued input is written. A terminal gets the end-of-file character instead. */
void sandbox_program_close_stdin(struct sandbox_program *program);
/* Sends a signal to the program's process group. 0 or -errno: -ESRCH: the program has ended. */
int sandbox_program_signal(struct sandbox_program *program, int number);
/*
 * Asks for the denials of the program since the last such call; on_denials gets them. The program's result then has
 * only later denials. 0 or -errno: -ESRCH: the program has ended.
 */
int sandbox_program_request_denials(struct sandbox_program *program);
/*
 * Changes the size of the program's terminal, and the program gets SIGWINCH. 0 or -errno: -ENOTTY: it has no terminal.
 */
int sandbox_program_resize(struct sandbox_program *program, unsigned columns, unsigned rows);
/* Stops or resumes reading the program's output. While paused, the program blocks when its pipes are full. */
void sandbox_program_pause_output(struct sandbox_program *program, bool paused);

#endif
