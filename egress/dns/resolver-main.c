/* The resolver process: four threads run getaddrinfo(3). */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <resolv.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "egress/conn/sockaddr.h"
#include "egress/dns/resolver.h"

#define RESOLVER_THREADS 4

/* Adds an address to the reply, if it is of IPv4 or IPv6 and there is room. */
static void reply_add_address(const struct sockaddr *from, struct resolver_reply *reply)
{
	size_t len = sockaddr_get_address_len(from->sa_family);

	if (reply->address_count >= RESOLVER_ADDRESSES_MAX || !len)
		return;
	reply->address[reply->address_count].family = (uint8_t)from->sa_family;
	memcpy(reply->address[reply->address_count++].byte, sockaddr_get_bytes(from), len);
}

/*
 * Sets the resolver options for a lookup. A name with a dot is looked up as it is: the host's search list would make
 * other names of it, which no rule approves, and send them to the network. glibc keeps these options per thread.
 * res_init re-reads resolv.conf; getaddrinfo does the same when it finds the file changed, and would forget the options
 * without RES_NORELOAD (resolv/resolv_context.c: maybe_init).
 */
static bool set_search_options(const char *host)
{
	if (res_init() < 0)
		return false;
	_res.options |= RES_NORELOAD;
	if (strchr(host, '.'))
		_res.options &= ~(unsigned long)(RES_DNSRCH | RES_DEFNAMES);
	return true;
}

static void resolve_name(const struct resolver_query *query, struct resolver_reply *reply)
{
	const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct addrinfo *list = NULL;
	int error;

	error = set_search_options(query->host) ? getaddrinfo(query->host, NULL, &hints, &list) : EAI_AGAIN;
	if (error == EAI_NONAME || error == EAI_NODATA || error == EAI_ADDRFAMILY)
		reply->error = -ENOENT;
	else if (error)
		reply->error = -EAGAIN;
	for (const struct addrinfo *one = error ? NULL : list; one; one = one->ai_next)
		reply_add_address(one->ai_addr, reply);
	if (!error) {
		freeaddrinfo(list);
		reply->error = reply->address_count ? 0 : -ENOENT;
	}
}

/* Egress has judged the name. It is checked again, so that getaddrinfo and NSS modules see only valid names. */
static bool query_is_valid(const struct resolver_query *query)
{
	char canonical[NET_HOST_SIZE];

	return memchr(query->host, '\0', sizeof(query->host)) &&
	       net_host_canonicalise(query->host, strlen(query->host), canonical) == 0;
}

/* Every thread reads the socket itself: SOCK_SEQPACKET delivers each query to one thread. */
static void *resolver_run_thread(void *ctx)
{
	int fd = *(const int *)ctx;

	for (;;) {
		struct resolver_query query;
		struct resolver_reply reply = {.error = -ENOENT};
		ssize_t got = TEMP_FAILURE_RETRY(recv(fd, &query, sizeof(query), MSG_TRUNC));

		if (got <= 0)
			return NULL;
		if ((size_t)got != sizeof(query))
			continue;
		reply.number = query.number;
		if (query_is_valid(&query))
			resolve_name(&query, &reply);
		(void)TEMP_FAILURE_RETRY(send(fd, &reply, sizeof(reply), MSG_NOSIGNAL)); /* lost if egress is gone */
	}
}

int resolver_main(int fd, int (*lock_down)(void *ctx), void *lock_ctx)
{
	struct pollfd closed = {.fd = fd}; /* POLLHUP means that the egress process has ended */

	/* Locked down before the threads are created, which inherit the filter. */
	if (lock_down && lock_down(lock_ctx) < 0)
		return EXIT_FAILURE;
	for (size_t i = 0; i < RESOLVER_THREADS; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, resolver_run_thread, &fd) != 0)
			return EXIT_FAILURE;
		(void)pthread_detach(thread);
	}
	(void)TEMP_FAILURE_RETRY(poll(&closed, 1, -1));
	return EXIT_SUCCESS; /* threads may be inside a lookup; they end with the process */
}
