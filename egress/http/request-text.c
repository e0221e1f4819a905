/* Checks the texts of a request. Pure. */
#include <string.h>
#include <strings.h>

#include "egress/http/request.h"

bool http1_name_equals(const char *text, size_t len, const char *name)
{
	return len == strlen(name) && strncasecmp(text, name, len) == 0;
}

/* Parses a port: decimal, 1 to 65535, no leading zero. */
static bool request_read_port(const char *text, size_t len, unsigned *ret_port)
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

bool request_parse_authority(const char *text, size_t len, unsigned default_port, char ret_host[NET_HOST_SIZE],
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
	if (net_host_canonicalise(host, (size_t)((stop ? stop : end) - host), ret_host) != 0)
		return false;
	if (bracket != (strchr(ret_host, ':') != NULL)) /* refuses "[name]", and an IPv6 address without brackets */
		return false;
	*ret_port = default_port;
	return rest == end || (*rest == ':' && request_read_port(rest + 1, (size_t)(end - rest - 1), ret_port));
}

bool request_method_has_no_body(const char *method)
{
	/* TRACE and CONNECT are not listed, because they are never forwarded */
	static const char *const none[] = {"GET", "HEAD", "DELETE", "OPTIONS"};

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (strcasecmp(method, none[i]) == 0)
			return true;
	return false;
}

/* Maps a byte of a field name as lighttpd does for CGI variables; other servers map only "-". */
static char request_map_name_byte_as_cgi(char byte)
{
	if (byte >= 'A' && byte <= 'Z')
		return (char)(byte | 0x20);
	return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') ? byte : '-';
}

bool request_field_equals_as_cgi_variable(const char *name, size_t len, const char *known)
{
	if (len != strlen(known))
		return false;
	for (size_t i = 0; i < len; i++)
		if (request_map_name_byte_as_cgi(name[i]) != request_map_name_byte_as_cgi(known[i]))
			return false;
	return true;
}

/* Whether a header's name is one of the known ones for servers that take headers as CGI variables. */
static bool request_name_is_one_of(const char *name, size_t len, const char *const *known, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (request_field_equals_as_cgi_variable(name, len, known[i]))
			return true;
	return false;
}

#define IS_ONE_OF(name, len, known) request_name_is_one_of(name, len, known, sizeof(known) / sizeof((known)[0]))

bool request_field_disguises_framing(const char *name, size_t len)
{
	static const char *const framing[] = {"content-length", "transfer-encoding"};

	return IS_ONE_OF(name, len, framing) && !http1_name_equals(name, len, framing[0]) &&
	       !http1_name_equals(name, len, framing[1]);
}

bool request_field_is_never_forwarded(const char *name, size_t len)
{
	/*
	 * Hop-by-hop fields, and fields for proxies. Alt-Svc and the upgrade to HTTP/2 would lead the program to
	 * another port or protocol. "Close" is not a field (RFC 9110, 7.6.1), but Connection would seem to list it.
	 */
	static const char *const dropped[] = {"connection", "close", "keep-alive", "proxy-connection",
					      "proxy-authorization", "proxy-authenticate", "proxy-authentication-info",
					      "te", "trailer", "transfer-encoding", "upgrade", "http2-settings",
					      "alt-svc", "alt-used"};

	return IS_ONE_OF(name, len, dropped);
}

/* Fields from which servers, frameworks and their proxies take another method or path than the request line's. */
static const char *const overriding[] = {
	/* these override the method */
	"x-http-method-override", "x-http-method", "x-method-override", "x-method", "http-method-override",
	"http-x-http-method-override", "x-original-method", "x-forwarded-method", "x-real-method",
	/* these override the path */
	"x-original-url", "x-rewrite-url", "x-override-url", "x-original-uri", "x-rewrite-uri", "x-request-uri",
	"x-original-path", "x-envoy-original-path", "x-forwarded-uri", "x-forwarded-url", "x-forwarded-path",
	"x-forwarded-prefix", "x-script-name", "x-path-info", "x-proxy-url", "x-http-destinationurl",
	"x-http-path-override", "x-ms-original-url", "x-waws-unencoded-url", "x-matched-path", "x-invoke-path",
	"original-url", "request-uri", "http-url", "base-url", "uri", "url",
	"script-name", "path-info", /* gunicorn takes both as CGI variables */
	/* a second path: the target of COPY and MOVE (RFC 4918, 10.3); the source of a PUT at object stores */
	"destination", "x-amz-copy-source", "x-amz-rename-source", "x-ms-copy-source", "x-ms-rename-source",
	"x-ms-file-rename-source", "x-goog-copy-source", "x-oss-copy-source", "x-cos-copy-source", "x-obs-copy-source",
	"x-copy-from",
};

/* Fields from which servers take another host: refused even by a rule for all requests, as it grants one host. */
static const char *const overriding_host[] = {
	"forwarded",
	"x-forwarded-host",
	"x-forwarded-server",
	"x-host",
	"x-original-host",
	"x-real-host",
	"x-http-host-override",
	"x-backend-host",
	"x-envoy-original-host",
	"proxy-host",
	"x-backend-server",
	/* becomes CGI's HTTP_PROXY, by which a server's own requests would go through another proxy ("httpoxy") */
	"proxy",
};

bool request_has_override_field(const struct http_field *fields, size_t count, bool requests_are_told_apart)
{
	for (size_t i = 0; i < count; i++)
		if (IS_ONE_OF(fields[i].name, fields[i].name_len, overriding_host) ||
		    (requests_are_told_apart && IS_ONE_OF(fields[i].name, fields[i].name_len, overriding)))
			return true;
	return false;
}
