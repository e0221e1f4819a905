#include "syscalls/account/result/sink.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"

#define SINK_TEXT_BYTES_MAX 512u /* bytes of one text; the rest is left out, since a datagram has its limits */
/* buffer for a text of a denial after escaping */
#define SINK_ESCAPED_TEXT_SIZE (SINK_TEXT_BYTES_MAX * TEXT_ESCAPED_BYTES_PER_BYTE_MAX + 1)
/* Room for the fields of a journal entry, which have four escaped texts, and its sentence, which has three. */
#define SINK_MESSAGE_BYTES_MAX (9u * SINK_ESCAPED_TEXT_SIZE)
#define SINK_TOKENS_PER_MESSAGE UINT64_C(1000000000) /* units of rate_tokens that sending one message uses up */
#define SINK_PRIORITY (LOG_AUTHPRIV | LOG_WARNING)   /* facility and severity of the messages: syslog(3) */
#define JOURNALD_PATH "/run/systemd/journal/socket"

enum sink_kind sink_parse(const char *text, const char **ret_path)
{
	static const struct {
		const char *name;
		enum sink_kind kind;
		const char *path;
	} kinds[] = {{"syslog", SINK_SYSLOG, "/dev/log"}, {"journald", SINK_JOURNALD, JOURNALD_PATH}};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const size_t len = strlen(kinds[i].name);

		if (strncmp(text, kinds[i].name, len) != 0 ||
		    (text[len] != '\0' && (text[len] != ':' || !text[len + 1])))
			continue;
		*ret_path = text[len] ? text + len + 1 : kinds[i].path;
		return kinds[i].kind;
	}
	return SINK_NONE;
}

int sink_connect(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path));
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	return steal_fd(&fd);
}

/* Takes one message from the rate limit's token bucket. False: no message may be sent now. */
static bool sink_may_send(struct sink *sink, uint64_t now_ns)
{
	const uint64_t most = SINK_BURST_MESSAGES_MAX * SINK_TOKENS_PER_MESSAGE,
		       passed_ns = now_ns - sink->rate_tokens_added_ns;

	if (!sink->rate_tokens_added_ns ||
	    passed_ns >= SINK_BURST_MESSAGES_MAX / SINK_MESSAGES_PER_S * SINK_TOKENS_PER_MESSAGE)
		sink->rate_tokens = most;
	else
		sink->rate_tokens += passed_ns * SINK_MESSAGES_PER_S;
	sink->rate_tokens_added_ns = now_ns;
	if (sink->rate_tokens > most)
		sink->rate_tokens = most;
	if (sink->rate_tokens < SINK_TOKENS_PER_MESSAGE)
		return false;
	sink->rate_tokens -= SINK_TOKENS_PER_MESSAGE;
	return true;
}

static const char *sink_escape_text(char out[SINK_ESCAPED_TEXT_SIZE], const char *text)
{
	const size_t len = text ? strnlen(text, SINK_TEXT_BYTES_MAX) : 0;

	out[text_escape_for_display(out, text ? text : "", len, false)] = '\0';
	return text ? out : "?";
}

/* The sentence that people read in the system's log. Returns its length. */
static size_t sink_write_sentence(char *out, size_t size, const struct sink *sink, const struct sink_denial *denial)
{
	char target[SINK_ESCAPED_TEXT_SIZE], exe[SINK_ESCAPED_TEXT_SIZE], reason[SINK_ESCAPED_TEXT_SIZE],
		times[40] = "", left[64] = "";

	if (denial->count > 1)
		(void)snprintf(times, sizeof(times), " (%" PRIu64 " times)", denial->count);
	if (sink->dropped_not_reported)
		(void)snprintf(left, sizeof(left), "; %" PRIu64 " denials before it were left out",
			       sink->dropped_not_reported);
	return (size_t)snprintf(out, size, "denied %s %s to %s[%d]: %s%s (run %s, record %" PRIu64 ")%s",
				denial->syscall_name, sink_escape_text(target, denial->target),
				sink_escape_text(exe, denial->exe), denial->pid,
				sink_escape_text(reason, denial->reason), times, sink->run_id, denial->seq, left);
}

/* Fields of a journal entry, a line each: no text has a newline once it is escaped. Returns the length. */
static size_t sink_write_journal_fields(char *out, size_t size, const struct sink *sink,
					const struct sink_denial *denial)
{
	char target[SINK_ESCAPED_TEXT_SIZE], exe[SINK_ESCAPED_TEXT_SIZE], rule[SINK_ESCAPED_TEXT_SIZE],
		reason[SINK_ESCAPED_TEXT_SIZE];

	return (size_t)snprintf(out, size,
				"PRIORITY=%d\nSYSLOG_IDENTIFIER=callgate\nCALLGATE_RUN=%s\nCALLGATE_RECORD=%" PRIu64
				"\nCALLGATE_CALL=%s\nCALLGATE_TARGET=%s\nCALLGATE_EXE=%s\nCALLGATE_PID=%d\n"
				"CALLGATE_RULE=%s\nCALLGATE_REASON=%s\nCALLGATE_ERRNO=%d\nMESSAGE=",
				LOG_PRI(SINK_PRIORITY), sink->run_id, denial->seq, denial->syscall_name,
				sink_escape_text(target, denial->target), sink_escape_text(exe, denial->exe),
				denial->pid, denial->rule ? sink_escape_text(rule, denial->rule) : "",
				sink_escape_text(reason, denial->reason), denial->error);
}

/* Counts denials that the system's log was not told of. */
static void sink_count_dropped(struct sink *sink, uint64_t count)
{
	sink->dropped += count;
	sink->dropped_not_reported += count;
}

void sink_send_denial(struct sink *sink, const struct sink_denial *denial, uint64_t now_ns)
{
	char text[SINK_MESSAGE_BYTES_MAX];
	size_t len;

	if (!sink || sink->kind == SINK_NONE)
		return;
	if (!sink_may_send(sink, now_ns)) {
		sink_count_dropped(sink, denial->count);
		return;
	}
	len = sink->kind == SINK_JOURNALD ? sink_write_journal_fields(text, sizeof(text), sink, denial)
					  : (size_t)snprintf(text, sizeof(text), "<%d>callgate: ", SINK_PRIORITY);
	len += sink_write_sentence(text + len, sizeof(text) - len, sink, denial);
	if (sink->kind == SINK_JOURNALD)
		text[len++] = '\n';
	if (write(sink->fd, text, len) == (ssize_t)len) {
		sink->sent += denial->count;
		sink->dropped_not_reported = 0;
	} else {
		sink_count_dropped(sink, denial->count); /* EAGAIN: the reader is slow; ECONNREFUSED: it is gone */
	}
}

void sink_send_count_of_dropped(struct sink *sink)
{
	char text[160];
	int len;

	if (!sink || !sink->dropped_not_reported)
		return;
	len = sink->kind == SINK_JOURNALD
		      ? snprintf(text, sizeof(text),
				 "PRIORITY=%d\nSYSLOG_IDENTIFIER=callgate\nCALLGATE_RUN=%s\n"
				 "MESSAGE=%" PRIu64 " denials were left out (run %s)\n",
				 LOG_PRI(SINK_PRIORITY), sink->run_id, sink->dropped_not_reported, sink->run_id)
		      : snprintf(text, sizeof(text), "<%d>callgate: %" PRIu64 " denials were left out (run %s)",
				 SINK_PRIORITY, sink->dropped_not_reported, sink->run_id);
	(void)!write(sink->fd, text, (size_t)len); /* the result tells the number, too */
}
