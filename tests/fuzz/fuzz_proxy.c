/*
 * What is said to the proxies: targets and authorities, SOCKS messages. Whatever is accepted is a canonical name or
 * address that reads the same when written out.
 * Input: a byte (0: "authority", 1: an HTTP head, 2: SOCKS greeting and request, 3: a path), then text.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "egress/conn/socks.h"
#include "egress/http/http1.h"
#include "tests/fuzz/fuzz.h"

static void check_host(const char *host)
{
	char again[NET_HOST_SIZE];

	promise(*host && strlen(host) < NET_HOST_SIZE);
	for (const char *at = host; *at; at++)
		promise((*at >= 'a' && *at <= 'z') || (*at >= '0' && *at <= '9') || strchr("-.:", *at));
	promise(net_host_canonicalise(host, strlen(host), again) == 0);
	promise(strcmp(again, host) == 0);
}

static void check_authority(const char *text, size_t len)
{
	char host[NET_HOST_SIZE], again[NET_HOST_SIZE], written[NET_HOST_SIZE + 16];
	unsigned port, again_port;

	if (!request_parse_authority(text, len, 80, host, &port))
		return;
	check_host(host);
	promise(port >= 1 && port <= 65535);
	promise(!memchr(text, '@', len) && !memchr(text, '/', len) && !memchr(text, '\0', len));
	(void)snprintf(written, sizeof(written), strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, port);
	promise(request_parse_authority(written, strlen(written), 0, again, &again_port));
	promise(strcmp(host, again) == 0 && port == again_port);
}

static void check_path(const char *text, size_t len)
{
	char path[NET_PATH_SIZE], again[NET_PATH_SIZE];
	const char *query;

	if (net_path_normalise(text, len, path, &query) != 0)
		return;
	promise(path[0] == '/' && strlen(path) < NET_PATH_SIZE);
	promise(!strstr(path, "/../") && !strstr(path, "/./") && !strchr(path, '?') && !strchr(path, '#') &&
		!strchr(path, ' '));
	promise(!query || (query >= text && query < text + len && *query == '?'));
	promise(net_path_normalise(path, strlen(path), again, NULL) == 0);
	promise(strcmp(path, again) == 0);
}

static void check_http(const char *data, size_t size)
{
	struct http1_head_scan scan = {0};
	struct http1_absolute_target absolute;
	struct http1_head head;
	ssize_t len = http1_find_head_end(&scan, data, size);

	if (len <= 0 || http1_parse_request(data, (size_t)len, &head) != 0)
		return;
	check_authority(head.target, head.target_len); /* CONNECT */
	check_path(head.target, head.target_len);
	if (head.host)
		check_authority(head.host, head.host_len);
	if (!http1_parse_absolute(&head, &absolute))
		return;
	promise(absolute.authority_len && absolute.path_len && absolute.path[0] == '/');
	check_authority(absolute.authority, absolute.authority_len);
	check_path(absolute.path, absolute.path_len);
}

/* What a prefix is taken for is what the whole is, or that more is needed. */
static void check_socks(const uint8_t *data, size_t size)
{
	struct socks_request request = {0};
	bool open = false;
	ssize_t greeting = socks_parse_greeting(data, size, &open), len;

	for (size_t cut = 0; cut < size && cut < 300; cut++) {
		ssize_t part = socks_parse_greeting(data, cut, &open);

		promise(part == 0 || part == greeting);
	}
	promise(greeting <= (ssize_t)size && greeting <= 257);
	if (greeting > 0) {
		data += greeting;
		size -= (size_t)greeting;
	}
	len = socks_parse_request(data, size, &request);
	promise(len <= (ssize_t)size && len <= 262);
	if (len > 0) {
		check_host(request.host);
		promise(request.port);
	}
	for (size_t cut = 0; cut < size && cut < 300; cut++) {
		ssize_t part = socks_parse_request(data, cut, &request);

		promise(part == 0 || part == len);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	const char *text = (const char *)input + 1;

	if (size < 1)
		return 0;
	switch (input[0] & 3) {
	case 0:
		check_authority(text, size - 1);
		break;
	case 1:
		check_http(text, size - 1);
		break;
	case 2:
		check_socks(input + 1, size - 1);
		break;
	default:
		check_path(text, size - 1);
		break;
	}
	return 0;
}
