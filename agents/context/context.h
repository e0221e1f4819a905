/*
 * A context: an interpreter in a sandbox that keeps its variables. Code is run in it, one run after the other; further
 * runs wait. When the interpreter has died, the run learns it by an error, and the next run starts another. What comes
 * out of the interpreter is hostile: only events of the form below get through, with bounds.
 */
#ifndef CALLGATE_AGENTS_CONTEXT_CONTEXT_H
#define CALLGATE_AGENTS_CONTEXT_CONTEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "agents/sandbox/sandbox.h"

#define CONTEXT_RUNS_MAX 64                /* that wait or run */
#define CONTEXT_CODE_BYTES_MAX (16u << 20)
#define CONTEXT_EVENT_BYTES_MAX (16u << 20) /* longer ones are dropped */
#define CONTEXT_EVENT_VALUES_MAX 500000    /* JSON values in an event */
#define CONTEXT_EVENT_DEPTH_MAX 64
#define CONTEXT_INTERRUPT_GRACE_MS 2000 /* from the interrupt of a run that took too long to the kill */

struct context;
struct context_run;

struct context_options {
	const char *language;          /* "python", "javascript", "typescript" (node 22.13) or "bash" */
	const char *cwd;               /* NULL: the workdir */
	const char *interpreter;       /* name or path; NULL: python3, node or bash */
	const json_t *env;             /* variables of the interpreter, or NULL */
	const char *const *warm;       /* Python: modules to import at the start, NULL-ended; or NULL */
	/* Python: each run is a fork of the interpreter, and leaves no variables. Processes and files stay. */
	bool forks_for_each_run;
};

/*
 * Starts an interpreter in a sandbox that is ready. The options are borrowed during the call. Contexts are freed before
 * their sandbox. 0 or -errno: -ENOTSUP: no such language; -ENOTCONN: the sandbox is not ready, or has ended.
 */
int context_create(struct loop *loop, struct sandbox *sandbox, const struct context_options *options,
		   struct context **ret_context);
/* Ends the interpreter. No callback of its runs is called afterwards; each is still to be freed. NULL is fine. */
void context_free(struct context *context);
/* True when the interpreter waits for code: a run would begin at once. */
bool context_is_ready(const struct context *context);
/* Ends the interpreter and starts another. Runs that wait or run end with the error "ContextRestarted". */
void context_restart(struct context *context);

struct context_run_options {
	const char *code;
	const json_t *env;   /* variables during this run, an object of texts, or NULL */
	uint64_t timeout_ms; /* from when it is the first in the queue: then interrupted, then killed; 0: none */
	/*
	 * What it does, in order; borrowed:
	 *   {"type": "stdout"|"stderr", "text": …, "timestamp": nanoseconds since 1970}
	 *   {"type": "result", "is_main_result": bool} with some of "text", "html", "markdown", "svg", "png", "jpeg",
	 *       "pdf" (these in base64), "latex", "javascript": texts; "json": any; "data", "chart", "extra": objects.
	 *       The "text" of a text has its quotes.
	 *   {"type": "error", "name": …, "value": …, "traceback": …}: beside the code's own errors
	 *       "InterpreterDied", "InterpreterFailed" (it cannot be started), "ContextRestarted", "TimeoutError",
	 *       "KeyboardInterrupt" (context_interrupt()), and in bash "ExitStatus"
	 *   {"type": "number_of_executions", "execution_count": N}
	 *   {"type": "denials", "denials": [...]}: what was denied to it, if anything, as in a program's result
	 */
	void (*on_event)(void *data, const json_t *event);
	void (*on_end)(void *data); /* called once, the last */
	void *data;
};

/*
 * Runs code, after the runs before it. The options are borrowed during the call; callbacks come later. The run is owned
 * by the caller. 0 or -errno: -EAGAIN: CONTEXT_RUNS_MAX; -EMSGSIZE: the code is too long; -EINVAL: a variable's name or
 * value; -EILSEQ: the code is not UTF-8.
 */
int context_run_code(struct context *context, const struct context_run_options *options,
		     struct context_run **ret_run);
/* As Ctrl-C. A run that waits ends at once. */
void context_interrupt(struct context_run *run);
/* While it is paused, the interpreter's output is not read: for slow consumers. Ends with the run. */
void context_run_pause_output(struct context_run *run, bool paused);
/* No callback is called afterwards. A run in progress is interrupted; killed after CONTEXT_INTERRUPT_GRACE_MS. */
void context_run_free(struct context_run *run);

#endif
