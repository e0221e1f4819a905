/* What the files of agents/e2b/ share. */
#ifndef CALLGATE_AGENTS_E2B_PRIVATE_H
#define CALLGATE_AGENTS_E2B_PRIVATE_H

#include "agents/e2b/e2b.h"
#include "agents/http/http.h"
#include "agents/sandbox/look.h"
#include "agents/sandbox/sandbox.h"
#include "base/cleanup-json.h"
#include "base/sha256.h"

#define E2B_ENVD_PORT 49983        /* requests for this port are for envd: programs and files of the sandbox */
#define E2B_INTERPRETER_PORT 49999 /* requests for this port are for the code interpreter */
#define E2B_ENVD_VERSION "0.6.4"   /* version of envd's protocol, by which the SDKs choose what they use */
#define E2B_WORKDIR "/home/user"

#define E2B_BODY_BYTES_MAX (8u << 20)       /* longest request body that is read as JSON */
#define E2B_SANDBOXES_MAX_DEFAULT 200u      /* sandboxes of all keys at a time, if the options do not say */
#define E2B_SANDBOXES_MAX 10000u            /* the highest value of the option "sandboxes" */
#define E2B_ID_SIZE 21                      /* "i", 19 letters and digits (95 random bits), and a NUL */
#define E2B_TOKEN_SIZE SHA256_HEX_SIZE      /* 256 random bits in hexadecimal, and a NUL */
#define E2B_SANDBOX_TIMEOUT_DEFAULT_S 15u           /* time to live of a sandbox, if its client does not say */
#define E2B_SANDBOX_TIMEOUT_MAX_S 86400u            /* the longest time to live that a client may ask for */
#define E2B_NAME_VALUE_PAIRS_MAX 64u              /* name-value pairs in a sandbox's metadata, or in its environment */
#define E2B_NAME_VALUE_PAIR_BYTES_MAX (32u << 10) /* name and value of one pair together */
#define E2B_PROCESSES_MAX 256u              /* programs that run at a time in one sandbox */
#define E2B_WATCHERS_MAX 64u                /* directory watches of one sandbox */
#define E2B_CONTEXTS_MAX 64u                /* interpreter contexts of one sandbox */

/* ---- keys and quotas: keys.c ---- */

#define E2B_KEYS_MAX 256u

struct e2b_sandbox;
struct e2b_template;

/* An API key: who has it may make sandboxes, within the key's quotas. */
struct e2b_key {
	char *name;                     /* for the log and the metrics */
	char key_hash[SHA256_HEX_SIZE]; /* SHA-256 of the key's text; the text itself is not kept */
	uint64_t sandboxes_max, memory_max_bytes, disk_max_bytes, cpu_max_ms; /* quotas; UINT64_MAX: no limit */
	uint64_t sandbox_count, reserved_memory_bytes, reserved_disk_bytes;   /* of the sandboxes that exist now */
	uint64_t used_cpu_ms; /* processor time charged to the key since the server's start */
	bool is_operator;     /* may read the metrics of all keys */
	uint64_t created_sandbox_count, refused_request_count; /* counted since the server's start */
	uint64_t waiting_request_count; /* requests of the key that wait for a sandbox */
	/* e2b.admitted_request_count when a request of the key was last admitted; the key with the lowest is next */
	uint64_t admitted_count_at_last_turn;
};

/* Reads the API keys of the server's options. 0 or -errno; *ret_why, owned by the caller, may say what is wrong. */
int keys_load_all(struct e2b *e2b, const json_t *list, char **ret_why);
void keys_free_all(struct e2b *e2b);
/* Charges the sandbox's key. cpu_ms: processor time of the sandbox so far, part of which may be charged already. */
void keys_charge_cpu(struct e2b_sandbox *box, uint64_t cpu_ms);
bool keys_cpu_quota_is_used_up(const struct e2b_key *key);
/* Finds an API key by its text. NULL: no key has that text, or the text is NULL. */
struct e2b_key *keys_find_by_text(struct e2b *e2b, const char *text);
/* Whether the key may have one more sandbox of the template. False: *ret_what names the quota that is used up. */
bool keys_have_quota_for(const struct e2b_key *key, const struct e2b_template *template, const char **ret_what);
void keys_reserve_quota(struct e2b_key *key, const struct e2b_template *template);
void keys_return_quota(struct e2b_key *key, const struct e2b_template *template);
/* Compares two texts. How long the comparison takes tells their length, but not where they differ. */
bool keys_equal_in_constant_time(const char *a, const char *b);
/* Makes the id of a sandbox, watcher or context. False: getrandom(2) fails. */
bool keys_make_random_id(char id[E2B_ID_SIZE]);
/* Makes a secret token. False: getrandom(2) fails. */
bool keys_make_random_token(char token[E2B_TOKEN_SIZE]);

/*
 * Starts a timer that charges running sandboxes to their keys and enforces quotas of processor time: quota.c. Without
 * such a quota it does nothing. 0 or -ENOMEM.
 */
int quota_start_cpu_watch(struct e2b *e2b);
void quota_stop_cpu_watch(struct e2b *e2b);

/* ---- templates: template.c ---- */

/* What new sandboxes are made of, read from the template's directory. */
struct e2b_template {
	struct e2b_template *next;
	char *name;
	char **create_arguments;             /* arguments of `callgate session create`, NULL-ended */
	json_t *env;                         /* environment variables of programs in the template's sandboxes */
	char *setup_command;                 /* shell command that is run in each new sandbox; NULL: none */
	char *python_interpreter;            /* name or path of the contexts' Python; NULL: python3 */
	unsigned wanted_spare_count;         /* spares to keep ready */
	char **preloaded_modules;            /* modules that the contexts' Python imports at its start, NULL-ended */
	unsigned spare_count;                /* spares that are ready or being made */
	unsigned consecutive_spare_failures; /* spares that could not be made since the last one that could */
	struct loop_timer *refill_timer;     /* NULL: not set */
	struct e2b *e2b;
	uint64_t memory_limit_bytes, disk_limit_bytes; /* of each sandbox */
	int server_policy_fd; /* memfd with the server's own part of the policy: account, workdir; -1: none */
};

/* Reads all templates at the server's start, so that spares are made before the first request. */
void templates_load_all(struct e2b *e2b);
/*
 * Finds a template by its name, and reads its directory at the first use. NULL: there is none, or it cannot be read:
 * then *ret_why, owned by the caller, says why.
 */
struct e2b_template *template_find(struct e2b *e2b, const char *name, char **ret_why);
void templates_free_all(struct e2b *e2b);

/* ---- sandboxes: sandbox.c ---- */

struct e2b_waiting_request;
struct e2b_process;
struct e2b_watcher;
struct e2b_context;
struct e2b_call;

enum pause_state { PAUSE_NONE, PAUSE_BEGINS, PAUSE_LASTS, PAUSE_ENDS };

/* A sandbox of the server: a client's, or a spare. It is being made until is_ready. */
struct e2b_sandbox {
	struct e2b_sandbox *next;
	struct e2b *e2b;
	struct e2b_key *key; /* the client's API key; NULL: a spare */
	struct e2b_template *template;
	struct sandbox *sandbox;                                     /* the session that the programs run in */
	bool is_ready;                                               /* false: the sandbox is being made */
	void (*on_made)(struct e2b_sandbox *box, const char *error); /* error NULL: the sandbox is ready */
	struct sandbox_program *setup_program; /* the template's setup command while it runs; NULL: it does not run */
	char setup_stderr[1024];               /* stderr of the setup command, cut to this size */
	size_t setup_stderr_len;
	bool is_spare;                       /* made before a client asked for it, and not given to a client yet */
	struct http_request *create_request; /* the client's request, until it is answered; NULL: none waits */
	char id[E2B_ID_SIZE];
	char envd_token[E2B_TOKEN_SIZE];    /* what clients send as X-Access-Token; "": no token is needed */
	char traffic_token[E2B_TOKEN_SIZE]; /* what clients send as E2B-Traffic-Access-Token */
	json_t *metadata;                   /* the client's own texts, by which sandboxes can be listed */
	json_t *env;                        /* environment variables that the client has set for all programs */
	json_t *allow_internet_access;      /* true or false of the create request; NULL: not given */
	/* times of CLOCK_REALTIME: when the sandbox was asked for; when its time to live ends */
	int64_t start_time_ms, end_time_ms;
	int64_t timeout_ms;                 /* time to live, from when the sandbox is ready or goes on after a pause */
	struct loop_timer *end_timer;       /* ends the sandbox; NULL: it is paused, or the timer has expired */
	enum pause_state pause_state;
	bool pauses_at_timeout;             /* at the end of its time to live the sandbox is paused, not ended */
	struct http_request *pause_request; /* request to pause or resume that is not answered yet; NULL: none */
	struct e2b_process *processes;
	struct e2b_watcher *watchers;
	uint64_t ended_programs_cpu_ms; /* processor time of programs that have ended */
	uint64_t charged_cpu_ms;        /* processor time of the sandbox that key->used_cpu_ms includes */
	size_t unfetched_event_bytes;   /* JSON length of the file events that clients have not fetched yet */
	unsigned port_request_count;    /* requests for ports of the sandbox that are in progress */
	struct e2b_context *contexts;
	struct e2b_changes *changes; /* files that were looked at, and are looked at again now */
	struct e2b_call *calls; /* requests of clients that wait for something in the sandbox */
};

/* What the request for a new sandbox asks for. The JSON values are borrowed. */
struct e2b_create_options {
	const json_t *metadata, *env, *allow_internet_access;
	int64_t timeout_ms; /* time to live of the sandbox */
	bool requires_token, pauses_at_timeout;
};

/* Starts to make a sandbox for a client. The request is answered when the sandbox is ready. */
void e2b_sandbox_make(struct e2b *e2b, struct e2b_key *key, struct e2b_template *template, struct http_request *request,
		      const struct e2b_create_options *create_options);

/*
 * Starts the session of a sandbox, and then its setup. on_made: both are done, or have failed; on_end: the session has
 * ended. 0 or -errno.
 */
int e2b_sandbox_start_session(struct e2b_sandbox *box, void (*on_made)(struct e2b_sandbox *box, const char *error),
			      void (*on_end)(void *data));
/* Takes the sandbox off its list and out of the counts and quotas. */
void e2b_sandbox_unlink(struct e2b_sandbox *box);
/* Frees the sandbox, also one that was not made completely, and ends its session. */
void e2b_sandbox_free(struct e2b_sandbox *box);

#define ADMISSION_RETRY_AFTER_S "2" /* for the header Retry-After of 429 */
/*
 * Calls spares_give_or_make() as soon as the server has room for one more sandbox: admission.c. Answers 429 if the key
 * has no quota left.
 */
void admission_queue_request(struct e2b *e2b, struct e2b_key *key, struct e2b_template *template,
			     struct http_request *request, const struct e2b_create_options *create_options);
/* Starts sandboxes for waiting requests, as far as the server has room. */
void admission_serve_queue(struct e2b *e2b);
/* Cuts the connections of all requests that wait for a sandbox. */
void admission_abort_all(struct e2b *e2b);

/* Return the sandbox as the JSON objects "Sandbox" and "SandboxDetail" of E2B's API. */
json_t *e2b_sandbox_describe(const struct e2b_sandbox *box);
json_t *e2b_sandbox_describe_details(const struct e2b_sandbox *box);
/* Finds a sandbox by its id. NULL: there is none, or it is not ready. */
struct e2b_sandbox *e2b_sandbox_find(struct e2b *e2b, const char *id);
/* Ends a sandbox and all requests that wait in it. reason: for the log. */
void e2b_sandbox_end(struct e2b_sandbox *box, const char *reason);
/* Sets the time of CLOCK_REALTIME at which the sandbox is ended. */
void e2b_sandbox_set_end_time(struct e2b_sandbox *box, int64_t end_time_ms);
int64_t e2b_get_real_time_ms(void); /* CLOCK_REALTIME */

/*
 * Returns the request that waits until the sandbox is paused or resumed, and sets box->pause_request to NULL. NULL:
 * none waits.
 */
struct http_request *e2b_sandbox_take_pause_request(struct e2b_sandbox *box);
/* Whether the sandbox has one of the states in a list such as "running,paused". */
bool e2b_sandbox_state_is_one_of(const struct e2b_sandbox *box, const char *states);

/* ---- pauses: pause.c ---- */

/*
 * Pauses the sandbox, and answers the request once it is paused. request NULL: the timeout of the sandbox has expired;
 * if it cannot be paused, it ends.
 */
void pause_begin(struct e2b_sandbox *box, struct http_request *request);
/* Resumes a paused sandbox, with a new time to live, and answers the request. */
void pause_end(struct e2b_sandbox *box, struct http_request *request, int64_t timeout_ms);
/* Callback sandbox_options.on_pause: the sandbox was paused or resumed, or could not be. */
void pause_on_answer(void *data, bool is_paused, const char *why);
/* Refuses a request for something in a paused sandbox. True: it was answered with an error; false: the sandbox runs. */
bool pause_refuses_request(const struct e2b_sandbox *box, struct http_request *request);

/* ---- requests that wait: call.c ---- */

/*
 * A client's request that waits for something in a sandbox. When the client hangs up, or the sandbox ends, on_cancel is
 * called, and the call is freed.
 */
struct e2b_call {
	struct e2b_call *next;
	struct e2b_sandbox *box;
	struct http_request *request;
	void (*on_cancel)(void *data); /* not called after e2b_call_finish() or e2b_call_abort() */
	void *data;
	/*
	 * If the answer is a Connect stream: sends ping_message at intervals, to keep the connection alive. NULL: none.
	 */
	struct loop_timer *ping_timer;
	uint64_t ping_interval_ms;
	json_t *ping_message;
	void (*on_room)(void *data); /* called when the client of a stream reads again, after it was slow */
};

/* Makes a call of a request that cannot be answered yet. NULL: no memory. */
struct e2b_call *e2b_call_create(struct e2b_sandbox *box, struct http_request *request, void (*on_cancel)(void *data),
				 void *data);
/* Frees the call, without on_cancel. Its request lives on: to be answered, or to send the rest of a stream. */
void e2b_call_finish(struct e2b_call *call);
/* Cuts the client's connection and frees the call, without on_cancel. */
void e2b_call_abort(struct e2b_call *call);
/* Cuts the connections of all calls of the sandbox, after on_cancel of each. */
void e2b_calls_abort_all(struct e2b_sandbox *box);
/* Reads a request's body into memory. on_body gets a new call, which it must end by e2b_call_finish(). */
void e2b_call_read_body(struct e2b_sandbox *box, struct http_request *request,
			void (*on_body)(void *call, struct http_request *request, const char *bytes, size_t len));

/* ---- the Connect protocol: connect.c ---- */

/* The error codes of the Connect protocol. */
enum connect_code {
	CONNECT_CANCELED,
	CONNECT_UNKNOWN,
	CONNECT_INVALID_ARGUMENT,
	CONNECT_DEADLINE_EXCEEDED,
	CONNECT_NOT_FOUND,
	CONNECT_ALREADY_EXISTS,
	CONNECT_PERMISSION_DENIED,
	CONNECT_RESOURCE_EXHAUSTED,
	CONNECT_FAILED_PRECONDITION,
	CONNECT_UNIMPLEMENTED,
	CONNECT_INTERNAL,
	CONNECT_UNAVAILABLE,
	CONNECT_UNAUTHENTICATED,
	CONNECT_CODE_COUNT,
};

/* The envelope before each message of a stream: a byte of flags, and the message's length as 4 bytes. */
#define CONNECT_ENVELOPE_BYTES 5
#define CONNECT_FLAG_COMPRESSED 1u
#define CONNECT_FLAG_END_OF_STREAM 2u /* set in a stream's last message, which tells an error or success */

/* Handles a request of the Connect protocol, whose path is /SERVICE/METHOD: rpc.c. */
void rpc_handle_request(struct e2b_sandbox *box, struct http_request *request);
/* Whether the request's Content-Type announces a stream of messages in envelopes. */
bool connect_request_is_stream(struct http_request *request);
/* Makes the JSON object that tells an error. */
json_t *connect_make_error(enum connect_code code, const char *message);
/* Answers a request that is no stream. Takes message. */
void connect_answer(struct http_request *request, json_t *message);
/* Answers a request with an error. If the request is for a stream, the stream must not have begun. */
void connect_answer_error(struct http_request *request, enum connect_code code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Returns the error code of the protocol for a positive errno. */
enum connect_code connect_code_from_errno(int error);

/*
 * Begins an answer that is a stream. ping: a message that is sent at the interval that the client's header names, or
 * every 90 s; taken. on_room: the client reads again; may be NULL.
 */
void connect_begin_stream(struct e2b_call *call, json_t *ping, void (*on_room)(void *data));
/* Sends a message in a stream, and takes it. False: the client is slow, and nothing should be sent until on_room. */
bool connect_send_message(struct e2b_call *call, json_t *message);
/* Ends the stream and frees the call. message NULL: the stream ends without an error. */
void connect_end_stream(struct e2b_call *call, enum connect_code code, const char *message);

/*
 * Members of a message in proto3 JSON. camel_name: a member's name in JSON; snake_name: its name in the .proto file,
 * which proto3 accepts as well. NULL: the names are the same.
 */
const json_t *connect_get_member(const json_t *message, const char *camel_name, const char *snake_name);
const char *connect_get_text(const json_t *message, const char *camel_name, const char *snake_name);
int64_t connect_get_integer(const json_t *message, const char *camel_name, const char *snake_name,
			    int64_t default_value);
/* Decodes base64, standard or URL-safe. Owned by the caller; NULL: the text is no base64, or no memory. */
char *connect_decode_base64(const char *text, size_t len, size_t *ret_len);
json_t *connect_encode_base64(const char *bytes, size_t len);

/* One method of a service of the Connect protocol. */
struct connect_method {
	const char *path; /* "/SERVICE/METHOD" */
	bool is_stream;   /* the answer is a stream; the request is one message in any case */
	void (*call)(struct e2b_sandbox *box, struct http_request *request, const json_t *message);
};
extern const struct connect_method process_methods[], filesystem_methods[]; /* ended by a row without a path */
/* Handles process.Process/StreamInput, the one method whose request is a stream. */
void process_stream_input(struct e2b_sandbox *box, struct http_request *request);

/* Whether the request is for the account "user", the default. False: it is for another; an error was answered. */
bool connect_check_basic_auth_user(struct http_request *request);
/* Time limit that the client sets for a call, in milliseconds; 0: no limit. */
uint64_t connect_get_timeout_ms(struct http_request *request);

/* ---- programs: process.c, process-events.c, process-input.c ---- */

/*
 * Merges the environment variables of the template, of the sandbox and of a request; the later ones win. Owned by the
 * caller. NULL: request_env has a value that is no text, or a name that no environment variable can have; or no memory.
 */
json_t *e2b_make_environment(const struct e2b_sandbox *box, const json_t *request_env);

/* Makes a path absolute: "~" and relative paths begin in the workdir. Owned by the caller; NULL: no memory. */
char *e2b_make_path_absolute(const char *path);
/* Ends all programs of the sandbox, and cuts the connections of their subscribers. */
void processes_end_all(struct e2b_sandbox *box);

/* ---- looking.c: what is looked at before it runs ---- */

/*
 * Judges what a look (agents/sandbox/look.h) has found in a program, or in code. A refusal is put on record, and the
 * findings are in the server's log. program: for these. True: it may be started. False: *ret_refusal, owned by the
 * caller, says why not; NULL: no memory for that.
 */
bool e2b_judge_look(const struct e2b_sandbox *box, const char *program, const json_t *answer, const char *why,
		    char **ret_refusal);
#define E2B_REFUSAL_WITHOUT_MEMORY "not started; there is no memory to say why"
/*
 * Looks which files of the look were changed since. The server's log and the record tell, also that it is not known.
 * program: for these. looked NULL: there was no look.
 */
void e2b_tell_changes(struct e2b_sandbox *box, const char *program, const json_t *looked, const char *cwd);
/* Tells that it is not known, because a program that runs, or its sandbox, is ended. */
void e2b_tell_changes_unknown(const struct e2b_sandbox *box, const char *program, const json_t *looked);
/* The sandbox ends: the same for what is being looked at again. */
void e2b_changes_free_all(struct e2b_sandbox *box);

/* ---- files: filesystem.c, files.c, upload.c ---- */

/* Ends all directory watches of the sandbox. */
void watchers_free_all(struct e2b_sandbox *box);
/* Handles GET and POST of /files: downloads and uploads. */
void files_handle_request(struct e2b_sandbox *box, struct http_request *request);
/* Handles /files with a signed URL, which names no sandbox: tries each sandbox's token on the signature. */
void files_handle_signed_request(struct e2b *e2b, struct http_request *request);

/*
 * Handles an upload. path: of the file, absolute; borrowed. NULL: an HTML form names files.
 */
void files_upload(struct e2b_sandbox *box, struct http_request *request, const char *path);

/* ---- ports of servers in a sandbox: port.c ---- */

/* Passes a request on to the server that listens at this port in the sandbox. */
void port_handle_request(struct e2b_sandbox *box, struct http_request *request, uint64_t port);

/* ---- contexts: interpreter.c ---- */

/* Starts the Python of the default context, so that the first code to run there need not wait for its start. */
void contexts_start_default_python(struct e2b_sandbox *box);
/* Handles a request for the code interpreter: runs code, makes and lists contexts. */
void interpreter_handle_request(struct e2b_sandbox *box, struct http_request *request);
void contexts_free_all(struct e2b_sandbox *box);

/* ---- management.c, metrics.c, usage.c, answer.c ---- */

/* Handles a request of the management API: to create, list, look at and end sandboxes. */
void management_handle_request(struct e2b *e2b, struct http_request *request);
/* Answers with the server's metrics. Those of other keys are included only for an operator's key. */
void metrics_answer(struct e2b *e2b, const struct e2b_key *key, struct http_request *request);
/* Answers with the sandbox's present resource usage: a list of one SandboxMetric. */
void usage_handle_request(struct e2b_sandbox *box, struct http_request *request);
/* Answers with an error: {"code": status, "message": text}. */
void e2b_answer_error(struct http_request *request, unsigned status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Returns the HTTP status for an errno of a file operation. */
unsigned files_get_http_status(int error);
/* Parses a request's body as a JSON object. Owned by the caller. NULL: it is none, and an error was answered. */
json_t *e2b_parse_body(struct http_request *request, const char *bytes, size_t len);

/* ---- e2b.c, log.c ---- */

/* The server of `callgate serve`. */
struct e2b {
	struct loop *loop;
	struct http_server *http_server;
	struct e2b_options options; /* copies of the paths, owned; other members are unused */
	struct e2b_key *keys;
	size_t key_count;
	struct e2b_template *templates;
	struct e2b_sandbox *sandboxes; /* of clients, the youngest first */
	struct e2b_sandbox *spares;
	unsigned sandbox_count, sandboxes_max;
	unsigned starting_sandbox_count;              /* sandboxes that are being made; sandbox_count includes them */
	struct e2b_waiting_request *waiting_requests; /* in the order in which they came */
	uint64_t admitted_request_count;              /* number of requests for a sandbox that were admitted so far */
	bool is_stopping;                             /* the server ends: no sandbox is made any more */
	void (*on_room)(struct e2b *e2b); /* called when there may be room for one more sandbox */
	/* pause_begin() and pause_on_answer() */
	void (*pause)(struct e2b_sandbox *box, struct http_request *request);
	void (*on_pause)(void *data, bool is_paused, const char *why);
	struct loop_timer *quota_timer; /* NULL: no key has a quota of processor time */
	uint64_t start_failure_count, request_count, denied_request_count;
	int cpu_count; /* processors of the machine */
};

/* Writes a line of the server's log on stderr: JSON with the members of `fields`, which is taken; NULL: none. */
void log_event(const char *event, json_t *fields);

#define E2B_TIME_TEXT_SIZE 40 /* a time as text, such as 2026-01-31T12:00:00.000Z */
/* Writes a time of CLOCK_REALTIME as RFC 3339 has it, in UTC. */
void e2b_format_time(int64_t time_ms, char text[E2B_TIME_TEXT_SIZE]);

#endif
