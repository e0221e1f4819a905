/* The resolver process with the machine's own /etc/hosts, and its client with a process that the test plays. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "egress/dns/resolver.h"
#include "tests/unit/unit.h"

#define PATIENCE_MS 100000

static struct loop *loop;
static struct resolver *resolver;
static int ours = -1;  /* the client's */
static int other = -1; /* the process's end, when the test plays it */
static pid_t child;

static void set_up(void)
{
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	ours = ends[0];
	other = ends[1];
	ck_assert_int_eq(loop_create(&loop), 0);
	ck_assert_int_eq(resolver_create(loop, ends[0], &resolver), 0);
}

static int confine(void *ctx)
{
	return *(const int *)ctx;
}

static void set_up_process(void)
{
	static int allowed;

	set_up();
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		(void)close(ours); /* no more: the epoll set is shared */
		_exit(resolver_main(other, confine, &allowed));
	}
	(void)close(other);
	other = -1;
}

static void tear_down(void)
{
	resolver_free(resolver);
	loop_free(loop);
	if (other >= 0)
		(void)close(other);
	other = -1;
}

/* ---- who asks ---- */

struct asked {
	unsigned answers;
	struct resolver_answer answer;
	unsigned *left; /* of those the loop still runs for */
};

static void answered(void *ctx, const struct resolver_answer *answer)
{
	struct asked *asked = ctx;

	asked->answers++;
	asked->answer = *answer;
	if (asked->left && --*asked->left == 0)
		loop_stop(loop);
}

static void out_of_patience(struct timer *timer)
{
	(void)timer;
	ck_abort_msg("no answer");
}

/* Answers `left` asks, or as long as it takes the caller to lose patience. */
static void run(void)
{
	struct timer patience = {.fire = out_of_patience};

	loop_set_timer(loop, &patience, PATIENCE_MS);
	ck_assert_int_eq(loop_run(loop), 0);
	loop_clear_timer(loop, &patience);
}

static void stop(struct timer *timer)
{
	(void)timer;
	loop_stop(loop);
}

static void run_for(uint64_t ms)
{
	struct timer enough = {.fire = stop};

	loop_set_timer(loop, &enough, ms);
	ck_assert_int_eq(loop_run(loop), 0);
}

static struct asked look_up(const char *host)
{
	unsigned left = 1;
	struct asked asked = {.left = &left};

	ck_assert_uint_ne(resolver_ask_name(resolver, host, PATIENCE_MS / 2, answered, &asked), 0);
	run();
	ck_assert_uint_eq(asked.answers, 1);
	return asked;
}

/* ---- the process ---- */

START_TEST(hosts_file)
{
	struct asked asked = look_up("localhost");
	bool found = false;

	ck_assert_int_eq(asked.answer.error, 0);
	for (size_t i = 0; i < asked.answer.address_count; i++) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)&asked.answer.address[i];

		found = found || (in->sin_family == AF_INET && in->sin_addr.s_addr == htonl(INADDR_LOOPBACK));
	}
	ck_assert(found);
}
END_TEST

/*
 * What is no name is not even tried; what is one and unknown would be asked of a name server, so it is not tried here.
 */
START_TEST(no_name)
{
	ck_assert_int_eq(look_up("a b").answer.error, -ENOENT);
	ck_assert_int_eq(look_up("0x7f.1").answer.error, -ENOENT);
	ck_assert_int_eq(look_up("").answer.error, -ENOENT);
	ck_assert_int_eq(look_up("localhost").answer.error, 0);
}
END_TEST

START_TEST(many_at_once)
{
	enum { MANY = 3000 };
	static struct asked asked[MANY];
	unsigned left = MANY;

	for (size_t i = 0; i < MANY; i++) {
		char host[32];

		asked[i].left = &left;
		(void)snprintf(host, sizeof(host), i % 3 ? "localhost" : "no name %zu", i % 200);
		ck_assert_uint_ne(resolver_ask_name(resolver, host, PATIENCE_MS, answered, &asked[i]), 0);
	}
	run();
	for (size_t i = 0; i < MANY; i++) {
		ck_assert_uint_eq(asked[i].answers, 1);
		ck_assert_int_eq(asked[i].answer.error, i % 3 ? 0 : -ENOENT);
	}
}
END_TEST

static int exit_status(void)
{
	int status;

	ck_assert_int_eq(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

START_TEST(ends_with_us)
{
	(void)look_up("localhost");
	resolver_free(resolver);
	resolver = NULL;
	ck_assert_int_eq(exit_status(), EXIT_SUCCESS);
}
END_TEST

START_TEST(dies)
{
	unsigned left = 2;
	struct asked asked[2] = {{.left = &left}, {.left = &left}};
	int status;

	(void)look_up("localhost");
	ck_assert_int_eq(kill(child, SIGSTOP), 0);
	ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child); /* all its threads have stopped */
	ck_assert_uint_ne(resolver_ask_name(resolver, "localhost", PATIENCE_MS, answered, &asked[0]), 0);
	ck_assert_uint_ne(resolver_ask_name(resolver, "a.test", PATIENCE_MS, answered, &asked[1]), 0);
	ck_assert_int_eq(kill(child, SIGKILL), 0);
	run();
	ck_assert_int_eq(asked[0].answer.error, -EPIPE);
	ck_assert_int_eq(asked[1].answer.error, -EPIPE);
	ck_assert_int_eq(look_up("localhost").answer.error, -EPIPE);
	ck_assert_int_eq(exit_status(), -SIGKILL);
}
END_TEST

/* What egress would never send, were it still itself. */
START_TEST(garbage)
{
	int ends[2], status;
	struct resolver_query query = {.number = 5};
	struct resolver_reply reply;
	pid_t process;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	process = fork();
	if (process == 0) {
		(void)close(ends[0]);
		_exit(resolver_main(ends[1], NULL, NULL));
	}
	(void)close(ends[1]);
	ck_assert_int_eq(send(ends[0], "x", 1, 0), 1);
	ck_assert_int_gt(send(ends[0], (char[8192]){1}, 8192, 0), 0);
	ck_assert_int_eq(send(ends[0], &query, sizeof(query) - 1, 0), (ssize_t)sizeof(query) - 1);
	memset(query.host, 'a', sizeof(query.host)); /* no end */
	ck_assert_int_eq(send(ends[0], &query, sizeof(query), 0), (ssize_t)sizeof(query));
	ck_assert_int_eq(recv(ends[0], &reply, sizeof(reply), 0), (ssize_t)sizeof(reply));
	ck_assert_uint_eq(reply.number, 5);
	ck_assert_int_eq(reply.error, -ENOENT);
	(void)snprintf(query.host, sizeof(query.host), "localhost");
	ck_assert_int_eq(send(ends[0], &query, sizeof(query), 0), (ssize_t)sizeof(query));
	ck_assert_int_eq(recv(ends[0], &reply, sizeof(reply), 0), (ssize_t)sizeof(reply));
	ck_assert_int_eq(reply.error, 0);
	(void)close(ends[0]);
	ck_assert_int_eq(waitpid(process, &status, 0), process);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
END_TEST

START_TEST(not_confined)
{
	int refused = -EPERM;

	ck_assert_int_eq(resolver_main(other, confine, &refused), EXIT_FAILURE);
}
END_TEST

/* ---- its client ---- */

static struct resolver_query take_query(void)
{
	struct pollfd ready = {.fd = other, .events = POLLIN};
	struct resolver_query query;

	ck_assert_int_eq(poll(&ready, 1, PATIENCE_MS), 1);
	ck_assert_int_eq(recv(other, &query, sizeof(query), 0), (ssize_t)sizeof(query));
	return query;
}

static void give_answer(uint64_t number)
{
	struct resolver_reply reply = {.number = number, .address_count = 1, .address[0] = {AF_INET, {192, 0, 2, 9}}};

	ck_assert_int_eq(send(other, &reply, sizeof(reply), 0), (ssize_t)sizeof(reply));
}

START_TEST(one_query_for_all)
{
	unsigned left = 2;
	struct asked asked[3] = {{.left = &left}, {.left = &left}, {.left = &left}};
	uint64_t number[3];
	struct resolver_query query;

	for (size_t i = 0; i < 3; i++)
		number[i] = resolver_ask_name(resolver, "a.test", PATIENCE_MS, answered, &asked[i]);
	ck_assert(number[0] != number[1] && number[1] != number[2]);
	query = take_query();
	ck_assert_str_eq(query.host, "a.test");
	ck_assert_int_eq(recv(other, &query, sizeof(query), MSG_DONTWAIT), -1);
	resolver_cancel_question(resolver, number[1]);
	resolver_cancel_question(resolver, number[1]);
	give_answer(query.number);
	run();
	ck_assert_uint_eq(asked[0].answers, 1);
	ck_assert_uint_eq(asked[1].answers, 0);
	ck_assert_uint_eq(asked[2].answers, 1);
	ck_assert_uint_eq(((struct sockaddr_in *)&asked[2].answer.address[0])->sin_addr.s_addr, htonl(0xc0000209));
	/* and again: nothing is kept */
	left = 1;
	ck_assert_uint_ne(resolver_ask_name(resolver, "a.test", PATIENCE_MS, answered, &asked[0]), 0);
	give_answer(take_query().number);
	run();
	ck_assert_uint_eq(asked[0].answers, 2);
}
END_TEST

START_TEST(too_late)
{
	unsigned left = 1;
	struct asked asked = {.left = &left};
	struct resolver_query query;

	ck_assert_uint_ne(resolver_ask_name(resolver, "a.test", 20, answered, &asked), 0);
	run();
	ck_assert_int_eq(asked.answer.error, -ETIMEDOUT);
	query = take_query();
	give_answer(query.number);
	give_answer(query.number);
	run_for(20);
	ck_assert_uint_eq(asked.answers, 1);
}
END_TEST

/* Who is told may cancel others, or ask anew. */
static uint64_t to_cancel;
static struct asked anew;

static void answered_once(void *ctx, const struct resolver_answer *answer)
{
	answered(ctx, answer);
	resolver_cancel_question(resolver, to_cancel);
	ck_assert_uint_ne(resolver_ask_name(resolver, "a.test", PATIENCE_MS, answered, &anew), 0);
}

START_TEST(answers_that_change_things)
{
	struct asked first = {0}, second = {0};
	unsigned left = 1;
	uint64_t number;

	anew.left = &left;
	/* the one that asked last is told first */
	number = resolver_ask_name(resolver, "a.test", PATIENCE_MS, answered, &second);
	to_cancel = number;
	ck_assert_uint_ne(resolver_ask_name(resolver, "a.test", PATIENCE_MS, answered_once, &first), 0);
	give_answer(take_query().number);
	run_for(20);
	ck_assert_uint_eq(first.answers, 1);
	ck_assert_uint_eq(second.answers, 0);
	ck_assert_uint_eq(anew.answers, 0);
	give_answer(take_query().number);
	run();
	ck_assert_uint_eq(anew.answers, 1);
}
END_TEST

START_TEST(nonsense_from_it)
{
	static const struct resolver_reply row[] = {
		{.number = 1, .error = 0, .address_count = 0},
		{.number = 1, .error = 1},
		{.number = 1, .error = -EAGAIN, .address_count = 1},
		{.number = 1, .address_count = RESOLVER_ADDRESSES_MAX + 1},
		{.number = 1, .address_count = 1, .address[0] = {AF_UNIX, {0}}},
	};
	unsigned left = 1;
	struct asked asked = {.left = &left};
	size_t len = (size_t)_i < sizeof(row) / sizeof(row[0]) ? sizeof(row[0]) : 3;

	ck_assert_uint_ne(resolver_ask_name(resolver, "a.test", PATIENCE_MS, answered, &asked), 0);
	ck_assert_int_eq(send(other, &row[len == 3 ? 0 : _i], len, 0), (ssize_t)len);
	run();
	ck_assert_int_eq(asked.answer.error, -EPIPE);
	ck_assert_int_eq(recv(other, &left, sizeof(left), 0), sizeof(left)); /* the query: then it is closed */
	ck_assert_int_eq(look_up("b.test").answer.error, -EPIPE);
}
END_TEST

START_TEST(too_many)
{
	static struct asked asked[RESOLVER_QUERIES_MAX];
	char host[32];

	for (size_t i = 0; i < RESOLVER_QUERIES_MAX; i++) {
		(void)snprintf(host, sizeof(host), "n%zu.test", i);
		ck_assert_uint_ne(resolver_ask_name(resolver, host, PATIENCE_MS, answered, &asked[i]), 0);
	}
	ck_assert_uint_eq(resolver_ask_name(resolver, "more.test", PATIENCE_MS, answered, &asked[0]), 0);
	ck_assert_uint_ne(resolver_ask_name(resolver, "n0.test", PATIENCE_MS, answered, &asked[0]), 0);
	for (size_t i = 0; i < RESOLVER_QUERIES_MAX; i++) {
		run_for(0); /* what did not fit into the socket follows */
		give_answer(take_query().number);
	}
	run_for(50);
	for (size_t i = 0; i < RESOLVER_QUERIES_MAX; i++)
		ck_assert_uint_eq(asked[i].answers, 1 + (i == 0));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("resolver");
	TCase *process = tcase_create("process"), *client = tcase_create("client");

	tcase_add_checked_fixture(process, set_up_process, tear_down);
	tcase_add_test(process, hosts_file);
	tcase_add_test(process, no_name);
	tcase_add_test(process, many_at_once);
	tcase_add_test(process, ends_with_us);
	tcase_add_test(process, dies);
	tcase_add_test(process, garbage);
	tcase_add_checked_fixture(client, set_up, tear_down);
	tcase_add_test(client, not_confined);
	tcase_add_test(client, one_query_for_all);
	tcase_add_test(client, too_late);
	tcase_add_test(client, answers_that_change_things);
	tcase_add_loop_test(client, nonsense_from_it, 0, 6);
	tcase_add_test(client, too_many);
	suite_add_tcase(suite, process);
	suite_add_tcase(suite, client);
	return unit_run(suite);
}
