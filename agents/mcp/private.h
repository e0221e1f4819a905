/* Declarations shared by the files of this folder. */
#ifndef CALLGATE_AGENTS_MCP_PRIVATE_H
#define CALLGATE_AGENTS_MCP_PRIVATE_H

#include "agents/context/context.h"
#include "agents/mcp/mcp.h"
#include "agents/mcp/rpc.h"
#include "agents/sandbox/fileop.h"
#include "agents/sandbox/look.h"
#include "agents/sandbox/sandbox.h"
#include "base/buf.h"

#define MCP_CALLS_MAX 64u                 /* tool calls in progress */
#define MCP_OUTPUT_BYTES_MAX (256u << 10) /* bytes shown of stdout, and of stderr; more are only counted */
#define MCP_FILE_BYTES_MAX (8u << 20)     /* largest file that a call can read or write */
#define MCP_RESULT_BYTES_MAX (16u << 20) /* size of all values and images that one run_code shows */
#define MCP_LIST_ENTRIES_MAX 2000u
#define MCP_LANGUAGE_COUNT 3 /* languages of contexts: Python, JavaScript, Bash */
#define MCP_TIMEOUT_S_DEFAULT 60
#define MCP_TIMEOUT_S_MAX 3600
#define MCP_HANDLE_SIZE 40
#define MCP_META_KEY_CLIENT_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"

#define MCP_RETRY_WAIT_MS 600000u /* how long the result of a call is kept for a retry that does not come */

struct tool_call;
struct mcp_approval;

/* ---- the server ---- */

/* The server of `callgate mcp`, with its one client. */
struct mcp {
	struct mcp_options options;
	struct loop *loop;
	struct rpc *rpc;
	struct mcp_sandbox *sandboxes;          /* list */
	/* default sandbox of a client of revision 2025-11-25; borrowed from the list; NULL: none yet */
	struct mcp_sandbox *connection_sandbox;
	unsigned sandbox_count;
	struct tool_call *calls; /* list */
	unsigned call_count;
	struct mcp_approval *approvals; /* list of questions without an answer, in the order in which they came */
	bool client_takes_forms;        /* a client of revision 2025-11-25 has the capability to be asked */
	/* called when a sandbox has become ready, or has ended */
	void (*on_sandbox_change)(struct mcp_sandbox *sandbox);
	/* call_suspend(): approvals.c does not call calls.c, which calls it */
	void (*suspend_call)(struct tool_call *call, json_t *requests);
	bool is_initialized;       /* "initialize" came: requests without a version are of revision 2025-11-25 */
	uint64_t exit_deadline_ms; /* the latest time to exit; 0: the client has not closed its end */
};

/* ---- respond.c ---- */

json_t *respond_make_server_info(void);
/* Sends a result, an object, with the members that the protocol's revision requires. Takes the reference. */
void respond_with_result(struct rpc *rpc, const json_t *id, bool is_of_revision_2026, json_t *result);

/* ---- sandboxes.c ---- */

/* A sandbox of an MCP client. */
struct mcp_sandbox {
	struct mcp *mcp;
	char handle[MCP_HANDLE_SIZE]; /* random text; a client that knows it may use the sandbox */
	struct sandbox *sandbox;
	struct context *contexts[MCP_LANGUAGE_COUNT]; /* by language; NULL: not used yet */
	bool is_ready;                                /* the sandbox was made; it may have ended since */
	unsigned active_call_count;   /* calls that use the sandbox */
	struct loop_timer *end_timer; /* ends the sandbox after too long without calls; after its end, frees it */
	int approver_fd;              /* the socket to the session's approver; -1: there is none */
	struct loop_source *approver_source;
	struct buf approver_line;     /* the beginning of its next line */
	char *end_reason;             /* why the sandbox has ended or could not be made; owned; NULL: neither */
	uint64_t creation_time_ms, last_use_ms;
	struct mcp_sandbox *next;
};

/*
 * Gets a sandbox for a call: by its handle, or, with a NULL handle, a new one (revision 2026-07-28) or the default one
 * of the client (revision 2025-11-25). The sandbox is in use until sandboxes_release(). 0 or -errno: -ENOENT: no such
 * handle; -EUSERS: there are too many sandboxes.
 */
int sandboxes_acquire(struct mcp *mcp, const char *handle, bool is_of_revision_2026, struct mcp_sandbox **ret_sandbox);
void sandboxes_release(struct mcp_sandbox *sandbox);
/* Finds a sandbox by its handle. NULL: no such sandbox, or it has ended. */
struct mcp_sandbox *sandboxes_find(const struct mcp *mcp, const char *handle);
/* Gets the sandbox' context for a language, which is made at the first use. 0 or -errno. */
int sandboxes_get_context(struct mcp_sandbox *sandbox, const char *language, struct context **ret_context);
void sandboxes_free_all(struct mcp *mcp);
/* Writes a text that cannot be guessed: a prefix of 3 bytes, such as "sb-", and random digits. 0 or -errno. */
int sandboxes_make_handle(const char *prefix, char ret_handle[MCP_HANDLE_SIZE]);

/* ---- approvals.c: questions about denied calls, which the client answers ---- */

/* Whether a client with these capabilities can be asked: elicitation, by a form. */
bool approvals_client_takes_forms(const json_t *capabilities);
/* Makes the socket to the approver of a session that is to be made. *ret_session_fd: its end, owned. 0 or -errno. */
int approvals_open_channel(struct mcp_sandbox *sandbox, int *ret_session_fd);
/* Puts the questions of the sandbox that were not put yet, if there is a way; else they are not answered. */
void approvals_put(struct mcp_sandbox *sandbox);
/* The client's response to a request of this side. result: NULL: an error. */
void approvals_take_response(struct mcp *mcp, const char *id, const json_t *result);
/* The client's answers to the interim result of a call, by ids. What has no answer is to be put again. */
void approvals_take_responses_of_retry(struct tool_call *call, const json_t *responses);
/* A call ends: what its interim result has asked is not answered any more. */
void approvals_forget_call(struct mcp *mcp, const struct tool_call *call);
/* Closes the socket, and takes back what the client was asked. */
void approvals_forget_sandbox(struct mcp_sandbox *sandbox);

/* ---- tools.c: the list of tools ---- */

enum parameter_kind { PARAMETER_TEXT, PARAMETER_NUMBER, PARAMETER_OBJECT_OF_TEXTS };

/* A parameter of a tool. */
struct tool_parameter {
	const char *name; /* NULL ends the list */
	enum parameter_kind kind;
	bool is_required;
	const char *description;
	const char *const *allowed_values; /* the texts that are allowed, NULL-ended; NULL: any text */
	int minimum, maximum;      /* of a number */
};

#define TOOL_PARAMETERS_MAX 8

/* A tool that MCP clients may call. */
struct tool {
	const char *name, *title, *description;
	bool needs_sandbox, is_read_only;
	bool needs_workspace; /* only with --cow */
	bool is_destructive;  /* what was written may be lost */
	struct tool_parameter parameters[TOOL_PARAMETERS_MAX];
	const char *output_schema; /* JSON */
	/* Starts a call of the tool, which ends by call_finish() or call_fail(), at once or later. */
	void (*start)(struct tool_call *call);
	/* Stops a call of the tool, with all that it started. NULL: there is nothing to stop. */
	void (*stop)(struct tool_call *call);
};

/* Finds a tool by its name. NULL: no such tool. */
const struct tool *tools_find(const struct mcp *mcp, const char *name);
/* Makes the answer to the method tools/list: all tools. A new reference. */
json_t *tools_make_list(const struct mcp *mcp);
/* True when the arguments are valid for the tool; otherwise adds to `why` what is wrong. `arguments` NULL: none. */
bool tools_check_arguments(const struct tool *tool, const json_t *arguments, struct buf *why);

void tool_run_code(struct tool_call *call);
void tool_stop_code(struct tool_call *call);
void tool_run_command(struct tool_call *call);
void tool_stop_command(struct tool_call *call);
void tool_read_file(struct tool_call *call);
void tool_write_file(struct tool_call *call);
void tool_list_files(struct tool_call *call);
void tool_stop_file_operation(struct tool_call *call);
void tool_make_checkpoint(struct tool_call *call);
void tool_restore_checkpoint(struct tool_call *call);
void tool_show_changes(struct tool_call *call);
void tool_apply_workspace(struct tool_call *call);
void tool_discard_workspace(struct tool_call *call);
void tool_explain_denial(struct tool_call *call);
void tool_report_status(struct tool_call *call);

/* ---- calls.c: a tool call in progress ---- */

/* One output stream of a program. Only its beginning is kept, at most MCP_OUTPUT_BYTES_MAX. */
struct captured_output {
	struct buf kept_output; /* the beginning of the output */
	uint64_t total_bytes;   /* length of all output, kept or not */
};

/* A client's call of a tool, until it is answered. */
struct tool_call {
	struct mcp *mcp;
	json_t *id;             /* owned; NULL: answered with an interim result, and its retry has not come */
	json_t *arguments;      /* owned; an object */
	json_t *progress_token; /* owned; NULL: the client wants no progress notifications */
	const struct tool *tool;
	struct mcp_sandbox *sandbox; /* borrowed; NULL: the tool needs none */
	/* the client's request is of revision 2026-07-28 of the protocol, not of 2025-11-25 */
	bool is_of_revision_2026;
	bool client_takes_forms;        /* the request, of revision 2026-07-28, says that the client can be asked */
	char state[MCP_HANDLE_SIZE];    /* names the call in its retry; "": it has no interim result */
	json_t *kept_result;            /* of a call that has ended before its retry came; owned */
	struct loop_timer *retry_timer; /* until kept_result is dropped */
	bool has_started;                         /* the tool's `start` was called */
	uint64_t start_time_ms, last_progress_ms; /* times of the start, and of the last progress notification */
	unsigned progress_notification_count;     /* notifications that were sent so far */
	struct captured_output stdout_output, stderr_output;
	json_t *content;    /* the result's content items so far; owned */
	json_t *structured; /* run_code, workspaces: the result's structuredContent so far; owned */
	struct context_run *code_run;
	/* run_code: size of the values shown, and the number of values left out */
	size_t result_bytes, omitted_result_count;
	struct fileop *fileop;
	bool content_is_complete; /* write_file: all content was given to fileop_write() */
	struct sandbox_program *program;
	size_t written_bytes;        /* bytes written of the input of a program, or of the content of a file */
	struct buf reply_or_content; /* the reply of `callgate why`, or the content of a file */
	struct host_command *host_command; /* NULL: none runs */
	int host_command_status;           /* exit status of the last one; -1: it has not ended by itself */
	void (*on_reply)(struct tool_call *call);
	struct sandbox_look *look; /* NULL: none goes on */
	json_t *looked;            /* what the look before the start has said; owned; NULL: there was none */
	void (*on_inspected)(struct tool_call *call);
	bool is_error; /* while it is looked which files were changed: for call_finish(), as structured */
	struct tool_call *next;
};

/* Adds a call for a request, whose objects are borrowed. NULL: too many calls are in progress. */
struct tool_call *calls_add(struct mcp *mcp, const struct tool *tool, const json_t *id, const json_t *params,
			    bool is_of_revision_2026);
/* Starts a call, at once or when its sandbox is ready. The call may end, and be freed, before this function returns. */
void call_start(struct tool_call *call);
/* Answers with an interim result, which asks the client. Takes the reference of `requests`. The call goes on. */
void call_suspend(struct tool_call *call, json_t *requests);
/*
 * Goes on with the call that the retry names by params.requestState, which may be freed then. False: there is no such
 * call, or the retry is for another one.
 */
bool calls_resume(struct mcp *mcp, const struct tool *tool, const json_t *id, const json_t *params);
/* Stops the call with the id, and sends no response, as the protocol requires. */
void calls_cancel(struct mcp *mcp, const json_t *id);
/* Called when a sandbox has become ready, or has ended: starts its waiting calls, or makes its calls fail. */
void calls_continue_with_sandbox(struct mcp_sandbox *sandbox);
void calls_free_all(struct mcp *mcp);

/*
 * Sends the result and frees the call. Takes the reference of `structured`, which must match the tool's output schema.
 */
void call_finish(struct tool_call *call, json_t *structured, bool is_error);
/* Sends an error result, whose message tells the model what to do, and frees the call. */
void call_fail(struct tool_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds a text to the result. Parts that are not UTF-8 are replaced by U+FFFD. An empty text is left out. */
void call_add_text(struct tool_call *call, const char *text, size_t len);
void call_add_image(struct tool_call *call, const char *base64, const char *mime_type);
/* Adds denials to the result: a text that describes each, and a list in `structured`. */
void call_add_denials(struct tool_call *call, json_t *structured, const json_t *denials);

/* Keeps output of a program for the result, and sends a progress notification. */
void call_keep_output(struct tool_call *call, struct captured_output *stream, const char *bytes, size_t len);
/* Adds stdout and stderr to the result: as texts, and in `structured` as NAME and NAME_truncated. */
void call_add_output_streams(struct tool_call *call, json_t *structured);

/* ---- host-command.c ---- */

/*
 * Starts a command of callgate's own (agents/sandbox/host-command.h). Its stdout and stderr come into
 * call->reply_or_content; at its end on_reply is called, with call->host_command_status. may_take_long: it is not ended
 * as long as it progresses. 0 or -errno.
 */
int call_start_host_command(struct tool_call *call, const char *const *argv, bool may_take_long,
			    void (*on_reply)(struct tool_call *call));
/* Ends the command, if one runs. The `stop` of tools. */
void call_stop_host_command(struct tool_call *call);

/* ---- inspection.c ---- */

/* Looks at the call's code, if that is wanted, and then calls `start`, or finishes the call that is refused. */
void inspection_start_code(struct tool_call *call, const char *language, void (*start)(struct tool_call *call));
/* The same for a command of bash. */
void inspection_start_command(struct tool_call *call, void (*start)(struct tool_call *call));
/*
 * Adds what was found to the result, and finishes the call, when it is known which of the files were changed since.
 * Takes the reference.
 */
void inspection_finish_call(struct tool_call *call, json_t *structured, bool is_error);
/* Stops to look. */
void inspection_stop(struct tool_call *call);

const char *call_get_text(const struct tool_call *call, const char *name); /* NULL: not given */
json_int_t call_get_number(const struct tool_call *call, const char *name, json_int_t otherwise);
uint64_t call_get_timeout_ms(const struct tool_call *call);

#endif
