/* mode_http1: programs and servers that say anything at any time. */
#include "tests/unit/egress/http1-rig.h"

/* ---- anything at any time ---- */

static uint32_t random_state;

static size_t below(size_t limit)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 8) % limit;
}

static const char *const client_says[] = {
	"GET /a HTTP/1.1\r\nHost: @\r\n\r\n",
	"HEAD /a HTTP/1.1\r\nHost: @\r\n\r\n",
	"POST /a HTTP/1.1\r\nHost: @\r\nContent-Length: 5\r\n\r\nhello",
	"POST /a HTTP/1.1\r\nHost: @\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello",
	"PUT /a HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
	"GET /a HTTP/1.1\r\nHost: @\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
	"GET /a HTTP/1.0\r\nHost: @\r\n\r\n",
	"TRACE /a HTTP/1.1\r\nHost: @\r\n\r\n",
	"POST /a HTTP/1.1\r\nHost: @\r\nContent-Length: 100000\r\n\r\n",
	"\r\n",
};
static const char *const server_says[] = {
	"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
	"HTTP/1.1 200 OK\r\n\r\nhello",
	"HTTP/1.1 100 Continue\r\n\r\n",
	"HTTP/1.1 204 No Content\r\n\r\n",
	"HTTP/1.1 413 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
	"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n",
	"HTTP/1.0 304\r\n\r\n",
	"\r\n",
};

/* Some messages one after the other, now and then with a byte that does not belong there. */
static size_t compose(char *out, size_t cap, const char *const *each, size_t count)
{
	size_t len = 0;

	for (size_t left = below(5) + 1; left; left--) {
		const char *text = http1_fill_in(each[below(count)]);

		if (len + strlen(text) >= cap)
			break;
		memcpy(out + len, text, strlen(text));
		len += strlen(text);
	}
	if (len > 0 && below(4) == 0)
		out[below(len)] = (char)below(256);
	return len;
}

static void take_what_is_there(int fd)
{
	char bytes[4096];

	while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
}

static void misbehave(void)
{
	static const struct linger reset = {.l_onoff = 1};
	char said[2][2048];
	size_t len[2], at[2] = {0, 0};
	int end[2] = {rig.program, rig.upstream};

	len[0] = compose(said[0], sizeof(said[0]), client_says, sizeof(client_says) / sizeof(client_says[0]));
	len[1] = compose(said[1], sizeof(said[1]), server_says, sizeof(server_says) / sizeof(server_says[0]));
	for (size_t steps = below(30) + 5; steps; steps--) {
		size_t side = below(2), some = below(300) + 1;

		if (some > len[side] - at[side])
			some = len[side] - at[side];
		(void)send(end[side], said[side] + at[side], some, MSG_NOSIGNAL);
		at[side] += some;
		if (below(3) == 0)
			take_what_is_there(end[below(2)]);
		if (below(20) == 0)
			(void)shutdown(end[side], SHUT_WR);
		if (below(4) == 0)
			(void)usleep((useconds_t)below(2000));
	}
	for (size_t side = 0; side < 2; side++)
		if (below(3) == 0)
			(void)setsockopt(end[side], SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	for (size_t side = 0, first = below(2); side < 2; side++)
		(void)close(end[side ^ first]);
}

/* Nothing is claimed of what comes back: that egress lives, and says of each connection once how it ended. */
START_TEST(nothing_that_is_said_brings_it_down)
{
	http1_begin("");
	random_state = (uint32_t)_i;
	for (int i = 0; i < 60; i++) {
		misbehave();
		rig.program = erig_connect(rig.egress, "a.test", rig.port);
		ck_assert_int_ge(rig.program, 0);
		rig.upstream = erig_accept(rig.server);
	}
	/* What was sent ahead of an end has its connection, too. */
	http1_say(rig.program, "GET /again HTTP/1.1\r\nHost: @\r\n\r\n");
	while (!wire_is_readable(rig.upstream, 500) || recv(rig.upstream, wire_heard, 10, MSG_PEEK) != 10 ||
	       memcmp(wire_heard, "GET /again", 10) != 0) {
		(void)close(rig.upstream);
		rig.upstream = erig_accept(rig.server);
	}
	http1_end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("egress-http1-hostile");
	TCase *tcase = tcase_create("mode");

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, nothing_that_is_said_brings_it_down, 0, 10);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
