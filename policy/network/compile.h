/* Shared by the files that compile the network: compile.c, agree.c, warn.c. */
#ifndef CALLGATE_POLICY_NETWORK_COMPILE_H
#define CALLGATE_POLICY_NETWORK_COMPILE_H

#include <stddef.h>

#include "policy/network/network.h"

struct compiler;

/* Rules and secrets of all files, with their places for messages. */
struct net_collected {
	const struct net_written_rule **rule;
	size_t rules;
	struct net_written_secret *secret;
	size_t secrets;
};

/* agree.c: reports contradictions between rules, secrets and fixed addresses, with a message each. */
void net_check(struct compiler *compiler, const struct net_collected *collected);
/* warn.c: warns about what is valid and probably a mistake. */
void net_warn(struct compiler *compiler, const struct net_collected *collected);

#endif
