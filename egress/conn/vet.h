/* Which of a name's addresses may be dialled: the deny set, and what this machine itself is reached by at the moment. */
#ifndef CALLGATE_EGRESS_CONN_VET_H
#define CALLGATE_EGRESS_CONN_VET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "policy/network/net.h"

/* What a rule (NULL: none) lifts for an address; named: the user wrote the very address. */
enum net_lift vet_lift(const struct net_rule *rule, bool named);

/* Whether it is an address of this machine. Asks the kernel each time: interfaces come and go. */
bool vet_is_local(const struct sockaddr *address);

/* NULL: it may be dialled at this port (0: at some); else why not, a static code ("private", "local", "denied_by_rule" …). */
const char *vet_address(const struct policy *policy, const struct sockaddr *address, unsigned port, enum net_lift lift);

/* Keeps those that may be, in their order, and returns how many. dropped: text as in dial.h, appended to, cut at a whole one. */
size_t vet_list(const struct policy *policy, struct sockaddr_storage *list, size_t count, unsigned port,
		enum net_lift lift, char *dropped, size_t cap);

#endif
