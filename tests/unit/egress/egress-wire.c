#include "tests/unit/egress/egress-wire.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/io.h"

#define MEGABYTE (1024 * 1024)

char wire_heard[65536];

struct egress_rig *wire_begin(uint16_t port, const char *proto, const char *more, const struct erig_options *options)
{
	static const struct erig_options none;
	char policy[1024];

	(void)snprintf(policy, sizeof(policy),
		       "{\"network\": {\"allow\": [{\"host\": \"a.test\", \"port\": %u, \"proto\": \"%s\", "
		       "\"private\": true%s}], \"resolve\": {\"a.test\": \"127.0.0.1\"}}}",
		       port, proto, more);
	return erig_start_with(policy, options ? options : &none);
}

void wire_say(int fd, const char *text)
{
	ck_assert_int_eq(io_write_all(fd, text, strlen(text)), 0);
}

bool wire_is_readable(int fd, int ms)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};

	return poll(&ready, 1, ms) == 1;
}

static ssize_t read_some(int fd, void *data, size_t cap)
{
	ssize_t got;

	ck_assert_msg(wire_is_readable(fd, ERIG_WAIT_MS), "nothing comes");
	got = read(fd, data, cap);
	return got < 0 ? -errno : got;
}

int wire_hear(int fd)
{
	size_t len = 0;
	ssize_t got;

	while ((got = read_some(fd, wire_heard + len, sizeof(wire_heard) - 1 - len)) > 0)
		len += (size_t)got;
	wire_heard[len] = '\0';
	return got < 0 ? (int)got : (int)len;
}

void wire_hear_bytes(int fd, const void *bytes, size_t want)
{
	for (size_t len = 0; len < want;) {
		ssize_t got;

		ck_assert_msg(wire_is_readable(fd, ERIG_WAIT_MS), "nothing comes after '%.*s'", (int)len, wire_heard);
		got = read(fd, wire_heard + len, want - len);
		ck_assert_msg(got > 0, "ends after '%.*s'", (int)len, wire_heard);
		len += (size_t)got;
		ck_assert_msg(memcmp(wire_heard, bytes, len) == 0, "'%.*s' instead of '%.*s'", (int)len, wire_heard,
			      (int)want, (const char *)bytes);
	}
}

void wire_hear_exactly(int fd, const char *text)
{
	wire_hear_bytes(fd, text, strlen(text));
}

void wire_reset(int fd)
{
	const struct linger now = {.l_onoff = 1};

	ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
	(void)close(fd);
}

size_t wire_fill(int fd)
{
	static char block[65536];
	struct pollfd room = {.fd = fd, .events = POLLOUT};
	size_t put = 0;

	ck_assert_int_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	while (poll(&room, 1, 200) == 1) {
		ssize_t n = write(fd, block, sizeof(block));

		ck_assert_msg(n > 0 || errno == EAGAIN, "%s", strerror(errno));
		put += n > 0 ? (size_t)n : 0;
		ck_assert_uint_lt(put, 64 * MEGABYTE);
	}
	return put;
}

void wire_drain(int fd, size_t want)
{
	static char block[65536];

	while (want) {
		ssize_t got = read_some(fd, block, want < sizeof(block) ? want : sizeof(block));

		ck_assert_int_gt(got, 0);
		want -= (size_t)got;
	}
}
