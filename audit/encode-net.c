/* The fields that a record about a connection has in place of a system call's arguments. */
#include "audit/encode.h"
#include "audit/put.h"

#include "base/banned.h"

/* key is `,"name":"`. An empty text is left out, too. */
static char *net_text(char *out, const char *key, const char *text)
{
	return text && text[0] ? put_quoted(put_bytes(out, key, strlen(key)), text, strlen(text)) : out;
}

/* key is `,"name":`. The values come from egress, which is not trusted; readers take at most 63 bits. */
static char *net_number(char *out, const char *key, uint64_t value)
{
	return put_uint(put_bytes(out, key, strlen(key)), value <= INT64_MAX ? value : INT64_MAX);
}

/* Milliseconds with three decimal places. 0 is left out. */
static char *net_ms(char *out, const char *key, uint64_t us)
{
	uint64_t rest = us % 1000;

	if (!us)
		return out;
	out = net_number(out, key, us / 1000);
	*out++ = '.';
	*out++ = (char)('0' + rest / 100);
	*out++ = (char)('0' + rest / 10 % 10);
	*out++ = (char)('0' + rest % 10);
	return out;
}

char *encode_net(char *out, const struct audit_net *net)
{
	out = net_text(out, ",\"event\":\"", net->event);
	if (net->conn)
		out = net_number(out, ",\"conn\":", net->conn);
	out = net_text(out, ",\"host\":\"", net->host);
	if (net->port)
		out = net_number(out, ",\"port\":", net->port);
	out = net_text(out, ",\"proto\":\"", net->proto);
	out = net_text(out, ",\"address\":\"", net->address);
	out = net_text(out, ",\"real\":\"", net->real);
	out = net_text(out, ",\"dropped\":\"", net->dropped);
	out = net_text(out, ",\"sni\":\"", net->sni);
	out = net_text(out, ",\"alpn\":\"", net->alpn);
	out = net_text(out, ",\"method\":\"", net->method);
	out = net_text(out, ",\"path\":\"", net->path);
	if (net->truncated)
		out = PUT(out, ",\"truncated\":true");
	out = net_text(out, ",\"credential\":\"", net->credential);
	if (net->status)
		out = net_number(out, ",\"status\":", net->status);
	out = net_text(out, ",\"cause\":\"", net->cause);
	if (net->count > 1)
		out = net_number(out, ",\"count\":", net->count);
	if (net->has_bytes) {
		out = net_number(out, ",\"bytes_up\":", net->bytes_up);
		out = net_number(out, ",\"bytes_down\":", net->bytes_down);
	}
	out = net_ms(out, ",\"dns_ms\":", net->dns_us);
	out = net_ms(out, ",\"connect_ms\":", net->connect_us);
	return net_ms(out, ",\"duration_ms\":", net->duration_us);
}

size_t encode_net_texts(const struct audit_net *net)
{
	const char *const texts[] = {net->event, net->host, net->address, net->proto,  net->real, net->dropped,
				     net->sni,   net->alpn, net->method,  net->path, net->credential, net->cause};
	size_t bytes = 0;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		bytes += put_strlen(texts[i]);
	return bytes;
}
