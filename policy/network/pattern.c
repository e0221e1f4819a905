/* Parses and compares patterns of host names: "api.test", "*.test.example", "**.test.example". */
#include <errno.h>
#include <libpsl.h>
#include <string.h>

#include "base/text.h"
#include "policy/network/network.h"

bool net_is_wildcard(const char *pattern)
{
	return pattern[0] == '*';
}

bool net_is_address(const char *host)
{
	const char *dot = strrchr(host, '.'), *last = dot ? dot + 1 : host;

	return strchr(host, ':') || (*last >= '0' && *last <= '9' && last[strspn(last, "0123456789")] == '\0');
}

/* True when a wildcard below the name would match hosts that anybody can register ("*.com"). */
static bool net_pattern_is_public_suffix(const char *name)
{
	const psl_ctx_t *list = psl_builtin();

	/* No names can be registered in these top-level domains: RFC 6761, and "internal", which ICANN has reserved. */
	if (strcmp(name, "test") == 0 || strcmp(name, "internal") == 0)
		return false;
	return list ? psl_is_public_suffix(list, name) : !strchr(name, '.');
}

/* Whether the name is the domain itself or a name below it. */
static bool pattern_name_is_in_domain(const char *name, const char *domain)
{
	size_t name_len = strlen(name), len = strlen(domain);

	return name_len >= len && strcmp(name + name_len - len, domain) == 0 &&
	       (name_len == len || name[name_len - len - 1] == '.');
}

int net_pattern_parse(const char *text, char ret_pattern[NET_HOST_SIZE], const char **ret_why)
{
	size_t stars = strncmp(text, "**.", 3) == 0 ? 3 : strncmp(text, "*.", 2) == 0 ? 2 : 0;
	char host[NET_HOST_SIZE];

	if (strcmp(text, "*") == 0 || strcmp(text, "**") == 0) {
		*ret_why = "would be every host there is; name those the program needs";
		return -EINVAL;
	}
	if (net_host_parse(text + stars, host, ret_why) < 0)
		return -EINVAL;
	if (pattern_name_is_in_domain(host, "localhost"))
		*ret_why = "is the run's own loopback; see \"listen\", or name the address \"127.0.0.1\"";
	else if (stars && net_is_address(host))
		*ret_why = "is a wildcard before an address; write the address alone";
	else if (stars && net_pattern_is_public_suffix(host))
		*ret_why = "would be the hosts of anybody who registers a name there; name the domains";
	else if (stars + strlen(host) >= NET_HOST_SIZE)
		*ret_why = "is longer than a host name can be";
	else {
		memcpy(ret_pattern, text, stars);
		memcpy(ret_pattern + stars, host, strlen(host) + 1);
		return 0;
	}
	return -EINVAL;
}

bool net_pattern_covers(const char *pattern, const char *other)
{
	bool deep = strncmp(pattern, "**.", 3) == 0;

	if (!net_is_wildcard(other))
		return net_host_matches(pattern, other);
	if (!deep)
		return strcmp(pattern, other) == 0;
	return pattern_name_is_in_domain(strchr(other, '.') + 1, pattern + 3);
}

bool net_patterns_overlap(const char *a, const char *b)
{
	/* of two wildcards with a name in common, one covers the other */
	return net_pattern_covers(a, b) || net_pattern_covers(b, a);
}

int net_port_parse(const char *text, uint16_t *ret_port)
{
	uint64_t port;

	if (text_parse_number(text, 1, 65535, &port) < 0)
		return -EINVAL;
	*ret_port = (uint16_t)port;
	return 0;
}

int net_range_parse(const char *text, struct net_listen_range *ret_range)
{
	const char *dash = strchr(text, '-');
	struct net_listen_range range = {0};
	char first[8];

	if (strcmp(text, "*") == 0) {
		range.last = 65535;
	} else if (!dash || (size_t)(dash - text) >= sizeof(first)) {
		if (strcmp(text, "0") != 0 && net_port_parse(text, &range.first) < 0)
			return -EINVAL;
		range.last = range.first;
	} else {
		memcpy(first, text, (size_t)(dash - text));
		first[dash - text] = '\0';
		if (net_port_parse(first, &range.first) < 0 || net_port_parse(dash + 1, &range.last) < 0 ||
		    range.first > range.last)
			return -EINVAL;
	}
	ret_range->first = range.first;
	ret_range->last = range.last;
	return 0;
}

int net_endpoint_parse(const char *text, char ret_pattern[NET_HOST_SIZE], uint16_t *ret_port, const char **ret_why)
{
	const char *close = text[0] == '[' ? strchr(text, ']') : NULL;
	const char *colon = close ? (close[1] == ':' ? close + 1 : NULL) : strchr(text, ':');
	char host[4 * NET_HOST_SIZE];
	size_t len;

	if (colon && !close && strchr(colon + 1, ':'))
		colon = NULL; /* an IPv6 address without a port */
	if (strstr(text, "://")) {
		*ret_why = "has a scheme that does not belong there; write HOST or HOST:PORT";
		return -EINVAL;
	}
	len = colon ? (size_t)(colon - text) : strlen(text);
	if (len >= sizeof(host)) {
		*ret_why = "is longer than a host name can be";
		return -EINVAL;
	}
	memcpy(host, text, len);
	host[len] = '\0';
	*ret_port = 443;
	if (colon && net_port_parse(colon + 1, ret_port) < 0) {
		*ret_why = "has no port from 1 to 65535 behind its colon";
		return -EINVAL;
	}
	return net_pattern_parse(host, ret_pattern, ret_why);
}
