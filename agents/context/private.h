/* Declarations shared by the files of this folder. */
#ifndef CALLGATE_AGENTS_CONTEXT_PRIVATE_H
#define CALLGATE_AGENTS_CONTEXT_PRIVATE_H

#include "agents/context/context.h"
#include "agents/context/frames.h"
#include "base/buf.h"
#include "base/cleanup-json.h"

#define CONTEXT_NONCE_DIGITS 32 /* hexadecimal */

/* A code run of a context, in progress or in its queue. */
struct context_run {
	struct context *context; /* NULL: the run has ended, or the context was freed */
	struct context_run *next;
	struct context_run_options options; /* only the callbacks and timeout_ms are kept */
	char *code;  /* owned */
	json_t *env; /* owned; NULL: none */
	unsigned run_number;         /* by which the interpreter's events name the run */
	bool is_sent_to_interpreter; /* the request to run the code was queued for the interpreter */
	bool has_begun;              /* the interpreter has reported that the code runs */
	bool is_retry;               /* the run is sent again, because an interpreter died before the run began */
	bool has_end_event_on[SANDBOX_STREAM_MAX]; /* the interpreter has sent the run's end on this stream */
	bool awaits_denials; /* the run has ended, but the answer about its denials has not come yet */
	bool was_interrupted, has_timed_out;
	bool has_failed;                  /* an event of type "error" was reported */
	bool was_freed_by_caller;         /* context_run_free() was called during the run */
	struct loop_timer *start_timer;   /* starts the run from the loop, see context_run_code() */
	struct loop_timer *timeout_timer; /* first for the timeout; after the interrupt, for SIGKILL */
	uint64_t timeout_due_ms;          /* when timeout_timer is due, by sandbox_get_running_ms() */
	void (*on_timeout)(struct context_run *run); /* called then */
};

/* Callbacks of the interpreter's program, as in struct sandbox_program_options. */
struct interpreter_callbacks {
	void (*on_output)(void *data, enum sandbox_stream stream, const char *bytes, size_t len);
	void (*on_denials)(void *data, const json_t *denials);
	void (*on_end)(void *data, const json_t *result);
};

/* A context: an interpreter in a sandbox, and the code runs that wait for it. */
struct context {
	struct loop *loop;
	struct sandbox *sandbox;
	const struct language *language;
	const struct interpreter_callbacks *callbacks; /* of each of its interpreters */
	char *cwd, *interpreter; /* owned; NULL: the default directory or interpreter */
	json_t *env, *modules_to_import; /* owned */
	bool forks_for_each_run;         /* see struct context_options */
	struct sandbox_program *interpreter_program; /* NULL: no interpreter runs */
	/* counts interpreters; a function compares it to see whether a callback has ended the interpreter */
	unsigned interpreter_generation;
	bool has_ready_event_on[SANDBOX_STREAM_MAX]; /* the interpreter has sent its ready event on this stream */
	bool is_ready; /* the interpreter takes runs: both ready events came, and the denials of its start are known */
	struct frames_parser frame_parsers[SANDBOX_STREAM_MAX];
	char nonce[CONTEXT_NONCE_DIGITS + 1];
	struct buf pending_input; /* input for the interpreter; pending_input_sent_bytes of it are written */
	size_t pending_input_sent_bytes;
	/* how the interpreter ended while no run was in progress; the next run reports it; owned */
	char *unreported_death_text;
	struct context_run *first_run; /* the queue of runs; the first one is in progress */
	unsigned run_count, last_run_number;
	unsigned reference_count;
	bool is_freed; /* the owner has freed it; callbacks still use it */
};

/* ---- queue.c: the runs ---- */

/* Frees the context with its last reference, so that a callback may free it while it is used. */
void context_drop_reference(struct context *context);

/* Frees a run that is in no queue. */
void run_free(struct context_run *run);

/* The run has ended, or its context is freed: its timers are stopped. */
void run_detach_from_context(struct context_run *run);

/* Finds a run by its number after a callback, which may have ended and freed the run. NULL: the run has ended. */
struct context_run *context_find_run(const struct context *context, unsigned number);

/*
 * Passes an event to the run's callback. Takes the reference to the event. False: the callback has freed the context or
 * ended its interpreter.
 */
bool run_report_event(struct context_run *run, json_t *event);

/* Reports an event of type "error" likewise. */
bool __attribute__((format(printf, 3, 4)))
run_report_error(struct context_run *run, const char *name, const char *format, ...);

/* Removes a run from the queue, and calls its on_end. */
void run_end(struct context_run *run);

/* Reports an error of a run, ends the run, and starts the next one. */
void context_fail_run(struct context *context, struct context_run *run, const char *name, const char *reason);

/* Sends the first run to the interpreter, if the interpreter is ready. Starts an interpreter if there is none. */
void context_start_next_run(struct context *context);

/* ---- reports.c: what the interpreter tells of them ---- */

extern const struct interpreter_callbacks interpreter_reports;

/* ---- interpreter.c: starts and ends the interpreter, sends it requests ---- */

/* Finds a language by its name, such as "python". NULL: no such language. */
const struct language *language_find(const char *name);
/*
 * Ends the context's interpreter, if any, and starts a new one, whose callbacks get the context as `data`. 0 or -errno.
 */
int interpreter_start(struct context *context);
/* Asks the interpreter to run the code of the first run in the queue. */
void interpreter_send_run(struct context *context);
void interpreter_discard(struct context *context);
void interpreter_signal(struct context *context, int number);

/* ---- event.c ---- */

/*
 * Parses a line of JSON from the interpreter. The event has only the members that context.h promises. A new reference;
 * NULL: the line is not a valid event.
 */
json_t *event_parse(const char *line, size_t len);
/* Makes an event of type "stdout" or "stderr". Parts that are not UTF-8 are replaced by U+FFFD. A new reference. */
json_t *event_make_output(enum sandbox_stream stream, const char *bytes, size_t len);

#endif
