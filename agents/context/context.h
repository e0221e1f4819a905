/*
 * A context: an interpreter in a sandbox, which keeps its variables from one code run to the next. Runs are done one
 * after the other; the others wait in a queue. When the interpreter dies, the run in progress gets an error, and the
 * next run starts a new interpreter. The interpreter's output is hostile: only events of the form described at on_event
 * are passed on, and their size is limited.
 */
#ifndef CALLGATE_AGENTS_CONTEXT_CONTEXT_H
#define CALLGATE_AGENTS_CONTEXT_CONTEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "agents/sandbox/sandbox.h"

#define CONTEXT_RUNS_MAX 64 /* runs in the queue, the one in progress included */
#define CONTEXT_CODE_BYTES_MAX (16u << 20) /* most bytes of the code of one code run */
#define CONTEXT_EVENT_BYTES_MAX (16u << 20) /* longer events are dropped */
#define CONTEXT_EVENT_JSON_VALUES_MAX 500000    /* JSON values in an event */
#define CONTEXT_EVENT_JSON_DEPTH_MAX 64
/* Time between the SIGINT and the SIGKILL for a run that has exceeded its timeout, without pauses of the sandbox. */
#define CONTEXT_INTERRUPT_GRACE_MS 2000
/* how often a run whose timeout expired while the sandbox is paused is checked again */
#define CONTEXT_PAUSE_CHECK_INTERVAL_MS 500

struct context;
struct context_run;

/* How a context's interpreter is started. */
struct context_options {
	const char *language;          /* "python", "javascript", "typescript" (takes node 22.13 or later) or "bash" */
	const char *cwd;               /* NULL: the sandbox' workdir */
	const char *interpreter;       /* name or path; NULL: python3, node or bash */
	const json_t *env;             /* environment variables of the interpreter, an object of texts; or NULL */
	/* Python only: the names of modules that the interpreter imports when it starts, NULL-ended; or NULL */
	const char *const *modules_to_import;
	/*
	 * Python only: each run is done by a fork of the interpreter, whose variables are lost when the run ends.
	 * Processes and files that a run has made stay.
	 */
	bool forks_for_each_run;
};

/*
 * Starts an interpreter in a sandbox that is ready. The options are borrowed during the call. The caller frees all
 * contexts before their sandbox. 0 or -errno: -ENOTSUP: no such language; -ENOTCONN: the sandbox is not ready, or has
 * ended.
 */
int context_create(struct loop *loop, struct sandbox *sandbox, const struct context_options *options,
		   struct context **ret_context);
/*
 * Ends the interpreter and frees the context. No callback of its runs is called afterwards; the caller still frees each
 * run. NULL is fine.
 */
void context_free(struct context *context);
/* True when the interpreter waits for code: a run would begin at once. */
bool context_is_ready(const struct context *context);
/* Ends the interpreter and starts a new one. All runs in the queue end with the error "ContextRestarted". */
void context_restart(struct context *context);

/* What a code run executes, and who gets its events. */
struct context_run_options {
	const char *code;
	const json_t *env; /* environment variables during this run, an object of texts; or NULL */
	/* counted from when the run is first in the queue; at its end the run is interrupted, then killed; 0: none */
	uint64_t timeout_ms;
	/*
	 * Called for each event of the run, in order. `event` is borrowed, and is one of:
	 *   {"type": "stdout"|"stderr", "text": …, "timestamp": nanoseconds since 1970}
	 *   {"type": "result", "is_main_result": bool} with some of "text", "html", "markdown", "svg", "png", "jpeg",
	 *       "pdf" (these in base64), "latex", "javascript": texts; "json": any; "data", "chart", "extra": objects.
	 *       The "text" of a string value has its quotes.
	 *   {"type": "error", "name": …, "value": …, "traceback": …}: an error of the code, or one of
	 *       "InterpreterDied", "InterpreterFailed" (it cannot be started), "ContextRestarted", "TimeoutError",
	 *       "KeyboardInterrupt" (context_run_interrupt()), and in bash "ExitStatus"
	 *   {"type": "number_of_executions", "execution_count": N}
	 *   {"type": "denials", "denials": [...]}: only if something was denied to the run; as in a program's result
	 */
	void (*on_event)(void *data, const json_t *event);
	void (*on_end)(void *data); /* called once, after all events */
	void *data;
};

/*
 * Adds a run of code to the queue. The options are borrowed during the call, and no callback is called before it
 * returns. The caller owns the run. 0 or -errno: -EAGAIN: the queue has CONTEXT_RUNS_MAX runs; -EMSGSIZE: the code is
 * too long; -EINVAL: a variable has an invalid name or value; -EILSEQ: the code is not UTF-8.
 */
int context_run_code(struct context *context, const struct context_run_options *options,
		     struct context_run **ret_run);
/* Interrupts a run as Ctrl-C does. A run that still waits in the queue ends at once. */
void context_run_interrupt(struct context_run *run);
/* Stops or resumes reading the interpreter's output, for slow consumers. The pause ends with the run. */
void context_run_pause_output(struct context_run *run, bool paused);
/*
 * Frees a run. Its callbacks are not called afterwards. A run in progress is interrupted, and its interpreter is killed
 * after CONTEXT_INTERRUPT_GRACE_MS.
 */
void context_run_free(struct context_run *run);

#endif
