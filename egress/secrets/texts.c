/* Inserts the values of secrets into texts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "egress/secrets/private.h"

/* Counts bytes, and writes them if `out` is set. The first pass only finds the size, so that nothing is reallocated. */
struct secret_text_writer {
	char *out;
	size_t len;
};

/* Adds to the text, or only to its length while the text is measured. */
static void writer_put(struct secret_text_writer *writer, const char *text, size_t len)
{
	if (writer->out)
		memcpy(writer->out + writer->len, text, len);
	writer->len += len;
}

/* Allocates the text, whose length the writer has measured, and starts to write. 0, -EMSGSIZE or -ENOMEM. */
static int writer_allocate(struct secret_text_writer *writer)
{
	if (writer->len > SECRET_TEXT_WITH_VALUES_BYTES_MAX)
		return -EMSGSIZE;
	writer->out = malloc(writer->len + 1);
	if (!writer->out)
		return -ENOMEM;
	writer->out[writer->len] = '\0';
	writer->len = 0;
	return 0;
}

static const struct secret *secrets_find_by_name(const struct secrets *secrets, const char *name, size_t len)
{
	for (size_t i = 0; secrets && i < secrets->count; i++)
		if (strlen(secrets->item[i].definition->name) == len &&
		    !memcmp(secrets->item[i].definition->name, name, len))
			return &secrets->item[i];
	return NULL;
}

/*
 * Writes a text such as "Bearer {NAME}" with the secrets' values. -EACCES: a secret is not for the host. -ENOENT:
 * unknown.
 */
static int secrets_write_template(const struct secrets *secrets, const char *template, const char *host,
				  struct secret_text_writer *writer)
{
	while (*template) {
		size_t plain = strcspn(template, "{"), name;
		const struct secret *secret;

		writer_put(writer, template, plain);
		template += plain;
		if (!*template)
			break;
		name = strcspn(template + 1, "}");
		secret = template[1 + name] ? secrets_find_by_name(secrets, template + 1, name) : NULL;
		if (!secret)
			return -ENOENT;
		if (!secret->value || !net_secret_allows_host(secret->definition, host))
			return -EACCES;
		writer_put(writer, secret->value, secret->len);
		template += name + 2;
	}
	return 0;
}

int secrets_fill_template(const struct secrets *secrets, const char *template, const char *host, char **ret_text)
{
	struct secret_text_writer writer = {0};
	int error = secrets_write_template(secrets, template, host, &writer);

	if (!error)
		error = writer_allocate(&writer);
	if (error)
		return error;
	(void)secrets_write_template(secrets, template, host, &writer); /* cannot fail: the first pass succeeded */
	*ret_text = writer.out;
	return 0;
}

static const struct secret *secrets_find_by_placeholder(const struct secrets *secrets, const char *host,
							const char *text, size_t len)
{
	for (size_t i = 0; i < secrets->count; i++) {
		const struct secret *secret = &secrets->item[i];

		if (secret->value && secret->placeholder_len <= len &&
		    !memcmp(secret->placeholder, text, secret->placeholder_len) &&
		    net_secret_allows_host(secret->definition, host))
			return secret;
	}
	return NULL;
}

/* Replaces placeholders, except those of secrets for other hosts. Returns the number of replacements. */
static size_t secrets_write_with_values(const struct secrets *secrets, const char *host, const char *text, size_t len,
					struct secret_text_writer *writer)
{
	size_t replaced = 0;

	while (len) {
		const char *found = memmem(text, len, PLACEHOLDER_PREFIX, sizeof(PLACEHOLDER_PREFIX) - 1);
		size_t plain = found ? (size_t)(found - text) : len;
		const struct secret *secret;

		writer_put(writer, text, plain);
		text += plain;
		len -= plain;
		if (!found)
			break;
		secret = secrets_find_by_placeholder(secrets, host, text, len);
		plain = secret ? secret->placeholder_len : sizeof(PLACEHOLDER_PREFIX) - 1;
		if (secret)
			writer_put(writer, secret->value, secret->len);
		else
			writer_put(writer, text, plain);
		replaced += secret != NULL;
		text += plain;
		len -= plain;
	}
	return replaced;
}

int secrets_replace_placeholders(const struct secrets *secrets, const char *host, const char *text, size_t len,
				 char **ret_text, size_t *ret_len)
{
	struct secret_text_writer writer = {0};
	int error;

	if (!secrets || !secrets_write_with_values(secrets, host, text, len, &writer))
		return 0;
	error = writer_allocate(&writer);
	if (error)
		return error;
	(void)secrets_write_with_values(secrets, host, text, len, &writer);
	*ret_text = writer.out;
	*ret_len = writer.len;
	return 1;
}
