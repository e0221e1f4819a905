/* What the files of this folder share. */
#ifndef CALLGATE_EGRESS_SECRETS_PRIVATE_H
#define CALLGATE_EGRESS_SECRETS_PRIVATE_H

#include <stddef.h>

#include "egress/secrets/secret.h"

#define PLACEHOLDER_PREFIX "callgate-secret-"

/* A secret of the run, with its value and the placeholder that the program sees. */
struct secret {
	const struct net_secret *definition; /* the secret's definition in the policy */
	char *value; /* a mapping of SECRET_VALUE_BYTES_MAX bytes; NULL: the value was forgotten */
	size_t len;
	char placeholder[SECRET_PLACEHOLDER_SIZE];
	size_t placeholder_len;
};

/* All secrets of a run. */
struct secrets {
	size_t count;
	struct secret item[];
};

/*
 * Reads the value from the source that the policy names into secret->value, and checks it. NULL, or a borrowed text
 * that says why it cannot, with errno.
 */
const char *secret_read_value(struct secret *secret);

/* Wipes the environment variable of a value; called when all were read, because two secrets may use one variable. */
void secret_wipe_env(const struct net_secret *secret);

#endif
