/* The contexts of a sandbox, as clients see them, and the code that waits or runs in each. */
#ifndef CALLGATE_AGENTS_E2B_CONTEXTS_H
#define CALLGATE_AGENTS_E2B_CONTEXTS_H

#include "agents/context/context.h"
#include "agents/e2b/private.h"

/* A context of a sandbox, as clients see it. */
struct e2b_context {
	struct e2b_context *next;
	struct e2b_sandbox *box;
	struct context *interpreter; /* NULL: not started yet; the first code to run starts it */
	char id[E2B_ID_SIZE];
	const char *language;
	char *cwd;
	bool is_default; /* code in the context's language runs in it if the client names no context */
	struct execution *executions;
};

/* A request to run code in a context: /execute. */
struct execution {
	struct execution *next;
	struct e2b_context *context;
	struct e2b_call *call;
	struct context_run *run;
	struct sandbox_look *look; /* at the code, before it runs; NULL: none, or ended */
	char *code;                /* owned; NULL once it runs */
	json_t *env, *looked;      /* owned; the answer of the look, NULL: none */
	bool is_refused;           /* what was found in the code refuses it */
	char *refusal;             /* if it is_refused, why; owned; NULL: no memory for that */
};

/* Frees a request that is in no list, and ends its run. */
void execution_free(struct execution *execution);

/* Frees a context, and aborts the calls that run code in it. */
void e2b_context_free(struct e2b_context *context);

/* Makes a context, without starting its interpreter. NULL: no memory. */
struct e2b_context *e2b_context_add(struct e2b_sandbox *box, const char *language, const char *cwd);

/* Starts the context's interpreter, unless it was started before. 0 or -errno. */
int e2b_context_start_interpreter(struct e2b_context *context);

/* NULL: the sandbox has none of this id. */
struct e2b_context *e2b_context_find(const struct e2b_sandbox *box, const char *id);

/* What clients are told of it. A new reference; NULL: no memory. */
json_t *e2b_context_describe(const struct e2b_context *context);

/* The context that a client gets without naming one, by language; it is made if there is none. NULL: no memory. */
struct e2b_context *e2b_context_get_default(struct e2b_sandbox *box, const char *language);

/* Makes the default contexts, because clients can list them before any code has run in them. */
void e2b_context_add_defaults(struct e2b_sandbox *box);

#endif
