/* Normalises paths of HTTP requests, and matches them against patterns. */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "policy/network/network.h"

#define PERCENT_DECODE_ROUNDS_MAX 8 /* a path that is percent-encoded more often is refused */

/* True for unreserved characters: RFC 3986, 2.3. */
static bool net_path_char_is_unreserved(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c && strchr("-._~", c));
}

/* True for characters that need no escape in a path: RFC 3986, 3.3, pchar and "/". */
static bool net_path_char_needs_no_escape(unsigned char c)
{
	return net_path_char_is_unreserved(c) || (c && strchr("!$&'()*+,;=:@/", c));
}

/* The normalised path of a URL that is being written. */
struct path_writer {
	char *out; /* has NET_PATH_SIZE bytes */
	size_t len;
	size_t segment_start; /* start of the current segment, which is after its "/" */
	bool segment_had_escaped_dot;   /* the current segment has a dot that was written as an escape */
};

/* Writes a character as "%XX". 0 or -ENAMETOOLONG. */
static int net_path_put_escape(struct path_writer *writer, unsigned char c)
{
	static const char digits[] = "0123456789ABCDEF";

	if (writer->len + 3 >= NET_PATH_SIZE)
		return -ENAMETOOLONG;
	writer->out[writer->len++] = '%';
	writer->out[writer->len++] = digits[c >> 4];
	writer->out[writer->len++] = digits[c & 15];
	return 0;
}

/* Writes a character, escaped if it needs to be. 0 or -ENAMETOOLONG. */
static int net_path_put_char(struct path_writer *writer, unsigned char c)
{
	if (!net_path_char_needs_no_escape(c))
		return net_path_put_escape(writer, c);
	if (writer->len + 1 >= NET_PATH_SIZE)
		return -ENAMETOOLONG;
	writer->out[writer->len++] = (char)c;
	return 0;
}

/* Decodes the escape of an unreserved character and keeps others: servers differ on whether "%2A" equals "*". */
static int net_path_normalise_escape(struct path_writer *writer, const char *escape, size_t left)
{
	int high = left > 2 ? text_parse_hex_digit(escape[1]) : -1,
	    low = left > 2 ? text_parse_hex_digit(escape[2]) : -1;
	unsigned char c = (unsigned char)(high < 0 || low < 0 ? 0 : high << 4 | low);

	if (c < 0x20 || c == 0x7f || c == '\\')
		return -EINVAL;
	if (c == '.')
		writer->segment_had_escaped_dot = true;
	return net_path_char_is_unreserved(c) ? net_path_put_char(writer, c) : net_path_put_escape(writer, c);
}

/*
 * Overlong UTF-8 writes an ASCII character with more bytes than necessary (C0 AE, E0 80 AE, F0 80 80 AE …). When the
 * byte at `to` ends such a sequence, returns how many bytes of the sequence come before it. Else 0.
 */
static size_t net_path_count_overlong_bytes(const unsigned char *text, size_t to)
{
	static const unsigned char first[] = {0xe0, 0xf0, 0xf8, 0xfc};
	size_t zeros = 0;

	if (!to || (text[to] & 0xc0) != 0x80)
		return 0;
	if ((text[to - 1] & 0xfe) == 0xc0)
		return 1;
	if ((text[to - 1] & 0xfe) != 0x80)
		return 0;
	while (zeros < sizeof(first) - 1 && to >= zeros + 3 && text[to - zeros - 2] == 0x80)
		zeros++;
	return to >= zeros + 2 && text[to - zeros - 2] == first[zeros] ? zeros + 2 : 0;
}

/* Decodes escapes in place, and also overlong UTF-8 of ASCII, as old decoders do. True when there was an escape. */
static bool net_path_decode(char *text, size_t *len)
{
	size_t to = 0;
	bool some = false;

	for (size_t at = 0; at < *len; to++) {
		int high = *len - at > 2 && text[at] == '%' ? text_parse_hex_digit(text[at + 1]) : -1;
		int low = high < 0 ? -1 : text_parse_hex_digit(text[at + 2]);
		size_t before;

		if (low < 0) {
			text[to] = text[at++];
			continue;
		}
		text[to] = (char)(high << 4 | low);
		at += 3;
		some = true;
		before = net_path_count_overlong_bytes((const unsigned char *)text, to);
		if (before) {
			text[to - before] = (char)((text[to - 1] & 1) << 6 | (text[to] & 0x3f));
			to -= before;
		}
	}
	*len = to;
	return some;
}

/* True when a component, delimited by "/" or "\", is "." or "..", even if ";" or a NUL follows the dots. */
static bool net_path_has_dot_segments(const char *text, size_t len)
{
	for (size_t at = 0, dots; at < len; at++) {
		for (dots = 0; at < len && text[at] == '.'; at++)
			dots++;
		if ((dots == 1 || dots == 2) && (at == len || memchr("/\\;", text[at], 4))) /* 4 bytes: with the NUL */
			return true;
		while (at < len && text[at] != '/' && text[at] != '\\')
			at++;
	}
	return false;
}

/*
 * True when some server would see a dot segment in this segment. Servers differ:
 *   - some decode "%2F" to "/" (npm's registry: /@scope%2Fname), and some decode twice (Jenkins: /job/a%252Fb);
 *   - servlet containers treat "..;x" as "..".
 */
static bool net_path_has_encoded_dot_segment(const char *segment, size_t len)
{
	char text[NET_PATH_SIZE];

	if (!memchr(segment, '%', len) && !memchr(segment, ';', len))
		return false;
	memcpy(text, segment, len);
	for (unsigned rounds = 0; rounds < PERCENT_DECODE_ROUNDS_MAX; rounds++) {
		if (net_path_has_dot_segments(text, len))
			return true;
		if (!net_path_decode(text, &len))
			return false;
	}
	return true;
}

/*
 * Ends a segment. "." is removed; ".." is removed with the segment before it; then *ret_segment_was_dropped is true and
 * out ends in "/". -EINVAL for a segment that only some servers take for a dot segment: they would see another path
 * than was judged.
 */
static int net_path_end_segment(struct path_writer *writer, bool *ret_segment_was_dropped)
{
	const char *segment = writer->out + writer->segment_start;
	size_t len = writer->len - writer->segment_start, dots = 0;

	*ret_segment_was_dropped = false;
	while (dots < len && segment[dots] == '.')
		dots++;
	if (dots < len || dots == 0 || dots > 2)
		return net_path_has_encoded_dot_segment(segment, len) ? -EINVAL : 0;
	if (writer->segment_had_escaped_dot)
		return -EINVAL;
	*ret_segment_was_dropped = true;
	writer->len = writer->segment_start;
	if (dots == 1)
		return 0;
	if (writer->len == 1)
		return -EINVAL; /* ".." leads above the root */
	writer->len--;
	while (writer->out[writer->len - 1] != '/')
		writer->len--;
	return 0;
}

/* Begins a component of a URL's path. After a dropped one ("." or "..") the slash already stands. */
static int net_path_begin_segment(struct path_writer *writer, bool segment_was_dropped)
{
	int ret = segment_was_dropped ? 0 : net_path_put_char(writer, '/');

	writer->segment_start = writer->len;
	writer->segment_had_escaped_dot = false;
	return ret;
}

/* Writes the path of a request in normal form. -EINVAL: it has a character that no path may have. */
static int net_path_put_target(struct path_writer *writer, const char *target, size_t len)
{
	unsigned char c;
	bool segment_was_dropped;
	int ret = 0;

	for (size_t i = 0; i < len && ret == 0; i++) {
		c = (unsigned char)target[i];
		if (c == '/') {
			ret = net_path_end_segment(writer, &segment_was_dropped);
			if (ret == 0)
				ret = net_path_begin_segment(writer, segment_was_dropped);
		} else if (c == '%') {
			ret = net_path_normalise_escape(writer, target + i, len - i);
			i += 2;
		} else if (c <= 0x20 || c == 0x7f || c == '\\' || c == '#') {
			ret = -EINVAL;
		} else {
			ret = net_path_put_char(writer, c);
		}
	}
	return ret < 0 ? ret : net_path_end_segment(writer, &segment_was_dropped);
}

int net_path_normalise(const char *target, size_t len, char ret_path[NET_PATH_SIZE], const char **ret_query)
{
	const char *query = len ? memchr(target, '?', len) : NULL;
	size_t path_len = query ? (size_t)(query - target) : len;
	char out[NET_PATH_SIZE];
	struct path_writer writer = {.out = out};
	int ret;

	if (path_len == 0 || target[0] != '/')
		return -EINVAL;
	for (size_t i = path_len; i < len; i++) /* the query is forwarded unchanged */
		if ((unsigned char)target[i] <= 0x20 || target[i] == 0x7f || target[i] == '#')
			return -EINVAL;
	ret = net_path_begin_segment(&writer, false);
	if (ret == 0)
		ret = net_path_put_target(&writer, target + 1, path_len - 1);
	if (ret < 0)
		return ret;
	out[writer.len] = '\0';
	memcpy(ret_path, out, writer.len + 1);
	if (ret_query)
		*ret_query = query;
	return 0;
}

/* ---- patterns ---- */

/* Where matching a URL's path with a pattern stands. */
struct path_match_state {
	const char *start; /* start of the pattern */
	const char *pattern, *path;
	/* where to backtrack to, behind the latest "*" of this segment; NULL: no "*" yet */
	const char *one_pattern, *one_path;
	/* where to backtrack to, behind the latest "**"; NULL: no "**" yet */
	const char *deep_pattern, *deep_path;
};

/* True at a slash, or at an encoded slash, which some servers decode: "*" matches neither. */
static bool net_path_begins_with_slash(const char *path)
{
	return *path == '/' || strncmp(path, "%2F", 3) == 0;
}

/* True when the "*" at the pattern is a whole segment: then it matches at least one character. */
static bool net_path_star_is_whole_segment(const struct path_match_state *matching)
{
	const char *star = matching->pattern;

	return star > matching->start && star[-1] == '/' && (star[1] == '/' || !star[1]);
}

/* Matches the next element of the pattern. False when the path differs. */
static bool net_path_match_next_element(struct path_match_state *matching)
{
	const char *path = matching->path;

	if (strncmp(matching->pattern, "/**", 3) == 0) { /* matches nothing, until net_path_backtrack_to_star() */
		if (*path && *path != '/')
			return false;
		matching->deep_pattern = matching->pattern += 3;
		matching->deep_path = path;
		matching->one_pattern = NULL;
		return true;
	}
	if (*matching->pattern == '*') {
		if (net_path_star_is_whole_segment(matching) && (!*path || net_path_begins_with_slash(path)))
			return false;
		matching->path += net_path_star_is_whole_segment(matching);
		matching->one_pattern = ++matching->pattern;
		matching->one_path = matching->path;
		return true;
	}
	if (!*path || *matching->pattern != *path)
		return false;
	matching->pattern++;
	matching->path++;
	return true;
}

/* Backtracks: makes the latest star match more. False when no star can. */
static bool net_path_backtrack_to_star(struct path_match_state *matching)
{
	if (matching->one_pattern && *matching->one_path && !net_path_begins_with_slash(matching->one_path)) {
		matching->pattern = matching->one_pattern;
		matching->path = ++matching->one_path;
		return true;
	}
	if (!matching->deep_pattern || !*matching->deep_path)
		return false;
	matching->one_pattern = NULL;
	matching->deep_path += 1 + strcspn(matching->deep_path + 1, "/");
	matching->pattern = matching->deep_pattern;
	matching->path = matching->deep_path;
	return true;
}

/*
 * Backtracking to the latest star of each kind is enough: the stars before it already match as far left as possible.
 * The time is bounded by the product of the lengths.
 */
bool net_path_matches(const char *pattern, const char *path)
{
	struct path_match_state matching = {.start = pattern, .pattern = pattern, .path = path};

	while (*matching.pattern || *matching.path)
		if (!net_path_match_next_element(&matching) && !net_path_backtrack_to_star(&matching))
			return false;
	return true;
}

/* Decodes a path as often as it is encoded. keeps_slashes: makes an encoded slash a character that no path has. */
static void net_path_decode_all(char *text, size_t *len, bool keeps_slashes)
{
	for (unsigned rounds = 0; rounds < PERCENT_DECODE_ROUNDS_MAX; rounds++) {
		for (size_t at = 0; keeps_slashes && at + 2 < *len; at++)
			if (strncasecmp(text + at, "%2F", 3) == 0)
				memset(text + at, '\1', 3);
		if (!net_path_decode(text, len))
			return;
	}
}

/*
 * Writes a path, or a pattern, as the most lenient servers read it: decoded as often as it is encoded, in lower case,
 * without parameters (";x"), empty segments and a slash at the end, and cut off at a NUL. keeps_slashes: an encoded
 * slash does not end a segment, as in GitLab's "group%2Fproject". False: it is too long.
 */
static bool net_path_fold(const char *path, bool keeps_slashes, char out[NET_PATH_SIZE])
{
	size_t len = strlen(path), to = 0;
	char text[NET_PATH_SIZE];
	bool in_parameter = false;

	if (len >= sizeof(text)) /* no path of a request or rule is so long */
		return false;
	memcpy(text, path, len + 1);
	net_path_decode_all(text, &len, keeps_slashes);
	for (size_t at = 0; at < len && text[at]; at++) {
		const char c = text[at] == '\\'                     ? '/'
			       : text[at] >= 'A' && text[at] <= 'Z' ? (char)(text[at] | 0x20)
								    : text[at];

		in_parameter = c != '/' && (in_parameter || c == ';');
		if (!in_parameter && !(c == '/' && to > 0 && out[to - 1] == '/'))
			out[to++] = c;
	}
	if (to > 1 && out[to - 1] == '/')
		to--;
	out[to] = '\0';
	return true;
}

bool net_path_may_match(const char *pattern, const char *path)
{
	char folded_pattern[NET_PATH_SIZE] = {0}, folded[NET_PATH_SIZE] = {0}; /* clang-tidy does not know strncmp() */

	if (net_path_matches(pattern, path))
		return true;
	for (int keeps = 0; keeps < 2; keeps++)
		if (!net_path_fold(pattern, keeps, folded_pattern) || !net_path_fold(path, keeps, folded) ||
		    net_path_matches(folded_pattern, folded))
			return true;
	return false;
}
