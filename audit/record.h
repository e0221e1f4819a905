/* One audit record: the call, its arguments, the verdict and the rule. See callgate-audit(5). */
#ifndef CALLGATE_AUDIT_RECORD_H
#define CALLGATE_AUDIT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "policy/policy.h"

enum audit_effect {
	AUDIT_EFFECT_REFUSED,   /* refused: the call was not performed */
	AUDIT_EFFECT_PERFORMED, /* performed by the supervisor */
	/* performed by the kernel: registers alone decided, or an exec, which is verified later */
	AUDIT_EFFECT_CONTINUED,
	AUDIT_EFFECT_MAX,
};

enum audit_arg_kind {
	AUDIT_ARG_INT,  /* a signed decimal number */
	AUDIT_ARG_HEX,  /* flags or an address: "0x…" */
	AUDIT_ARG_MODE, /* a file mode: "0644" */
	AUDIT_ARG_TEXT, /* bytes, which are escaped */
};

/* An argument of a call, as its record shows it. */
struct audit_arg {
	const char *name;
	enum audit_arg_kind kind;
	uint64_t value;   /* for all kinds but AUDIT_ARG_TEXT */
	const char *text; /* for AUDIT_ARG_TEXT */
	size_t text_len;
};

/* What a record tells that is about no system call: the id, and the value of "event". The one list of them. */
#define AUDIT_EVENTS(EVENT)             \
	EVENT(OPEN, "open")             \
	EVENT(REQUEST, "request")       \
	EVENT(CLOSE, "close")           \
	EVENT(DNS, "dns")               \
	EVENT(AFTER_READ, "after_read") \
	EVENT(INSPECT, "inspect")       \
	EVENT(WORKSPACE, "workspace")

#define AUDIT_EVENT_ID(id, name) AUDIT_EVENT_##id,
enum audit_event { AUDIT_EVENTS(AUDIT_EVENT_ID) AUDIT_EVENT_MAX };
#undef AUDIT_EVENT_ID

#define AUDIT_EVENT_WORD(id, name) name ", "
#define AUDIT_EVENT_WORDS AUDIT_EVENTS(AUDIT_EVENT_WORD) /* "open, request, …, " */

static inline const char *audit_event_get_name(enum audit_event event)
{
#define AUDIT_EVENT_NAME(id, name) [AUDIT_EVENT_##id] = (name),
	static const char *const names[AUDIT_EVENT_MAX] = {AUDIT_EVENTS(AUDIT_EVENT_NAME)};
#undef AUDIT_EVENT_NAME

	return names[event];
}

/* The fields of a record that has "event" in place of "syscall", most of them about a connection. */
struct audit_net {
	const char *event_name; /* of audit_event_get_name() */
	uint64_t conn_id;     /* 0: left out */
	unsigned port;     /* 0: left out */
	unsigned http_status;   /* 0: left out */
	uint64_t refusal_count; /* number of refusals that the record stands for; 0 and 1: the field is left out */
	/* NULL or "" leaves the field out. The texts are not trusted. */
	const char *host, *address, *proto, *real, *dropped, *sni, *alpn, *method, *path, *credential, *cause;
	bool path_is_truncated; /* `path` is truncated */
	bool has_byte_counts;   /* bytes_up and bytes_down are written */
	uint64_t bytes_up, bytes_down;
	uint64_t dns_us, connect_us, duration_us; /* 0: left out */
};

#define AUDIT_ARGS_PER_RECORD_MAX 8

/* A record to write. Pointers are borrowed until audit_begin_record returns. A NULL text leaves its field out. */
struct audit_record {
	pid_t pid;   /* process id */
	pid_t tid;
	pid_t ppid;
	pid_t host_pid; /* process id outside of the run's pid namespace; 0: equal to pid, or unknown */
	/* number of the session's program that the process belongs to; 0: no session, or unknown */
	unsigned session_program_number;
	const char *exe; /* virtual path of the executable */
	const char *syscall;
	struct audit_arg arg[AUDIT_ARGS_PER_RECORD_MAX];
	size_t arg_count;
	const char *path; /* the path as the program wrote it */
	size_t path_len;
	const char *resolved_path; /* the canonical virtual path that was judged */
	size_t resolved_path_len;
	const char *host_path;   /* the host path, when it differs from resolved: redirects */
	const char *second_path; /* the second path of rename(2), link(2) and similar calls */
	size_t second_path_len;
	const char *second_resolved_path;
	size_t second_resolved_path_len;
	const char *loader_path;          /* of an approved exec: the ELF interpreter as the file names it */
	const char *loader_resolved_path; /* canonical virtual path of loader_path */
	/* the right that the rules had to grant on the path judged last: 'r', 'w', 'x'; 0: none */
	char access_right;
	enum verdict verdict;
	enum audit_effect effect;
	bool was_observed; /* the judged policy denies the call, and it is performed all the same: --mode observe */
	const char *on_deny;     /* what the denial did to the process: "kill", "stop"; NULL: errno alone */
	const char *answer;      /* to the question whether the call may be performed; NULL: no question was asked */
	int64_t answered_by_uid; /* with `answer`: the uid that answered; -1: no answer came */
	const char *answered_how;    /* with `answer`: the way, such as "socket" (scan.h); NULL: not so */
	uint64_t question_open_ns;   /* with `answer`: how long the question was open */
	const char *rule;
	const char *reason;
	const struct audit_net *net; /* NULL: a record about a system call */
};

#endif
