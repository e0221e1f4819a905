/* Declarations shared by the files of this folder. */
#ifndef CALLGATE_AGENTS_MCP_PRIVATE_H
#define CALLGATE_AGENTS_MCP_PRIVATE_H

#include "agents/context/context.h"
#include "agents/mcp/mcp.h"
#include "agents/mcp/rpc.h"
#include "agents/sandbox/fileop.h"
#include "agents/sandbox/sandbox.h"
#include "base/buf.h"

#define MCP_CALLS_MAX 64u                 /* tool calls in progress */
#define MCP_OUTPUT_BYTES_MAX (256u << 10) /* of each stream, in a result; the rest is counted */
#define MCP_FILE_BYTES_MAX (8u << 20)     /* of a file that one call reads or writes */
#define MCP_RESULT_BYTES_MAX (16u << 20)  /* of all values and images that one run_code shows */
#define MCP_LIST_ENTRIES_MAX 2000u
#define MCP_LANGUAGE_COUNT 3
#define MCP_TIMEOUT_S_DEFAULT 60
#define MCP_TIMEOUT_S_MAX 3600
#define MCP_HANDLE_SIZE 40

struct tool_call;

/* ---- the server ---- */

struct mcp {
	struct mcp_options options;
	struct loop *loop;
	struct rpc *rpc;
	struct mcp_sandbox *sandboxes;          /* list */
	struct mcp_sandbox *connection_sandbox; /* of a client of 2025-11-25; borrowed from the list; NULL: none yet */
	unsigned sandbox_count;
	struct tool_call *calls; /* list */
	unsigned call_count;
	void (*on_sandbox_change)(struct mcp_sandbox *sandbox); /* it has become ready, or has ended: its calls go on */
	bool is_initialized;       /* the client sent "initialize": requests without version are those of 2025-11-25 */
	uint64_t exit_deadline_ms; /* when the process ends at the latest; 0: the client has not closed its end */
};

/* ---- respond.c ---- */

json_t *respond_make_server_info(void);
/* Sends a result, an object, with what its revision wants in it. Takes the reference. */
void respond_with_result(struct rpc *rpc, const json_t *id, bool is_of_revision_2026, json_t *result);

/* ---- sandboxes.c ---- */

struct mcp_sandbox {
	struct mcp *mcp;
	char handle[MCP_HANDLE_SIZE]; /* random: who knows it may use the sandbox */
	struct sandbox *sandbox;
	struct context *contexts[MCP_LANGUAGE_COUNT]; /* NULL: not used yet */
	bool is_ready;
	unsigned active_call_count;   /* that use it */
	struct loop_timer *end_timer; /* until it ends for want of calls, or until it is freed after its end */
	char *end_reason;             /* owned; it has ended or could not be made; NULL: neither */
	uint64_t created_ms, used_ms;
	struct mcp_sandbox *next;
};

/*
 * Finds the sandbox with a handle. Without one (NULL) makes a new sandbox, or takes that of the connection. It is in
 * use until sandboxes_release(). 0, -ENOENT, -EMFILE: there are too many, or another -errno.
 */
int sandboxes_acquire(struct mcp *mcp, const char *handle, bool is_of_revision_2026, struct mcp_sandbox **ret_sandbox);
void sandboxes_release(struct mcp_sandbox *sandbox);
/* NULL: none has this handle, or it has ended. */
struct mcp_sandbox *sandboxes_find(const struct mcp *mcp, const char *handle);
/* The context for a language in it, made at the first use. 0 or -errno. */
int sandboxes_get_context(struct mcp_sandbox *sandbox, const char *language, struct context **ret_context);
void sandboxes_free_all(struct mcp *mcp);

/* ---- tools.c: the list ---- */

enum parameter_kind { PARAMETER_TEXT, PARAMETER_NUMBER, PARAMETER_OBJECT_OF_TEXTS };

struct tool_parameter {
	const char *name; /* NULL ends the list */
	enum parameter_kind kind;
	bool is_required;
	const char *description;
	const char *const *values; /* the texts that are allowed, NULL at the end; NULL: any */
	int minimum, maximum;      /* of a number */
};

#define TOOL_PARAMETERS_MAX 8

struct tool {
	const char *name, *title, *description;
	bool needs_sandbox, reads_only;
	struct tool_parameter parameters[TOOL_PARAMETERS_MAX];
	const char *output_schema; /* JSON */
	/* Starts the call. Its end is call_finish() or call_fail(), at once or later. */
	void (*start)(struct tool_call *call);
	/* Stops it: nothing of it may go on. NULL: there is nothing to stop. */
	void (*stop)(struct tool_call *call);
};

/* NULL: there is none of that name. */
const struct tool *tools_find(const char *name);
/* The list for tools/list. A new reference. */
json_t *tools_list(void);
/* Whether the arguments fit the tool; else adds to `why` what does not. NULL arguments: none were given. */
bool tools_check_arguments(const struct tool *tool, const json_t *arguments, struct buf *why);

void tool_run_code(struct tool_call *call);
void tool_stop_code(struct tool_call *call);
void tool_run_command(struct tool_call *call);
void tool_stop_command(struct tool_call *call);
void tool_read_file(struct tool_call *call);
void tool_write_file(struct tool_call *call);
void tool_list_files(struct tool_call *call);
void tool_stop_file_operation(struct tool_call *call);
void tool_explain_denial(struct tool_call *call);
void tool_stop_question(struct tool_call *call);
void tool_report_status(struct tool_call *call);

/* ---- calls.c: a tool call in progress ---- */

/* Output of a program, of which the beginning is kept. */
struct captured_output {
	struct buf kept_output;
	uint64_t total_bytes;
};

struct tool_call {
	struct mcp *mcp;
	json_t *id;             /* owned */
	json_t *arguments;      /* owned; an object */
	json_t *progress_token; /* owned; NULL: the client wants no progress */
	const struct tool *tool;
	struct mcp_sandbox *sandbox; /* borrowed; NULL: the tool needs none */
	bool is_of_revision_2026;    /* of revision 2026-07-28 */
	bool has_started;
	uint64_t started_ms, progress_ms; /* when it started, and when progress was told last */
	unsigned progress_notification_count;
	struct loop_timer *question_timeout_timer;
	struct captured_output stdout_output, stderr_output;
	json_t *content;    /* items of the result, owned: made as they come */
	json_t *structured; /* of run_code, while it runs; owned */
	struct context_run *run;
	size_t result_bytes, omitted_results; /* of run_code */
	struct fileop *fileop;
	bool content_is_complete; /* all of a file was given to fileop_write() */
	struct sandbox_program *program;
	size_t written_bytes;        /* of the program's input */
	struct buf reply_or_content; /* the reply to a question */
	struct policy_question *question;
	struct tool_call *next;
};

/* Adds a call for a request, whose objects are borrowed. NULL: there are too many. */
struct tool_call *calls_add(struct mcp *mcp, const struct tool *tool, const json_t *id, const json_t *params,
			    bool is_of_revision_2026);
/* Starts it, if need be when its sandbox is ready. The response may come at once, and the call be freed. */
void call_start(struct tool_call *call);
/* Stops the call of that id without a response, as the protocol wants it. */
void calls_cancel(struct mcp *mcp, const json_t *id);
/* The sandbox became ready, or ended: goes on with its calls. */
void calls_continue_with_sandbox(struct mcp_sandbox *sandbox);
void calls_free_all(struct mcp *mcp);

/* Sends the result and frees the call. Takes the reference of `structured`, which fits the tool's output schema. */
void call_finish(struct tool_call *call, json_t *structured, bool is_error);
/* The same for what failed in a way that a model can do something about. */
void call_fail(struct tool_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds an item to the result. `text` may have any bytes. Empty texts are left out. */
void call_add_text(struct tool_call *call, const char *text, size_t len);
void call_add_image(struct tool_call *call, const char *base64, const char *mime_type);
/* Adds what was refused meanwhile: to the text, what, why and the way out; and the list to `structured`. */
void call_add_denials(struct tool_call *call, json_t *structured, const json_t *denials);

/* Keeps output of a program, and tells the client of progress. */
void call_keep_output(struct tool_call *call, struct captured_output *stream, const char *bytes, size_t len);
/* Adds both streams to the text, and as NAME and NAME_truncated to `structured`. */
void call_add_streams(struct tool_call *call, json_t *structured);

const char *call_get_text(const struct tool_call *call, const char *name); /* NULL: not given */
json_int_t call_get_number(const struct tool_call *call, const char *name, json_int_t otherwise);
uint64_t call_get_timeout_ms(const struct tool_call *call);

#endif
