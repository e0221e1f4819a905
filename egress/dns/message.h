/* DNS messages (RFC 1035, RFC 6891): parses queries, builds answers. Pure; fuzzed. */
#ifndef CALLGATE_EGRESS_DNS_MESSAGE_H
#define CALLGATE_EGRESS_DNS_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "policy/network/net.h"

#define DNS_QUERY_BYTES_MAX 1024   /* longer queries get FORMERR */
#define DNS_REPLY_BYTES_MAX 512    /* every answer fits, so none is truncated */
#define DNS_ANSWERS_MAX 8    /* addresses of an answer: 12 + 259 + 8 * 28 + 11 bytes fit */
#define DNS_QUESTION_BYTES_MAX 259
#define DNS_TYPE_TEXT_SIZE 12

enum dns_type { DNS_A = 1, DNS_PTR = 12, DNS_AAAA = 28, DNS_ANY = 255 };
enum dns_class { DNS_IN = 1, DNS_CLASS_ANY = 255 };

enum dns_code {
	DNS_NOERROR = 0,
	DNS_FORMERR = 1,
	DNS_SERVFAIL = 2,
	DNS_NXDOMAIN = 3,
	DNS_NOTIMP = 4,
	DNS_REFUSED = 5,
	DNS_BADVERS = 16, /* only in answers with EDNS */
};

/* A query of the program to egress's DNS. */
struct dns_query {
	uint16_t id, flags;
	uint16_t type, klass;
	/* in lower case, without the final dot; "": the root; a byte that no host name has is "?" */
	char name[NET_HOST_SIZE];
	bool name_is_hostname;     /* the name has only letters, digits, "-" and "_" */
	bool edns, dnssec;       /* edns: the query has an OPT record; dnssec: its DO bit */
	uint8_t edns_version;
	uint8_t question[DNS_QUESTION_BYTES_MAX]; /* as received: an answer repeats its letter case (0x20 encoding) */
	size_t question_len;
};

/* What egress's DNS answers to a query. */
struct dns_answer {
	enum dns_code code;
	uint32_t ttl;
	size_t address_count;
	struct sockaddr_storage address[DNS_ANSWERS_MAX];
	char ptr_name[NET_HOST_SIZE]; /* the name of a PTR record; "": none */
};

/*
 * Parses a query. 0; -EINVAL: too short or itself an answer, so to be dropped; -EBADMSG: to be answered with FORMERR;
 * -EOPNOTSUPP: with NOTIMP. The latter two set id and flags, so that dns_build_answer can answer.
 */
int dns_parse_query(const uint8_t *data, size_t len, struct dns_query *ret_query);

/* Builds an answer and returns its length; 0: it does not fit, which happens only to PTR records of long names. */
size_t dns_build_answer(const struct dns_query *query, const struct dns_answer *answer, uint8_t *ret_data, size_t cap);

/* Parses "4.3.2.1.in-addr.arpa" and the IPv6 form under ip6.arpa. */
bool dns_parse_reverse_name(const char *name, struct sockaddr_storage *ret_address);

/* The name of a query type, such as "AAAA", or "TYPE4711". */
void dns_get_type_text(uint16_t type, char ret_text[DNS_TYPE_TEXT_SIZE]);

#endif
