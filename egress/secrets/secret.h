/*
 * Secrets: what the user's "secrets" hold, each with the placeholder the program sees instead. Values live in the egress
 * process only, in memory that is neither dumped nor swapped where the kernel allows; the keeper wipes its copy.
 */
#ifndef CALLGATE_EGRESS_SECRETS_SECRET_H
#define CALLGATE_EGRESS_SECRETS_SECRET_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/network/net.h"

struct secrets;

#define SECRET_VALUE_MAX 16384
#define SECRET_TEXT_MAX 65536 /* a text with the values put in */
#define SECRET_PLACEHOLDER_SIZE 96
#define SECRET_WAIT_MS 10000 /* for a command or a descriptor to give its value */

/*
 * Reads them from where the policy says (env:, file:, fd:, command: by sh -c with a time limit), before anything is given
 * up. A final newline is dropped; control characters inside are an error. Variables they come from are wiped from the
 * environment and descriptors past 2 are closed. 0 with owned secrets (NULL when there are none), which borrow from the
 * policy; or -errno with a message that names the secret and never holds a value.
 */
int secrets_load(const struct policy *policy, struct secrets **ret_secrets, struct policy_error *ret_error);
/*
 * From now on they are another policy's, which has the same ones, with new placeholders; before the first policy is
 * freed. 0, -ESTALE: it has others; -EIO: no random bytes. NULL is none.
 */
int secrets_adopt(struct secrets *secrets, const struct policy *policy);
/* Wipes. */
void secrets_free(struct secrets *secrets);
/* Locks them into memory where RLIMIT_MEMLOCK allows; a lock is not inherited: fork(2). For egress, before it is locked down. */
void secrets_lock(const struct secrets *secrets);

size_t secrets_count(const struct secrets *secrets);
const char *secrets_name(const struct secrets *secrets, size_t index);
/* "callgate-secret-NAME-0123456789abcdef…": in the program's environment. Borrowed. */
const char *secrets_placeholder(const struct secrets *secrets, size_t index);

/*
 * The template of a credential ("Bearer {GH_TOKEN}") with its secrets, if each may be sent to host. Owned, to be wiped.
 * 0; -EACCES: one may not; -ENOENT: no such secret; -EMSGSIZE; -ENOMEM.
 */
int secrets_fill(const struct secrets *secrets, const char *template, const char *host, char **ret_text);
/*
 * Replaces every placeholder in text that may go to host. 1 with an owned copy, NUL-terminated, to be wiped; 0: there is
 * none; -EMSGSIZE; -ENOMEM.
 */
int secrets_replace(const struct secrets *secrets, const char *host, const char *text, size_t len, char **ret_text,
		    size_t *ret_len);

/* Drops the values, keeps names and placeholders: for the keeper and the supervisor, after egress has been forked. */
void secrets_forget(struct secrets *secrets);

#endif
