#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/egress/egress-wire.h"
#include "tests/unit/unit.h"

static struct egress_rig *rig;
static int server = -1;
static uint16_t port;

static void begin_with(const char *more, const struct erig_options *options)
{
	server = erig_server(&port);
	rig = wire_begin(port, "tcp", more, options);
}

static void begin(const char *more)
{
	begin_with(more, NULL);
}

static void end(void)
{
	(void)close(server);
	ck_assert_int_eq(erig_end(rig), 0);
}

static void pair(int *ret_program, int *ret_upstream)
{
	*ret_program = erig_connect(rig, "a.test", port);
	ck_assert_int_ge(*ret_program, 0);
	*ret_upstream = erig_accept(server);
}

static struct control_record closed(uint64_t conn)
{
	return erig_record(rig, conn, CONTROL_EVENT_CLOSE, 0);
}

START_TEST(bytes_pass_both_ways_and_are_counted)
{
	struct control_record record;
	int program, upstream;

	begin("");
	pair(&program, &upstream);
	record = erig_record(rig, erig_last(rig), CONTROL_EVENT_OPEN, 0);
	ck_assert_int_eq(record.allow, 1);
	ck_assert_int_eq(record.wants_ack, 1);
	ck_assert_str_eq(record.host, "a.test");
	ck_assert_uint_eq(record.port, port);
	ck_assert_str_eq(record.proto, "tcp");
	ck_assert_int_eq(record.pid, getpid());
	ck_assert_msg(strncmp(record.real_address, "127.0.0.1:", 10) == 0, "%s", record.real_address);
	wire_say(upstream, "220 the server speaks first\r\n");
	wire_hear_exactly(program, "220 the server speaks first\r\n");
	wire_say(program, "HELO");
	wire_hear_exactly(upstream, "HELO");
	(void)close(program);
	ck_assert_int_eq(wire_hear(upstream), 0);
	(void)close(upstream);
	record = closed(erig_last(rig));
	ck_assert_uint_eq(record.bytes_up, 4);
	ck_assert_uint_eq(record.bytes_down, 29);
	ck_assert_str_eq(record.close_cause, "client");
	ck_assert_str_eq(record.reason, "");
	ck_assert_uint_gt(record.duration_us, 0);
	end();
}
END_TEST

START_TEST(each_side_may_stop_sending_alone)
{
	int program, upstream;

	begin("");
	for (int server_first = 0; server_first < 2; server_first++) {
		int first, second;

		pair(&program, &upstream);
		first = server_first ? upstream : program;
		second = server_first ? program : upstream;
		wire_say(first, "all I have");
		(void)shutdown(first, SHUT_WR);
		ck_assert_int_eq(wire_hear(second), 10);
		ck_assert_str_eq(wire_heard, "all I have");
		wire_say(second, "and still ");
		wire_say(second, "an answer");
		(void)close(second);
		ck_assert_int_eq(wire_hear(first), 19);
		ck_assert_str_eq(wire_heard, "and still an answer");
		(void)close(first);
		ck_assert_str_eq(closed(erig_last(rig)).close_cause, server_first ? "server" : "client");
	}
	end();
}
END_TEST

START_TEST(a_reset_is_passed_on)
{
	int program, upstream;

	begin("");
	pair(&program, &upstream);
	wire_reset(upstream);
	ck_assert_int_eq(wire_hear(program), -ECONNRESET);
	(void)close(program);
	ck_assert_str_eq(closed(erig_last(rig)).close_cause, "server_reset");
	pair(&program, &upstream);
	wire_reset(program);
	ck_assert_int_eq(wire_hear(upstream), -ECONNRESET);
	(void)close(upstream);
	ck_assert_str_eq(closed(erig_last(rig)).close_cause, "client_reset");
	end();
}
END_TEST

START_TEST(what_cannot_be_dialled_is_refused_with_its_errno)
{
	struct control_record record;
	uint64_t conn;

	server = erig_bound(&port); /* no process listens there, and no other can */
	rig = wire_begin(port, "tcp", "", NULL);
	ck_assert_int_eq(erig_connect(rig, "a.test", port), -ECONNREFUSED);
	conn = erig_last(rig);
	record = erig_record(rig, conn, CONTROL_EVENT_OPEN, 0);
	ck_assert_int_eq(record.allow, 0);
	ck_assert_str_eq(record.reason, "connect_failed");
	record = closed(conn);
	ck_assert_str_eq(record.close_cause, "refused");
	ck_assert_str_eq(record.reason, "connect_failed");
	ck_assert_str_ne(record.rule, "");
	/* Egress asks the policy itself. */
	ck_assert_int_eq(erig_connect(rig, "b.test", port), -ECONNREFUSED);
	ck_assert_str_eq(erig_record(rig, erig_last(rig), CONTROL_EVENT_OPEN, 0).reason, "no_rule");
	ck_assert_int_eq(erig_connect(rig, "a.test", (uint16_t)(port + 1)), -ECONNREFUSED);
	ck_assert_int_eq(erig_record(rig, erig_last(rig), CONTROL_EVENT_OPEN, 0).allow, 0);
	end();
}
END_TEST

START_TEST(without_a_record_there_is_no_connection)
{
	const struct erig_options options = {.ack_error = -EIO};

	begin_with("", &options);
	ck_assert_int_eq(erig_connect(rig, "a.test", port), -ENETDOWN);
	ck_assert_str_eq(closed(erig_last(rig)).reason, "not_recorded");
	end();
}
END_TEST

/* Whether a connection to the relay is reset: on a slow machine connect(2) is told so already. */
static bool is_reset(int fd)
{
	int r = erig_join(rig, fd);

	return r == -ECONNRESET || (r == 0 && wire_hear(fd) == -ECONNRESET);
}

START_TEST(a_stranger_is_reset)
{
	int fd;
	uint64_t conn;

	begin("");
	conn = erig_announce(rig, "a.test", port, &fd);
	ck_assert_int_eq(erig_connected(rig, conn), 0);
	(void)close(erig_accept(server));
	/* Another source port: of no connection. */
	int stranger = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert(is_reset(stranger));
	(void)close(stranger);
	/* The announced port serves one. */
	ck_assert_int_eq(erig_join(rig, fd), 0);
	ck_assert_int_eq(wire_hear(fd), 0);
	(void)close(fd);
	end();
}
END_TEST

START_TEST(a_cancelled_one_is_closed_and_its_port_served_no_more)
{
	int fd;
	uint64_t conn;

	begin("");
	conn = erig_announce(rig, "a.test", port, &fd);
	ck_assert_int_eq(erig_connected(rig, conn), 0);
	erig_cancel(rig, conn);
	ck_assert_str_eq(closed(conn).close_cause, "cancelled");
	ck_assert_int_eq(wire_hear(erig_accept(server)), -ECONNRESET);
	ck_assert(is_reset(fd));
	(void)close(fd);
	end();
}
END_TEST

/* As for a socket that must not block, when the upstream takes its time. */
START_TEST(one_that_comes_before_its_upstream_waits)
{
	int fd, upstream;
	uint64_t conn;

	begin("");
	conn = erig_announce(rig, "a.test", port, &fd);
	ck_assert_int_eq(erig_join(rig, fd), 0);
	wire_say(fd, "early");
	upstream = erig_accept(server);
	wire_hear_exactly(upstream, "early");
	ck_assert_int_eq(erig_connected(rig, conn), 0);
	(void)close(fd);
	(void)close(upstream);
	/* And is reset when there is none. */
	conn = erig_announce(rig, "b.test", port, &fd);
	ck_assert(is_reset(fd));
	ck_assert_int_eq(erig_connected(rig, conn), -ECONNREFUSED);
	(void)close(fd);
	end();
}
END_TEST

START_TEST(a_slow_reader_slows_the_writer_and_loses_nothing)
{
	int program, upstream;
	size_t put;

	begin("");
	pair(&program, &upstream);
	put = wire_fill(upstream);
	/* The other direction and other connections go on meanwhile. */
	wire_say(program, "ping");
	wire_hear_exactly(upstream, "ping");
	(void)shutdown(upstream, SHUT_WR);
	wire_drain(program, put);
	ck_assert_int_eq(wire_hear(program), 0);
	(void)close(program);
	(void)close(upstream);
	ck_assert_uint_eq(closed(erig_last(rig)).bytes_down, put);
	end();
}
END_TEST

START_TEST(the_end_takes_what_was_sent_along)
{
	int program, upstream;

	begin("");
	pair(&program, &upstream);
	wire_say(program, "last words");
	(void)close(program);
	end(); /* at once */
	ck_assert_int_eq(wire_hear(upstream), 10);
	ck_assert_str_eq(wire_heard, "last words");
	(void)close(upstream);
}
END_TEST

START_TEST(without_a_supervisor_everything_ends)
{
	int program, upstream, fd;

	begin("");
	pair(&program, &upstream);
	(void)erig_announce(rig, "a.test", port, &fd);
	ck_assert_int_ne(erig_abandon(rig), 0);
	ck_assert_int_le(wire_hear(program), 0);
	ck_assert_int_le(wire_hear(upstream), 0);
	(void)close(program);
	(void)close(upstream);
	(void)close(fd);
	(void)close(server);
}
END_TEST

#define MANY 1000

START_TEST(a_thousand_connections_have_one_close_each)
{
	static int program[MANY], upstream[MANY];

	begin("");
	for (int i = 0; i < MANY; i++)
		pair(&program[i], &upstream[i]);
	for (int i = 0; i < MANY; i++) {
		char text[16];

		(void)snprintf(text, sizeof(text), "%d;", i);
		wire_say(program[i], text);
	}
	for (int i = 0; i < MANY; i++) {
		char text[16];

		(void)snprintf(text, sizeof(text), "%d;", i);
		wire_hear_exactly(upstream[i], text);
		/* Ended in all the ways there are. */
		if (i % 3 == 0)
			wire_reset(i % 2 ? program[i] : upstream[i]);
		else
			(void)close(i % 2 ? program[i] : upstream[i]);
	}
	for (int i = 0; i < MANY; i++) {
		if (i % 4 == 0) {
			(void)close(i % 2 ? upstream[i] : program[i]);
			continue;
		}
		(void)wire_hear(i % 2 ? upstream[i] : program[i]);
		(void)close(i % 2 ? upstream[i] : program[i]);
	}
	for (uint64_t conn = 1; conn <= MANY; conn++)
		(void)closed(conn);
	end();
}
END_TEST

/* Resident kibibytes of the egress process, without those of files: code is paged in at any time. */
static size_t resident(void)
{
	char path[64], line[256];
	size_t kib = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)erig_pid(rig));
	file = fopen(path, "re");
	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file))
		if (strncmp(line, "RssAnon:", 8) == 0)
			kib = strtoul(line + 8, NULL, 10);
	(void)fclose(file);
	return kib;
}

#define IDLE 1100

START_TEST(idle_connections_cost_little_and_stop_nobody)
{
	static int program[IDLE], upstream[IDLE];
	size_t before;

	begin("");
	pair(&program[0], &upstream[0]);
	before = resident();
	for (int i = 1; i < IDLE; i++)
		pair(&program[i], &upstream[i]);
	wire_say(program[IDLE - 1], "still");
	wire_hear_exactly(upstream[IDLE - 1], "still");
	ck_assert_msg(resident() - before < IDLE * 16, "%zu KiB for %d", resident() - before, IDLE);
	for (int i = 0; i < IDLE; i++) {
		(void)close(program[i]);
		(void)close(upstream[i]);
	}
	end();
}
END_TEST

#define STALLED 32
/*
 * Kept is what one read found and the other socket did not take: CONN_BUFFER_BYTES in each direction, and more where
 * that socket had promised more room (173 KiB in all on an emulated arm64). A relay that read on would keep megabytes.
 */
#define STALLED_KIB 512

START_TEST(stalled_connections_stay_within_their_memory)
{
	static int program[STALLED], upstream[STALLED];
	size_t before;

	begin("");
	for (int i = 0; i < STALLED; i++)
		pair(&program[i], &upstream[i]);
	wire_drain(upstream[0], wire_fill(program[0])); /* what is everybody's is there now */
	before = resident();
	for (int i = 0; i < STALLED; i++) {
		(void)wire_fill(program[i]);
		(void)wire_fill(upstream[i]);
	}
	ck_assert_msg(resident() - before < STALLED * STALLED_KIB, "%zu KiB for %d", resident() - before, STALLED);
	for (int i = 0; i < STALLED; i++) {
		(void)close(program[i]);
		(void)close(upstream[i]);
	}
	end();
}
END_TEST

/* Clock ticks of processor the egress process has had. */
static unsigned long ticks(void)
{
	char path[64], line[1024];
	unsigned long user = 0, system = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)erig_pid(rig));
	file = fopen(path, "re");
	ck_assert_ptr_nonnull(file);
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), file));
	(void)fclose(file);
	ck_assert_int_eq(sscanf(strrchr(line, ')') + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
				&system),
			 2);
	return user + system;
}

/* Ends that hang up, are half closed, stalled or announced and never come are waited for, not asked again and again. */
START_TEST(waiting_takes_no_processor)
{
	int program[6], upstream[6], fd;
	unsigned long before;

	begin("");
	for (int i = 0; i < 6; i++)
		pair(&program[i], &upstream[i]);
	(void)shutdown(program[1], SHUT_WR);
	ck_assert_int_eq(wire_hear(upstream[1]), 0);
	(void)shutdown(upstream[2], SHUT_WR);
	ck_assert_int_eq(wire_hear(program[2]), 0);
	(void)wire_fill(upstream[3]);
	(void)close(program[4]); /* the server does not mind */
	ck_assert_int_eq(wire_hear(upstream[4]), 0);
	(void)wire_fill(program[5]);
	wire_reset(program[5]); /* while what it sent cannot go on */
	ck_assert_int_eq(erig_connected(rig, erig_announce(rig, "a.test", port, &fd)), 0);
	(void)close(erig_accept(server));
	(void)usleep(100000);
	before = ticks();
	(void)sleep(2);
	ck_assert_uint_le(ticks() - before, (unsigned long)sysconf(_SC_CLK_TCK) / 5);
	for (int i = 0; i < 6; i++)
		(void)close(upstream[i]);
	(void)close(fd);
	for (int i = 0; i < 4; i++)
		(void)close(program[i]);
	end();
}
END_TEST

/*
 * With few descriptors: the longest idle one goes, if it has been idle for some seconds; else the new one is refused.
 */
START_TEST(at_the_limit_the_longest_idle_one_goes)
{
	const struct erig_options options = {.descriptors = 296}; /* a hundred connections */
	static int program[100], upstream[100];
	int fd;

	begin_with("", &options);
	for (int i = 0; i < 100; i++)
		pair(&program[i], &upstream[i]);
	for (int i = 0; i < 100; i++) { /* where making them takes seconds, none is idle for so long */
		wire_say(program[i], "busy");
		wire_hear_exactly(upstream[i], "busy");
	}
	ck_assert_int_eq(erig_connect(rig, "a.test", port), -ECONNREFUSED);
	ck_assert_str_eq(closed(erig_last(rig)).reason, "too_many_connections");
	(void)sleep(6);
	wire_say(program[0], "busy");
	wire_hear_exactly(upstream[0], "busy");
	fd = erig_connect(rig, "a.test", port);
	ck_assert_int_ge(fd, 0);
	(void)close(erig_accept(server));
	(void)close(fd);
	ck_assert_str_eq(closed(2).close_cause, "evicted");
	ck_assert_uint_eq(erig_records(rig, 1, CONTROL_EVENT_CLOSE), 0);
	ck_assert_int_eq(wire_hear(program[1]), -ECONNRESET);
	for (int i = 0; i < 100; i++) {
		(void)close(program[i]);
		(void)close(upstream[i]);
	}
	end();
}
END_TEST

/* The supervisor reads nothing for a while: records wait, none is lost, and memory stays bounded. */
START_TEST(a_full_line_loses_nothing)
{
	const struct erig_options options = {.silent = true};
	static int fd[MANY];
	uint64_t conn[MANY];

	begin_with("", &options);
	for (int i = 0; i < 100; i++)
		conn[i] = erig_announce(rig, "b.test", port, &fd[i]);
	erig_speak(rig);
	for (int i = 100; i < MANY; i++)
		conn[i] = erig_announce(rig, "b.test", port, &fd[i]);
	for (int i = 0; i < MANY; i++) {
		ck_assert_int_eq(erig_connected(rig, conn[i]), -ECONNREFUSED);
		(void)close(fd[i]);
	}
	end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("egress_relay");
	TCase *tcase = tcase_create("relay");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, bytes_pass_both_ways_and_are_counted);
	tcase_add_test(tcase, each_side_may_stop_sending_alone);
	tcase_add_test(tcase, a_reset_is_passed_on);
	tcase_add_test(tcase, what_cannot_be_dialled_is_refused_with_its_errno);
	tcase_add_test(tcase, without_a_record_there_is_no_connection);
	tcase_add_test(tcase, a_stranger_is_reset);
	tcase_add_test(tcase, a_cancelled_one_is_closed_and_its_port_served_no_more);
	tcase_add_test(tcase, one_that_comes_before_its_upstream_waits);
	tcase_add_test(tcase, a_slow_reader_slows_the_writer_and_loses_nothing);
	tcase_add_test(tcase, the_end_takes_what_was_sent_along);
	tcase_add_test(tcase, without_a_supervisor_everything_ends);
	tcase_add_test(tcase, a_thousand_connections_have_one_close_each);
	tcase_add_test(tcase, idle_connections_cost_little_and_stop_nobody);
	tcase_add_test(tcase, stalled_connections_stay_within_their_memory);
	tcase_add_test(tcase, waiting_takes_no_processor);
	tcase_add_test(tcase, at_the_limit_the_longest_idle_one_goes);
	tcase_add_test(tcase, a_full_line_loses_nothing);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
