/* Parses the items of a rule's "http", such as "GET,POST /path" and "WEBSOCKET /chat". */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/arena.h"
#include "policy/network/network.h"

#define HTTP_METHODS_BYTES_MAX 256

/* Returns what is wrong with a method of an "http" item, as the end of a message; static. NULL: it is valid. */
static const char *http_rule_check_method(const char *method, size_t len)
{
	if (len == 0)
		return "names no method before a comma or the path; write \"GET /path/**\"";
	if (len >= NET_METHOD_SIZE)
		return "has a method that is too long to be one";
	for (size_t i = 0; i < len; i++)
		if (method[i] >= 'a' && method[i] <= 'z')
			return "has a method in lower case; methods are upper case, as in \"GET\"";
	for (size_t i = 0; i < len; i++)
		if ((method[i] < 'A' || method[i] > 'Z') && (method[i] != '-' || i == 0))
			return "has a method that is none; write \"GET,POST /path/**\" or \"* /**\"";
	if (len == 5 && memcmp(method, "TRACE", 5) == 0)
		return "grants TRACE, which would show the program its own credentials; remove it";
	if (len == 7 && memcmp(method, "CONNECT", 7) == 0)
		return "grants CONNECT, which is no request to a host; remove it";
	if (len == 9 && memcmp(method, "WEBSOCKET", 9) == 0)
		return "has WEBSOCKET beside other methods; write it as a rule of its own";
	return NULL;
}

/* Checks the methods of an HTTP rule, separated by commas, or "*". Returns what is wrong, for a message, or NULL. */
static const char *http_rule_check_methods(const char *methods, size_t len)
{
	if (len == 1 && methods[0] == '*')
		return NULL;
	if (len > HTTP_METHODS_BYTES_MAX)
		return "has more methods than there are";
	for (size_t at = 0;; at++) {
		const char *comma = memchr(methods + at, ',', len - at);
		size_t one = comma ? (size_t)(comma - methods) - at : len - at;
		const char *wrong = http_rule_check_method(methods + at, one);

		if (wrong || !comma)
			return wrong;
		at += one;
	}
}

/* True when a "**" of the path is not a whole segment. */
static bool http_rule_has_partial_double_star(const char *path)
{
	const char *stars = path;

	while ((stars = strstr(stars, "**"))) {
		if (stars[-1] != '/' || (stars[2] && stars[2] != '/'))
			return true;
		stars += 2;
	}
	return false;
}

/*
 * Returns what is wrong with the path of an "http" item, as the end of a message: static, or written to `text`. NULL:
 * the path is valid.
 */
static const char *http_rule_check_path(const char *path, char *text, size_t cap)
{
	char normal[NET_PATH_SIZE];
	int ret;

	if (path[0] != '/')
		return "has no path that begins with \"/\"; write \"GET /path/**\", or \"GET /**\" for all";
	if (strchr(path, '?'))
		return "has a \"?\" in it; queries are not judged, leave it out";
	if (http_rule_has_partial_double_star(path))
		return "has \"**\" inside a segment; it stands alone between slashes";
	ret = net_path_normalise(path, strlen(path), normal, NULL);
	if (ret == -ENAMETOOLONG || strlen(path) > NET_PATH_SIZE / 4)
		return "has a path longer than a rule may have";
	if (ret < 0)
		return "has a path that no request may have (\"..\" above the root, \"\\\", control characters or bad "
		       "escapes)";
	if (strcmp(normal, path) == 0)
		return NULL;
	(void)snprintf(text, cap, "would never match: requests are judged in normal form; write the path as %s",
		       normal);
	return text;
}

bool net_http_rule_can_name(const char *method, const char *path)
{
	char never[NET_PATH_SIZE + 128];

	return !(method && http_rule_check_method(method, strlen(method))) && !strchr(path, '*') &&
	       !http_rule_check_path(path, never, sizeof(never));
}

int net_http_parse_rule(struct arena *arena, const char *text, struct net_http_rule *ret_rule, char *why, size_t cap)
{
	size_t len = strcspn(text, " ");
	const char *path = text + len + strspn(text + len, " "), *wrong = NULL;
	bool websocket = len == 9 && memcmp(text, "WEBSOCKET", 9) == 0;
	char never[NET_PATH_SIZE + 128];

	if (text[0] == '/')
		wrong = "names no method; write \"GET /path/**\", or \"* /path/**\" for any method";
	else if (!websocket)
		wrong = http_rule_check_methods(text, len);
	if (!wrong)
		wrong = http_rule_check_path(path, never, sizeof(never));
	if (wrong) {
		(void)snprintf(why, cap, "%s", wrong);
		return -EINVAL;
	}
	*ret_rule = (struct net_http_rule){
		.methods = websocket ? "GET" : arena_dupn(arena, text, len),
		.path = arena_dup(arena, path),
		.is_websocket = websocket,
	};
	return 0;
}
