/*
 * Decides which addresses of a name may be dialled: not those of the deny set, nor those of this machine. Called in the
 * egress process by dial.c and the name server.
 */
#ifndef CALLGATE_EGRESS_CONN_ADDRESS_H
#define CALLGATE_EGRESS_CONN_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "policy/network/net.h"

/* The exceptions from the deny set that a rule (may be NULL) makes. named: the policy contains the address itself. */
enum net_lifted_refusals address_get_lifted_refusals(const struct net_rule *rule, bool named);

/* Whether an address belongs to this machine. Asks the kernel each time, as interfaces change. */
bool address_is_local(const struct sockaddr *address);

/*
 * Why an address may not be dialled at this port (0: at any port): a static text, "private", "local", "denied_by_rule"
 * … NULL: it may be dialled.
 */
const char *address_get_refusal_reason(const struct policy *policy, const struct sockaddr *address, unsigned port,
				   enum net_lifted_refusals lift);

/*
 * Removes the addresses that may not be dialled, and returns how many are left, in the same order. Appends the removed
 * addresses to `dropped` (see dial.h), as far as whole entries fit.
 */
size_t address_filter_list(const struct policy *policy, struct sockaddr_storage *list, size_t count, unsigned port,
		      enum net_lifted_refusals lift, char *dropped, size_t cap);

#endif
