/*
 * A sandbox: a session (supervisor/session/session.h) that this process has made and holds: when this process is
 * killed, the session ends with all that runs in it. Calls return at once, and callbacks tell from loop_run() what
 * happens later. What comes out of a sandbox is hostile. SIGPIPE must be ignored (loop_create() does so).
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

struct sandbox_options {
	const char *callgate_path; /* path of the executable callgate */
	/* Options of `callgate session create`, NULL-ended: -p, --profile, -w, --audit … */
	const char *const *arguments;
	uint64_t start_timeout_ms; /* it could not be made if it takes longer; 0: SANDBOX_START_TIMEOUT_MS_DEFAULT */
	/*
	 * error NULL: it is ready. Else it could not be made, and the text says why, in words for people, on one or
	 * several lines. Called once.
	 */
	void (*on_ready)(void *data, const char *error);
	/* It was ready, and has ended, for whatever reason. Its programs end by themselves, before or afterwards. */
	void (*on_end)(void *data);
	/* The answer to sandbox_ask_usage(): processor time of all programs so far. May be NULL. */
	void (*on_usage)(void *data, uint64_t cpu_ms);
	void *data;
};

/* Starts to make a sandbox. The options are copied. 0 or -errno. */
int sandbox_create(struct loop *loop, const struct sandbox_options *options, struct sandbox **ret_sandbox);
/* Ends the sandbox with all that runs in it, and frees its programs. No callback is called afterwards. NULL is fine. */
void sandbox_free(struct sandbox *sandbox);
/* The session's id, and the path of its workdir inside. NULL: it is not ready. */
const char *sandbox_get_id(const struct sandbox *sandbox);
const char *sandbox_get_workdir(const struct sandbox *sandbox);

/* Asks what the sandbox has used. Does nothing if it is not ready. */
void sandbox_ask_usage(struct sandbox *sandbox);

/* ---- programs ---- */

#define SANDBOX_INPUT_BYTES_MAX (256u << 10) /* input of a program that waits to be read */

enum sandbox_stream { SANDBOX_STDOUT, SANDBOX_STDERR, SANDBOX_STREAM_MAX };

struct sandbox_program_options {
	const char *const *argv; /* NULL-ended */
	const json_t *env;       /* object of texts, before which the policy's variables come; or NULL */
	const char *cwd;         /* NULL: the workdir */
	uint64_t time_limit_ms;  /* 0: no limit */
	bool stdin_is_open;      /* false: stdin is empty */
	bool has_terminal;       /* a terminal of its own is stdin, stdout and stderr; its output is SANDBOX_STDOUT */
	unsigned columns, rows;  /* of the terminal */
	/* It runs. pid: in the sandbox' pid namespace, if it has one; number: as in the log's records. May be NULL. */
	void (*on_start)(void *data, pid_t pid, unsigned number);
	/* Output, borrowed. */
	void (*on_output)(void *data, enum sandbox_stream stream, const char *bytes, size_t len);
	/*
	 * The answer to sandbox_program_request_denials(): "denials", borrowed, an array as in the result; empty when
	 * nothing was denied. May be NULL.
	 */
	void (*on_denials)(void *data, const json_t *denials);
	/* sandbox_program_write() takes bytes again, after it had taken less than it was given. May be NULL. */
	void (*on_room)(void *data);
	/*
	 * Called once, after all output. `result`, borrowed: the session's last answer (status, exit_code, signal,
	 * duration_ms, denials …). It has "error": {"code", "message"} when the program could not be started, or when
	 * its end is not known. Nothing of it runs any more.
	 */
	void (*on_end)(void *data, const json_t *result);
	void *data;
};

/*
 * Starts a program in a sandbox that is ready. The options are borrowed during the call. 0 or -errno: -ENOTCONN: the
 * sandbox is not ready or has ended; -EMSGSIZE: arguments and variables are too long; -EILSEQ: they are not UTF-8.
 */
int sandbox_start_program(struct sandbox *sandbox, const struct sandbox_program_options *options,
			  struct sandbox_program **ret_program);
/* Ends the program, if it runs, with all that it has started, and frees it. No callback is called afterwards. */
void sandbox_program_free(struct sandbox_program *program);
/* Takes at most len bytes of input. The number of bytes taken, 0 when there is no room; -EPIPE: stdin is closed. */
ssize_t sandbox_program_write(struct sandbox_program *program, const char *bytes, size_t len);
/* Closes stdin when the program has got all input. On a terminal, sends the end-of-file character instead. */
void sandbox_program_close_stdin(struct sandbox_program *program);
/* Sends a signal to the program's process group. 0 or -errno: -ESRCH: it has ended. */
int sandbox_program_signal(struct sandbox_program *program, int number);
/*
 * Asks what was denied to the program since the last time; the result then has only what comes after it. 0 or -errno:
 * -ESRCH: it has ended.
 */
int sandbox_program_request_denials(struct sandbox_program *program);
/* Changes the size of its terminal, with which the program gets SIGWINCH. 0 or -errno: -ENOTTY: it has none. */
int sandbox_program_resize(struct sandbox_program *program, unsigned columns, unsigned rows);
/* While it is paused, no output is read, so that the program waits when the pipes are full. */
void sandbox_program_pause_output(struct sandbox_program *program, bool paused);

#endif
