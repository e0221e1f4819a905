/* Canonical form of host names, and matching them. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "policy/network/net.h"

#include "base/banned.h"

#define LABEL_MAX 63 /* RFC 1035, 2.3.4 */

const char *net_proto_name(enum net_proto proto)
{
	static const char *const names[] = {
		[NET_HTTPS] = "https", [NET_HTTP] = "http", [NET_TCP] = "tcp", [NET_UDP] = "udp"};
	_Static_assert(sizeof(names) / sizeof(names[0]) == NET_PROTO_MAX, "every protocol has a name");

	return names[proto];
}

static bool net_text_is_label_char(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-';
}

/* An IPv6 address, with or without brackets. inet_pton() refuses zone ids. */
static int net_text_canonical_v6(const char *text, char ret_host[NET_HOST_MAX])
{
	struct sockaddr_storage address;
	char copy[NET_ADDRESS_TEXT + 2], *from = copy;
	size_t len = strlen(text);

	if (len >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, text, len + 1);
	if (copy[0] == '[') {
		if (copy[len - 1] != ']')
			return -EINVAL;
		copy[len - 1] = '\0';
		from++;
	}
	if (!net_address_parse(from, &address) || address.ss_family != AF_INET6)
		return -EINVAL;
	net_address_text((const struct sockaddr *)&address, ret_host);
	return 0;
}

/*
 * True when resolvers and URL parsers (WHATWG "ends in a number") take the name for an IPv4 address: its last label is
 * all digits, or "0x" and hexadecimal digits.
 */
static bool net_text_looks_like_number(const char *host)
{
	const char *dot = strrchr(host, '.'), *label = dot ? dot + 1 : host;

	if (label[0] == '0' && label[1] == 'x')
		return label[2 + strspn(label + 2, "0123456789abcdef")] == '\0';
	return label[strspn(label, "0123456789")] == '\0';
}

static bool net_text_is_name(const char *host)
{
	size_t label = 0;

	for (const char *at = host;; at++) {
		if (*at == '.' || !*at) {
			if (label == 0 || label > LABEL_MAX || at[-1] == '-')
				return false;
			if (!*at)
				return true;
			label = 0;
		} else if (!net_text_is_label_char(*at) || (*at == '-' && label == 0)) {
			return false;
		} else {
			label++;
		}
	}
}

int net_host_canonical(const char *text, size_t len, char ret_host[NET_HOST_MAX])
{
	char host[NET_HOST_MAX];
	struct in_addr v4;

	if (len > 1 && text[len - 1] == '.')
		len--;
	if (len == 0 || len >= sizeof(host))
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		if (!text[i])
			return -EINVAL;
		host[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] | 0x20) : text[i];
	}
	host[len] = '\0';
	if (host[0] == '[' || strchr(host, ':'))
		return net_text_canonical_v6(host, ret_host);
	/* inet_pton() accepts four decimal numbers without leading zeros and nothing else */
	if (!net_text_is_name(host) || (net_text_looks_like_number(host) && inet_pton(AF_INET, host, &v4) != 1))
		return -EINVAL;
	memcpy(ret_host, host, len + 1);
	return 0;
}

bool net_host_matches(const char *pattern, const char *host)
{
	size_t host_len = strlen(host), len;
	bool deep = strncmp(pattern, "**.", 3) == 0;

	if (!deep && strncmp(pattern, "*.", 2) != 0)
		return strcmp(pattern, host) == 0;
	pattern += deep ? 2 : 1; /* ".d" */
	len = strlen(pattern);
	if (host_len <= len || strcmp(host + host_len - len, pattern) != 0)
		return false;
	return deep || !memchr(host, '.', host_len - len);
}
