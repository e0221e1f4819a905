/*
 * Egress' client: connects that wait, the messages that egress may send and when, and illegal messages.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/account/denials.h"
#include "tests/unit/supervisor/client-rig.h"
#include "tests/unit/unit.h"

static struct client_rig rig;

static void set_up(void)
{
	client_rig_setup(&rig);
}

static void tear_down(void)
{
	client_rig_teardown(&rig);
}

/* ---- programs: what they return is 0 or an errno ---- */

static const struct sockaddr_in synthetic = {.sin_family = AF_INET, .sin_port = 0xbb01, .sin_addr = {0x100012c6}};

static int connect_with(int flags)
{
	int fd = socket(AF_INET, SOCK_STREAM | flags, 0);

	return connect(fd, (const struct sockaddr *)&synthetic, sizeof(synthetic)) < 0 ? errno : 0;
}

static int connects(void)
{
	return connect_with(0);
}

static int connects_nonblocking(void)
{
	return connect_with(SOCK_NONBLOCK);
}

/* Talks, closes, and is still there for a while. */
static int talks(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), r;
	char answer[4] = "";

	r = connect(fd, (const struct sockaddr *)&synthetic, sizeof(synthetic)) < 0 ? errno : 0;
	if (r == 0 &&
	    (fcntl(fd, F_GETFL) & O_NONBLOCK || send(fd, "up", 2, 0) != 2 || recv(fd, answer, 4, MSG_WAITALL) != 4))
		r = EIO;
	(void)close(fd);
	(void)usleep(200000);
	return r;
}

static int has_send_timeout(void)
{
	const struct timeval time = {.tv_usec = 300000};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time)) < 0)
		return errno;
	return connect(fd, (const struct sockaddr *)&synthetic, sizeof(synthetic)) < 0 ? errno : 0;
}

static void on_alarm(int number)
{
	(void)number;
}

static int is_interrupted(void)
{
	const struct sigaction action = {.sa_handler = on_alarm};
	const struct itimerval soon = {.it_value = {.tv_usec = 100000}};

	(void)sigaction(SIGALRM, &action, NULL);
	(void)setitimer(ITIMER_REAL, &soon, NULL);
	return connects();
}

static int shared_fd;

static void *connect_shared(void *argument)
{
	(void)argument;
	return (void *)(intptr_t)(connect(shared_fd, (const struct sockaddr *)&synthetic, sizeof(synthetic)) < 0 ? errno
														 : 0);
}

/* Two threads, one socket: what the two were told, smaller first. */
static int connects_twice(void)
{
	pthread_t thread[2];
	void *result[2];
	long low, high;

	shared_fd = socket(AF_INET, SOCK_STREAM, 0);
	for (int i = 0; i < 2; i++)
		if (pthread_create(&thread[i], NULL, connect_shared, NULL) != 0)
			return ENOMEM;
	for (int i = 0; i < 2; i++)
		(void)pthread_join(thread[i], &result[i]);
	low = (long)(intptr_t)result[0] < (long)(intptr_t)result[1] ? (long)(intptr_t)result[0]
								    : (long)(intptr_t)result[1];
	high = (long)(intptr_t)result[0] + (long)(intptr_t)result[1] - low;
	return (int)(low * 1000 + high);
}

/* ---- connects ---- */

static uint64_t announced(void)
{
	struct control_message message;

	client_rig_expect(&rig, CONTROL_CONNECT, &message);
	ck_assert_str_eq(message.connect.host, CLIENT_RIG_HOST);
	ck_assert_uint_eq(message.connect.port, CLIENT_RIG_PORT);
	ck_assert_str_eq(message.connect.exe, "/bin/program");
	ck_assert_int_eq(message.connect.pid, rig.pid);
	return message.connect.conn_id;
}

static void answer(uint64_t conn, int error)
{
	struct control_message message = client_rig_message(CONTROL_CONNECTED);

	message.connected.conn_id = conn;
	message.connected.error = error;
	client_rig_send(&rig, &message);
}

/* The one record of an event. Borrowed until the next call. */
static json_t *the_record(const char *event)
{
	static json_t *list;

	json_decref(list);
	list = client_rig_log(&rig, event);
	ck_assert_uint_eq(json_array_size(list), 1);
	return json_array_get(list, 0);
}

static const char *text_of(const char *event, const char *key)
{
	const char *text = json_string_value(json_object_get(the_record(event), key));

	return text ? text : "";
}

START_TEST(test_connected)
{
	_cleanup_close_ int upstream = -1;
	char bytes[8];
	uint64_t conn;

	client_rig_start(&rig, talks);
	conn = announced();
	client_rig_open(&rig, conn);
	upstream = client_rig_accept(&rig);
	ck_assert_int_eq(recv(upstream, bytes, 2, MSG_WAITALL), 2);
	ck_assert_int_eq(send(upstream, "down", 4, 0), 4);
	/* The end comes when the program closes: no duplicate is left here. */
	ck_assert_int_eq(recv(upstream, bytes, sizeof(bytes), 0), 0);
	ck_assert_int_eq(client_rig_outcome(&rig), 0);
	client_rig_close(&rig, conn);
	ck_assert(egress_client_is_alive(rig.client));
	ck_assert_int_eq(json_integer_value(json_object_get(the_record(NULL), "ret")), 0);
	ck_assert_str_eq(text_of("open", "address"), "198.18.0.16");
	ck_assert_str_eq(text_of("open", "exe"), "/bin/program");
	ck_assert_str_eq(text_of("open", "host"), CLIENT_RIG_HOST);
	ck_assert_str_eq(text_of("close", "cause"), "client");
	ck_assert_int_eq(json_integer_value(json_object_get(the_record("close"), "pid")), rig.pid);
}
END_TEST

START_TEST(test_refused)
{
	uint64_t conn;

	client_rig_start(&rig, _i ? connects_nonblocking : connects);
	conn = announced();
	answer(conn, -EHOSTUNREACH);
	ck_assert_int_eq(client_rig_outcome(&rig), EHOSTUNREACH);
	client_rig_close(&rig, conn);
	ck_assert_str_eq(text_of(NULL, "errno"), "EHOSTUNREACH");
}
END_TEST

/* A socket that must not block, and egress that takes its time. */
START_TEST(test_held)
{
	_cleanup_close_ int upstream = -1;
	uint64_t start = client_rig_now_ms(), conn;

	client_rig_start(&rig, connects_nonblocking);
	conn = announced();
	ck_assert_int_eq(client_rig_outcome(&rig), EINPROGRESS);
	ck_assert_uint_ge(client_rig_now_ms() - start, EGRESS_NONBLOCKING_CONNECT_MAX_MS);
	upstream = client_rig_accept(&rig);
	client_rig_open(&rig, conn); /* late, and no mistake */
	client_rig_close(&rig, conn);
	ck_assert(egress_client_is_alive(rig.client));
	ck_assert_str_eq(text_of(NULL, "errno"), "EINPROGRESS");
}
END_TEST

START_TEST(test_send_timeout)
{
	uint64_t start = client_rig_now_ms();

	client_rig_start(&rig, has_send_timeout);
	(void)announced();
	ck_assert_int_eq(client_rig_outcome(&rig), EINPROGRESS);
	ck_assert_uint_ge(client_rig_now_ms() - start, 300);
	cleanup_close((const int[]){client_rig_accept(&rig)});
}
END_TEST

START_TEST(test_killed_while_waiting)
{
	struct control_message message;
	uint64_t conn;

	client_rig_start(&rig, connects);
	conn = announced();
	ck_assert_int_eq(kill(rig.pid, SIGKILL), 0);
	client_rig_expect(&rig, CONTROL_CANCEL, &message);
	ck_assert_uint_eq(message.id.conn_id, conn);
	answer(conn, -ECONNABORTED); /* the program is dead */
	client_rig_close(&rig, conn);
	ck_assert(egress_client_is_alive(rig.client));
	ck_assert_str_eq(text_of(NULL, "errno"), "EINTR");
}
END_TEST

START_TEST(test_interrupted)
{
	client_rig_start(&rig, is_interrupted);
	(void)announced();
	ck_assert_int_eq(client_rig_outcome(&rig), EINTR);
	ck_assert_str_eq(text_of(NULL, "errno"), "EINTR");
}
END_TEST

START_TEST(test_two_threads_one_socket)
{
	uint64_t conn;

	client_rig_start(&rig, connects_twice);
	conn = announced();
	while (rig.calls < 2)
		client_rig_step(&rig);
	client_rig_open(&rig, conn);
	ck_assert_int_eq(client_rig_outcome(&rig), EALREADY);
}
END_TEST

static unsigned fill_backlog(int *fds, unsigned most)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)},
				      .sin_port = htons(rig.listener_port)};
	unsigned count = 0;

	ck_assert_int_eq(listen(rig.listener_fd, 0), 0);
	while (count < most) {
		fds[count] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		(void)connect(fds[count++], (struct sockaddr *)&address, sizeof(address));
	}
	return count;
}

/* A full backlog keeps one connect waiting, and nothing else. */
START_TEST(test_full_backlog)
{
	int fds[8];
	unsigned count = fill_backlog(fds, 8);
	uint64_t conn, start;

	client_rig_start(&rig, connects);
	conn = announced();
	client_rig_open(&rig, conn);
	start = client_rig_now_ms();
	for (int i = 0; i < 5; i++)
		client_rig_step(&rig);
	ck_assert_uint_lt(client_rig_now_ms() - start, 900); /* the kernel tries again after a second */
	while (count > 0)
		(void)close(fds[--count]);
	ck_assert_int_eq(listen(rig.listener_fd, 16), 0);
	ck_assert_int_eq(client_rig_outcome(&rig), 0);
}
END_TEST

/* ---- an egress that dies or lies ---- */

static void expect_given_up(void)
{
	for (int i = 0; i < 100 && egress_client_is_alive(rig.client); i++)
		client_rig_step(&rig);
	ck_assert(!egress_client_is_alive(rig.client));
	ck_assert_int_eq(client_rig_outcome(&rig), ENETDOWN);
	ck_assert_str_eq(text_of(NULL, "errno"), "ENETDOWN");
	ck_assert_str_eq(text_of("close", "cause"), "egress_failed");
}

START_TEST(test_dead)
{
	client_rig_start(&rig, connects);
	(void)announced();
	cleanup_close(&rig.egress_fd);
	rig.egress_fd = -1;
	expect_given_up();
}
END_TEST

START_TEST(test_dead_before)
{
	cleanup_close(&rig.egress_fd);
	rig.egress_fd = -1;
	client_rig_start(&rig, connects);
	ck_assert_int_eq(client_rig_outcome(&rig), ENETDOWN);
}
END_TEST

START_TEST(test_garbage)
{
	struct control_message message = client_rig_record(&rig, CONTROL_EVENT_OPEN, 1);
	size_t len = control_get_message_size(CONTROL_RECORD);

	client_rig_start(&rig, connects);
	(void)announced();
	if (_i == 0)
		message.version++;
	else if (_i == 1)
		message.type = CONTROL_TYPE_MAX;
	else if (_i == 2)
		len--;
	else if (_i == 3)
		memset(message.record.path, 'x', sizeof(message.record.path));
	else if (_i == 4)
		message.record.event = CONTROL_EVENT_MAX;
	else
		len = 3;
	ck_assert_int_eq(send(rig.egress_fd, &message, len, 0), (ssize_t)len);
	expect_given_up();
}
END_TEST

static void lie_record(struct control_message *message, uint64_t conn, int which)
{
	*message = client_rig_record(&rig, CONTROL_EVENT_OPEN, conn);
	if (which == 0)
		(void)snprintf(message->record.host, sizeof(message->record.host), "other.test");
	else if (which == 1)
		message->record.port = 444;
	else if (which == 2)
		message->record.conn_id = conn + 1;
	else if (which == 3)
		message->record.id = 0;
	else if (which == 4)
		message->record.event = CONTROL_EVENT_REQUEST; /* before its open */
	else if (which == 5)
		message->record.event = CONTROL_EVENT_DNS; /* of a connection */
	else if (which == 6)
		message->record.conn_id = 0;
	else if (which == 7)
		(void)snprintf(message->record.reason, sizeof(message->record.reason), "a\n\"b");
	else
		(void)snprintf(message->record.proto, sizeof(message->record.proto), "\x1b[2J");
}

START_TEST(test_lying_record)
{
	struct control_message message;

	client_rig_start(&rig, connects);
	lie_record(&message, announced(), _i);
	client_rig_send(&rig, &message);
	expect_given_up();
}
END_TEST

static void lie_otherwise(struct control_message *message, uint64_t conn, int which)
{
	static const int errors[] = {0 /* before its open */, 1, -134, -512, INT32_MIN};

	if (which < 5) {
		*message = client_rig_message(CONTROL_CONNECTED);
		message->connected.conn_id = conn;
		message->connected.error = errors[which];
	} else if (which == 5) {
		*message = client_rig_message(CONTROL_CONNECTED);
		message->connected.conn_id = conn + 1;
		message->connected.error = -ECONNREFUSED;
	} else if (which == 6) {
		*message = client_rig_message(CONTROL_REQUEST_DONE);
		message->done.id = 1;
	} else if (which < 13) {
		static const char *const names[] = {"unapproved.test", "API.test",    "",
						    "b.wild.test",     "a.wild.test", "a.wild.test"};

		*message = client_rig_message(CONTROL_NAME_APPROVED);
		message->name.pool_index = which < 10 ? 100 : UINT32_MAX;
		(void)snprintf(message->name.host, sizeof(message->name.host), "%s", names[which - 7]);
		message->name.address_family = which == 12 ? AF_UNIX : AF_INET;
		message->name.address[0] = 127; /* not to be had without "private" */
		if (which == 10)
			message->name.pool_index = 1; /* below what may be given */
	} else {
		static const enum control_type types[] = {CONTROL_RECORD_ACK, CONTROL_END,
							  CONTROL_READY /* once more */};

		*message = client_rig_message(types[which - 13]);
	}
}

START_TEST(test_lying_otherwise)
{
	struct control_message message;

	client_rig_start(&rig, connects);
	lie_otherwise(&message, announced(), _i);
	client_rig_send(&rig, &message);
	expect_given_up();
}
END_TEST

/* Messages that are permitted once. */
START_TEST(test_said_twice)
{
	struct control_message message;
	uint64_t conn;

	client_rig_start(&rig, connects);
	conn = announced();
	client_rig_open(&rig, conn);
	ck_assert_int_eq(client_rig_outcome(&rig), 0);
	if (_i == 0) {
		message = client_rig_record(&rig, CONTROL_EVENT_OPEN, conn);
		client_rig_send(&rig, &message);
	} else if (_i == 1) {
		answer(conn, 0);
	} else if (_i == 2) {
		client_rig_close(&rig, conn);
		ck_assert(egress_client_is_alive(rig.client));
		client_rig_close(&rig, conn);
	} else {
		message = client_rig_record(&rig, CONTROL_EVENT_REQUEST, conn);
		client_rig_send(&rig, &message);
		message = client_rig_message(CONTROL_REQUEST_DONE);
		message.done.id = rig.record_id;
		message.done.result = 200;
		client_rig_send(&rig, &message);
		ck_assert(egress_client_is_alive(rig.client));
		client_rig_send(&rig, &message);
	}
	for (int i = 0; i < 100 && egress_client_is_alive(rig.client); i++)
		client_rig_step(&rig);
	ck_assert(!egress_client_is_alive(rig.client));
	(void)the_record("close"); /* one, whatever happened */
}
END_TEST

/* Egress has no upstream connection to offer. */
START_TEST(test_descriptor)
{
	struct control_message message = client_rig_message(CONTROL_READY);
	int fd = 0;

	client_rig_start(&rig, connects);
	(void)announced();
	ck_assert_int_eq(control_send_message(rig.egress_fd, &message, &fd, 1), 0);
	expect_given_up();
}
END_TEST

/* An egress that sends and does not read is not read either. Once it reads, it gets its replies in order. */
START_TEST(test_flood)
{
	enum { FLOOD = 3 * EGRESS_LINE_QUEUED_MESSAGES_MAX };
	uint64_t sent = 0, first = rig.record_id + 1;
	int full = 0;

	while (sent < FLOOD && full < 50) {
		struct control_message message = client_rig_record(&rig, CONTROL_EVENT_DNS, 0);

		message.record.allow = 0;
		message.record.wants_ack = 1;
		message.record.port = 0;
		(void)snprintf(message.record.host, sizeof(message.record.host), "n%d.test", (int)sent);
		(void)snprintf(message.record.reason, sizeof(message.record.reason), "no_rule");
		if (control_send_message(rig.egress_fd, &message, NULL, 0) == 0) {
			sent++;
			full = 0;
			continue;
		}
		rig.record_id--;
		full++;
		client_rig_step(&rig);
		ck_assert_uint_le(rig.client->line.queued_message_count, EGRESS_LINE_QUEUED_MESSAGES_MAX);
	}
	ck_assert_uint_lt(sent, FLOOD); /* it was stopped */
	for (uint64_t i = 0; i < sent; i++) {
		struct control_message ack;

		client_rig_expect(&rig, CONTROL_RECORD_ACK, &ack);
		ck_assert_uint_eq(ack.ack.id, first + i);
	}
	ck_assert(egress_client_is_alive(rig.client));
	ck_assert_uint_eq(rig.client->denied_count, sent);
}
END_TEST

/* ---- records and the result ---- */

static struct control_message request(uint64_t conn, const char *method, const char *path)
{
	struct control_message message = client_rig_record(&rig, CONTROL_EVENT_REQUEST, conn);

	(void)snprintf(message.record.method, sizeof(message.record.method), "%s", method);
	(void)snprintf(message.record.path, sizeof(message.record.path), "%s", path);
	return message;
}

static const json_t *entry(const json_t *list, size_t i, const char *path, const char *decision, int status, int count)
{
	const json_t *item = json_array_get(list, i);

	ck_assert_ptr_nonnull(item);
	ck_assert_str_eq(json_string_value(json_object_get(item, "host")), CLIENT_RIG_HOST);
	ck_assert_str_eq(json_string_value(json_object_get(item, "path")), path);
	ck_assert_str_eq(json_string_value(json_object_get(item, "decision")), decision);
	ck_assert_int_eq(json_integer_value(json_object_get(item, "status")), status);
	ck_assert_int_eq(json_integer_value(json_object_get(item, "count")), count);
	return item;
}

static void make_requests(uint64_t conn)
{
	struct control_message message, done = client_rig_message(CONTROL_REQUEST_DONE);

	for (int i = 0; i < 3; i++) {
		message = request(conn, "GET", "/a");
		client_rig_send(&rig, &message);
		done.done.id = rig.record_id;
		done.done.result = 200;
		done.done.bytes_down = 10;
		client_rig_send(&rig, &done);
	}
	message = request(conn, "POST", "/b");
	message.record.allow = 0;
	message.record.http_status = 403;
	(void)snprintf(message.record.reason, sizeof(message.record.reason), "method_not_granted");
	client_rig_send(&rig, &message);
	message = request(conn, "GET", "/unanswered");
	client_rig_send(&rig, &message);
	client_rig_close(&rig, conn);
}

START_TEST(test_result)
{
	const struct denial *denial;
	uint64_t unlisted;
	size_t count;
	json_t *list;

	client_rig_start(&rig, connects);
	make_requests((client_rig_open(&rig, announced()), 1));
	ck_assert_int_eq(client_rig_outcome(&rig), 0);
	list = json_incref(rig.client->summary.list);
	ck_assert_uint_eq(json_array_size(list), 3); /* and none for the connection itself */
	ck_assert_int_eq(json_integer_value(json_object_get(entry(list, 0, "/a", "allow", 200, 3), "bytes_down")), 30);
	(void)entry(list, 1, "/b", "deny", 403, 1);
	(void)entry(list, 2, "/unanswered", "allow", 0, 1);
	json_decref(list);
	ck_assert_uint_eq(rig.client->summary.unlisted_entry_count, 0);
	ck_assert_uint_eq(rig.client->denied_count, 1);
	denial = denials_get_list(rig.sandbox.denials, &count, &unlisted);
	ck_assert_uint_eq(count, 1);
	ck_assert_str_eq(denial->target, "POST api.test:443/b");
	ck_assert_str_eq(denial->suggested_option, "--allow 'POST api.test:443/b'");
	ck_assert_str_eq(denial->exe, "/bin/program");
	list = client_rig_log(&rig, "request");
	ck_assert_uint_eq(json_array_size(list), 5);
	ck_assert_int_eq(json_integer_value(json_object_get(json_array_get(list, 0), "ret")), 200);
	ck_assert_str_eq(json_string_value(json_object_get(json_array_get(list, 3), "verdict")), "deny");
	ck_assert_str_eq(json_string_value(json_object_get(json_array_get(list, 4), "errno")), "ECONNABORTED");
	json_decref(list);
}
END_TEST

/* ---- questions about requests ---- */

static struct egress_question *asked;
static unsigned withdrawn;

static void note_asked(void *context, struct egress_question *question)
{
	ck_assert_ptr_eq(context, &rig);
	asked = question;
}

static void note_withdrawn(void *context, struct egress_question *question)
{
	ck_assert_ptr_eq(context, &rig);
	ck_assert_ptr_eq(question, asked);
	question->answer.answer_word = "withdrawn";
	withdrawn++;
}

/* Opens a connection whose requests are asked about. Its number. */
static uint64_t open_asking(void)
{
	uint64_t conn;

	asked = NULL;
	withdrawn = 0;
	egress_client_set_asker(rig.client, &(const struct egress_asker){&rig, note_asked, note_withdrawn});
	client_rig_start(&rig, connects);
	conn = announced();
	client_rig_open(&rig, conn);
	ck_assert_int_eq(client_rig_outcome(&rig), 0);
	return conn;
}

static struct control_message question(uint64_t conn)
{
	struct control_message message = client_rig_message(CONTROL_QUESTION);

	message.question.id = ++rig.record_id;
	message.question.conn_id = conn;
	message.question.port = CLIENT_RIG_PORT;
	(void)snprintf(message.question.host, sizeof(message.question.host), CLIENT_RIG_HOST);
	(void)snprintf(message.question.method, sizeof(message.question.method), "PUT");
	(void)snprintf(message.question.path, sizeof(message.question.path), "/x");
	(void)snprintf(message.question.query, sizeof(message.question.query), "?q");
	return message;
}

/* The record of the request that question() asks about. */
static struct control_message asked_request(uint64_t conn, uint64_t question_id, bool allow)
{
	struct control_message message = request(conn, "PUT", "/x?…");

	message.record.question_id = question_id;
	message.record.allow = allow;
	message.record.wants_ack = allow;
	(void)snprintf(message.record.reason, sizeof(message.record.reason), allow ? "granted" : "path_not_granted");
	return message;
}

/* Lets the question be answered; egress is told. */
static void answer_question(const char *word, bool permits)
{
	struct control_message ack;

	ck_assert_ptr_nonnull(asked);
	asked->answer.answer_word = word;
	egress_question_answer(asked, permits);
	client_rig_expect(&rig, CONTROL_RECORD_ACK, &ack);
	ck_assert_uint_eq(ack.ack.id, asked->asked.id);
	ck_assert_int_eq(ack.ack.error, permits ? 0 : -EACCES);
}

START_TEST(test_question)
{
	static const struct {
		const char *answer, *verdict;
	} cases[] = {{"once", "ask"}, {"no", "deny"}, {"withdrawn", "deny"}};
	const uint64_t conn = open_asking();
	struct control_message message = question(conn);
	const json_t *record;
	json_t *list;

	client_rig_send(&rig, &message);
	ck_assert_ptr_nonnull(asked);
	ck_assert_str_eq(asked->denial.reason, "path_not_granted");
	ck_assert_str_eq(asked->exe, "/bin/program");
	if (_i < 2)
		answer_question(cases[_i].answer, _i == 0);
	message = asked_request(conn, asked->asked.id, _i == 0);
	client_rig_send(&rig, &message);
	ck_assert(egress_client_is_alive(rig.client));
	ck_assert_uint_eq(rig.client->question_count, 0);
	ck_assert_uint_eq(withdrawn, _i == 2);
	client_rig_close(&rig, conn);
	list = client_rig_log(&rig, "request");
	ck_assert_uint_eq(json_array_size(list), 1);
	record = json_array_get(list, 0);
	ck_assert_str_eq(json_string_value(json_object_get(record, "answer")), cases[_i].answer);
	ck_assert_str_eq(json_string_value(json_object_get(record, "verdict")), cases[_i].verdict);
	json_decref(list);
}
END_TEST

/* What the policy permits, or would not permit after an answer, is not asked about, and is not permitted. */
START_TEST(test_question_about_nothing)
{
	const uint64_t conn = open_asking();
	struct control_message message = question(conn), ack;

	(void)snprintf(message.question.method, sizeof(message.question.method), _i ? "TRACE" : "GET");
	(void)snprintf(message.question.path, sizeof(message.question.path), "/a");
	client_rig_send(&rig, &message);
	ck_assert_ptr_null(asked);
	client_rig_expect(&rig, CONTROL_RECORD_ACK, &ack);
	ck_assert_int_eq(ack.ack.error, -EACCES);
}
END_TEST

/* A connection that ends with a question: it is withdrawn, and on record. */
START_TEST(test_question_left)
{
	const uint64_t conn = open_asking();
	struct control_message message = question(conn);
	json_t *list;

	client_rig_send(&rig, &message);
	if (_i == 0) {
		client_rig_close(&rig, conn);
	} else {
		cleanup_close(&rig.egress_fd);
		rig.egress_fd = -1;
		for (int i = 0; i < 100 && egress_client_is_alive(rig.client); i++)
			client_rig_step(&rig);
	}
	ck_assert_uint_eq(withdrawn, 1);
	ck_assert_uint_eq(rig.client->question_count, 0);
	list = client_rig_log(&rig, "request");
	ck_assert_uint_eq(json_array_size(list), 1);
	ck_assert_str_eq(json_string_value(json_object_get(json_array_get(list, 0), "answer")), "withdrawn");
	json_decref(list);
}
END_TEST

static void lie_question(struct control_question *lie, int which)
{
	if (which == 0)
		(void)snprintf(lie->path, sizeof(lie->path), "/a/../x");
	else if (which == 1)
		(void)snprintf(lie->path, sizeof(lie->path), "x");
	else if (which == 2)
		(void)snprintf(lie->path, sizeof(lie->path), "/\x1b[2J");
	else if (which == 3)
		(void)snprintf(lie->method, sizeof(lie->method), "P UT");
	else if (which == 4)
		(void)snprintf(lie->host, sizeof(lie->host), "other.test");
	else if (which == 5)
		lie->port++;
	else if (which == 6)
		lie->conn_id++;
	else if (which == 7)
		lie->id = 1;
	else if (which == 8)
		(void)snprintf(lie->query, sizeof(lie->query), "q");
	else if (which == 9)
		lie->body_bytes = -2;
	else
		memset(lie->query, '?', sizeof(lie->query));
}

/* A record that is not of the question, or permits what no answer permits. */
static struct control_message lie_about_answer(uint64_t conn, int which)
{
	const uint64_t id = asked->asked.id;
	struct control_message message = asked_request(conn, id, true);

	if (which == 11)
		return message; /* not answered yet */
	answer_question("once", which != 12);
	if (which == 13)
		(void)snprintf(message.record.path, sizeof(message.record.path), "/y?…");
	else if (which == 14)
		(void)snprintf(message.record.path, sizeof(message.record.path), "/x");
	else if (which == 15)
		(void)snprintf(message.record.method, sizeof(message.record.method), "GET");
	else if (which == 16)
		message.record.question_id = id + 1;
	else if (which == 17)
		message.record.question_id = CONTROL_TOO_MANY_QUESTIONS;
	else if (which == 18)
		(void)snprintf(message.record.proto, sizeof(message.record.proto), "websocket");
	else if (which == 19) {
		client_rig_send(&rig, &message); /* once, but not twice */
		ck_assert(egress_client_is_alive(rig.client));
		message = asked_request(conn, id, true);
	}
	return message;
}

START_TEST(test_lying_question)
{
	const uint64_t conn = open_asking();
	struct control_message message = question(conn);

	if (_i < 11)
		lie_question(&message.question, _i);
	client_rig_send(&rig, &message);
	if (_i >= 11) {
		message = lie_about_answer(conn, _i);
		client_rig_send(&rig, &message);
	}
	for (int i = 0; i < 100 && egress_client_is_alive(rig.client); i++)
		client_rig_step(&rig);
	ck_assert(!egress_client_is_alive(rig.client));
	ck_assert_str_eq(text_of("close", "cause"), "egress_failed");
}
END_TEST

static void note_left(void *context, struct egress_question *question)
{
	(void)context;
	question->answer.answer_word = "withdrawn";
}

/* More questions than egress may have. */
START_TEST(test_too_many_questions)
{
	const uint64_t conn = open_asking();

	for (unsigned i = 0; i <= CONTROL_QUESTIONS_MAX && egress_client_is_alive(rig.client); i++) {
		struct control_message message = question(conn);

		client_rig_send(&rig, &message);
		ck_assert_int_eq(egress_client_is_alive(rig.client), i < CONTROL_QUESTIONS_MAX);
		egress_client_set_asker(rig.client, &(const struct egress_asker){&rig, note_asked, note_left});
	}
	ck_assert_uint_eq(rig.client->question_count, 0);
}
END_TEST

/* A server that is down and a name that does not resolve are no denials. */
START_TEST(test_failure_is_no_denial)
{
	struct control_message message;
	uint64_t conn;
	json_t *list;

	client_rig_start(&rig, connects);
	conn = announced();
	message = client_rig_record(&rig, CONTROL_EVENT_OPEN, conn);
	message.record.allow = 0;
	message.record.error = -ETIMEDOUT;
	(void)snprintf(message.record.reason, sizeof(message.record.reason), "%s", _i ? "dns_fail" : "connect_failed");
	client_rig_send(&rig, &message);
	answer(conn, -ETIMEDOUT);
	client_rig_close(&rig, conn);
	ck_assert_int_eq(client_rig_outcome(&rig), ETIMEDOUT);
	ck_assert_uint_eq(rig.client->denied_count, 0);
	list = json_incref(rig.client->summary.list);
	ck_assert_uint_eq(json_array_size(list), 1);
	json_decref(list);
	ck_assert_str_eq(text_of("open", "verdict"), "allow");
	ck_assert_str_eq(text_of("open", "errno"), "ETIMEDOUT");
}
END_TEST

/* A repeated reason counts once. A client that rejects the run's authority gets advice. */
START_TEST(test_refused_open)
{
	struct control_message message;
	json_t *list;
	uint64_t conn;

	client_rig_start(&rig, connects);
	conn = announced();
	for (int i = 0; i < 2; i++) {
		message = client_rig_record(&rig, i ? CONTROL_EVENT_CLOSE : CONTROL_EVENT_OPEN, conn);
		message.record.allow = 0;
		(void)snprintf(message.record.reason, sizeof(message.record.reason), "client_rejected_ca");
		client_rig_send(&rig, &message);
	}
	ck_assert_uint_eq(rig.client->denied_count, 1);
	list = json_incref(rig.client->summary.list);
	ck_assert_uint_eq(json_array_size(list), 1);
	json_decref(list);
	list = json_incref(rig.client->summary.advice);
	ck_assert_uint_eq(json_array_size(list), 1);
	ck_assert_str_eq(json_string_value(json_object_get(json_array_get(list, 0), "host")), CLIENT_RIG_HOST);
	json_decref(list);
}
END_TEST

/* The use of a budget, by the close records. */
START_TEST(test_budget)
{
	struct control_message message = client_rig_record(&rig, CONTROL_EVENT_OPEN, 1);
	json_t *list, *meter;
	uint64_t conn;

	client_rig_start(&rig, connects);
	rig.record_id = 0;
	conn = announced();
	(void)snprintf(message.record.rule, sizeof(message.record.rule), "p.json: network.allow[0] api.test:443");
	client_rig_send(&rig, &message);
	answer(conn, 0);
	ck_assert_int_eq(client_rig_outcome(&rig), 0);
	rig.record_id = 1;
	message = client_rig_record(&rig, CONTROL_EVENT_CLOSE, conn);
	message.record.bytes_down = 1024;
	message.record.allow = _i == 0;
	(void)snprintf(message.record.close_cause, sizeof(message.record.close_cause),
		       _i ? "cap_bytes_down" : "server");
	(void)snprintf(message.record.reason, sizeof(message.record.reason), _i ? "cap_bytes" : "");
	client_rig_send(&rig, &message);
	ck_assert(egress_client_is_alive(rig.client));
	list = usage_make_json(rig.client->usage);
	ck_assert_uint_eq(json_array_size(list), 1);
	meter = json_object_get(json_array_get(list, 0), "bytes_down");
	ck_assert_int_eq(json_integer_value(json_object_get(meter, "limit")), 1024);
	ck_assert_int_eq(json_integer_value(json_object_get(meter, "used")), 1024);
	ck_assert_int_eq(json_is_true(json_object_get(meter, "hit")), _i);
	meter = json_object_get(json_array_get(list, 0), "requests_per_minute");
	ck_assert_int_eq(json_integer_value(json_object_get(meter, "used")), 0);
	ck_assert_ptr_null(json_object_get(json_array_get(list, 0), "bytes_up"));
	json_decref(list);
	ck_assert_uint_eq(rig.client->denied_count, (unsigned)_i);
}
END_TEST

/* As many different ones as there are names: the list is bounded, the rest is counted. */
START_TEST(test_many)
{
	json_t *list;

	for (int i = 0; i < SUMMARY_ENTRIES_MAX + 500; i++) {
		char host[32];

		(void)snprintf(host, sizeof(host), "n%d.test", i);
		egress_client_add_refusal(rig.client, host, 443, NULL, "no_rule");
	}
	list = json_incref(rig.client->summary.list);
	ck_assert_uint_eq(json_array_size(list), SUMMARY_ENTRIES_MAX);
	ck_assert_uint_eq(rig.client->summary.unlisted_entry_count, 500);
	json_decref(list);
}
END_TEST

/* Egress must not do what cannot be recorded. */
START_TEST(test_full_log)
{
	struct rlimit limit = {.rlim_max = RLIM_INFINITY};
	struct control_message message, ack;
	uint64_t conn;

	client_rig_start(&rig, connects);
	conn = announced();
	(void)signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	for (int i = 0; i < 20000; i++) { /* what was set aside fills up */
		message = client_rig_record(&rig, CONTROL_EVENT_DNS, 0);
		message.record.allow = 0;
		message.record.wants_ack = 1;
		client_rig_send(&rig, &message);
		client_rig_expect(&rig, CONTROL_RECORD_ACK, &ack);
		if (ack.ack.error < 0)
			break;
	}
	ck_assert_int_lt(ack.ack.error, 0);
	message = client_rig_record(&rig, CONTROL_EVENT_OPEN, conn);
	message.record.wants_ack = 1;
	client_rig_send(&rig, &message);
	client_rig_expect(&rig, CONTROL_RECORD_ACK, &ack);
	ck_assert_int_lt(ack.ack.error, 0);
	answer(conn, 0); /* goes on nevertheless */
	for (int i = 0; i < 100 && egress_client_is_alive(rig.client); i++)
		client_rig_step(&rig);
	ck_assert(!egress_client_is_alive(rig.client));
	ck_assert_int_eq(client_rig_outcome(&rig), ENETDOWN);
}
END_TEST

/* ---- the end ---- */

/* What egress says in a process of its own, once it was told to end. */
static void play_end(uint64_t conn, bool closes)
{
	struct pollfd line = {.fd = rig.egress_fd, .events = POLLIN};
	struct control_message message;

	/*
	 * Else it is not there yet, and the rig would move the client on, which writes into the log that our parent
	 * shares.
	 */
	(void)poll(&line, 1, 100000);
	client_rig_expect(&rig, CONTROL_END, &message);
	if (closes) {
		message = client_rig_record(&rig, CONTROL_EVENT_CLOSE, conn);
		(void)snprintf(message.record.close_cause, sizeof(message.record.close_cause), "ended");
		(void)control_send_message(rig.egress_fd, &message, NULL, 0);
	}
}

START_TEST(test_finish)
{
	uint64_t conn, start;
	pid_t player;

	client_rig_start(&rig, connects);
	conn = announced();
	client_rig_open(&rig, conn);
	ck_assert_int_eq(client_rig_outcome(&rig), 0);
	player = fork();
	ck_assert_int_ge(player, 0);
	if (player == 0) {
		(void)close(rig.client->line.fd);
		play_end(conn, _i != 0);
		_exit(0);
	}
	cleanup_close(&rig.egress_fd);
	rig.egress_fd = -1;
	start = client_rig_now_ms();
	egress_client_end_run(rig.client);
	ck_assert_uint_lt(client_rig_now_ms() - start, 10000);
	ck_assert_int_eq(waitpid(player, NULL, 0), player);
	ck_assert(!egress_client_is_alive(rig.client));
	ck_assert_str_eq(text_of("close", "cause"), _i ? "ended" : "run_ended");
}
END_TEST

/* Egress does not reply. */
START_TEST(test_finish_deaf)
{
	uint64_t start = client_rig_now_ms();

	client_rig_start(&rig, connects);
	(void)announced();
	egress_client_end_run(rig.client);
	ck_assert_uint_ge(client_rig_now_ms() - start, 1900);
	ck_assert_uint_lt(client_rig_now_ms() - start, 20000);
	ck_assert_str_eq(text_of("close", "cause"), "run_ended");
	ck_assert_str_eq(text_of(NULL, "errno"), "ECONNABORTED");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("egress_client");
	TCase *tests = tcase_create("egress_client");

	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, test_connected);
	tcase_add_loop_test(tests, test_refused, 0, 2);
	tcase_add_test(tests, test_held);
	tcase_add_test(tests, test_send_timeout);
	tcase_add_test(tests, test_killed_while_waiting);
	tcase_add_test(tests, test_interrupted);
	tcase_add_test(tests, test_two_threads_one_socket);
	tcase_add_test(tests, test_full_backlog);
	tcase_add_test(tests, test_dead);
	tcase_add_test(tests, test_dead_before);
	tcase_add_loop_test(tests, test_garbage, 0, 6);
	tcase_add_loop_test(tests, test_lying_record, 0, 9);
	tcase_add_loop_test(tests, test_lying_otherwise, 0, 16);
	tcase_add_loop_test(tests, test_said_twice, 0, 4);
	tcase_add_test(tests, test_descriptor);
	tcase_add_test(tests, test_flood);
	tcase_add_test(tests, test_result);
	tcase_add_loop_test(tests, test_question, 0, 3);
	tcase_add_loop_test(tests, test_question_about_nothing, 0, 2);
	tcase_add_loop_test(tests, test_question_left, 0, 2);
	tcase_add_loop_test(tests, test_lying_question, 0, 20);
	tcase_add_test(tests, test_too_many_questions);
	tcase_add_loop_test(tests, test_failure_is_no_denial, 0, 2);
	tcase_add_test(tests, test_refused_open);
	tcase_add_loop_test(tests, test_budget, 0, 2);
	tcase_add_test(tests, test_many);
	tcase_add_test(tests, test_full_log);
	tcase_add_loop_test(tests, test_finish, 0, 2);
	tcase_add_test(tests, test_finish_deaf);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
