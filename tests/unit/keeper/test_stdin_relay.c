/* The program's standard input: through a pipe, and through a terminal with end of file and escape keys. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "keeper/stdin-relay.h"
#include "tests/unit/unit.h"

static struct stdin_relay relay;
static int input[2], slave;

static void set_up(void)
{
	ck_assert_int_eq(pipe2(input, O_CLOEXEC), 0);
	slave = -1;
}

static void tear_down(void)
{
	stdin_relay_release(&relay);
	cleanup_close(&input[0]);
	cleanup_close(&input[1]);
	cleanup_close(&slave);
}

static void type(const char *text)
{
	ck_assert_int_eq(write(input[1], text, strlen(text)), (ssize_t)strlen(text));
}

static void end_input(void)
{
	cleanup_close(&input[1]);
	input[1] = -1;
}

/* As the keeper's loop, until nothing is ready. */
static void pump(void)
{
	struct pollfd ready;

	for (;;) {
		stdin_relay_get_pollfd(&relay, &ready);
		if (ready.fd < 0 || poll(&ready, 1, 0) <= 0)
			return;
		stdin_relay_move_bytes(&relay);
	}
}

static void expect(int fd, const char *text)
{
	char got[64] = "";

	ck_assert_int_eq(read(fd, got, sizeof(got) - 1), (ssize_t)strlen(text));
	ck_assert_str_eq(got, text);
}

static void relay_to_a_terminal(void)
{
	int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK), unlocked = 0;
	struct termios modes;

	ck_assert_int_ge(master, 0);
	ck_assert_int_eq(ioctl(master, TIOCSPTLCK, &unlocked), 0);
	slave = ioctl(master, _IO('T', 0x41) /* TIOCGPTPEER */, O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	ck_assert_int_ge(slave, 0);
	ck_assert_int_eq(tcgetattr(slave, &modes), 0);
	modes.c_lflag &= ~(tcflag_t)ECHO;
	ck_assert_int_eq(tcsetattr(slave, TCSANOW, &modes), 0);
	stdin_relay_init_terminal(&relay, input[0], master);
}

START_TEST(a_pipe_ends_with_the_input)
{
	int read_fd;

	ck_assert_int_eq(stdin_relay_init(&relay, input[0], &read_fd), 0);
	type("some\035\035\035"); /* no escape keys on a pipe */
	pump();
	expect(read_fd, "some\035\035\035");
	ck_assert(!relay.escape_was_typed);
	end_input();
	pump();
	expect(read_fd, "");
	cleanup_close(&read_fd);
}
END_TEST

START_TEST(without_an_input_it_is_empty)
{
	struct pollfd ready;
	int read_fd;

	ck_assert_int_eq(stdin_relay_init(&relay, -1, &read_fd), 0);
	stdin_relay_get_pollfd(&relay, &ready);
	ck_assert_int_eq(ready.fd, -1);
	expect(read_fd, "");
	cleanup_close(&read_fd);
}
END_TEST

START_TEST(a_terminal_gets_an_end_after_a_line)
{
	relay_to_a_terminal();
	type("line\n");
	end_input();
	pump();
	expect(slave, "line\n");
	expect(slave, "");
	ck_assert_int_lt(read(slave, &(char){0}, 1), 0); /* no second end of file */
	ck_assert_int_eq(errno, EAGAIN);
}
END_TEST

START_TEST(a_terminal_gets_an_end_in_a_line)
{
	relay_to_a_terminal();
	type("half");
	pump();
	end_input();
	pump();
	expect(slave, "half");
	expect(slave, "");
}
END_TEST

START_TEST(without_lines_there_is_no_end)
{
	struct termios modes;

	relay_to_a_terminal();
	ck_assert_int_eq(tcgetattr(slave, &modes), 0);
	cfmakeraw(&modes);
	ck_assert_int_eq(tcsetattr(slave, TCSANOW, &modes), 0);
	type("k");
	end_input();
	pump();
	expect(slave, "k");
	ck_assert_int_lt(read(slave, &(char){0}, 1), 0);
	ck_assert_int_eq(errno, EAGAIN);
}
END_TEST

START_TEST(three_escapes_are_the_way_out)
{
	relay_to_a_terminal();
	type("\035\035x\035");
	pump();
	ck_assert(!relay.escape_was_typed);
	type("\035");
	pump();
	ck_assert(!relay.escape_was_typed);
	type("\035");
	pump();
	ck_assert(relay.escape_was_typed);
	relay.escape_was_typed = false;
	type("\035\035");
	pump();
	relay.first_escape_key_ns -= 1100000000;
	type("\035");
	pump();
	ck_assert(!relay.escape_was_typed); /* too slow; this counts as the first of three */
	type("\035\035");
	pump();
	ck_assert(relay.escape_was_typed);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stdin_relay");
	TCase *tcase = tcase_create("stdin_relay");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, a_pipe_ends_with_the_input);
	tcase_add_test(tcase, without_an_input_it_is_empty);
	tcase_add_test(tcase, a_terminal_gets_an_end_after_a_line);
	tcase_add_test(tcase, a_terminal_gets_an_end_in_a_line);
	tcase_add_test(tcase, without_lines_there_is_no_end);
	tcase_add_test(tcase, three_escapes_are_the_way_out);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
