/* Where the value of a secret comes from. Between secret.c and secret-source.c only. */
#ifndef CALLGATE_EGRESS_SECRETS_SOURCE_H
#define CALLGATE_EGRESS_SECRETS_SOURCE_H

#include <stddef.h>

#include "policy/network/net.h"

/*
 * Reads at most cap bytes into value, which is protected memory: nothing of it is anywhere else. 0 with the length; or
 * -errno and *ret_why (static) what is wrong: "%s" in it stands for the source's name.
 */
int secret_source_read(const struct net_secret *secret, char *value, size_t cap, size_t *ret_len, const char **ret_why);
/* Wipes the environment variable it came from, if it did. After all were read: two may come from one. */
void secret_source_wipe(const struct net_secret *secret);

#endif
