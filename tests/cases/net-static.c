/* A program without any shared library: looks a name up and asks its plain HTTP server. net-static HOST PORT PATH */
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The first of its addresses that answers. A socket, or -1. */
static int dial(const struct addrinfo *addresses)
{
	for (const struct addrinfo *a = addresses; a; a = a->ai_next) {
		int fd = socket(a->ai_family, a->ai_socktype, a->ai_protocol);

		if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) == 0)
			return fd;
		perror("connect");
		if (fd >= 0)
			(void)close(fd);
	}
	return -1;
}

/* Prints the body. 0, or -1. */
static int ask(int fd, char **argv)
{
	char text[8192], *body;
	size_t have = 0;
	ssize_t got;
	int len = snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: %s:%s\r\nConnection: close\r\n\r\n", argv[3],
			   argv[1], argv[2]);

	if (len < 0 || (size_t)len >= sizeof(text) || send(fd, text, (size_t)len, MSG_NOSIGNAL) != len)
		return -1;
	while (have < sizeof(text) - 1 && (got = recv(fd, text + have, sizeof(text) - 1 - have, 0)) > 0)
		have += (size_t)got;
	text[have] = '\0';
	body = strstr(text, "\r\n\r\n");
	if (!body)
		return -1;
	(void)printf("%.12s %s", text, body + 4);
	return 0;
}

int main(int argc, char **argv)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *addresses;
	int fd, r;

	if (argc != 4)
		return 2;
	r = getaddrinfo(argv[1], argv[2], &hints, &addresses);
	if (r != 0) {
		(void)printf("%s: %s\n", argv[1], gai_strerror(r));
		return 1;
	}
	fd = dial(addresses);
	freeaddrinfo(addresses);
	if (fd < 0)
		return 1;
	r = ask(fd, argv);
	(void)close(fd);
	return r < 0;
}
