#include "egress/dns/message.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "egress/conn/sockaddr.h"

enum {
	DNS_HEADER_BYTES = 12,
	DNS_LABEL_BYTES_MAX = 63,
	DNS_NAME_WIRE_BYTES_MAX = 255,
	DNS_TYPE_OPT = 41,
	DNS_ADDITIONAL_RECORDS_MAX = 4, /* most additional records of a query: one OPT, and unusual ones */
	DNS_FLAG_RESPONSE = 0x8000,
	DNS_FLAGS_OPCODE_MASK = 0x7800,
	DNS_FLAG_RECURSION_DESIRED = 0x0100,
	DNS_FLAG_RECURSION_AVAILABLE = 0x0080,
	DNS_FLAG_CHECKING_DISABLED = 0x0010,
	EDNS_FLAG_DNSSEC_OK = 0x8000,
	EDNS_UDP_PAYLOAD_BYTES = 1232,
};

/* The place in a DNS message that is being parsed. */
struct dns_reader {
	const uint8_t *data;
	size_t len, at;
};

static bool read_uint16(struct dns_reader *reader, uint16_t *ret)
{
	if (reader->len - reader->at < 2)
		return false;
	*ret = (uint16_t)(reader->data[reader->at] << 8 | reader->data[reader->at + 1]);
	reader->at += 2;
	return true;
}

static bool is_host_byte(uint8_t byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '-' || byte == '_';
}

static uint8_t get_lower_case_byte(uint8_t byte)
{
	return byte >= 'A' && byte <= 'Z' ? (uint8_t)(byte + ('a' - 'A')) : byte;
}

/*
 * Reads a name without compression: in a query a pointer has nothing to point to. Clears *plain at a byte that host
 * names do not have; the text is then for records only.
 */
static bool read_query_name(struct dns_reader *reader, char text[NET_HOST_SIZE], bool *plain)
{
	size_t wire = 0, len = 0;

	for (;;) {
		size_t label;

		if (reader->at >= reader->len)
			return false;
		label = reader->data[reader->at++];
		wire += 1 + label;
		if (label > DNS_LABEL_BYTES_MAX || wire > DNS_NAME_WIRE_BYTES_MAX || label > reader->len - reader->at)
			return false;
		if (label == 0)
			break;
		if (len)
			text[len++] = '.';
		for (size_t i = 0; i < label; i++) { /* fits: `wire` <= 255 keeps `len` below 254 */
			uint8_t byte = get_lower_case_byte(reader->data[reader->at++]);

			*plain = *plain && is_host_byte(byte);
			text[len++] = is_host_byte(byte) ? (char)byte : '?';
		}
	}
	text[len] = '\0';
	return true;
}

/* Reads name, type and class of the question, and keeps its bytes for the answer. */
static bool read_question(struct dns_reader *reader, struct dns_query *query)
{
	size_t from = reader->at;

	query->name_is_hostname = true;
	if (!read_query_name(reader, query->name, &query->name_is_hostname) || !read_uint16(reader, &query->type) ||
	    !read_uint16(reader, &query->klass))
		return false;
	query->question_len = reader->at - from;
	memcpy(query->question, reader->data + from, query->question_len);
	return true;
}

/* Parses OPT. Skips other records (TSIG, SIG(0)), because no verdict depends on the sender. */
static bool read_additional_record(struct dns_reader *reader, struct dns_query *query)
{
	char name[NET_HOST_SIZE];
	uint16_t type, klass, high, low, len;
	bool plain = true;

	if (!read_query_name(reader, name, &plain) || !read_uint16(reader, &type) || !read_uint16(reader, &klass) ||
	    !read_uint16(reader, &high) || !read_uint16(reader, &low) || !read_uint16(reader, &len) ||
	    len > reader->len - reader->at)
		return false;
	reader->at += len;
	if (type != DNS_TYPE_OPT)
		return true;
	if (query->edns || name[0]) /* only one OPT, with the root as name: RFC 6891, 6.1.1 */
		return false;
	query->edns = true;
	query->edns_version = (uint8_t)high;
	query->dnssec = low & EDNS_FLAG_DNSSEC_OK;
	return true;
}

/* Reads one question and the additional records. Returns false if there is anything else in the query. */
static bool read_query_sections(struct dns_reader *reader, struct dns_query *query)
{
	uint16_t questions, answers, authorities, extras;

	if (!read_uint16(reader, &questions) || !read_uint16(reader, &answers) || !read_uint16(reader, &authorities) ||
	    !read_uint16(reader, &extras) || questions != 1 || answers || authorities ||
	    extras > DNS_ADDITIONAL_RECORDS_MAX || !read_question(reader, query))
		return false;
	for (uint16_t i = 0; i < extras; i++)
		if (!read_additional_record(reader, query))
			return false;
	return reader->at == reader->len;
}

int dns_parse_query(const uint8_t *data, size_t len, struct dns_query *ret_query)
{
	struct dns_reader reader = {.data = data, .len = len};
	struct dns_query query = {0};

	if (len < DNS_HEADER_BYTES || !read_uint16(&reader, &query.id) || !read_uint16(&reader, &query.flags) ||
	    (query.flags & DNS_FLAG_RESPONSE))
		return -EINVAL;
	*ret_query = query;
	if (query.flags & DNS_FLAGS_OPCODE_MASK)
		return -EOPNOTSUPP;
	if (len > DNS_QUERY_BYTES_MAX || !read_query_sections(&reader, &query))
		return -EBADMSG;
	*ret_query = query;
	return 0;
}

/* A DNS message that is being written. */
struct dns_writer {
	uint8_t *data;
	size_t cap, len;
	bool is_full; /* the message did not fit */
};

static void write_bytes(struct dns_writer *writer, const void *bytes, size_t len)
{
	writer->is_full = writer->is_full || len > writer->cap - writer->len;
	if (writer->is_full)
		return;
	memcpy(writer->data + writer->len, bytes, len);
	writer->len += len;
}

static void write_uint16(struct dns_writer *writer, unsigned value)
{
	write_bytes(writer, (const uint8_t[]){(uint8_t)(value >> 8), (uint8_t)value}, 2);
}

/* Writes an answer for the question's name. */
static void write_answer_record(struct dns_writer *writer, uint16_t type, uint32_t ttl, const void *data, size_t len)
{
	write_uint16(writer, 0xc000 | DNS_HEADER_BYTES); /* compressed name: a pointer to the question's name */
	write_uint16(writer, type);
	write_uint16(writer, DNS_IN);
	write_uint16(writer, ttl >> 16);
	write_uint16(writer, ttl & 0xffff);
	write_uint16(writer, (unsigned)len);
	write_bytes(writer, data, len);
}

/* Writes a PTR record. `name` is canonical, so that its labels have 1 to 63 bytes. */
static void write_ptr_record(struct dns_writer *writer, uint32_t ttl, const char *name)
{
	uint8_t wire[NET_HOST_SIZE + 1];
	size_t len = 0;

	while (*name) {
		size_t label = strcspn(name, ".");

		wire[len++] = (uint8_t)label;
		memcpy(wire + len, name, label);
		len += label;
		name += label + (name[label] == '.');
	}
	wire[len++] = 0;
	write_answer_record(writer, DNS_PTR, ttl, wire, len);
}

/* Writes the EDNS record of the answer, which a query with such a record gets. */
static void write_opt_record(struct dns_writer *writer, const struct dns_query *query, enum dns_code code)
{
	write_bytes(writer, "", 1);
	write_uint16(writer, DNS_TYPE_OPT);
	write_uint16(writer, EDNS_UDP_PAYLOAD_BYTES);
	write_uint16(writer, (unsigned)code >> 4 << 8);
	write_uint16(writer, query->dnssec ? EDNS_FLAG_DNSSEC_OK : 0);
	write_uint16(writer, 0);
}

size_t dns_build_answer(const struct dns_query *query, const struct dns_answer *answer, uint8_t *ret_data, size_t cap)
{
	struct dns_writer writer = {.data = ret_data, .cap = cap};
	unsigned kept =
		query->flags & (DNS_FLAGS_OPCODE_MASK | DNS_FLAG_RECURSION_DESIRED | DNS_FLAG_CHECKING_DISABLED);
	size_t count = answer->address_count < DNS_ANSWERS_MAX ? answer->address_count : DNS_ANSWERS_MAX;

	write_uint16(&writer, query->id);
	write_uint16(&writer, DNS_FLAG_RESPONSE | DNS_FLAG_RECURSION_AVAILABLE | kept | (answer->code & 0xfu));
	write_uint16(&writer, query->question_len ? 1 : 0);
	write_uint16(&writer, (unsigned)count + (answer->ptr_name[0] != '\0'));
	write_uint16(&writer, 0);
	write_uint16(&writer, query->edns);
	write_bytes(&writer, query->question, query->question_len);
	for (size_t i = 0; i < count; i++)
		write_answer_record(&writer, answer->address[i].ss_family == AF_INET ? DNS_A : DNS_AAAA, answer->ttl,
				    sockaddr_get_bytes(&answer->address[i]),
				    sockaddr_get_address_len(answer->address[i].ss_family));
	if (answer->ptr_name[0])
		write_ptr_record(&writer, answer->ttl, answer->ptr_name);
	if (query->edns)
		write_opt_record(&writer, query, answer->code);
	return writer.is_full ? 0 : writer.len;
}

/* Reads the address of a name below "ip6.arpa", which has a label for each hex digit. */
static bool parse_reverse_v6(const char *name, struct in6_addr *ret)
{
	static const char digits[] = "0123456789abcdef";

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < 32; i++) {
		const char *digit = *name ? strchr(digits, *name) : NULL;

		if (!digit || name[1] != '.')
			return false;
		ret->s6_addr[15 - i / 2] |= (uint8_t)((digit - digits) << (i % 2 * 4));
		name += 2;
	}
	return strcmp(name, "ip6.arpa") == 0;
}

/* Reads the address of a name such as "4.3.2.1.in-addr.arpa". */
static bool parse_reverse_v4(const char *name, struct in_addr *ret)
{
	size_t len = strspn(name, "0123456789.");
	char text[INET_ADDRSTRLEN] = "";
	struct in_addr turned;

	if (len < 2 || len > sizeof(text) || strcmp(name + len, "in-addr.arpa") != 0)
		return false;
	memcpy(text, name, len - 1); /* copied without the dot before "in-addr" */
	if (name[len - 1] != '.' || inet_pton(AF_INET, text, &turned) != 1)
		return false;
	ret->s_addr = __builtin_bswap32(turned.s_addr);
	return true;
}

bool dns_parse_reverse_name(const char *name, struct sockaddr_storage *ret_address)
{
	struct in_addr v4;
	struct in6_addr v6;
	bool is_v4 = parse_reverse_v4(name, &v4);

	if (!is_v4 && !parse_reverse_v6(name, &v6))
		return false;
	sockaddr_set_address(ret_address, is_v4 ? AF_INET : AF_INET6, is_v4 ? (const void *)&v4 : &v6);
	return true;
}

void dns_get_type_text(uint16_t type, char ret_text[DNS_TYPE_TEXT_SIZE])
{
	static const struct {
		uint16_t type;
		char name[8];
	} known[] = {{1, "A"},     {2, "NS"},   {5, "CNAME"}, {6, "SOA"},   {12, "PTR"},   {15, "MX"},  {16, "TXT"},
		     {28, "AAAA"}, {33, "SRV"}, {64, "SVCB"}, {65, "HTTPS"}, {255, "ANY"}, {257, "CAA"}};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].type == type) {
			memcpy(ret_text, known[i].name, sizeof(known[i].name));
			return;
		}
	(void)snprintf(ret_text, DNS_TYPE_TEXT_SIZE, "TYPE%u", (unsigned)type);
}
