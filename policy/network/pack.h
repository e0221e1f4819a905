/*
 * Serialises the network of a compiled policy: callgate compiles it, and callgate-egress, the other executable, judges
 * by it. The format has native sizes and byte order: both executables are of one version and run on one machine.
 */
#ifndef CALLGATE_POLICY_NETWORK_PACK_H
#define CALLGATE_POLICY_NETWORK_PACK_H

#include <stddef.h>

#include "base/buf.h"
#include "policy/policy.h"

/* Appends the policy's network to a buffer. 0 or -ENOMEM. */
int net_pack_policy(const struct policy *policy, struct buf *buf);

/* Makes a policy that has only the packed network, for policy_free(). 0, -EINVAL: the bytes are malformed; -ENOMEM. */
int net_unpack_policy(const void *bytes, size_t len, struct policy **ret_policy);

#endif
