/*
 * Makes the lines of a log that are not records, such as header and trailer. They are rare, so their speed does not
 * matter.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "audit/encode.h"
#include "audit/hash.h"
#include "audit/sign.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "config.h"

#define HEADER_ARGV_BYTES_MAX (64u << 10) /* bytes of argv that the header shows at most */

/* Adds a text as JSON. key: the JSON before it. Nothing is added for NULL. */
static void lines_add_text(struct buf *buf, const char *key, const char *text)
{
	size_t len = text ? strlen(text) : 0;
	_cleanup_free_ char *escaped = malloc(len * TEXT_ESCAPED_BYTES_PER_BYTE_MAX + 1);

	if (text && !escaped)
		buf->failed = true;
	if (!text || !escaped)
		return;
	len = text_escape_for_json(escaped, text, len);
	buf_printf(buf, "%s\"", key);
	buf_add(buf, escaped, len);
	buf_puts(buf, "\"");
}

static void lines_add_command(struct buf *buf, const char *const *argv)
{
	size_t bytes = 0, omitted = 0;
	const char *comma = "";

	if (!argv)
		return;
	buf_puts(buf, ",\"command\":[");
	for (; *argv; argv++) {
		bytes += strlen(*argv) + 1;
		if (bytes > HEADER_ARGV_BYTES_MAX) {
			omitted++;
			continue;
		}
		lines_add_text(buf, comma, *argv);
		comma = ",";
	}
	buf_puts(buf, "]");
	if (omitted > 0)
		buf_printf(buf, ",\"command_omitted\":%zu", omitted);
}

/* Begins a line that is no record: the fields of the chain, the time, and the type. */
static void lines_begin_object(struct buf *buf, struct audit_clock *clock, const struct line_chain_fields *links,
			       uint64_t seq, const char *type)
{
	const char *time;
	uint64_t mono_ns = audit_clock_read(clock, &time);

	buf_printf(buf, HASH_LINE_START "%llu" HASH_LINE_PREV "%.*s\"", (unsigned long long)seq, HASH_DIGITS,
		   links->prev_hash);
	if (links->outcomes_text_len > 0) {
		buf_puts(buf, ",\"outcomes\":\"");
		buf_add(buf, links->outcomes_text, links->outcomes_text_len);
		buf_puts(buf, "\"");
	}
	buf_printf(buf, ",\"time\":\"%.*s\",\"mono_ns\":%llu,\"type\":\"%s\"", AUDIT_TIMESTAMP_LEN, time,
		   (unsigned long long)mono_ns, type);
}

/* Ends the JSON object and its line. Returns the text, owned, or NULL if memory ran out. */
static char *lines_end_object(struct buf *buf, size_t *ret_len)
{
	buf_puts(buf, "}\n");
	*ret_len = buf->len;
	return buf_take_text(buf);
}

char *lines_make_common_header(const struct audit_header *header)
{
	_cleanup_buf_ struct buf buf = {0};
	struct utsname machine;

	lines_add_text(&buf, ",\"run\":", header->run_id ? header->run_id : "");
	lines_add_text(&buf, ",\"version\":", PACKAGE_VERSION);
	lines_add_command(&buf, header->argv);
	buf_puts(&buf, ",\"policy\":{");
	lines_add_text(&buf, "\"name\":", header->policy_name ? header->policy_name : "");
	lines_add_text(&buf, ",\"sha256\":", header->policy_sha256);
	buf_puts(&buf, "}");
	lines_add_text(&buf, ",\"workdir\":", header->workdir);
	if (uname(&machine) == 0) {
		lines_add_text(&buf, ",\"kernel\":", machine.release);
		lines_add_text(&buf, ",\"machine\":", machine.machine);
	}
	if (header->layers_json && *header->layers_json) {
		buf_puts(&buf, ",\"layers\":");
		buf_puts(&buf, header->layers_json);
	}
	buf_printf(&buf, ",\"record_allowed\":%s", header->records_allowed_calls ? "true" : "false");
	lines_add_text(&buf, ",\"judge\":",
		       policy_judge_get_name(header->lacks_records_of_reads ? POLICY_JUDGE_CHANGES : POLICY_JUDGE_ALL));
	if (header->compact)
		buf_puts(&buf, ",\"compact\":true");
	return buf_take_text(&buf);
}

char *lines_make_file_header(struct encoder *encoder, const char *header, const char *key, const char *previous,
		       const struct line_chain_fields *links, unsigned file, uint64_t seq, size_t *ret_len)
{
	_cleanup_buf_ struct buf buf = {0};

	lines_begin_object(&buf, &encoder->clock, links, seq, "header");
	buf_puts(&buf, header);
	buf_printf(&buf, ",\"file\":%u", file);
	lines_add_text(&buf, ",\"previous\":", previous);
	lines_add_text(&buf, ",\"key\":", key);
	return lines_end_object(&buf, ret_len);
}

char *lines_make_next_file_line(struct encoder *encoder, const char *next, const struct line_chain_fields *links,
				uint64_t seq, size_t *ret_len)
{
	_cleanup_buf_ struct buf buf = {0};

	lines_begin_object(&buf, &encoder->clock, links, seq, "next");
	buf_puts(&buf, ",\"run\":\"");
	buf_add(&buf, encoder->run, encoder->run_id_len);
	buf_puts(&buf, "\"");
	lines_add_text(&buf, ",\"next\":", next);
	return lines_end_object(&buf, ret_len);
}

/* Adds the hash of the line so far, and the blank for the signature. */
static void lines_add_own_hash_and_signature_blank(struct buf *buf)
{
	char head[HASH_DIGITS];

	if (buf->failed)
		return;
	hash_line(buf->data, buf->len, true, head);
	buf_printf(buf, ",\"head\":\"%.*s\",\"signature\":\"%s\"", HASH_DIGITS, head, SIGN_SIGNATURE_BLANK);
}

char *lines_make_trailer(struct audit_clock *clock, const char *run, size_t run_len,
			 const struct audit_trailer *trailer, const struct line_chain_fields *links, unsigned file,
			 uint64_t seq, uint64_t records, size_t *ret_len)
{
	_cleanup_buf_ struct buf buf = {0};

	lines_begin_object(&buf, clock, links, seq, "trailer");
	buf_puts(&buf, ",\"run\":\"");
	buf_add(&buf, run, run_len);
	buf_puts(&buf, "\"");
	lines_add_text(&buf, ",\"status\":", trailer->status ? trailer->status : "");
	if (trailer->exit_code >= 0)
		buf_printf(&buf, ",\"exit_code\":%d", trailer->exit_code);
	if (trailer->signal > 0)
		buf_printf(&buf, ",\"signal\":%d", trailer->signal);
	buf_printf(&buf, ",\"records\":%llu,\"judged\":%llu,\"allowed\":%llu,\"denied\":%llu",
		   (unsigned long long)records, (unsigned long long)trailer->judged,
		   (unsigned long long)trailer->allowed, (unsigned long long)trailer->denied);
	if (trailer->unsealed_line_count > 0)
		buf_printf(&buf, ",\"recovered\":%llu", (unsigned long long)trailer->unsealed_line_count);
	buf_printf(&buf, ",\"file\":%u", file);
	lines_add_own_hash_and_signature_blank(&buf);
	return lines_end_object(&buf, ret_len);
}
