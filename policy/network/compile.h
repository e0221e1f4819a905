/* What the files that compile the network share. */
#ifndef CALLGATE_POLICY_NETWORK_COMPILE_H
#define CALLGATE_POLICY_NETWORK_COMPILE_H

#include <stddef.h>

#include "policy/network/network.h"

struct compiler;

/* Rules and secrets of all files, with their places. */
struct net_collected {
	const struct net_written_rule **rule;
	size_t rules;
	struct net_written_secret *secret;
	size_t secrets;
};

/* net-agree.c: what contradicts itself only over several rules, a message each. */
void net_check(struct compiler *compiler, const struct net_collected *collected);
/* net-warn.c: what is permitted and probably not meant. */
void net_warn(struct compiler *compiler, const struct net_collected *collected);

#endif
