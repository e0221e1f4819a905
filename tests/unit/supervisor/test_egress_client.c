/* Egress' client: connects that wait, and the end of the run. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
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

static int connect_with(int flags)
{
	int fd = socket(AF_INET, SOCK_STREAM | flags, 0);

	return connect(fd, (const struct sockaddr *)&client_rig_address, sizeof(client_rig_address)) < 0 ? errno : 0;
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

	r = connect(fd, (const struct sockaddr *)&client_rig_address, sizeof(client_rig_address)) < 0 ? errno : 0;
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
	return connect(fd, (const struct sockaddr *)&client_rig_address, sizeof(client_rig_address)) < 0 ? errno : 0;
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
	return client_rig_connects();
}

static int shared_fd;

static void *connect_shared(void *argument)
{
	(void)argument;
	return (void *)(intptr_t)(connect(shared_fd, (const struct sockaddr *)&client_rig_address,
					  sizeof(client_rig_address)) < 0
					  ? errno
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

START_TEST(test_connected)
{
	_cleanup_close_ int upstream = -1;
	char bytes[8];
	uint64_t conn;

	client_rig_start(&rig, talks);
	conn = client_rig_announced(&rig);
	client_rig_open(&rig, conn);
	upstream = client_rig_accept(&rig);
	ck_assert_int_eq(recv(upstream, bytes, 2, MSG_WAITALL), 2);
	ck_assert_int_eq(send(upstream, "down", 4, 0), 4);
	/* The end comes when the program closes: no duplicate is left here. */
	ck_assert_int_eq(recv(upstream, bytes, sizeof(bytes), 0), 0);
	ck_assert_int_eq(client_rig_outcome(&rig), 0);
	client_rig_close(&rig, conn);
	ck_assert(egress_client_is_alive(rig.client));
	ck_assert_int_eq(json_integer_value(json_object_get(client_rig_the_record(&rig, NULL), "ret")), 0);
	ck_assert_str_eq(client_rig_text_of(&rig, "open", "address"), "198.18.0.16");
	ck_assert_str_eq(client_rig_text_of(&rig, "open", "exe"), "/bin/program");
	ck_assert_str_eq(client_rig_text_of(&rig, "open", "host"), CLIENT_RIG_HOST);
	ck_assert_str_eq(client_rig_text_of(&rig, "close", "cause"), "client");
	ck_assert_int_eq(json_integer_value(json_object_get(client_rig_the_record(&rig, "close"), "pid")), rig.pid);
}
END_TEST

START_TEST(test_refused)
{
	uint64_t conn;

	client_rig_start(&rig, _i ? connects_nonblocking : client_rig_connects);
	conn = client_rig_announced(&rig);
	client_rig_answer(&rig, conn, -EHOSTUNREACH);
	ck_assert_int_eq(client_rig_outcome(&rig), EHOSTUNREACH);
	client_rig_close(&rig, conn);
	ck_assert_str_eq(client_rig_text_of(&rig, NULL, "errno"), "EHOSTUNREACH");
}
END_TEST

/* A socket that must not block, and egress that takes its time. */
START_TEST(test_held)
{
	_cleanup_close_ int upstream = -1;
	uint64_t start = client_rig_now_ms(), conn;

	client_rig_start(&rig, connects_nonblocking);
	conn = client_rig_announced(&rig);
	ck_assert_int_eq(client_rig_outcome(&rig), EINPROGRESS);
	ck_assert_uint_ge(client_rig_now_ms() - start, EGRESS_NONBLOCKING_CONNECT_MAX_MS);
	upstream = client_rig_accept(&rig);
	client_rig_open(&rig, conn); /* late, and no mistake */
	client_rig_close(&rig, conn);
	ck_assert(egress_client_is_alive(rig.client));
	ck_assert_str_eq(client_rig_text_of(&rig, NULL, "errno"), "EINPROGRESS");
}
END_TEST

START_TEST(test_send_timeout)
{
	uint64_t start = client_rig_now_ms();

	client_rig_start(&rig, has_send_timeout);
	(void)client_rig_announced(&rig);
	ck_assert_int_eq(client_rig_outcome(&rig), EINPROGRESS);
	ck_assert_uint_ge(client_rig_now_ms() - start, 300);
	cleanup_close((const int[]){client_rig_accept(&rig)});
}
END_TEST

START_TEST(test_killed_while_waiting)
{
	struct control_message message;
	uint64_t conn;

	client_rig_start(&rig, client_rig_connects);
	conn = client_rig_announced(&rig);
	ck_assert_int_eq(kill(rig.pid, SIGKILL), 0);
	client_rig_expect(&rig, CONTROL_CANCEL, &message);
	ck_assert_uint_eq(message.id.conn_id, conn);
	client_rig_answer(&rig, conn, -ECONNABORTED); /* the program is dead */
	client_rig_close(&rig, conn);
	ck_assert(egress_client_is_alive(rig.client));
	ck_assert_str_eq(client_rig_text_of(&rig, NULL, "errno"), "EINTR");
}
END_TEST

START_TEST(test_interrupted)
{
	client_rig_start(&rig, is_interrupted);
	(void)client_rig_announced(&rig);
	ck_assert_int_eq(client_rig_outcome(&rig), EINTR);
	ck_assert_str_eq(client_rig_text_of(&rig, NULL, "errno"), "EINTR");
}
END_TEST

START_TEST(test_two_threads_one_socket)
{
	uint64_t conn;

	client_rig_start(&rig, connects_twice);
	conn = client_rig_announced(&rig);
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

/* How long this process was ready to run and had no CPU; 0 where the kernel does not tell. */
static uint64_t read_waited_for_cpu_ms(void)
{
	unsigned long long waited_ns = 0;
	FILE *file = fopen("/proc/self/schedstat", "re");

	if (file && fscanf(file, "%*u %llu", &waited_ns) != 1)
		waited_ns = 0;
	if (file)
		(void)fclose(file);
	return waited_ns / 1000000;
}

/* A full backlog keeps one connect waiting, and nothing else. */
START_TEST(test_full_backlog)
{
	int fds[8];
	unsigned count = fill_backlog(fds, 8);
	uint64_t conn, start;

	client_rig_start(&rig, client_rig_connects);
	conn = client_rig_announced(&rig);
	client_rig_open(&rig, conn);
	start = client_rig_now_ms() - read_waited_for_cpu_ms();
	for (int i = 0; i < 5; i++)
		client_rig_step(&rig);
	/* the kernel tries again after a second */
	ck_assert_uint_lt(client_rig_now_ms() - read_waited_for_cpu_ms() - start, 900);
	while (count > 0)
		(void)close(fds[--count]);
	ck_assert_int_eq(listen(rig.listener_fd, 16), 0);
	ck_assert_int_eq(client_rig_outcome(&rig), 0);
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

	client_rig_start(&rig, client_rig_connects);
	conn = client_rig_announced(&rig);
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
	ck_assert_str_eq(client_rig_text_of(&rig, "close", "cause"), _i ? "ended" : "run_ended");
}
END_TEST

/* Egress does not reply. */
START_TEST(test_finish_deaf)
{
	uint64_t start = client_rig_now_ms();

	client_rig_start(&rig, client_rig_connects);
	(void)client_rig_announced(&rig);
	egress_client_end_run(rig.client);
	ck_assert_uint_ge(client_rig_now_ms() - start, 1900);
	ck_assert_uint_lt(client_rig_now_ms() - start, 20000);
	ck_assert_str_eq(client_rig_text_of(&rig, "close", "cause"), "run_ended");
	ck_assert_str_eq(client_rig_text_of(&rig, NULL, "errno"), "ECONNABORTED");
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
	tcase_add_loop_test(tests, test_finish, 0, 2);
	tcase_add_test(tests, test_finish_deaf);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
