/*
 * Names and request paths as a program sends them. Both have one normal form; no dot segment is left in a path, however
 * a server reads it. Behind a 0xff byte: a pattern, tried against what a slow and plain matcher says.
 */
#include <string.h>

#include "policy/network/net.h"
#include "policy/network/network.h"
#include "tests/fuzz/fuzz.h"

static void try_host(const char *text, size_t len)
{
	char host[NET_HOST_SIZE], again[NET_HOST_SIZE];

	if (net_host_canonicalise(text, len, host) < 0)
		return;
	promise(strlen(host) < NET_HOST_SIZE && !strpbrk(host, "_@%/\\ []*"));
	promise(net_host_canonicalise(host, strlen(host), again) == 0 && strcmp(host, again) == 0);
	promise(net_host_matches(host, host));
}

/* A segment of dots, also for servers that take "%2F" for a slash and end a segment's name at ";". */
static bool has_dot_segment(const char *path)
{
	for (const char *at = path; *at; at++) {
		const char *name = at, *end;

		if (*at == '/')
			name = at + 1;
		else if (strncmp(at, "%2F", 3) == 0)
			name = at + 3;
		else
			continue;
		end = name + strspn(name, ".");
		if ((end - name == 1 || end - name == 2) &&
		    (!*end || *end == '/' || *end == ';' || strncmp(end, "%2F", 3) == 0 || strncmp(end, "%3B", 3) == 0))
			return true;
	}
	return false;
}

/* As in network.h, by trying everything. */
static bool slow_match(const char *start, const char *pattern, const char *path)
{
	bool whole = pattern > start && pattern[-1] == '/' && (pattern[1] == '/' || !pattern[1]);

	if (!*pattern)
		return !*path;
	if (strncmp(pattern, "/**", 3) == 0) {
		for (; *path == '/'; path += 1 + strcspn(path + 1, "/"))
			if (slow_match(start, pattern + 3, path))
				return true;
		return !*path && slow_match(start, pattern + 3, path);
	}
	if (*pattern != '*')
		return *path == *pattern && slow_match(start, pattern + 1, path + 1);
	if (!whole && slow_match(start, pattern + 1, path))
		return true;
	for (; *path && *path != '/' && strncmp(path, "%2F", 3) != 0; path++)
		if (slow_match(start, pattern + 1, path + 1))
			return true;
	return false;
}

static void try_pattern(const char *text, size_t len, const char *path)
{
	char pattern[48];

	if (len == 0 || len >= sizeof(pattern) || strlen(path) > 64 || memchr(text, '\0', len))
		return;
	memcpy(pattern, text, len);
	pattern[len] = '\0';
	for (const char *stars = pattern; (stars = strstr(stars, "**"));
	     stars += 2) /* as net_http_parse_rule wants them */
		if (stars == pattern || stars[-1] != '/' || (stars[2] && stars[2] != '/'))
			return;
	if (strlen(pattern) - strcspn(pattern, "*") > 24)
		return; /* the slow one's time */
	promise(net_path_matches(pattern, path) == slow_match(pattern, pattern, path));
	promise(net_path_may_match(pattern, path) || !net_path_matches(pattern, path));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *split = size ? memchr(data, 0xff, size) : NULL, *query = NULL;
	size_t len = split ? (size_t)(split - text) : size;
	char path[NET_PATH_SIZE], again[NET_PATH_SIZE];

	try_host(text, len);
	if (net_path_normalise(text, len, path, &query) < 0)
		return 0;
	promise(path[0] == '/' && !has_dot_segment(path));
	promise(!query || (*query == '?' && query < text + len));
	for (const char *c = path; *c; c++)
		promise((unsigned char)*c > 0x20 && (unsigned char)*c < 0x7f && !strchr("\\#?\"<>", *c));
	promise(net_path_normalise(path, strlen(path), again, NULL) == 0 && strcmp(path, again) == 0);
	promise(net_path_matches("/**", path));
	if (split)
		try_pattern(split + 1, size - len - 1, path);
	return 0;
}
