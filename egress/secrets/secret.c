/* Loads, holds and sends the secrets of a run. */
#include "egress/secrets/secret.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "egress/secrets/private.h"

#define PLACEHOLDER_RANDOM_BYTES 16

/* Allocates a mapping for a value, so that the bytes are never in the heap of malloc(3). */
static char *secret_allocate_value(void)
{
	void *value = mmap(NULL, SECRET_VALUE_BYTES_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (value == MAP_FAILED)
		return NULL;
	(void)madvise(value, SECRET_VALUE_BYTES_MAX,
		      MADV_DONTDUMP); /* fork(2) inherits this, but not the lock of mlock(2) */
	(void)mlock(value, SECRET_VALUE_BYTES_MAX);
	return value;
}

/* Wipes the value of a secret, and releases its memory. */
static void secret_free_value(struct secret *secret)
{
	if (!secret->value)
		return;
	explicit_bzero(secret->value, SECRET_VALUE_BYTES_MAX);
	(void)munmap(secret->value, SECRET_VALUE_BYTES_MAX);
	secret->value = NULL;
	secret->len = 0;
}

/* Makes a placeholder. The secret's name in it helps a person who sees it in a log; it may be truncated. */
static int secret_make_placeholder(struct secret *secret)
{
	unsigned char random[PLACEHOLDER_RANDOM_BYTES];
	size_t at;

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -EIO;
	at = (size_t)snprintf(secret->placeholder, sizeof(secret->placeholder), PLACEHOLDER_PREFIX "%.40s-",
			      secret->definition->name);
	for (size_t i = 0; i < sizeof(random); i++)
		at += (size_t)snprintf(secret->placeholder + at, sizeof(secret->placeholder) - at, "%02x", random[i]);
	secret->placeholder_len = at;
	return 0;
}
_Static_assert(sizeof(PLACEHOLDER_PREFIX) + 40 + 1 + 2 * PLACEHOLDER_RANDOM_BYTES <= SECRET_PLACEHOLDER_SIZE,
	       "a placeholder fits");

/* Reads the secret's value, and makes its placeholder. 0, or -errno with a text in *ret_error. */
static int secret_load(struct secret *secret, const struct net_secret *definition, struct policy_error *ret_error)
{
	const char *why = "no memory", *system = "";
	int error = ENOMEM;

	secret->definition = definition;
	secret->value = secret_allocate_value();
	if (secret->value && (why = secret_read_value(secret)))
		error = errno;
	if (!why && secret_make_placeholder(secret)) {
		error = EIO;
		why = "no random bytes";
	}
	if (!why)
		return 0;
	if (strstr(why, "cannot")) /* only texts with "cannot" need the text of errno */
		system = strerror(error);
	/* The command is left out, because its text may contain a secret. */
	(void)snprintf(ret_error->text, sizeof(ret_error->text), "secret %s: from \"%.200s\": %s%s%s%s",
		       definition->name,
		       strncmp(definition->value_source, "command:", 8) ? definition->value_source : "command:", why,
		       *system ? " (" : "", system, *system ? ")" : "");
	return -error;
}

/* Allocates room for `count` secrets, which are added later. NULL: no memory. */
static struct secrets *secrets_allocate(size_t count)
{
	return calloc(1, sizeof(struct secrets) + count * sizeof(struct secret));
}

int secrets_load(const struct policy *policy, struct secrets **ret_secrets, struct policy_error *ret_error)
{
	size_t count;
	const struct net_secret *list = policy_net_get_secrets(policy, &count);
	struct secrets *secrets;
	int error = 0;

	if (!count) {
		*ret_secrets = NULL;
		return 0;
	}
	secrets = secrets_allocate(count);
	if (!secrets) {
		(void)snprintf(ret_error->text, sizeof(ret_error->text), "secrets: no memory");
		return -ENOMEM;
	}
	for (size_t i = 0; i < count && !error; i++) {
		secrets->count = i + 1;
		error = secret_load(&secrets->item[i], &list[i], ret_error);
	}
	for (size_t i = 0; i < count; i++)
		secret_wipe_env(&list[i]);
	if (error) {
		secrets_free(secrets);
		return error;
	}
	*ret_secrets = secrets;
	return 0;
}

int secrets_bind_to_policy(struct secrets *secrets, const struct policy *policy)
{
	size_t count;
	const struct net_secret *list = policy_net_get_secrets(policy, &count);

	if (!secrets)
		return 0;
	if (count != secrets->count)
		return -ESTALE;
	for (size_t i = 0; i < count; i++) {
		struct secret *secret = &secrets->item[i];

		if (strcmp(secret->definition->name, list[i].name) != 0 ||
		    strcmp(secret->definition->value_source, list[i].value_source) != 0)
			return -ESTALE;
		secret->definition = &list[i];
		if (secret_make_placeholder(secret) < 0)
			return -EIO;
	}
	return 0;
}

/* ---- sending secrets to egress ---- */

/* One message for each secret, sent from and received into its own memory: no buffer ever holds a value. */
static struct msghdr secret_make_message(struct secret *secret, struct iovec part[2])
{
	part[0] = (struct iovec){secret->placeholder, sizeof(secret->placeholder)};
	part[1] = (struct iovec){secret->value, secret->len};
	return (struct msghdr){.msg_iov = part, .msg_iovlen = 2};
}

int secrets_send(struct secrets *secrets, int fd)
{
	for (size_t i = 0; secrets && i < secrets->count; i++) {
		struct iovec part[2];
		const struct msghdr message = secret_make_message(&secrets->item[i], part);

		if (TEMP_FAILURE_RETRY(sendmsg(fd, &message, MSG_NOSIGNAL)) < 0)
			return -errno;
	}
	return 0;
}

/* Receives value and placeholder from the process that has loaded the secret. 0 or -errno. */
static int secret_receive(struct secret *secret, const struct net_secret *definition, int fd)
{
	struct iovec part[2];
	struct msghdr message;
	ssize_t got;

	secret->definition = definition;
	secret->value = secret_allocate_value();
	if (!secret->value)
		return -ENOMEM;
	secret->len = SECRET_VALUE_BYTES_MAX;
	message = secret_make_message(secret, part);
	got = TEMP_FAILURE_RETRY(recvmsg(fd, &message, 0));
	if (got < (ssize_t)sizeof(secret->placeholder) || message.msg_flags & MSG_TRUNC)
		return got < 0 ? -errno : -EPIPE;
	secret->len = (size_t)got - sizeof(secret->placeholder);
	secret->placeholder_len = strnlen(secret->placeholder, sizeof(secret->placeholder));
	return 0;
}

/* Reads from the fd, in the policy's order, the secrets' values that another process has loaded. 0 or -errno. */
int secrets_receive(const struct policy *policy, int fd, struct secrets **ret_secrets)
{
	size_t count;
	const struct net_secret *list = policy_net_get_secrets(policy, &count);
	struct secrets *secrets = count ? secrets_allocate(count) : NULL;
	int error = count && !secrets ? -ENOMEM : 0;

	for (size_t i = 0; i < count && !error; i++) {
		secrets->count = i + 1;
		error = secret_receive(&secrets->item[i], &list[i], fd);
	}
	if (error) {
		secrets_free(secrets);
		return error;
	}
	*ret_secrets = secrets;
	return 0;
}

void secrets_forget_values(struct secrets *secrets)
{
	for (size_t i = 0; secrets && i < secrets->count; i++)
		secret_free_value(&secrets->item[i]);
}

void secrets_free(struct secrets *secrets)
{
	secrets_forget_values(secrets);
	free(secrets);
}

void secrets_mlock_values(const struct secrets *secrets)
{
	for (size_t i = 0; secrets && i < secrets->count; i++)
		if (secrets->item[i].value)
			/* On failure, above RLIMIT_MEMLOCK, the value may be swapped. */
			(void)mlock(secrets->item[i].value, SECRET_VALUE_BYTES_MAX);
}

size_t secrets_get_count(const struct secrets *secrets)
{
	return secrets ? secrets->count : 0;
}

const char *secrets_get_name(const struct secrets *secrets, size_t index)
{
	return secrets->item[index].definition->name;
}

const char *secrets_get_placeholder(const struct secrets *secrets, size_t index)
{
	return secrets->item[index].placeholder;
}
