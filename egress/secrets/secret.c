#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "egress/secrets/secret.h"
#include "egress/secrets/source.h"

#include "base/banned.h"

#define PREFIX "callgate-secret-"
#define RANDOM_BYTES 16

struct secret {
	const struct net_secret *of; /* the policy's */
	char *value;                 /* a mapping of its own, of value_room bytes; NULL: forgotten */
	size_t len;
	char placeholder[SECRET_PLACEHOLDER_SIZE];
	size_t placeholder_len;
};

struct secrets {
	size_t count;
	struct secret item[];
};

static size_t value_room(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (SECRET_VALUE_MAX + page - 1) / page * page;
}

/* Whole pages, so that neither malloc(3) nor a neighbour ever holds bytes of it. */
static char *value_new(void)
{
	void *value = mmap(NULL, value_room(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (value == MAP_FAILED)
		return NULL;
	(void)madvise(value, value_room(), MADV_DONTDUMP); /* inherited, unlike the lock */
	(void)mlock(value, value_room());
	return value;
}

static void value_free(struct secret *secret)
{
	if (!secret->value)
		return;
	explicit_bzero(secret->value, value_room());
	(void)munmap(secret->value, value_room());
	secret->value = NULL;
	secret->len = 0;
}

/* The name is for people who meet it in a log; its end may be missing. */
static int make_placeholder(struct secret *secret)
{
	unsigned char random[RANDOM_BYTES];
	size_t at;

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -EIO;
	at = (size_t)snprintf(secret->placeholder, sizeof(secret->placeholder), PREFIX "%.40s-", secret->of->name);
	for (size_t i = 0; i < sizeof(random); i++)
		at += (size_t)snprintf(secret->placeholder + at, sizeof(secret->placeholder) - at, "%02x", random[i]);
	secret->placeholder_len = at;
	return 0;
}
_Static_assert(sizeof(PREFIX) + 40 + 1 + 2 * RANDOM_BYTES <= SECRET_PLACEHOLDER_SIZE, "a placeholder fits");

/* "Its value is empty" is all there is to say; of what cannot be done the error is the reason. */
static bool says_more(const char *why)
{
	return strstr(why, "cannot") != NULL;
}

static int load(struct secret *secret, const struct net_secret *of, struct policy_error *ret_error)
{
	const char *why = "no memory";
	int error = -ENOMEM;

	secret->of = of;
	secret->value = value_new();
	if (secret->value)
		error = secret_source_read(of, secret->value, SECRET_VALUE_MAX, &secret->len, &why);
	if (!error && make_placeholder(secret)) {
		error = -EIO;
		why = "no random bytes";
	}
	if (error) /* a command's text may hold what it should not */
		(void)snprintf(ret_error->text, sizeof(ret_error->text), "secret %s: from \"%.200s\": %s%s%s%s",
			       of->name, strncmp(of->from, "command:", 8) ? of->from : "command:", why,
			       says_more(why) ? " (" : "", says_more(why) ? strerror(-error) : "",
			       says_more(why) ? ")" : "");
	return error;
}

int secrets_load(const struct policy *policy, struct secrets **ret_secrets, struct policy_error *ret_error)
{
	size_t count;
	const struct net_secret *list = policy_net_secrets(policy, &count);
	struct secrets *secrets;
	int error = 0;

	if (!count) {
		*ret_secrets = NULL;
		return 0;
	}
	secrets = calloc(1, sizeof(*secrets) + count * sizeof(secrets->item[0]));
	if (!secrets) {
		(void)snprintf(ret_error->text, sizeof(ret_error->text), "secrets: no memory");
		return -ENOMEM;
	}
	secrets->count = count;
	for (size_t i = 0; i < count && !error; i++)
		error = load(&secrets->item[i], &list[i], ret_error);
	for (size_t i = 0; i < count; i++)
		secret_source_wipe(&list[i]);
	if (error) {
		secrets_free(secrets);
		return error;
	}
	*ret_secrets = secrets;
	return 0;
}

int secrets_adopt(struct secrets *secrets, const struct policy *policy)
{
	size_t count;
	const struct net_secret *list = policy_net_secrets(policy, &count);

	if (!secrets)
		return 0;
	if (count != secrets->count)
		return -ESTALE;
	for (size_t i = 0; i < count; i++) {
		struct secret *secret = &secrets->item[i];

		if (strcmp(secret->of->name, list[i].name) != 0 || strcmp(secret->of->from, list[i].from) != 0)
			return -ESTALE;
		secret->of = &list[i];
		if (make_placeholder(secret) < 0)
			return -EIO;
	}
	return 0;
}

void secrets_forget(struct secrets *secrets)
{
	for (size_t i = 0; secrets && i < secrets->count; i++)
		value_free(&secrets->item[i]);
}

void secrets_free(struct secrets *secrets)
{
	secrets_forget(secrets);
	free(secrets);
}

void secrets_lock(const struct secrets *secrets)
{
	for (size_t i = 0; secrets && i < secrets->count; i++)
		if (secrets->item[i].value)
			(void)mlock(secrets->item[i].value,
				    value_room()); /* refused past RLIMIT_MEMLOCK: then it may be swapped */
}

size_t secrets_count(const struct secrets *secrets)
{
	return secrets ? secrets->count : 0;
}

const char *secrets_name(const struct secrets *secrets, size_t index)
{
	return secrets->item[index].of->name;
}

const char *secrets_placeholder(const struct secrets *secrets, size_t index)
{
	return secrets->item[index].placeholder;
}

/* ---- texts ---- */

/* Counts what is written, and writes where there is memory: the same walk first finds the size, so that nothing is moved. */
struct writer {
	char *out;
	size_t len;
};

static void put(struct writer *writer, const char *text, size_t len)
{
	if (writer->out)
		memcpy(writer->out + writer->len, text, len);
	writer->len += len;
}

static int writer_room(struct writer *writer)
{
	if (writer->len > SECRET_TEXT_MAX)
		return -EMSGSIZE;
	writer->out = malloc(writer->len + 1);
	if (!writer->out)
		return -ENOMEM;
	writer->out[writer->len] = '\0';
	writer->len = 0;
	return 0;
}

static const struct secret *by_name(const struct secrets *secrets, const char *name, size_t len)
{
	for (size_t i = 0; secrets && i < secrets->count; i++)
		if (strlen(secrets->item[i].of->name) == len && !memcmp(secrets->item[i].of->name, name, len))
			return &secrets->item[i];
	return NULL;
}

static int fill(const struct secrets *secrets, const char *template, const char *host, struct writer *writer)
{
	while (*template) {
		size_t plain = strcspn(template, "{"), name;
		const struct secret *secret;

		put(writer, template, plain);
		template += plain;
		if (!*template)
			break;
		name = strcspn(template + 1, "}");
		secret = template[1 + name] ? by_name(secrets, template + 1, name) : NULL;
		if (!secret)
			return -ENOENT;
		if (!secret->value || !net_secret_host(secret->of, host))
			return -EACCES;
		put(writer, secret->value, secret->len);
		template += name + 2;
	}
	return 0;
}

int secrets_fill(const struct secrets *secrets, const char *template, const char *host, char **ret_text)
{
	struct writer writer = {0};
	int error = fill(secrets, template, host, &writer);

	if (!error)
		error = writer_room(&writer);
	if (error)
		return error;
	(void)fill(secrets, template, host, &writer); /* went well a moment ago */
	*ret_text = writer.out;
	return 0;
}

static const struct secret *by_placeholder(const struct secrets *secrets, const char *host, const char *text,
					   size_t len)
{
	for (size_t i = 0; i < secrets->count; i++) {
		const struct secret *secret = &secrets->item[i];

		if (secret->value && secret->placeholder_len <= len &&
		    !memcmp(secret->placeholder, text, secret->placeholder_len) && net_secret_host(secret->of, host))
			return secret;
	}
	return NULL;
}

/* Placeholders of secrets that are not for this host stay as they are. Returns how many were replaced. */
static size_t replace(const struct secrets *secrets, const char *host, const char *text, size_t len,
		      struct writer *writer)
{
	size_t replaced = 0;

	while (len) {
		const char *found = memmem(text, len, PREFIX, sizeof(PREFIX) - 1);
		size_t plain = found ? (size_t)(found - text) : len;
		const struct secret *secret;

		put(writer, text, plain);
		text += plain;
		len -= plain;
		if (!found)
			break;
		secret = by_placeholder(secrets, host, text, len);
		plain = secret ? secret->placeholder_len : sizeof(PREFIX) - 1;
		if (secret)
			put(writer, secret->value, secret->len);
		else
			put(writer, text, plain);
		replaced += secret != NULL;
		text += plain;
		len -= plain;
	}
	return replaced;
}

int secrets_replace(const struct secrets *secrets, const char *host, const char *text, size_t len, char **ret_text,
		    size_t *ret_len)
{
	struct writer writer = {0};
	int error;

	if (!secrets || !replace(secrets, host, text, len, &writer))
		return 0;
	error = writer_room(&writer);
	if (error)
		return error;
	(void)replace(secrets, host, text, len, &writer);
	*ret_text = writer.out;
	*ret_len = writer.len;
	return 1;
}
