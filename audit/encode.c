/* Makes the line of a record. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "audit/encode.h"
#include "audit/hash.h"
#include "audit/put.h"
#include "base/text.h"

#define RECORD_BYTES_BESIDE_TEXTS_MAX 3072 /* upper bound of the keys, the numbers and the outcome of a record */

static const struct encoder_name encode_effects[] = {
	[AUDIT_EFFECT_REFUSED] = {"refused", 7},
	[AUDIT_EFFECT_PERFORMED] = {"performed", 9},
	[AUDIT_EFFECT_CONTINUED] = {"continued", 9},
};
_Static_assert(sizeof(encode_effects) / sizeof(*encode_effects) == AUDIT_EFFECT_MAX, "an effect lacks its name");

/* Writes a number with `bits` bits a digit: 3 for octal, 4 for hexadecimal. */
static char *encode_put_octal_or_hex(char *out, uint64_t value, unsigned bits)
{
	static const char digit[] = "0123456789abcdef";
	char digits[24];
	size_t at = sizeof(digits);

	do {
		digits[--at] = digit[value & ((1u << bits) - 1)];
		value >>= bits;
	} while (value > 0);
	return put_bytes(out, digits + at, sizeof(digits) - at);
}

/* Writes a name. `key`: the JSON before it, up to the opening quotation mark of the value. */
static char *encode_name(char *out, const char *key, const struct encoder_name *name)
{
	out = put_bytes(out, key, strlen(key));
	out = put_bytes(out, name->text, name->len);
	*out++ = '"';
	return out;
}

/* Lengths of the texts for which struct audit_record has no length. */
struct encoded_text_lengths {
	size_t exe, syscall, host, rule, reason, loader_path, loader_resolved_path;
};

/* Writes an argument as "name":value. Modes are written in octal, other bits in hex. */
static char *encode_arg(char *out, const struct audit_arg *arg)
{
	*out++ = '"';
	out = put_bytes(out, arg->name, strlen(arg->name));
	out = PUT(out, "\":");
	if (arg->kind == AUDIT_ARG_INT)
		return put_int(out, (int64_t)arg->value);
	*out++ = '"';
	switch (arg->kind) {
	case AUDIT_ARG_MODE:
		*out++ = '0';
		if (arg->value)
			out = encode_put_octal_or_hex(out, arg->value, 3);
		break;
	case AUDIT_ARG_TEXT:
		out = put_text(out, arg->text, arg->text ? arg->text_len : 0);
		break;
	case AUDIT_ARG_INT:
	case AUDIT_ARG_HEX:
	default:
		out = PUT(out, "0x");
		out = encode_put_octal_or_hex(out, arg->value, 4);
		break;
	}
	*out++ = '"';
	return out;
}

static char *encode_args(char *out, const struct audit_record *record)
{
	if (record->arg_count == 0)
		return out;
	out = PUT(out, ",\"args\":{");
	for (size_t i = 0; i < record->arg_count; i++) {
		if (i > 0)
			*out++ = ',';
		out = encode_arg(out, &record->arg[i]);
	}
	*out++ = '}';
	return out;
}

/*
 * Keys of each path of a record and of what it resolved to. Without "resolved", an absolute path resolved to itself,
 * and a relative path was not resolved (it cannot equal a canonical path). An absolute path that was not resolved has
 * "resolved":null.
 */
static const struct encode_path_keys {
	const char *path, *resolved_path, *null;
} encode_paths[] = {
	{",\"path\":\"", ",\"resolved\":\"", ",\"resolved\":null"},
	{",\"path2\":\"", ",\"resolved2\":\"", ",\"resolved2\":null"},
	{",\"loader\":\"", ",\"loader_resolved\":\"", ",\"loader_resolved\":null"},
};

/* Writes a path as the program gave it and, if they differ, as it was resolved. */
static char *encode_path(char *out, const struct encode_path_keys *keys, const char *path, size_t path_len,
			 const char *resolved, size_t resolved_path_len)
{
	out = put_field(out, keys->path, path, path_len);
	if (path && resolved && path_len == resolved_path_len && memcmp(path, resolved, path_len) == 0)
		return out;
	if (path && path_len > 0 && path[0] == '/' && !resolved)
		return put_bytes(out, keys->null, strlen(keys->null));
	return put_field(out, keys->resolved_path, resolved, resolved_path_len);
}

/* Writes the field "right", or nothing for 0. Returns the end of what was written. */
static char *encode_access_right(char *out, char right)
{
	if (!right)
		return out;
	out = PUT(out, ",\"right\":\"");
	*out++ = right;
	*out++ = '"';
	return out;
}

/* Writes the reason, unless it is the usual one for the verdict. */
static char *encode_reason(char *out, const struct audit_record *record, size_t len)
{
	static const char *const usual[VERDICT_MAX] = {
		[VERDICT_ALLOW] = "granted", [VERDICT_REDIRECT] = "redirected", [VERDICT_PROVIDE] = "provided"};

	if (record->reason && usual[record->verdict] && strcmp(record->reason, usual[record->verdict]) == 0)
		return out;
	return put_field(out, ",\"reason\":\"", record->reason, len);
}

/* Writes parent, host pid, number in the session, and executable of the process. */
static char *encode_process(char *out, const struct audit_record *record, size_t exe_len)
{
	if (record->pid > 0 || !record->net)
		out = put_int(PUT(out, ",\"ppid\":"), record->ppid);
	if (record->host_pid > 0)
		out = put_int(PUT(out, ",\"host_pid\":"), record->host_pid);
	if (record->session_program_number > 0)
		out = put_uint(PUT(out, ",\"program\":"), record->session_program_number);
	return put_field(out, ",\"exe\":\"", record->exe, exe_len);
}

/* Writes what each record's line begins with, up to the call's name. Returns the end of what was written. */
static char *encode_first_fields(struct encoder *encoder, char *out, const struct audit_record *record,
				 const struct line_chain_fields *links, uint64_t seq,
				 const struct encoded_text_lengths *len)
{
	const char *time;
	uint64_t mono_ns = audit_clock_read(&encoder->clock, &time);

	out = put_uint(PUT(out, HASH_LINE_START), seq);
	out = put_bytes(PUT(out, HASH_LINE_PREV), links->prev_hash, HASH_DIGITS);
	if (links->outcomes_text_len > 0)
		out = put_bytes(PUT(out, "\",\"outcomes\":\""), links->outcomes_text, links->outcomes_text_len);
	out = put_bytes(PUT(out, "\",\"time\":\""), time, AUDIT_TIMESTAMP_LEN);
	*out++ = '"';
	if (!encoder->processes) {
		out = put_uint(PUT(out, ",\"mono_ns\":"), mono_ns);
		out = put_bytes(PUT(out, ",\"run\":\""), encoder->run, encoder->run_id_len);
		*out++ = '"';
	}
	/* "pid" is left out only for a DNS query of an unknown process */
	if (record->pid > 0 || !record->net)
		out = put_int(PUT(out, ",\"pid\":"), record->pid);
	if (record->tid != record->pid)
		out = put_int(PUT(out, ",\"tid\":"), record->tid);
	if (!compact_omits_process(encoder, record))
		out = encode_process(out, record, len->exe);
	return put_field(out, ",\"syscall\":\"", record->syscall, len->syscall);
}

/* ---- fields of a record about a connection, in place of the arguments of a system call ---- */

/* Writes a text field; key is such as `,"name":"`. NULL and "" leave the field out. */
static char *net_put_text(char *out, const char *key, const char *text)
{
	return text && text[0] ? put_field(out, key, text, strlen(text)) : out;
}

/*
 * Writes a number; key is such as `,"name":`. A number above INT64_MAX is written as INT64_MAX: readers take 63 bits,
 * and egress, which sends the numbers, is not trusted.
 */
static char *net_put_number(char *out, const char *key, uint64_t value)
{
	return put_uint(put_bytes(out, key, strlen(key)), value <= INT64_MAX ? value : INT64_MAX);
}

/* Writes a time in milliseconds with three decimal places. 0 leaves the field out. */
static char *net_put_ms(char *out, const char *key, uint64_t us)
{
	uint64_t rest = us % 1000;

	if (!us)
		return out;
	out = net_put_number(out, key, us / 1000);
	*out++ = '.';
	*out++ = (char)('0' + rest / 100);
	*out++ = (char)('0' + rest / 10 % 10);
	*out++ = (char)('0' + rest % 10);
	return out;
}

/* Writes the fields of a network record, those that it has. */
static char *encode_net(char *out, const struct audit_net *net)
{
	out = net_put_text(out, ",\"event\":\"", net->event_name);
	if (net->conn_id)
		out = net_put_number(out, ",\"conn\":", net->conn_id);
	out = net_put_text(out, ",\"host\":\"", net->host);
	if (net->port)
		out = net_put_number(out, ",\"port\":", net->port);
	out = net_put_text(out, ",\"proto\":\"", net->proto);
	out = net_put_text(out, ",\"address\":\"", net->address);
	out = net_put_text(out, ",\"real\":\"", net->real);
	out = net_put_text(out, ",\"dropped\":\"", net->dropped);
	out = net_put_text(out, ",\"sni\":\"", net->sni);
	out = net_put_text(out, ",\"alpn\":\"", net->alpn);
	out = net_put_text(out, ",\"method\":\"", net->method);
	out = net_put_text(out, ",\"path\":\"", net->path);
	if (net->path_is_truncated)
		out = PUT(out, ",\"truncated\":true");
	out = net_put_text(out, ",\"credential\":\"", net->credential);
	if (net->http_status)
		out = net_put_number(out, ",\"status\":", net->http_status);
	out = net_put_text(out, ",\"cause\":\"", net->cause);
	if (net->refusal_count > 1)
		out = net_put_number(out, ",\"count\":", net->refusal_count);
	if (net->has_byte_counts) {
		out = net_put_number(out, ",\"bytes_up\":", net->bytes_up);
		out = net_put_number(out, ",\"bytes_down\":", net->bytes_down);
	}
	out = net_put_ms(out, ",\"dns_ms\":", net->dns_us);
	out = net_put_ms(out, ",\"connect_ms\":", net->connect_us);
	return net_put_ms(out, ",\"duration_ms\":", net->duration_us);
}

/* The sum of the lengths of a network record's texts, unescaped. */
static size_t encode_measure_net_texts(const struct audit_net *net)
{
	const char *const texts[] = {net->event_name, net->host, net->address, net->proto,  net->real, net->dropped,
				     net->sni,   net->alpn, net->method,  net->path, net->credential, net->cause};
	size_t bytes = 0;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		bytes += put_measure_text(texts[i]);
	return bytes;
}

/* ---- the record ---- */

/* The most bytes that the record's line can have, with every byte of a text escaped. */
static size_t encode_get_max_bytes(const struct audit_record *record, const struct encoded_text_lengths *len)
{
	size_t text = record->path_len + record->resolved_path_len + record->second_path_len +
		      record->second_resolved_path_len + len->exe + len->syscall + len->host + len->rule + len->reason +
		      len->loader_path + len->loader_resolved_path;

	for (size_t i = 0; i < record->arg_count; i++)
		text += strlen(record->arg[i].name) + record->arg[i].text_len;
	if (record->net)
		text += encode_measure_net_texts(record->net);
	return text * TEXT_ESCAPED_BYTES_PER_BYTE_MAX + RECORD_BYTES_BESIDE_TEXTS_MAX;
}

/* Makes the line's buffer at least this large. 0 or -ENOMEM. */
static int encode_reserve_line(struct encoder *encoder, size_t bytes)
{
	char *line;

	if (bytes <= encoder->cap)
		return 0;
	line = realloc(encoder->line_buffer, bytes);
	if (!line)
		return -ENOMEM;
	encoder->line_buffer = line;
	encoder->cap = bytes;
	return 0;
}

/* Writes the answer to the question about the call, who gave it, how, and how long the question was open. */
static char *encode_answer(char *out, const struct audit_record *record)
{
	out = put_field(out, ",\"answer\":\"", record->answer, strlen(record->answer));
	if (record->answered_by_uid >= 0)
		out = net_put_number(out, ",\"answered_by\":", (uint64_t)record->answered_by_uid);
	if (record->answered_how)
		out = put_field(out, ",\"answered_how\":\"", record->answered_how, strlen(record->answered_how));
	return net_put_number(out, ",\"asked_ns\":", record->question_open_ns);
}

int encode_record(struct encoder *encoder, const struct audit_record *record, const struct line_chain_fields *links,
		  uint64_t seq, uint64_t offset, size_t *ret_len, size_t *ret_room)
{
	const struct encoded_text_lengths len = {put_measure_text(record->exe),
						 put_measure_text(record->syscall),
						 put_measure_text(record->host_path),
						 put_measure_text(record->rule),
						 put_measure_text(record->reason),
						 put_measure_text(record->loader_path),
						 put_measure_text(record->loader_resolved_path)};
	int r = encode_reserve_line(encoder, encode_get_max_bytes(record, &len) + links->outcomes_text_len);
	size_t in_page;
	char *out;

	if (r < 0)
		return r;
	out = encode_first_fields(encoder, encoder->line_buffer, record, links, seq, &len);
	if (record->net)
		out = encode_net(out, record->net);
	out = encode_args(out, record);
	out = encode_path(out, &encode_paths[0], record->path, record->path_len, record->resolved_path,
			  record->resolved_path_len);
	out = encode_path(out, &encode_paths[1], record->second_path, record->second_path_len,
			  record->second_resolved_path, record->second_resolved_path_len);
	if (record->loader_path)
		out = encode_path(out, &encode_paths[2], record->loader_path, len.loader_path,
				  record->loader_resolved_path, len.loader_resolved_path);
	out = put_field(out, ",\"host\":\"", record->host_path, len.host);
	out = encode_access_right(out, record->access_right);
	out = encode_name(out, ",\"verdict\":\"", &encoder->verdict[record->verdict]);
	if (!compact_omits_effect(encoder, record))
		out = encode_name(out, ",\"effect\":\"", &encode_effects[record->effect]);
	if (record->was_observed)
		out = PUT(out, ",\"observed\":true");
	if (record->on_deny)
		out = put_field(out, ",\"on_deny\":\"", record->on_deny, strlen(record->on_deny));
	if (record->answer)
		out = encode_answer(out, record);
	out = put_field(out, ",\"rule\":\"", record->rule, len.rule);
	out = encode_reason(out, record, len.reason);
	*out++ = ',';
	in_page = (offset + (size_t)(out - encoder->line_buffer)) % AUDIT_PAGE_BYTES;
	/* Adds blanks until the outcome lies in one page, with the "}\n" after it, which the store of ns repeats. */
	while (in_page + AUDIT_OUTCOME_BYTES + 2 > AUDIT_PAGE_BYTES && in_page++ < AUDIT_PAGE_BYTES)
		*out++ = ' ';
	*ret_room = (size_t)(out - encoder->line_buffer);
	outcome_write_unknown(out);
	out = PUT(out + AUDIT_OUTCOME_BYTES, "}\n");
	*ret_len = (size_t)(out - encoder->line_buffer);
	return 0;
}

int encoder_init(struct encoder *encoder, const char *run_id, bool compact)
{
	int r;

	memset(encoder, 0, sizeof(*encoder));
	encoder->clock.text_second = -1;
	if (run_id)
		encoder->run_id_len = text_escape_for_json(encoder->run, run_id, strnlen(run_id, AUDIT_RUN_ID_BYTES));
	for (unsigned i = 0; i < VERDICT_MAX; i++) {
		encoder->verdict[i].text = verdict_get_name((enum verdict)i);
		encoder->verdict[i].len = strlen(encoder->verdict[i].text);
	}
	for (int i = 0; i <= AUDIT_ERRNO_MAX; i++) {
		encoder->error[i].text = strerrorname_np(i);
		encoder->error[i].len = put_measure_text(encoder->error[i].text);
	}
	r = compact ? compact_create_process_table(encoder) : 0;
	return r < 0 ? r : encode_reserve_line(encoder, 16384);
}

void encoder_release(struct encoder *encoder)
{
	free(encoder->line_buffer);
	encoder->line_buffer = NULL;
	compact_free_process_table(encoder);
}
