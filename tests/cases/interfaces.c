/* getifaddrs(3) and if_nameindex(3), which musl asks without waiting for the answer. Built by interfaces.sh. */
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define TIMES 200

int main(void)
{
	char pair[64] = "these are 20 bytes..";
	int fd[2];

	for (int i = 0; i < TIMES; i++) {
		struct if_nameindex *links = if_nameindex();
		struct ifaddrs *addresses;
		int count = 0;

		if (getifaddrs(&addresses) < 0 || !links) {
			perror("getifaddrs");
			return EXIT_FAILURE;
		}
		for (struct ifaddrs *one = addresses; one; one = one->ifa_next)
			count++;
		if (i == 0)
			printf("%d addresses, link %u %s\n", count, links->if_index, links->if_name);
		freeifaddrs(addresses);
		if_freenameindex(links);
	}
	/* Other sends of that length. */
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) < 0 || send(fd[0], pair, 20, 0) != 20 ||
	    recv(fd[1], pair, sizeof(pair), MSG_DONTWAIT) != 20 || send(fd[0], pair, 52, 0) != 52 ||
	    recv(fd[1], pair, sizeof(pair), MSG_DONTWAIT) != 52 || send(0, pair, 20, 0) >= 0)
		perror("send");
	return EXIT_SUCCESS;
}
