#include "supervisor/gateway/provide.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cleanup.h"

#define RANDOM_ADDRESS_ATTEMPTS_MAX 32 /* random loopback addresses tried until one has no socket yet */
#define EGRESS_LISTEN_BACKLOG 1024 /* connections wait for egress' next turn only; the kernel's maximum is somaxconn */

/*
 * A random address 127.x.y.z. x and y are neither 0 nor 255, so none of the addresses that programs and distributions
 * use (127.0.0.1, 127.0.0.53, 127.0.1.1).
 */
static int address_draw_random(struct in_addr *ret_address)
{
	unsigned char byte[3];

	if (getrandom(byte, sizeof(byte), 0) != (ssize_t)sizeof(byte))
		return -EIO;
	ret_address->s_addr = htonl((uint32_t)127 << 24 | (uint32_t)(1 + byte[0] % 254) << 16 |
				    (uint32_t)(1 + byte[1] % 254) << 8 | (uint32_t)(2 + (byte[2] % 126) * 2));
	return 0;
}

/*
 * Reserves an address by binding a socket to an abstract name that contains it: no other run can bind that name until
 * the returned descriptor is closed. -errno: the address is taken, or another error.
 */
static int address_reserve_loopback_pair(struct in_addr address)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	char text[INET_ADDRSTRLEN];
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int len;

	if (fd < 0)
		return -errno;
	(void)inet_ntop(AF_INET, &address, text, sizeof(text));
	len = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "callgate-%s", text);
	if (bind(fd, (const struct sockaddr *)&name,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)) < 0)
		return -errno;
	return steal_fd(&fd);
}

int egress_address_reserve(struct in_addr *ret_address, int *ret_fd)
{
	int fd = -EADDRINUSE;

	for (int i = 0; i < RANDOM_ADDRESS_ATTEMPTS_MAX && fd == -EADDRINUSE; i++) {
		int error = address_draw_random(ret_address);

		if (error < 0)
			return error;
		fd = address_reserve_loopback_pair(*ret_address);
	}
	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return 0;
}

int egress_address_bind_socket(struct in_addr address, uint16_t port, int type, uint16_t *ret_port)
{
	struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = address};
	_cleanup_close_ int fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t len = sizeof(name);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&name, sizeof(name)) < 0 ||
	    (type == SOCK_STREAM && listen(fd, EGRESS_LISTEN_BACKLOG) < 0) || getsockname(fd, (struct sockaddr *)&name,
											  &len) < 0)
		return -errno;
	*ret_port = ntohs(name.sin_port);
	return steal_fd(&fd);
}

int egress_address_bind_udp_and_tcp(struct in_addr address, uint16_t port, int ret_fd[2], uint16_t *ret_port)
{
	int error = -EADDRINUSE;

	for (int i = 0; i < (port ? 1 : RANDOM_ADDRESS_ATTEMPTS_MAX) && error == -EADDRINUSE; i++) {
		uint16_t chosen = 0, same;
		_cleanup_close_ int udp = egress_address_bind_socket(address, port, SOCK_DGRAM, &chosen), tcp = -1;

		if (udp < 0)
			return udp;
		tcp = egress_address_bind_socket(address, chosen, SOCK_STREAM, &same);
		error = tcp;
		if (tcp < 0)
			continue;
		ret_fd[0] = steal_fd(&udp);
		ret_fd[1] = steal_fd(&tcp);
		*ret_port = chosen;
		return 0;
	}
	return error;
}
