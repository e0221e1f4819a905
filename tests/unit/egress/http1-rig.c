#include "tests/unit/egress/http1-rig.h"

struct http1_rig rig = {.server = -1, .program = -1, .upstream = -1};

/* One rule for one server, with `more` in it; connected at both ends. */
void http1_begin(const char *more)
{
	static const struct erig_options none;
	char policy[1024];

	rig.server = erig_server(&rig.port);
	(void)snprintf(policy, sizeof(policy),
		       "{\"network\": {\"allow\": [{\"host\": \"a.test\", \"port\": %u, \"proto\": \"http\", "
		       "\"private\": true%s}], \"resolve\": {\"a.test\": \"127.0.0.1\"}}}",
		       rig.port, more);
	rig.egress = erig_start_with(policy, &none);
	rig.program = erig_connect(rig.egress, "a.test", rig.port);
	ck_assert_int_ge(rig.program, 0);
	rig.upstream = erig_accept(rig.server);
}

void http1_end(void)
{
	(void)close(rig.program);
	(void)close(rig.upstream);
	(void)close(rig.server);
	ck_assert_int_eq(erig_end(rig.egress), 0);
}

/* Text in which "@" stands for the server's name as the program has to write it. */
const char *http1_fill_in(const char *text)
{
	static char out[16384];
	size_t len = 0;

	for (; *text; text++)
		if (*text == '@')
			len += (size_t)snprintf(out + len, sizeof(out) - len, "a.test:%u", rig.port);
		else
			out[len++] = *text;
	out[len] = '\0';
	return out;
}

void http1_say(int fd, const char *text)
{
	wire_say(fd, http1_fill_in(text));
}

void http1_hear(int fd, const char *text)
{
	wire_hear_exactly(fd, http1_fill_in(text));
}

int http1_hear_all(int fd)
{
	const int r = wire_hear(fd);

	return r < 0 ? r : 0;
}

void http1_hear_bytes(int fd, char *bytes, size_t count)
{
	for (size_t len = 0; len < count; len++) {
		ck_assert_msg(wire_is_readable(fd, ERIG_WAIT_MS), "nothing comes");
		ck_assert_int_eq(read(fd, bytes + len, 1), 1);
	}
}

void http1_silent(int fd)
{
	ck_assert_msg(!wire_is_readable(fd, 100), "something comes");
}

struct control_record http1_request(size_t index)
{
	return erig_record(rig.egress, erig_last(rig.egress), CONTROL_EVENT_REQUEST, index);
}

struct control_record http1_closed(void)
{
	return erig_record(rig.egress, erig_last(rig.egress), CONTROL_EVENT_CLOSE, 0);
}

/* A whole exchange that leaves both connections open. */
void http1_exchange(void)
{
	http1_say(rig.program, "GET /again HTTP/1.1\r\nHost: @\r\n\r\n");
	http1_hear(rig.upstream, "GET /again HTTP/1.1\r\nHost: @\r\n\r\n");
	http1_say(rig.upstream, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	http1_hear(rig.program, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
}

/* The same after a request with a body, which was the last of its upstream connection. */
void http1_exchange_anew(void)
{
	ck_assert_int_eq(http1_hear_all(rig.upstream), 0);
	(void)close(rig.upstream);
	http1_say(rig.program, "GET /again HTTP/1.1\r\nHost: @\r\n\r\n");
	rig.upstream = erig_accept(rig.server);
	http1_hear(rig.upstream, "GET /again HTTP/1.1\r\nHost: @\r\n\r\n");
	http1_say(rig.upstream, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	http1_hear(rig.program, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
}

void http1_hear_status(unsigned status, const char *reason)
{
	char line[32], text[64];

	(void)snprintf(line, sizeof(line), "HTTP/1.1 %u ", status);
	(void)snprintf(text, sizeof(text), "\"reason\": \"%s\"}", reason);
	ck_assert_msg(strncmp(wire_heard, line, strlen(line)) == 0, "'%s' for %s", wire_heard, reason);
	ck_assert_msg(strstr(wire_heard, text), "'%s' for %s", wire_heard, reason);
}
