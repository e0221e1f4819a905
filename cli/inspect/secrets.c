/* inspect_text_find_secrets() */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/inspect/text.h"

#define SECRET_NAME_BYTES_MAX 64  /* of a name before an assignment, from its end */
#define SECRET_VALUE_BYTES_MIN 16 /* shorter values are words, or placeholders */
#define SECRET_VALUE_BYTES_MAX 256
#define SECRET_DIFFERENT_MIN 9 /* different characters; of 16 hexadecimal digits there are 10 */

static const char token_characters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-";
static const char value_characters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-+/=.~!@#%^&*";

/* Tokens by their beginnings. `min`: characters that must follow. */
static const struct {
	const char *start, *what;
	size_t min;
} tokens[] = {
	{"ghp_", "GitHub token", 30},
	{"gho_", "GitHub token", 30},
	{"ghu_", "GitHub token", 30},
	{"ghs_", "GitHub token", 30},
	{"ghr_", "GitHub token", 30},
	{"github_pat_", "GitHub token", 22},
	{"glpat-", "GitLab token", 20},
	{"AKIA", "AWS access key", 16},
	{"ASIA", "AWS access key", 16},
	{"sk-ant-", "Anthropic key", 20},
	{"sk-proj-", "OpenAI key", 20},
	{"sk_live_", "Stripe key", 16},
	{"rk_live_", "Stripe key", 16},
	{"xoxb-", "Slack token", 20},
	{"xoxp-", "Slack token", 20},
	{"xoxa-", "Slack token", 20},
	{"AIza", "Google API key", 35},
	{"ya29.", "Google OAuth token", 30},
	{"npm_", "npm token", 36},
	{"pypi-AgE", "PyPI token", 40},
	{"hf_", "Hugging Face token", 30},
	{"dop_v1_", "DigitalOcean token", 60},
	{"eyJhbGciOi", "JSON web token", 40},
};

static const char *const secret_names[] = {"password", "passwd",     "secret",      "token",   "api_key",
					   "apikey",   "access_key", "private_key", "auth_key"};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* A line of the text. */
struct secrets_line {
	const char *text;
	size_t len;
	uint32_t number;
};

static bool secrets_is_one_of(char byte, const char *set)
{
	return byte != '\0' && strchr(set, byte) != NULL;
}

/* How many bytes from `at` on are in the set. */
static size_t secrets_span(const struct secrets_line *line, size_t at, const char *set)
{
	size_t len = 0;

	while (at + len < line->len && secrets_is_one_of(line->text[at + len], set))
		len++;
	return len;
}

static bool secrets_begins(const struct secrets_line *line, size_t at, const char *start)
{
	size_t len = strlen(start);

	return line->len - at >= len && memcmp(line->text + at, start, len) == 0;
}

/* ---- tokens ---- */

static int secrets_find_tokens(const struct secrets_line *line, struct inspect_findings *findings)
{
	char what[128];
	int r = 0;

	for (size_t at = 0; r == 0 && at < line->len; at++) {
		if (at > 0 && secrets_is_one_of(line->text[at - 1], token_characters))
			continue;
		for (size_t i = 0; r == 0 && i < COUNT(tokens); i++) {
			size_t start = strlen(tokens[i].start), rest;

			if (!secrets_begins(line, at, tokens[i].start))
				continue;
			rest = secrets_span(line, at + start, token_characters);
			if (rest < tokens[i].min || secrets_span(line, at + start, "Xx_-*0") == rest)
				continue;
			(void)snprintf(what, sizeof(what), "%s %s... (%zu characters)", tokens[i].what, tokens[i].start,
				       start + rest);
			r = inspect_findings_add(findings, INSPECT_SECRET, line->number, what);
		}
	}
	return r;
}

/* "-----BEGIN RSA PRIVATE KEY-----" */
static int secrets_find_key(const struct secrets_line *line, struct inspect_findings *findings)
{
	const char *begin = memmem(line->text, line->len, "-----BEGIN ", 11);
	size_t left = begin ? line->len - (size_t)(begin - line->text) : 0;

	if (!begin || !memmem(begin, left, "PRIVATE KEY-----", 16))
		return 0;
	return inspect_findings_add(findings, INSPECT_SECRET, line->number, "private key");
}

/* ---- assignments ---- */

/* 0: a digit; 1: a capital letter; 2: another letter; 3: anything else. */
static unsigned secrets_get_class(char byte)
{
	return byte >= '0' && byte <= '9' ? 0 : byte >= 'A' && byte <= 'Z' ? 1 : byte >= 'a' && byte <= 'z' ? 2 : 3;
}

/* True if a text has many different characters, and if digits and letters alternate often, as in no word or date. */
static bool secrets_is_random(const char *text, size_t len)
{
	bool seen[256] = {false};
	size_t different = 0, changes = 0, digits = 0, letters = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned class = secrets_get_class(text[i]);

		different += !seen[(unsigned char)text[i]];
		seen[(unsigned char)text[i]] = true;
		changes += i > 0 && class != secrets_get_class(text[i - 1]);
		digits += class == 0;
		letters += class == 1 || class == 2;
	}
	return different >= SECRET_DIFFERENT_MIN && changes >= len / 4 && digits >= 2 && letters >= 2;
}

/* True if the name that ends before `end` is that of a secret. */
static bool secrets_is_secret_name(const struct secrets_line *line, size_t end)
{
	size_t start = end;

	while (start > 0 && end - start < SECRET_NAME_BYTES_MAX &&
	       secrets_is_one_of(line->text[start - 1], token_characters))
		start--;
	for (size_t i = 0; i < COUNT(secret_names); i++) {
		size_t len = strlen(secret_names[i]);

		if (end - start >= len && strncasecmp(line->text + end - len, secret_names[i], len) == 0)
			return true;
	}
	return false;
}

/* True if the value that begins at `at` is long and looks random. */
static bool secrets_is_random_value(const struct secrets_line *line, size_t at, size_t *ret_len)
{
	char quote = at < line->len ? line->text[at] : '\0';
	bool is_quoted = quote == '"' || quote == '\'' || quote == '`';
	size_t start = is_quoted ? at + 1 : at, len = secrets_span(line, start, value_characters);

	if (len < SECRET_VALUE_BYTES_MIN || len > SECRET_VALUE_BYTES_MAX)
		return false;
	if (is_quoted ? start + len >= line->len || line->text[start + len] != quote : start + len < line->len)
		return false;
	*ret_len = len;
	return secrets_is_random(line->text + start, len);
}

/* Finds NAME = "VALUE", "NAME": "VALUE" and NAME=VALUE at the end of a line. */
static int secrets_find_assignments(const struct secrets_line *line, struct inspect_findings *findings)
{
	char what[64];
	int r = 0;

	for (size_t at = 1; r == 0 && at < line->len; at++) {
		size_t end = at, value = at + 1, len;

		if (line->text[at] != '=' && line->text[at] != ':')
			continue;
		while (end > 0 && secrets_is_one_of(line->text[end - 1], " \t\"'"))
			end--;
		value += secrets_span(line, value, "=> \t");
		if (!secrets_is_secret_name(line, end) || !secrets_is_random_value(line, value, &len))
			continue;
		(void)snprintf(what, sizeof(what), "random value of %zu characters, named as a secret", len);
		r = inspect_findings_add(findings, INSPECT_SECRET, line->number, what);
	}
	return r;
}

int inspect_text_find_secrets(const char *text, size_t len, struct inspect_findings *findings)
{
	struct secrets_line line = {.text = text, .number = 1};
	int r = 0;

	for (size_t at = 0; r == 0 && at < len; at += line.len + 1, line.number++) {
		const char *end = memchr(text + at, '\n', len - at);

		line.text = text + at;
		line.len = end ? (size_t)(end - line.text) : len - at;
		r = secrets_find_tokens(&line, findings);
		if (r == 0)
			r = secrets_find_key(&line, findings);
		if (r == 0)
			r = secrets_find_assignments(&line, findings);
	}
	return r;
}
