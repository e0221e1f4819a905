/*
 * Tells each denial to the system's log while the run lasts: --audit-sink. A datagram is sent without waiting, at most
 * SINK_BURST_MESSAGES_MAX at once and SINK_MESSAGES_PER_S on average; denials beyond these limits are counted, and are
 * only in the audit log. The keeper opens the socket; the supervisor thread sends.
 */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_RESULT_SINK_H
#define CALLGATE_SYSCALLS_ACCOUNT_RESULT_SINK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SINK_BURST_MESSAGES_MAX 100u /* denials sent to the system's log at once */
#define SINK_MESSAGES_PER_S 50u      /* denials sent to the system's log on average */

enum sink_kind {
	SINK_NONE,     /* denials are not told to the system's log */
	SINK_SYSLOG,   /* messages as syslog(3) writes them to /dev/log */
	SINK_JOURNALD, /* the native protocol of systemd-journald: https://systemd.io/JOURNAL_NATIVE_PROTOCOL */
};

/* The connection to the system's log, with its rate limit. */
struct sink {
	enum sink_kind kind;
	int fd;                        /* a connected datagram socket, O_NONBLOCK; borrowed */
	const char *run_id;            /* borrowed */
	uint64_t rate_tokens;          /* datagrams that may be sent now, in units of 1/1,000,000,000 */
	uint64_t rate_tokens_added_ns; /* when tokens were added last; 0: never */
	uint64_t sent, dropped;
	uint64_t dropped_not_reported; /* dropped denials that no message has told of yet */
};

/* One denied attempt. All texts may be hostile, and are escaped. NULL: unknown. */
struct sink_denial {
	const char *syscall_name; /* the system call, or the event of egress */
	const char *target, *exe, *rule, *reason;
	pid_t pid;
	int error; /* errno, or 0 */
	uint64_t seq, count;
};

/*
 * Parses "journald", "syslog", "journald:PATH" or "syslog:PATH". *ret_path: PATH, or else the kind's usual path.
 * SINK_NONE: another text.
 */
enum sink_kind sink_parse(const char *text, const char **ret_path);

/* Connects a socket to the path. A descriptor owned by the caller, or -errno. */
int sink_connect(const char *path);

/* Sends the denial, unless the limit or a full socket forbids that. now_ns: io_read_clock_ns(). sink may be NULL. */
void sink_send_denial(struct sink *sink, const struct sink_denial *denial, uint64_t now_ns);

/* To be called at the end of the run: tells how many denials were left out since the last message. */
void sink_send_count_of_dropped(struct sink *sink);

#endif
