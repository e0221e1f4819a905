/* Declarations shared by the files of this folder. */
#ifndef CALLGATE_AGENTS_CONTEXT_PRIVATE_H
#define CALLGATE_AGENTS_CONTEXT_PRIVATE_H

#include "agents/context/context.h"
#include "agents/context/frames.h"
#include "base/buf.h"
#include "base/cleanup-json.h"

#define CONTEXT_NONCE_BYTES 32 /* hexadecimal digits */

struct context_run {
	struct context *context; /* NULL: it has ended, or the context was freed */
	struct context_run *next;
	struct context_run_options options; /* only callbacks and timeout_ms */
	char *code;  /* owned */
	json_t *env; /* owned; NULL: none */
	unsigned run_number;
	bool is_sent_to_interpreter, has_begun; /* the interpreter was asked to run it; has said that it does */
	bool is_retry;                          /* an interpreter has died before it began */
	bool has_end_event_on[SANDBOX_STREAM_MAX];
	bool awaits_denials; /* it has ended but for them */
	bool was_interrupted, has_timed_out, has_failed; /* has_failed: an error was told */
	bool is_freed_by_caller;                         /* the caller has freed it */
	struct loop_timer *start_timer;                  /* when it was asked for in a callback */
	struct loop_timer *timeout_timer;                /* the timeout, then the kill */
};

struct context {
	struct loop *loop;
	struct sandbox *sandbox;
	const struct language *language;
	char *cwd, *interpreter; /* owned; NULL: the default */
	json_t *env, *warm;      /* owned */
	bool forks_for_each_run;
	struct sandbox_program *interpreter_program; /* the interpreter; NULL: none runs */
	unsigned
		interpreter_generation; /* of the interpreter: what an earlier one has said is not looked at any more */
	bool has_ready_event_on[SANDBOX_STREAM_MAX]; /* it has said so */
	bool is_ready;           /* and what was denied to its start is known */
	struct frames frame_parsers[SANDBOX_STREAM_MAX];
	char nonce[CONTEXT_NONCE_BYTES + 1];
	struct buf pending_input; /* what the interpreter is still to read, from input_at on */
	size_t pending_input_sent_bytes;
	char *unreported_death_text;   /* how it has ended while nothing ran: the next run is told; owned */
	struct context_run *first_run; /* the queue: the first one runs */
	unsigned run_count, last_run_number;
	unsigned reference_count;
	bool is_freed;
};

/* ---- interpreter.c: the program, its requests ---- */

/* As those of sandbox_program_options. */
struct interpreter_callbacks {
	void (*on_output)(void *data, enum sandbox_stream stream, const char *bytes, size_t len);
	void (*on_denials)(void *data, const json_t *denials);
	void (*on_end)(void *data, const json_t *result);
};

/* Finds a language. NULL: there is none of this name. */
const struct language *language_find(const char *name);
/* Starts an interpreter, whose callbacks get the context. 0 or -errno. */
int interpreter_start(struct context *context, const struct interpreter_callbacks *callbacks);
/* Asks it to run the first run's code. */
void interpreter_send_run(struct context *context);
void interpreter_discard(struct context *context);
void interpreter_signal(struct context *context, int number);

/* ---- event.c ---- */

/* The event of a line of the interpreter's, with nothing that context.h does not promise; owned. NULL: it is none. */
json_t *event_parse(const char *line, size_t len);
/* An event of output. Bytes that are not UTF-8 become U+FFFD. */
json_t *event_make_output(enum sandbox_stream stream, const char *bytes, size_t len);

#endif
