/* Brings host names into canonical form, also internationalised ones (IDNA 2008 by UTS #46), and matches them. */
#include <arpa/inet.h>
#include <errno.h>
#include <idn2.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/network/net.h"

#define HOST_LABEL_BYTES_MAX 63 /* longest label of a name: RFC 1035, 2.3.4 */

const char *net_proto_get_name(enum net_proto proto)
{
	static const char *const names[] = {
		[NET_HTTPS] = "https", [NET_HTTP] = "http", [NET_TCP] = "tcp", [NET_UDP] = "udp"};
	_Static_assert(sizeof(names) / sizeof(names[0]) == NET_PROTO_MAX, "every protocol has a name");

	return names[proto];
}

/* Brings an IPv6 address, with or without brackets, into canonical form. inet_pton(3) refuses zone ids. */
static int net_text_canonicalise_v6(const char *text, char ret_host[NET_HOST_SIZE])
{
	struct sockaddr_storage address;
	char copy[NET_ADDRESS_TEXT_SIZE + 2], *from = copy;
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
	net_address_format((const struct sockaddr *)&address, ret_host);
	return 0;
}

/*
 * True when resolvers and URL parsers (WHATWG "ends in a number") take the name for an IPv4 address: its last label is
 * all digits, or "0x" and hexadecimal digits.
 */
static bool net_text_host_looks_numeric(const char *host)
{
	const char *dot = strrchr(host, '.'), *label = dot ? dot + 1 : host;

	if (label[0] == '0' && label[1] == 'x')
		return label[2 + strspn(label + 2, "0123456789abcdef")] == '\0';
	return label[strspn(label, "0123456789")] == '\0';
}

/*
 * Whether the text is a host name of lower-case letters, digits, hyphens and inner dots, with labels of a valid length.
 */
static bool net_text_is_host_name(const char *host)
{
	size_t label = 0;

	for (const char *at = host;; at++) {
		if (*at == '.' || !*at) {
			if (label == 0 || label > HOST_LABEL_BYTES_MAX || at[-1] == '-')
				return false;
			if (!*at)
				return true;
			label = 0;
		} else if (!strchr("0123456789abcdefghijklmnopqrstuvwxyz-", *at) || (*at == '-' && label == 0)) {
			return false;
		} else {
			label++;
		}
	}
}

int net_host_canonicalise(const char *text, size_t len, char ret_host[NET_HOST_SIZE])
{
	char host[NET_HOST_SIZE];
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
		return net_text_canonicalise_v6(host, ret_host);
	/* inet_pton(3) accepts only four decimal numbers without leading zeros */
	if (!net_text_is_host_name(host) || (net_text_host_looks_numeric(host) && inet_pton(AF_INET, host, &v4) != 1))
		return -EINVAL;
	memcpy(ret_host, host, len + 1);
	return 0;
}

bool net_host_matches(const char *pattern, const char *host)
{
	size_t host_len = strlen(host), len;
	bool deep = strncmp(pattern, "**.", 3) == 0;

	if (!deep && strncmp(pattern, "*.", 2) != 0)
		return strcmp(pattern, NET_EVERY_HOST) == 0 || strcmp(pattern, host) == 0;
	pattern += deep ? 2 : 1; /* now ".d" */
	len = strlen(pattern);
	if (host_len <= len || strcmp(host + host_len - len, pattern) != 0)
		return false;
	return deep || !memchr(host, '.', host_len - len);
}

/* Returns why the text is no host, as the end of a message. */
static const char *net_text_explain_bad_host(const char *text)
{
	const char *slash = strchr(text, '/'), *colon = strchr(text, ':');

	if (slash && slash[1] && !slash[1 + strspn(slash + 1, "0123456789")])
		return "is a network or a path; addresses are named one by one, hosts without a path";
	if (colon && colon > text && colon[1] && text[0] != '[' && !colon[1 + strspn(colon + 1, "0123456789")])
		return "is no host name: a port does not belong to it";
	if (strpbrk(text, "/?#"))
		return "is no host name: write it without a scheme or a path";
	if (strchr(text, '@'))
		return "has an \"@\" in it; write the host alone";
	if (strchr(text, '%'))
		return "has a \"%\" in it; zone ids and escapes cannot be in a host name";
	if (strchr(text, '*'))
		return "has a \"*\" in it; wildcards are \"*.NAME\" (one label) and \"**.NAME\" (any number)";
	if (strchr(text, '_'))
		return "has a \"_\" in it, which no host name has";
	if (strlen(text) >= NET_HOST_SIZE)
		return "is longer than a host name can be";
	if (text[strspn(text, "0123456789abcdefxABCDEFX.:[]")] == '\0' && strpbrk(text, "0123456789"))
		return "is no address; write \"192.0.2.1\" or \"2001:db8::1\"";
	return "is no host name";
}

int net_host_parse(const char *text, char ret_host[NET_HOST_SIZE], const char **ret_why)
{
	_cleanup_free_ char *ascii = NULL; /* from libidn2, whose idn2_free() is free(3) */
	int ret;

	if (net_host_canonicalise(text, strlen(text), ret_host) == 0)
		return 0;
	*ret_why = net_text_explain_bad_host(text);
	/* text that is all ASCII stays invalid: IDNA would only map it to another name */
	for (ret = 0; text[ret] && !(text[ret] & 0x80); ret++)
		if (ret >= 4 * NET_HOST_SIZE)
			return -EINVAL;
	if (!text[ret])
		return -EINVAL;
	ret = idn2_to_ascii_8z(text, &ascii, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
	*ret_why = idn2_strerror(ret);
	if (ret != IDN2_OK)
		return -EINVAL;
	ret = net_host_canonicalise(ascii, strlen(ascii), ret_host);
	if (ret < 0)
		*ret_why = net_text_explain_bad_host(ascii);
	return ret;
}
