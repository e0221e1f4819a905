/* Checks of a request's text. Pure. */
#include <string.h>
#include <strings.h>

#include "egress/http/request.h"

#include "base/banned.h"

bool http1_is(const char *text, size_t len, const char *name)
{
	return len == strlen(name) && strncasecmp(text, name, len) == 0;
}

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
	if (bracket != (strchr(ret_host, ':') != NULL)) /* "[name]", or an address without brackets */
		return false;
	*ret_port = default_port;
	return rest == end || (*rest == ':' && read_port(rest + 1, (size_t)(end - rest - 1), ret_port));
}

bool request_lacks_body(const char *method)
{
	/* TRACE and CONNECT are never forwarded */
	static const char *const none[] = {"GET", "HEAD", "DELETE", "OPTIONS"};

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (strcasecmp(method, none[i]) == 0)
			return true;
	return false;
}

/* ---- names of fields ---- */

/* As lighttpd does; other servers map "-" only. */
static char fold(char byte)
{
	if (byte >= 'A' && byte <= 'Z')
		return (char)(byte | 0x20);
	return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') ? byte : '-';
}

bool request_field_is(const char *name, size_t len, const char *known)
{
	if (len != strlen(known))
		return false;
	for (size_t i = 0; i < len; i++)
		if (fold(name[i]) != fold(known[i]))
			return false;
	return true;
}

bool request_field_disguised(const char *name, size_t len)
{
	static const char *const framing[] = {"content-length", "transfer-encoding"};

	for (size_t i = 0; i < sizeof(framing) / sizeof(framing[0]); i++)
		if (request_field_is(name, len, framing[i]))
			return !http1_is(name, len, framing[i]);
	return false;
}

/*
 * Hop-by-hop fields and those of proxies. Alt-Svc and the upgrade to HTTP/2 would lead the program to another port or
 * protocol. "Close" is not a field (RFC 9110, 7.6.1), but Connection would seem to list it.
 */
static const char *const dropped[] = {"connection", "close", "keep-alive", "proxy-connection", "proxy-authorization",
				      "proxy-authenticate", "proxy-authentication-info", "te", "trailer",
				      "transfer-encoding", "upgrade", "http2-settings", "alt-svc", "alt-used"};

bool request_field_dropped(const char *name, size_t len, bool response)
{
	(void)response; /* no field is specific to one direction */
	for (size_t i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++)
		if (request_field_is(name, len, dropped[i]))
			return true;
	return false;
}

/* Fields from which servers, frameworks and their proxies take another method, path or host than the request line's. */
static const struct overriding {
	const char *name;
	bool host; /* overrides the host: refused even by a rule for all requests, as a rule grants one host */
} overriding[] = {
	/* the method */
	{"x-http-method-override", false}, {"x-http-method", false}, {"x-method-override", false},
	{"x-method", false}, {"http-method-override", false}, {"http-x-http-method-override", false},
	{"x-original-method", false}, {"x-forwarded-method", false}, {"x-real-method", false},
	/* the path */
	{"x-original-url", false}, {"x-rewrite-url", false}, {"x-override-url", false}, {"x-original-uri", false},
	{"x-rewrite-uri", false}, {"x-request-uri", false}, {"x-original-path", false}, {"x-envoy-original-path", false},
	{"x-forwarded-uri", false}, {"x-forwarded-url", false}, {"x-forwarded-path", false},
	{"x-forwarded-prefix", false}, {"x-script-name", false}, {"x-path-info", false}, {"x-proxy-url", false},
	{"x-http-destinationurl", false}, {"x-http-path-override", false}, {"x-ms-original-url", false},
	{"x-waws-unencoded-url", false}, {"x-matched-path", false}, {"x-invoke-path", false}, {"original-url", false},
	{"request-uri", false}, {"http-url", false}, {"base-url", false}, {"uri", false}, {"url", false},
	{"script-name", false}, {"path-info", false}, /* gunicorn takes both as CGI variables */
	/* a second path: the target of COPY and MOVE (RFC 4918, 10.3); the source of a PUT at object stores */
	{"destination", false}, {"x-amz-copy-source", false}, {"x-amz-rename-source", false}, {"x-ms-copy-source", false},
	{"x-ms-rename-source", false}, {"x-ms-file-rename-source", false}, {"x-goog-copy-source", false},
	{"x-oss-copy-source", false}, {"x-cos-copy-source", false}, {"x-obs-copy-source", false}, {"x-copy-from", false},
	/* the host */
	{"forwarded", true}, {"x-forwarded-host", true}, {"x-forwarded-server", true}, {"x-host", true},
	{"x-original-host", true}, {"x-real-host", true}, {"x-http-host-override", true}, {"x-backend-host", true},
	{"x-envoy-original-host", true}, {"proxy-host", true}, {"x-backend-server", true},
	{"proxy", true}, /* CGI's HTTP_PROXY: the proxy of the server's own requests ("httpoxy") */
};

bool request_field_refused(const struct request_verdict *verdict, const char *name, size_t len)
{
	if (!verdict->rule)
		return false;
	for (size_t i = 0; i < sizeof(overriding) / sizeof(overriding[0]); i++)
		if (request_field_is(name, len, overriding[i].name))
			return overriding[i].host || verdict->rule->http_count > 0;
	return false;
}
