#include "tests/unit/egress/dns-ask.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

static void add_number(struct dns_bytes *bytes, size_t number, size_t size)
{
	while (size--)
		bytes->at[bytes->len++] = (uint8_t)(number >> 8 * size);
}

static void add_name(struct dns_bytes *bytes, const char *name)
{
	while (*name) {
		size_t label = strcspn(name, ".");

		add_number(bytes, label, 1);
		memcpy(bytes->at + bytes->len, name, label);
		bytes->len += label;
		name += label + (name[label] == '.');
	}
	add_number(bytes, 0, 1);
}

struct dns_bytes dns_ask(uint16_t id, const char *name, unsigned type, int edns)
{
	struct dns_bytes bytes = {.len = 0};

	add_number(&bytes, id, 2);
	add_number(&bytes, 0x0100, 2);
	add_number(&bytes, 1, 2);
	add_number(&bytes, 0, 4);
	add_number(&bytes, edns >= 0, 2);
	add_name(&bytes, name);
	add_number(&bytes, type, 2);
	add_number(&bytes, 1, 2);
	if (edns < 0)
		return bytes;
	add_number(&bytes, 0, 1);
	add_number(&bytes, 41, 2);
	add_number(&bytes, 1232, 2);
	add_number(&bytes, (size_t)edns << 16, 4);
	add_number(&bytes, 0, 2);
	return bytes;
}

struct span {
	const uint8_t *at;
	size_t left;
	bool bad;
};

static unsigned long take(struct span *span, size_t size)
{
	unsigned long number = 0;

	span->bad = span->bad || span->left < size;
	for (size_t i = 0; i < size && !span->bad; i++)
		number = number << 8 | span->at[i];
	if (!span->bad) {
		span->at += size;
		span->left -= size;
	}
	return number;
}

static void take_name(struct span *span, char *text, size_t cap)
{
	size_t len = 0;

	for (;;) {
		size_t label = take(span, 1);

		if (span->bad || label == 0 || label > 63 || label > span->left || len + label + 2 > cap) {
			span->bad = span->bad || label != 0;
			text[len] = '\0';
			return;
		}
		if (len)
			text[len++] = '.';
		memcpy(text + len, span->at, label);
		len += label;
		span->at += label;
		span->left -= label;
	}
}

static void take_answer(struct span *span, struct dns_told *told)
{
	unsigned long owner = take(span, 2), type = take(span, 2), klass = take(span, 2), ttl = take(span, 4);
	struct span data = {.left = take(span, 2)};
	size_t len = strlen(told->text);
	char text[1024] = "";

	span->bad = span->bad || owner != 0xc00c || klass != 1 || data.left > span->left;
	if (span->bad)
		return;
	data.at = span->at;
	span->at += data.left;
	span->left -= data.left;
	if (type == 1 && data.left == 4)
		(void)inet_ntop(AF_INET, data.at, text, sizeof(text));
	else if (type == 28 && data.left == 16)
		(void)inet_ntop(AF_INET6, data.at, text, sizeof(text));
	else if (type == 12)
		take_name(&data, text, sizeof(text));
	else
		span->bad = true;
	(void)snprintf(told->text + len, sizeof(told->text) - len, "%s%s %s %lu", len ? ", " : "",
		       type == 1 ? "A" : type == 28 ? "AAAA" : "PTR", text, ttl);
}

bool dns_tell(const uint8_t *data, size_t len, struct dns_told *ret_told)
{
	struct span span = {.at = data, .left = len};
	struct dns_told told = {.text = ""};

	told.id = (unsigned)take(&span, 2);
	told.flags = (unsigned)take(&span, 2);
	told.code = told.flags & 15;
	told.questions = (unsigned)take(&span, 2);
	told.answers = (unsigned)take(&span, 2);
	span.bad = span.bad || take(&span, 2) != 0;
	told.extras = (unsigned)take(&span, 2);
	if (told.questions) {
		take_name(&span, told.name, sizeof(told.name));
		(void)take(&span, 4);
	}
	for (unsigned i = 0; i < told.answers && !span.bad; i++)
		take_answer(&span, &told);
	if (told.extras) { /* OPT */
		span.bad = span.bad || take(&span, 1) != 0 || take(&span, 2) != 41;
		(void)take(&span, 2);
		told.code |= (unsigned)take(&span, 1) << 4;
		(void)take(&span, 3);
		span.bad = span.bad || take(&span, 2) != 0;
	}
	*ret_told = told;
	return !span.bad && span.left == 0;
}
