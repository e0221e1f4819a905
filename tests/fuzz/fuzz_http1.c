/*
 * HTTP/1 messages as a program or a server may send them. What is accepted is written anew, as mode_http1 does, and
 * that must leave no choice: a second reader that forgives everything (ends lines at LF, trims names, takes "_"
 * for "-") has to find the same length, coding and host in it, and ours to read it as the same message.
 * Input: a byte (1: a response, 2: to HEAD, 4: read byte by byte), then the message.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "egress/http/http1.h"
#include "tests/fuzz/fuzz.h"

struct message {
	struct http1_head head;
	size_t head_len;
};

static bool within(const char *at, size_t len, const char *data, size_t size)
{
	return at >= data && len <= size && (size_t)(at - data) <= size - len;
}

/* ---- the second reader: a lenient server ---- */

struct opinion {
	unsigned lengths, codings, hosts;
	const char *length, *coding;
};

/* As servers behind CGI see a name, RFC 3875, 4.1.18. */
static char fold(char byte)
{
	if (byte >= 'A' && byte <= 'Z')
		return (char)(byte | 0x20);
	return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') ? byte : '-';
}

static bool is_named(const char *line, size_t len, const char *name)
{
	while (len && strchr(" \t:", line[len - 1]))
		len--;
	while (len && strchr(" \t", *line)) {
		line++;
		len--;
	}
	if (len != strlen(name))
		return false;
	for (size_t i = 0; i < len; i++)
		if (fold(line[i]) != name[i])
			return false;
	return true;
}

static struct opinion read_leniently(const char *text, size_t len)
{
	struct opinion opinion = {0};
	const char *end = text + len;

	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		const char *colon = memchr(text, ':', (size_t)((stop ? stop : end) - text));
		size_t name = colon ? (size_t)(colon - text) : 0;

		if (colon && is_named(text, name, "content-length")) {
			opinion.lengths++;
			opinion.length = colon + 1;
		} else if (colon && is_named(text, name, "transfer-encoding")) {
			opinion.codings++;
			opinion.coding = colon + 1;
		} else if (colon && is_named(text, name, "host")) {
			opinion.hosts++;
		}
		if (!stop)
			break;
		text = stop + 1;
	}
	return opinion;
}

/* Every LF follows a CR and every CR precedes an LF; the only empty line is the last. */
static void check_lines(const char *text, size_t len)
{
	promise(len >= 4 && memcmp(text + len - 4, "\r\n\r\n", 4) == 0);
	for (size_t i = 0; i < len; i++) {
		promise(text[i] != '\0');
		promise(text[i] != '\n' || (i && text[i - 1] == '\r'));
		promise(text[i] != '\r' || (i + 1 < len && text[i + 1] == '\n'));
		promise(i + 4 >= len || memcmp(text + i, "\r\n\r\n", 4) != 0);
	}
}

/* ---- the third, who takes nothing but what RFC 9112 has writers write ---- */

/* Whether a field may stand in a message that is sent on, and how often. */
static void check_name(const char *name, size_t len, bool response, unsigned seen[4])
{
	static const char *const never[] = {
		"te", "trailer", "upgrade", "keep-alive", "proxy-connection", "http2-settings", "alt-svc"};
	static const char *const once[4] = {"host", "content-length", "transfer-encoding", "connection"};

	promise(len > 0 && strspn(name, REQUEST_TOKEN_BYTES) >= len);
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		promise(!is_named(name, len, never[i]));
	for (size_t i = response; i < 4; i++) /* of a response "Host" is nothing */
		if (is_named(name, len, once[i]))
			promise(http1_name_equals(name, len, once[i]) && ++seen[i] == 1);
}

static const char *check_line(const char *line, const char *stop, bool response, unsigned seen[4])
{
	const char *colon = memchr(line, ':', (size_t)(stop - line));

	promise(colon && colon[1] == ' ');
	check_name(line, (size_t)(colon - line), response, seen);
	promise(colon + 2 == stop || (colon[2] != ' ' && colon[2] != '\t' && stop[-1] != ' ' && stop[-1] != '\t'));
	for (const char *at = colon; at < stop; at++)
		promise((unsigned char)*at >= 0x20 || *at == '\t');
	return stop + 2;
}

static void read_strictly(const struct buf *out, bool response)
{
	unsigned seen[4] = {0}, spaces = 0;
	const char *line = out->data, *end = out->data + out->len, *stop = strstr(line, "\r\n");

	for (; line < stop; line++)
		spaces += *line == ' ';
	promise(response || (spaces == 2 && memcmp(stop - 9, " HTTP/1.1", 9) == 0));
	for (line = stop + 2; line < end - 2; line = check_line(line, stop, response, seen)) {
		stop = strstr(line, "\r\n");
		promise(stop && stop > line);
	}
	promise(seen[1] + seen[2] <= 1 && (response || seen[0] == 1));
}

/* Whether what is left of a path after decoding has dots for a segment: without parameters, by either slash. */
static bool leads_elsewhere(const char *plain)
{
	for (const char *at = plain; *at; at += *at != '\0') {
		size_t name = strcspn(at, "/\\;");

		if ((name == 1 && at[0] == '.') || (name == 2 && at[0] == '.' && at[1] == '.'))
			return true;
		at += strcspn(at, "/\\");
	}
	return false;
}

/* What servers may make of a path that was judged, which decode it once, twice or three times. */
static void check_path(const char *path)
{
	char again[NET_PATH_SIZE], plain[NET_PATH_SIZE];

	promise(net_path_normalise(path, strlen(path), again, NULL) == 0 && strcmp(path, again) == 0);
	memcpy(plain, path, strlen(path) + 1);
	for (unsigned times = 0; times < 4; times++) {
		size_t len = 0;

		promise(!leads_elsewhere(plain));
		for (const char *at = plain; *at; at++) {
			unsigned byte = (unsigned char)*at;

			if (*at == '%' && at[1] && at[2] && strspn(at + 1, "0123456789abcdefABCDEF") >= 2) {
				char digits[3] = {at[1], at[2], '\0'};

				byte = (unsigned)strtoul(digits, NULL, 16);
				at += 2;
			}
			promise(times || (byte >= 0x20 && byte != 0x7f && byte != '\\'));
			plain[len++] = (char)byte;
		}
		plain[len] = '\0';
	}
}

/* ---- heads ---- */

static int parse(const char *data, size_t len, bool response, const char *method, struct http1_head *ret_head)
{
	return response ? http1_parse_response(data, len, method, ret_head) : http1_parse_request(data, len, ret_head);
}

/* As mode_http1 has it: a request with a body is its upstream connection's last. */
static bool is_last(const struct http1_head *head, bool response)
{
	return !head->wants_keep_alive || (!response && head->framing != HTTP1_NO_BODY);
}

static void write_head(struct buf *out, const struct http1_head *head, bool response)
{
	char method[NET_METHOD_SIZE] = "", path[NET_PATH_SIZE] = "/";
	const char *query = NULL;

	if (response) {
		http1_write_response(out, head);
	} else {
		memcpy(method, head->method, head->method_len);
		if (net_path_normalise(head->target, head->target_len, path, &query) == 0)
			check_path(path);
		else
			memcpy(path, "/", 2); /* refused: the rest is tried all the same */
		http1_write_request(out, method, path, query,
				    query ? (size_t)(head->target + head->target_len - query) : 0, "host.test");
	}
	for (size_t i = 0; i < head->field_count; i++)
		if (http1_field_is_forwarded(head, &head->field[i], response))
			http1_write_field(out, &head->field[i]);
	http1_write_head_end(out, head->framing, head, is_last(head, response) ? "close" : NULL);
}

static void check_anew(const struct http1_head *head, bool response, const char *method)
{
	_cleanup_buf_ struct buf out = {0}, again = {0};
	struct http1_head_scan scan = {0};
	struct http1_head second;
	struct opinion opinion;
	ssize_t len;

	write_head(&out, head, response);
	promise(!out.failed);
	check_lines(out.data, out.len);
	read_strictly(&out, response);
	opinion = read_leniently(out.data, out.len);
	promise(opinion.lengths + opinion.codings <= 1);
	promise((opinion.codings == 1) == (head->framing == HTTP1_CHUNKED));
	promise(opinion.lengths == 1 || head->framing != HTTP1_CONTENT_LENGTH);
	promise(response || opinion.hosts == 1);
	if (opinion.lengths)
		promise(strtoull(opinion.length, NULL, 10) == head->content_length);
	len = http1_find_head_end(&scan, out.data, out.len);
	if (len == -EMSGSIZE) /* a few bytes more than before are too many */
		return;
	promise(len == (ssize_t)out.len);
	if (parse(out.data, out.len, response, method, &second) == -EMSGSIZE) /* the same of fields */
		return;
	promise(parse(out.data, out.len, response, method, &second) == 0);
	promise(second.framing == head->framing && second.content_length == head->content_length);
	promise(second.wants_keep_alive != is_last(head, response) || (response && head->minor_version == 0));
	write_head(&again, &second, response);
	promise(again.len == out.len && memcmp(again.data, out.data, out.len) == 0);
}

static void check_borrows(const struct http1_head *head, const char *data, size_t len, bool response)
{
	promise(head->field_count <= HTTP_FIELDS_MAX);
	for (size_t i = 0; i < head->field_count; i++) {
		promise(within(head->field[i].name, head->field[i].name_len, data, len) && head->field[i].name_len);
		promise(within(head->field[i].value, head->field[i].value_len, data, len));
	}
	if (response) {
		promise(within(head->reason_phrase, head->reason_phrase_len, data, len));
		promise(head->status >= 100 && head->status <= 599);
		return;
	}
	promise(within(head->method, head->method_len, data, len) && head->method_len < NET_METHOD_SIZE);
	promise(within(head->target, head->target_len, data, len) && head->target_len);
	promise(!head->host || within(head->host, head->host_len, data, len));
	promise(head->framing != HTTP1_UNTIL_CLOSE);
	promise(!memchr(head->target, '#', head->target_len));
}

/* ---- bodies ---- */

/* The content of what is there; its error, or 0. */
static int read_body(const struct http1_head *head, bool request, const char *data, size_t len, bool bytewise,
		     struct buf *out, bool *ret_ended)
{
	struct http1_body body;
	size_t at = 0;

	http1_body_init(&body, head, request);
	while (at < len && !body.has_ended) {
		const char *part;
		size_t part_len, want = bytewise ? 1 : len - at;
		ssize_t used = http1_body_read(&body, data + at, want, &part, &part_len);

		if (used < 0)
			return (int)used;
		promise(used > 0 && (size_t)used <= want);
		promise(within(part, part_len, data + at, (size_t)used));
		buf_add(out, part, part_len);
		at += (size_t)used;
	}
	*ret_ended = body.has_ended;
	return 0;
}

static void check_body(const struct http1_head *head, bool request, const char *data, size_t len)
{
	_cleanup_buf_ struct buf whole = {0}, pieces = {0}, chunk = {0}, again = {0};
	const struct http1_head chunked = {.framing = HTTP1_CHUNKED};
	char size[HTTP1_CHUNK_HEAD_BYTES_MAX];
	bool whole_ended = false, pieces_ended = false, again_ended = false;
	int error = read_body(head, request, data, len, false, &whole, &whole_ended);

	promise(read_body(head, request, data, len, true, &pieces, &pieces_ended) == error);
	promise(pieces.len == whole.len && whole_ended == pieces_ended);
	promise(!whole.len || memcmp(whole.data, pieces.data, whole.len) == 0);
	if (error || !whole.len)
		return;
	buf_add(&chunk, size, http1_write_chunk_head(size, whole.len));
	buf_add(&chunk, whole.data, whole.len);
	buf_puts(&chunk, HTTP1_CHUNK_END HTTP1_CHUNK_LAST);
	promise(read_body(&chunked, true, chunk.data, chunk.len, false, &again, &again_ended) == 0);
	promise(again_ended && again.len == whole.len && memcmp(again.data, whole.data, whole.len) == 0);
}

/* ---- both ---- */

static ssize_t scan_bytewise(const char *data, size_t len)
{
	struct http1_head_scan scan = {0};
	ssize_t whole = 0;

	for (size_t end = 0; end <= len && whole == 0; end++)
		whole = http1_find_head_end(&scan, data, end);
	return whole;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	const char *data = (const char *)input + 1, *method;
	struct http1_head_scan scan = {0};
	struct http1_head head;
	bool response;
	ssize_t len;

	if (size < 2)
		return 0;
	size--;
	response = input[0] & 1;
	method = input[0] & 2 ? "HEAD" : "GET";
	len = http1_find_head_end(&scan, data, size);
	promise(scan_bytewise(data, size) == len);
	if (input[0] & 4) { /* as if its head were before */
		head = (struct http1_head){.framing = HTTP1_CHUNKED};
		check_body(&head, !response, data, size);
	}
	if (len <= 0)
		return 0;
	promise((size_t)len <= size && len <= HTTP_HEAD_BYTES_MAX);
	if (parse(data, (size_t)len, response, method, &head) != 0)
		return 0;
	check_borrows(&head, data, (size_t)len, response);
	check_anew(&head, response, method);
	check_body(&head, !response, data + len, size - (size_t)len);
	return 0;
}
