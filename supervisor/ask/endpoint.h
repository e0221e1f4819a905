/* What a question about the network tells and shows: callgate-policy(5), APPROVAL. For details.c and question.c. */
#ifndef CALLGATE_SUPERVISOR_ASK_ENDPOINT_H
#define CALLGATE_SUPERVISOR_ASK_ENDPOINT_H

#include <jansson.h>

#include "supervisor/ask/shown.h"
#include "syscalls/call/call.h"

/* The object "endpoint" of a question: host, address, port and protocol. NULL: the call names no endpoint. */
json_t *endpoint_make_object(const struct call *asked);

/* Whether the call connects a datagram socket, or sends datagrams. */
bool endpoint_is_of_datagrams(const struct call *asked);

/* The rule that would permit the connection. */
json_t *endpoint_make_rule(const struct call *asked);

/* What else that rule would open, in a sentence of ours, without text of the program. */
const char *endpoint_describe_opening(const struct call *asked);

/* Adds the lines by which people decide. */
void endpoint_add_lines(struct shown_lines *lines, const struct call *asked);
/* The same, of a host, port and protocol. */
void endpoint_add_host_lines(struct shown_lines *lines, const char *host, unsigned port, const char *protocol);

#endif
