/*
 * Secrets of the policy, each with the placeholder that the program sees instead of the value. The keeper loads them;
 * the egress process uses them. Values are not dumped and, if the kernel allows it, not swapped. Other processes wipe
 * their values by secrets_forget_values.
 */
#ifndef CALLGATE_EGRESS_SECRETS_SECRET_H
#define CALLGATE_EGRESS_SECRETS_SECRET_H


#include <stddef.h>

#include "policy/network/net.h"
#include "policy/parse/errors.h"

struct secrets;

#define SECRET_VALUE_BYTES_MAX 16384
#define SECRET_TEXT_WITH_VALUES_BYTES_MAX 65536 /* most bytes of a text with values inserted */
#define SECRET_PLACEHOLDER_SIZE 96
#define SECRET_SOURCE_TIMEOUT_MS 10000 /* time limit for a command, file or descriptor to deliver the value */

/*
 * Reads the values from their sources (env:, file:, fd:, command: by sh -c with a time limit), before privileges are
 * dropped. Drops a final newline; other control characters are an error. Wipes the environment variables that were read
 * and closes descriptors above 2. 0 with owned secrets that borrow from the policy (NULL: none), or -errno with a
 * message that names the secret and never contains a value.
 */
int secrets_load(const struct policy *policy, struct secrets **ret_secrets, struct policy_error *ret_error);
/*
 * Lets the secrets borrow from another policy with the same secrets, and makes new placeholders. To be called before
 * the first policy is freed. 0; -ESTALE: the policy has other secrets; -EIO: no random bytes. secrets may be NULL.
 */
int secrets_bind_to_policy(struct secrets *secrets, const struct policy *policy);
/*
 * Send the secrets to egress, over a SOCK_SEQPACKET socket, and receive them there, with the same policy. Sending waits
 * for room. *ret_secrets is owned, NULL if there are none, and borrows from the policy. 0 or -errno.
 */
int secrets_send(struct secrets *secrets, int fd);
int secrets_receive(const struct policy *policy, int fd, struct secrets **ret_secrets);
/* Wipes and frees the secrets. */
void secrets_free(struct secrets *secrets);
/*
 * Locks the values into memory, within RLIMIT_MEMLOCK. Called in egress before its lock-down, because fork(2) does not
 * inherit locks.
 */
void secrets_mlock_values(const struct secrets *secrets);

size_t secrets_get_count(const struct secrets *secrets);
const char *secrets_get_name(const struct secrets *secrets, size_t index);
/* The placeholder "callgate-secret-NAME-0123456789abcdef…", for the program's environment. Borrowed. */
const char *secrets_get_placeholder(const struct secrets *secrets, size_t index);

/*
 * Fills a credential's template, such as "Bearer {GH_TOKEN}", if each secret in it may be sent to `host`. 0 with owned
 * text, to be wiped; -EACCES: a secret is not for this host; -ENOENT: no such secret; -EMSGSIZE; -ENOMEM.
 */
int secrets_fill_template(const struct secrets *secrets, const char *template, const char *host, char **ret_text);
/*
 * Replaces the placeholders of those secrets in `text` that may be sent to `host`. 1 with an owned copy,
 * NUL-terminated, to be wiped; 0: none; -EMSGSIZE; -ENOMEM.
 */
int secrets_replace_placeholders(const struct secrets *secrets, const char *host, const char *text, size_t len,
				 char **ret_text, size_t *ret_len);

/* Wipes the values and keeps names and placeholders: for keeper and supervisor, when egress has the values. */
void secrets_forget_values(struct secrets *secrets);

#endif
