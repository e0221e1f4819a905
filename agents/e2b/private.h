/* What the files of agents/e2b/ share. */
#ifndef CALLGATE_AGENTS_E2B_PRIVATE_H
#define CALLGATE_AGENTS_E2B_PRIVATE_H

#include "agents/e2b/e2b.h"
#include "agents/http/http.h"
#include "agents/sandbox/sandbox.h"
#include "base/cleanup-json.h"
#include "base/sha256.h"

#define E2B_ENVD_PORT 49983
#define E2B_INTERPRETER_PORT 49999
#define E2B_ENVD_VERSION "0.6.4" /* of the protocol: what the SDKs look at to learn what they may use */
#define E2B_WORKDIR "/home/user"

#define E2B_BODY_BYTES_MAX (8u << 20) /* of a JSON body */
#define E2B_SANDBOXES_MAX_DEFAULT 200u /* at a time, of all keys */
#define E2B_SANDBOXES_MAX 10000u
#define E2B_ID_SIZE 21                 /* "i" and 19 letters and digits: 98 random bits */
#define E2B_TOKEN_SIZE SHA256_HEX_SIZE /* 256 random bits */
#define E2B_TIMEOUT_DEFAULT_S 15u
#define E2B_TIMEOUT_MAX_S 86400u
#define E2B_TEXT_PAIRS_MAX 64u              /* pairs of metadata, or variables */
#define E2B_TEXT_PAIR_BYTES_MAX (32u << 10) /* of one of these */
#define E2B_PROCESSES_MAX 256u         /* running at a time in a sandbox */
#define E2B_WATCHERS_MAX 64u
#define E2B_CONTEXTS_MAX 64u

/* ---- keys and quotas: keys.c ---- */

#define E2B_KEYS_MAX 256u

struct e2b_sandbox;
struct e2b_template;

struct e2b_key {
	char *name;
	char key_hash[SHA256_HEX_SIZE]; /* of the key: what is compared has one length, and the key is not kept */
	uint64_t sandboxes_max, memory_max, disk_max, cpu_max_ms; /* UINT64_MAX: no limit */
	uint64_t sandbox_count, reserved_memory_bytes, reserved_disk_bytes,
		cpu_ms;                                           /* in use; cpu_ms: used by all sandboxes so far */
	bool is_operator;                                         /* it may see the numbers of all keys */
	uint64_t created_sandbox_count, refused_request_count;    /* counted since the start */
	uint64_t waiting_request_count;                           /* requests that wait for a sandbox */
	uint64_t last_served_turn;                                /* of e2b.served: when it was served last */
};

int keys_load(struct e2b *e2b, const json_t *list, char **ret_why);
void keys_free_all(struct e2b *e2b);
/* Charges the key for what a sandbox was found to have used. */
void keys_charge_cpu(struct e2b_sandbox *box, uint64_t cpu_ms);
bool keys_cpu_is_used_up(const struct e2b_key *key);
/* The key that a request has; NULL: none that is known. */
struct e2b_key *keys_find(struct e2b *e2b, const char *text);
/* What a sandbox of a template needs. False: the key has no more; *ret_what says of what. */
bool keys_have_quota_for(const struct e2b_key *key, const struct e2b_template *template, const char **ret_what);
void keys_reserve_quota(struct e2b_key *key, const struct e2b_template *template);
void keys_return_quota(struct e2b_key *key, const struct e2b_template *template);
/* True in a time that does not depend on where the texts differ. */
bool keys_equal_in_constant_time(const char *a, const char *b);
/* Random letters and digits of a base of 2^n. False: getrandom(2) fails. */
bool keys_make_random_id(char id[E2B_ID_SIZE]);
bool keys_make_random_token(char token[E2B_TOKEN_SIZE]);

/* quota.c: begins to watch the processor time that keys use which have a quota of it. 0 or -ENOMEM. */
int quota_watch_cpu(struct e2b *e2b);
void quota_stop(struct e2b *e2b);

/* ---- templates: template.c ---- */

struct e2b_template {
	struct e2b_template *next;
	char *name;
	char **arguments; /* for `callgate session create`, NULL-ended */
	json_t *env;      /* variables of its programs */
	char *setup_command;                        /* a command that runs in each new sandbox; NULL: none */
	char *python_interpreter;                   /* the interpreter of its contexts; NULL: python3 */
	unsigned spares_wanted;                     /* sandboxes that are kept ready */
	char **preloaded_modules;                   /* that their Python has imported, NULL-ended; or NULL */
	unsigned spare_count, consecutive_failures; /* made or ready; that failed one after the other */
	struct loop_timer *refill_timer;
	struct e2b *e2b;
	uint64_t memory_bytes, disk_bytes;
	int server_policy_fd; /* the part of the policy that is the server's: account, workdir; -1: none */
};

/* Reads all templates that keep sandboxes ready, so that these are made before they are asked for. */
void templates_load_all(struct e2b *e2b);
/* Finds a template by its name, and reads it when it is used first. NULL with *ret_why, owned by the caller. */
struct e2b_template *template_find(struct e2b *e2b, const char *name, char **ret_why);
void templates_free_all(struct e2b *e2b);

/* ---- sandboxes: sandbox.c ---- */

struct e2b_waiting_request;
struct e2b_process;
struct e2b_watcher;
struct e2b_context;
struct e2b_call;

struct e2b_sandbox {
	struct e2b_sandbox *next;
	struct e2b *e2b;
	struct e2b_key *key;
	struct e2b_template *template;
	struct sandbox *sandbox;
	bool is_ready;
	void (*on_made)(struct e2b_sandbox *box, const char *error);
	struct sandbox_program *setup_program; /* that runs; NULL: none */
	char setup_stderr[1024];               /* what it said on stderr */
	size_t setup_stderr_len;
	bool is_spare;                /* made before anybody asked for it: `key` is NULL */
	struct http_request *create_request; /* waits for it; NULL: it has its answer */
	char id[E2B_ID_SIZE];
	char token[E2B_TOKEN_SIZE], traffic_token[E2B_TOKEN_SIZE]; /* token "": requests for it need none */
	json_t *metadata, *env;
	json_t *allow_internet_access; /* allow_internet_access of the request; NULL: not given */
	int64_t start_ms, end_ms; /* CLOCK_REALTIME */
	int64_t timeout_ms;       /* from when it is ready */
	struct loop_timer *end_timer;
	struct e2b_process *processes;
	struct e2b_watcher *watchers;
	uint64_t program_cpu_ms; /* of programs that have ended */
	uint64_t cpu_ms; /* of all its programs, as last reported; is part of the sum in key->cpu_ms */
	size_t unfetched_event_bytes; /* of events that watchers keep until they are fetched */
	unsigned port_request_count;
	struct e2b_context *contexts;
	struct e2b_call *calls; /* requests that wait for something in the sandbox */
};

/* What a client wants of a new sandbox. Borrowed. */
struct e2b_create_options {
	const json_t *metadata, *env, *allow_internet_access;
	int64_t timeout_ms;
	bool requires_token;
};

/* Starts to make a sandbox, and answers the request when it is ready. */
void e2b_sandbox_start(struct e2b *e2b, struct e2b_key *key, struct e2b_template *template,
		       struct http_request *request, const struct e2b_create_options *create_options);

/* Makes sandboxes that the template keeps ready, one after the other. */
void e2b_spares_make(struct e2b *e2b, struct e2b_template *template);

/* Starts the sandbox as soon as there is room: admission.c. Answers with 429 if the key has no quota for it. */
void admission_queue_request(struct e2b *e2b, struct e2b_key *key, struct e2b_template *template,
			     struct http_request *request, const struct e2b_create_options *create_options);
/* There is room. */
void admission_start_waiting(struct e2b *e2b);
void admission_abort_all(struct e2b *e2b);

/* The answers "Sandbox" and "SandboxDetail" of the protocol. */
json_t *e2b_sandbox_describe(const struct e2b_sandbox *box);
json_t *e2b_sandbox_describe_details(const struct e2b_sandbox *box);
/* Finds one that is ready. NULL: there is none. */
struct e2b_sandbox *e2b_sandbox_find(struct e2b *e2b, const char *id);
/* Ends it, with all its requests. reason: for the log. */
void e2b_sandbox_end(struct e2b_sandbox *box, const char *reason);
void e2b_sandbox_set_end_time(struct e2b_sandbox *box, int64_t end_ms);
int64_t e2b_get_real_time_ms(void); /* CLOCK_REALTIME */

/* ---- requests that wait: call.c ---- */

/*
 * A request that waits for something in a sandbox. When the sandbox ends, or the client hangs up, on_cancel is called;
 * afterwards the request does not exist, and the call is freed.
 */
struct e2b_call {
	struct e2b_call *next;
	struct e2b_sandbox *box;
	struct http_request *request;
	void (*on_cancel)(void *data); /* not called when the answer was complete */
	void *data;
	/* Of a stream: */
	struct loop_timer *ping_timer;
	uint64_t ping_interval_ms;
	json_t *ping_message;
	void (*on_room)(void *data);
};

struct e2b_call *e2b_call_create(struct e2b_sandbox *box, struct http_request *request, void (*on_cancel)(void *data),
				 void *data);
/* The answer is given, or is a stream that has its end: on_cancel is not called any more. Frees the call. */
void e2b_call_finish(struct e2b_call *call);
/* Cuts the connection and frees the call, without on_cancel. */
void e2b_call_abort(struct e2b_call *call);
/* Cancels and cuts all of the sandbox. */
void e2b_calls_abort_all(struct e2b_sandbox *box);
/* Reads a body into memory; on_body gets a call that it finishes. */
void e2b_call_read_body(struct e2b_sandbox *box, struct http_request *request,
			void (*on_body)(void *call, struct http_request *request, const char *bytes, size_t len));

/* ---- the Connect protocol: connect.c ---- */

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
	CONNECT_CODE_MAX,
};

/* In streams, each message has flags and a length before it. */
#define CONNECT_ENVELOPE_BYTES 5
#define CONNECT_FLAG_COMPRESSED 1u
#define CONNECT_FLAG_END 2u

/* Handles a request whose path is /SERVICE/METHOD: rpc.c. */
void rpc_handle(struct e2b_sandbox *box, struct http_request *request);
/* The message is in a stream, by the request's Content-Type. */
bool connect_is_stream(struct http_request *request);
json_t *connect_make_error(enum connect_code code, const char *message);
/* Answers a unary request, or one for a stream that has not begun. */
void connect_answer(struct http_request *request, json_t *message); /* takes message */
void connect_fail(struct http_request *request, enum connect_code code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
enum connect_code connect_code_of_errno(int error);

/* Begins the answer of a streaming call. ping: a message that is sent now and then, if the client wants it; taken. */
void connect_begin_stream(struct e2b_call *call, json_t *ping, void (*on_room)(void *data));
/* False: as http_write_stream(). */
bool connect_send_message(struct e2b_call *call, json_t *message); /* takes message */
/* Ends the stream, as a success with message NULL, and frees the call. */
void connect_end_stream(struct e2b_call *call, enum connect_code code, const char *message);

/* Messages as JSON: a member by its proto3 JSON name, or by its name in the .proto file. */
const json_t *connect_get_member(const json_t *message, const char *camel, const char *snake);
const char *connect_get_text(const json_t *message, const char *camel, const char *snake);
int64_t connect_get_integer(const json_t *message, const char *camel, const char *snake, int64_t otherwise);
/* Bytes as base64, standard or URL-safe. Owned by the caller; NULL: no base64, or no memory. */
char *connect_decode_base64(const char *text, size_t len, size_t *ret_len);
json_t *connect_encode_base64(const char *bytes, size_t len);

/* One method of a service. */
struct connect_method {
	const char *path;
	bool is_stream; /* the answer is one */
	void (*call)(struct e2b_sandbox *box, struct http_request *request, const json_t *message);
};
extern const struct connect_method process_methods[], filesystem_methods[]; /* ended by a row without a path */
/* process.Process/StreamInput: the request is a stream. */
void process_stream_input(struct e2b_sandbox *box, struct http_request *request);

/* The user that a request names, or the default. False: there is no such user; answered. */
bool connect_check_user(struct http_request *request);
/* Milliseconds that the client gives the call; 0: no limit. */
uint64_t connect_get_timeout_ms(struct http_request *request);

/* ---- programs: process.c, process-input.c ---- */

/* The variables of the template, of the sandbox, and those given. A new reference; NULL: these are no texts. */
json_t *e2b_make_environment(const struct e2b_sandbox *box, const json_t *given);

/* A path as the protocol means it: relative ones, and "~", begin in the workdir. Owned by the caller, or NULL. */
char *process_resolve_path(const char *path);
/* Ends all programs of the sandbox, and their streams. */
void processes_end_all(struct e2b_sandbox *box);

/* ---- files: filesystem.c, files.c ---- */

void watchers_free_all(struct e2b_sandbox *box);
/* GET and POST of /files. */
void files_handle(struct e2b_sandbox *box, struct http_request *request);
/* The same for a signed address, which names no sandbox: its signature tells which one it is for. */
void files_handle_signed(struct e2b *e2b, struct http_request *request);

/* ---- ports of servers in a sandbox: port.c ---- */

/* A request for a port of the sandbox: passed on to what listens there. */
void port_handle(struct e2b_sandbox *box, struct http_request *request, uint64_t port);

/* ---- contexts: interpreter.c ---- */

/* Starts the Python that code runs in without naming a context, before there is any. */
void contexts_start_default_python(struct e2b_sandbox *box);
void interpreter_handle(struct e2b_sandbox *box, struct http_request *request);
void contexts_free_all(struct e2b_sandbox *box);

/* ---- management.c, metrics.c, answer.c ---- */

void management_handle(struct e2b *e2b, struct http_request *request);
void metrics_answer(struct e2b *e2b, const struct e2b_key *key, struct http_request *request);
/* Answers with what a sandbox uses now, as a list of one SandboxMetric: usage.c. */
void usage_answer(struct e2b_sandbox *box, struct http_request *request);
/* {"code": …, "message": …} */
void e2b_fail(struct http_request *request, unsigned status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Parses a body. NULL with an answer. Owned by the caller. */
json_t *e2b_parse_body(struct http_request *request, const char *bytes, size_t len);

/* ---- e2b.c, log.c ---- */

struct e2b {
	struct loop *loop;
	struct http_server *http_server;
	struct e2b_options options; /* the texts are owned */
	struct e2b_key *keys;
	size_t key_count;
	struct e2b_template *templates;
	struct e2b_sandbox *sandboxes; /* the youngest first */
	struct e2b_sandbox *spares;
	unsigned sandbox_count, sandboxes_max, starting_count;
	struct e2b_waiting_request *waiting_requests; /* list: the first came first */
	uint64_t served_turns;                        /* requests for a sandbox that had their turn */
	bool is_stopping;
	void (*on_room)(struct e2b *e2b); /* a sandbox has ended, or is made: there may be room for another one */
	struct loop_timer *quota_timer; /* NULL: no key has a quota of processor time */
	uint64_t start_failure_count, request_count, denied_request_count;
	int64_t start_ms;
	int cpu_count;
};

/* Writes a line of JSON on stderr, with the members of `fields`, which is taken. NULL: none. */
void log_event(const char *event, json_t *fields);

#define E2B_TIME_TEXT_SIZE 40
void e2b_format_time(int64_t ms, char text[E2B_TIME_TEXT_SIZE]); /* RFC 3339, in UTC */

#endif
