/* What the files of the name server share: dns-server.c (UDP, answers), dns-stream.c (TCP), dns-task.c (what takes longer). */
#ifndef CALLGATE_EGRESS_DNS_SERVER_PRIVATE_H
#define CALLGATE_EGRESS_DNS_SERVER_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "egress/conn/loop.h"
#include "egress/dns/judge.h"
#include "egress/dns/message.h"
#include "egress/dns/note.h"
#include "egress/dns/server.h"

struct dns_stream;

/* Who is to be answered. */
struct dns_peer {
	struct dns_stream *stream; /* NULL: a datagram's sender */
	struct sockaddr_storage from;
	socklen_t from_len;
};

/* A query that waits for the resolver, or for the supervisor to be told of an address. */
struct dns_task {
	struct dns_task *next;
	struct dns_server *server;
	struct dns_peer peer;
	struct dns_query query;
	struct dns_verdict verdict;
	uint64_t asked;     /* the resolver's number; 0: none */
	struct timer timer; /* until the line is idle */
	unsigned waited_ms;
};

enum dns_told { DNS_UNTOLD, DNS_QUEUED, DNS_TOLD };

struct dns_server {
	struct egress *egress;
	struct watch udp, tcp; /* fd -1: none */
	struct timer udp_pause, tcp_pause;
	struct dns_notes notes;
	struct dns_task *tasks;
	size_t tasks_count;
	struct dns_stream *streams;
	size_t streams_count;
	uint8_t told[POOL_NAMES_MAX]; /* enum dns_told, by index - POOL_FIRST, of names that are not the policy's own */
};

/* A query has come. False: nothing will be answered. */
bool dns_serve(struct dns_server *server, const struct dns_peer *peer, const uint8_t *data, size_t len);
/* Answers, once the supervisor knows what is in the answer. False: nothing will be answered. */
bool dns_conclude(struct dns_server *server, const struct dns_peer *peer, const struct dns_query *query,
		  const struct dns_verdict *verdict);
void dns_reply(struct dns_server *server, const struct dns_peer *peer, const struct dns_query *query,
	       const struct dns_answer *answer);

/* Looks the name up and answers with what may be dialled of it. False: too many wait. */
bool dns_task_lookup(struct dns_server *server, const struct dns_peer *peer, const struct dns_query *query,
		     const struct dns_verdict *verdict);
/* Answers when all that was sent to the supervisor can be read by it. */
bool dns_task_hold(struct dns_server *server, const struct dns_peer *peer, const struct dns_query *query,
		   const struct dns_verdict *verdict);
/* Forgets those of a stream; NULL: all there are. */
void dns_tasks_drop(struct dns_server *server, const struct dns_stream *stream);

void dns_stream_accept(struct dns_server *server, int fd);
/* One whole answer, without its length; then the next query of the stream is read. */
void dns_stream_reply(struct dns_stream *stream, const uint8_t *data, size_t len);
/* The query will not be answered. */
void dns_stream_fail(struct dns_stream *stream);
void dns_streams_free(struct dns_server *server);

#endif
