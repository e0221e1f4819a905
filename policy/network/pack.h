/*
 * The network of a compiled policy as bytes: callgate compiles it and callgate-egress, another executable, judges by
 * it. Both are of one version and run on one machine.
 */
#ifndef CALLGATE_POLICY_NETWORK_PACK_H
#define CALLGATE_POLICY_NETWORK_PACK_H

#include <stddef.h>

#include "base/buf.h"
#include "policy/policy.h"

/* Adds it to a buffer. 0 or -ENOMEM. */
int net_pack(const struct policy *policy, struct buf *buf);

/* A policy that has the network and nothing else, for policy_free. 0, -EINVAL: these are no such bytes; -ENOMEM. */
int net_unpack(const void *bytes, size_t len, struct policy **ret_policy);

#endif
