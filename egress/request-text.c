/* What of a request can be told from its text alone. Pure. */
#include <string.h>

#include "egress/http1.h"
#include "egress/request.h"

#include "base/banned.h"

/* Decimal, 1 to 65535, no leading zero. */
static bool read_port(const char *text, size_t len, unsigned *ret_port)
{
	unsigned port = 0;

	if (len == 0 || len > 5 || *text == '0')
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		port = port * 10 + (unsigned)(text[i] - '0');
	}
	*ret_port = port;
	return port <= UINT16_MAX;
}

bool request_authority(const char *text, size_t len, unsigned default_port, char ret_host[NET_HOST_MAX],
		       unsigned *ret_port)
{
	const char *end = text + len, *host = text, *stop, *rest;
	bool bracket = len && *text == '[';

	if (bracket)
		host++;
	stop = memchr(host, bracket ? ']' : ':', (size_t)(end - host));
	if (bracket && !stop)
		return false;
	rest = !stop ? end : bracket ? stop + 1 : stop;
	if (net_host_canonical(host, (size_t)((stop ? stop : end) - host), ret_host) != 0)
		return false;
	if (bracket != (strchr(ret_host, ':') != NULL)) /* "[name]" */
		return false;
	*ret_port = default_port;
	return rest == end || (*rest == ':' && read_port(rest + 1, (size_t)(end - rest - 1), ret_port));
}

/*
 * Alt-Svc would lead the program to another port or protocol; the upgrades to HTTP/2 as well. What is about proxies is not
 * for us to pass on: we are none to the server. "Close" is nobody's (RFC 9110, 7.6.1) but would seem named by ours.
 */
static const char *const dropped[] = {"connection", "close", "keep-alive", "proxy-connection", "proxy-authorization",
				      "proxy-authenticate", "proxy-authentication-info", "te", "trailer",
				      "transfer-encoding", "upgrade", "http2-settings", "alt-svc", "alt-used"};

bool request_field_dropped(const char *name, size_t len, bool response)
{
	(void)response; /* none of them belongs on one side only */
	for (size_t i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++)
		if (http1_is(name, len, dropped[i]))
			return true;
	return false;
}

static const char *const overriding[] = {"x-http-method-override", "x-http-method", "x-method-override",
					 "x-original-url", "x-rewrite-url"};

bool request_field_refused(const struct request_verdict *verdict, const char *name, size_t len)
{
	if (!verdict->rule || !verdict->rule->http_count)
		return false;
	for (size_t i = 0; i < sizeof(overriding) / sizeof(overriding[0]); i++)
		if (http1_is(name, len, overriding[i]))
			return true;
	return false;
}
