/* Connections whose protocol was changed: bytes both ways, what is not taken, half-closes, idle time, early bytes. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agents/http/http.h"
#include "tests/fuzz/stage.h"
#include "tests/unit/unit.h"

#define REQUEST "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"

static struct {
	struct loop *loop;
	struct http_server *server;
	struct http_request *request;
	int client_fd;
	char protocol[32]; /* that the client asked for; "-": none */
	size_t taken_max;
	char got[64];
	size_t got_len;
	bool client_has_ended, is_done;
} rig;

static void on_done(void *data, bool complete)
{
	(void)data;
	(void)complete;
	ck_assert(!rig.is_done);
	rig.is_done = true;
}

static size_t on_bytes(void *data, const char *bytes, size_t len)
{
	(void)data;
	len = len < rig.taken_max ? len : rig.taken_max;
	ck_assert_uint_lt(rig.got_len + len, sizeof(rig.got));
	memcpy(rig.got + rig.got_len, bytes, len);
	rig.got_len += len;
	return len;
}

static void on_end(void *data)
{
	(void)data;
	rig.client_has_ended = true;
}

static void on_room(void *data)
{
	(void)data;
}

static void on_request(void *data, struct http_request *request)
{
	static const struct http_body_handler nothing = {0};
	const char *protocol = http_get_upgrade(request);

	(void)data;
	(void)snprintf(rig.protocol, sizeof(rig.protocol), "%s", protocol ? protocol : "-");
	rig.request = request;
	http_set_owner(request, on_done, NULL);
	http_stream_body(request, &nothing);
}

static int begin_upgrade(void)
{
	static const struct http_body_handler handler = {.on_bytes = on_bytes, .on_end = on_end};

	return http_begin_upgrade(rig.request, "echo", &handler, on_room, NULL);
}

static void client_send(const char *text)
{
	ck_assert_int_eq(send(rig.client_fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
	stage_turn();
}

/* What the client has got; "": the connection has ended; "wait": neither. */
static const char *client_receive(void)
{
	static char text[4096];
	ssize_t got;

	stage_turn();
	got = recv(rig.client_fd, text, sizeof(text) - 1, MSG_DONTWAIT);
	if (got < 0)
		return errno == EAGAIN ? "wait" : "";
	text[got] = '\0';
	return text;
}

static void begin(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	socklen_t len = sizeof(address);
	struct http_server_options options = {
		.listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
		.connections_max = HTTP_CONNECTIONS_MAX,
		.on_request = on_request};

	memset(&rig, 0, sizeof(rig));
	rig.taken_max = sizeof(rig.got);
	ck_assert_int_eq(bind(options.listen_fd, (struct sockaddr *)&address, sizeof(sa_family_t)), 0);
	ck_assert_int_eq(getsockname(options.listen_fd, (struct sockaddr *)&address, &len), 0);
	ck_assert_int_eq(listen(options.listen_fd, 1), 0);
	ck_assert_int_eq(loop_create(&rig.loop), 0);
	stage_begin(rig.loop);
	ck_assert_int_eq(http_server_create(rig.loop, &options, &rig.server), 0);
	rig.client_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(connect(rig.client_fd, (struct sockaddr *)&address, len), 0);
}

static void end(void)
{
	http_server_free(rig.server);
	stage_end();
	loop_free(rig.loop);
	(void)close(rig.client_fd);
}

static void upgrade(void)
{
	client_send(REQUEST);
	ck_assert_str_eq(rig.protocol, "echo");
	ck_assert_int_eq(begin_upgrade(), 0);
	ck_assert_ptr_nonnull(strstr(client_receive(), "HTTP/1.1 101 "));
}

static void pass_s(unsigned seconds)
{
	struct script_segment segment = {.op = 't'};

	for (; seconds > 0; seconds -= segment.which) {
		segment.which = seconds < 99 ? seconds : 99;
		ck_assert(stage_play(&segment));
		stage_turn();
	}
}

START_TEST(bytes_go_both_ways)
{
	upgrade();
	client_send("to the server");
	ck_assert_str_eq(rig.got, "to the server");
	ck_assert(http_write_stream(rig.request, "to the client", 13));
	ck_assert_str_eq(client_receive(), "to the client");
	ck_assert_int_eq(shutdown(rig.client_fd, SHUT_WR), 0);
	stage_turn();
	ck_assert(rig.client_has_ended && !rig.is_done);
	ck_assert(http_write_stream(rig.request, "last", 4));
	http_end_stream(rig.request);
	ck_assert_str_eq(client_receive(), "last");
	ck_assert_str_eq(client_receive(), "");
	ck_assert(rig.is_done);
	ck_assert_uint_eq(http_server_count_connections(rig.server), 0);
}
END_TEST

START_TEST(what_is_not_taken_waits)
{
	upgrade();
	rig.taken_max = 1;
	client_send("abc");
	stage_turn();
	ck_assert_str_eq(rig.got, "a");
	http_resume_body(rig.request);
	stage_turn();
	ck_assert_str_eq(rig.got, "ab");
	ck_assert_int_eq(shutdown(rig.client_fd, SHUT_WR), 0);
	http_resume_body(rig.request);
	stage_turn();
	http_resume_body(rig.request);
	stage_turn();
	ck_assert_str_eq(rig.got, "abc");
	ck_assert(rig.client_has_ended);
}
END_TEST

/* All is sent, and the client goes on sending: it has a second. */
START_TEST(a_client_does_not_keep_what_the_owner_has_ended)
{
	upgrade();
	http_end_stream(rig.request);
	ck_assert_str_eq(client_receive(), "");
	client_send("more");
	ck_assert_str_eq(rig.got, "");
	ck_assert_uint_eq(http_server_count_connections(rig.server), 1);
	pass_s(2);
	ck_assert_uint_eq(http_server_count_connections(rig.server), 0);
}
END_TEST

START_TEST(a_client_that_is_gone_has_a_moment)
{
	upgrade();
	client_send("last");
	(void)close(rig.client_fd);
	rig.client_fd = -1;
	stage_turn();
	ck_assert_str_eq(rig.got, "last");
	ck_assert(rig.client_has_ended && !rig.is_done);
	ck_assert(http_write_stream(rig.request, "into the void", 13));
	pass_s(2);
	ck_assert(rig.is_done);
	ck_assert_uint_eq(http_server_count_connections(rig.server), 0);
}
END_TEST

START_TEST(idle_connections_end)
{
	upgrade();
	pass_s(HTTP_IDLE_TIMEOUT_S - 10);
	client_send("x");
	pass_s(HTTP_IDLE_TIMEOUT_S - 10);
	ck_assert_str_eq(client_receive(), "wait");
	pass_s(20);
	ck_assert_str_eq(client_receive(), "");
	ck_assert(rig.is_done);
}
END_TEST

/* They may be another request, of which nothing may reach the other protocol. */
START_TEST(early_bytes_are_not_of_the_other_protocol)
{
	client_send(REQUEST);
	client_send("GET");
	ck_assert_int_eq(begin_upgrade(), -EPROTO);
	http_abort(rig.request);
	end();
	begin();
	client_send(REQUEST "GET / HTTP/1.1\r\n");
	(void)begin_upgrade();
	(void)client_receive();
	stage_turn();
	ck_assert_str_eq(rig.got, "");
	ck_assert_str_eq(client_receive(), "");
	ck_assert(rig.is_done);
}
END_TEST

START_TEST(the_end_of_the_server_ends_them)
{
	upgrade();
	http_server_free(rig.server);
	rig.server = NULL;
	ck_assert(rig.is_done);
	ck_assert_str_eq(client_receive(), "");
}
END_TEST

START_TEST(other_requests_cannot_ask_for_it)
{
	static const char *const others[] = {
		"GET / HTTP/1.0\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: echo\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgraded\r\nUpgrade: echo\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo, other\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\nContent-Length: 1\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n",
	};

	client_send(others[_i]);
	ck_assert_str_eq(rig.protocol, "-");
	http_abort(rig.request);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("upgrade");
	TCase *all = tcase_create("all");

	tcase_add_checked_fixture(all, begin, end);
	tcase_add_test(all, bytes_go_both_ways);
	tcase_add_test(all, what_is_not_taken_waits);
	tcase_add_test(all, a_client_does_not_keep_what_the_owner_has_ended);
	tcase_add_test(all, a_client_that_is_gone_has_a_moment);
	tcase_add_test(all, idle_connections_end);
	tcase_add_test(all, early_bytes_are_not_of_the_other_protocol);
	tcase_add_test(all, the_end_of_the_server_ends_them);
	tcase_add_loop_test(all, other_requests_cannot_ask_for_it, 0, 7);
	suite_add_tcase(suite, all);
	return unit_run(suite);
}
