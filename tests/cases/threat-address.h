/* Addresses for the cases that try sockets. */
#ifndef CALLGATE_TESTS_CASES_THREAT_ADDRESS_H
#define CALLGATE_TESTS_CASES_THREAT_ADDRESS_H

#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#define HEAD offsetof(struct sockaddr_un, sun_path)

union address {
	struct sockaddr any;
	struct sockaddr_in inet;
	struct sockaddr_un local;
	struct sockaddr_storage room;
};

/* Each fills *address and returns its length. */
socklen_t inet_address(union address *address, const char *port); /* 127.0.0.1 */
socklen_t unix_address(union address *address, const char *path);
socklen_t abstract_address(union address *address, const char *name);

#endif
