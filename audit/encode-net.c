/* What a record about a connection has in place of a system call's arguments. */
#include "audit/encode-private.h"

#include "base/banned.h"

static char *put_text_field(char *out, const char *key, const char *text)
{
	return text && text[0] ? put_field(out, key, text, strlen(text)) : out;
}

/* key is `,"name":`. Numbers come from egress, which may be lying: readers take no more than 63 bits. */
static char *put_number(char *out, const char *key, uint64_t value)
{
	return encode_uint(put_bytes(out, key, strlen(key)), value <= INT64_MAX ? value : INT64_MAX);
}

/* Milliseconds, to the microsecond. */
static char *put_ms(char *out, const char *key, uint64_t us)
{
	uint64_t rest = us % 1000;

	out = put_number(out, key, us / 1000);
	*out++ = '.';
	*out++ = (char)('0' + rest / 100);
	*out++ = (char)('0' + rest / 10 % 10);
	*out++ = (char)('0' + rest % 10);
	return out;
}

static char *put_times(char *out, const struct audit_net *net)
{
	if (net->dns_us)
		out = put_ms(out, ",\"dns_ms\":", net->dns_us);
	if (net->connect_us)
		out = put_ms(out, ",\"connect_ms\":", net->connect_us);
	if (net->duration_us)
		out = put_ms(out, ",\"duration_ms\":", net->duration_us);
	return out;
}

char *encode_net(char *out, const struct audit_net *net)
{
	out = put_text_field(out, ",\"event\":\"", net->event);
	if (net->conn)
		out = put_number(out, ",\"conn\":", net->conn);
	out = put_text_field(out, ",\"host\":\"", net->host);
	if (net->port)
		out = put_number(out, ",\"port\":", net->port);
	out = put_text_field(out, ",\"proto\":\"", net->proto);
	out = put_text_field(out, ",\"address\":\"", net->address);
	out = put_text_field(out, ",\"real\":\"", net->real);
	out = put_text_field(out, ",\"dropped\":\"", net->dropped);
	out = put_text_field(out, ",\"sni\":\"", net->sni);
	out = put_text_field(out, ",\"alpn\":\"", net->alpn);
	out = put_text_field(out, ",\"method\":\"", net->method);
	out = put_text_field(out, ",\"path\":\"", net->path);
	if (net->truncated)
		out = PUT(out, ",\"truncated\":true");
	out = put_text_field(out, ",\"credential\":\"", net->credential);
	if (net->status)
		out = put_number(out, ",\"status\":", net->status);
	out = put_text_field(out, ",\"cause\":\"", net->cause);
	if (net->count > 1)
		out = put_number(out, ",\"count\":", net->count);
	if (net->has_bytes) {
		out = put_number(out, ",\"bytes_up\":", net->bytes_up);
		out = put_number(out, ",\"bytes_down\":", net->bytes_down);
	}
	return put_times(out, net);
}

size_t encode_net_texts(const struct audit_net *net)
{
	return text_len(net->event) + text_len(net->host) + text_len(net->address) + text_len(net->proto) +
	       text_len(net->real) + text_len(net->dropped) + text_len(net->sni) + text_len(net->alpn) +
	       text_len(net->method) + text_len(net->path) + text_len(net->credential) + text_len(net->cause);
}
