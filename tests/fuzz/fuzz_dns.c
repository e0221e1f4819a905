/* dns_parse_query and dns_build_answer: queries are the program's, and what is answered must be an answer to them. */
#include <errno.h>
#include <string.h>

#include "egress/dns/message.h"
#include "tests/fuzz/fuzz.h"

/* As a query again: the question of an answer is the one that was asked, and answers of any size fit. */
static void answer_it(const struct dns_query *query, size_t addresses, const char *name)
{
	struct dns_answer answer = {.address_count = addresses, .ttl = 60};
	uint8_t data[DNS_REPLY_BYTES_MAX], without[DNS_REPLY_BYTES_MAX];
	struct dns_query again;
	size_t len;

	for (size_t i = 0; i < addresses && i < DNS_ANSWERS_MAX; i++)
		answer.address[i].ss_family = i % 2 ? AF_INET : AF_INET6;
	memcpy(answer.ptr_name, name, strlen(name) + 1);
	len = dns_build_answer(query, &answer, data, sizeof(data));
	promise(len <= sizeof(data) && (len > 0 || name[0]));
	if (len == 0)
		return;
	promise(dns_parse_query(data, len, &again) == -EINVAL);
	promise(data[0] == query->id >> 8 && data[1] == (query->id & 0xff));
	promise(memcmp(data + 12, query->question, query->question_len) == 0);
	for (size_t cap = 0; cap < len; cap += 1 + len / 16)
		promise(dns_build_answer(query, &answer, without, cap) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sockaddr_storage address;
	char type[DNS_TYPE_TEXT_SIZE], host[NET_HOST_SIZE];
	struct dns_query query;

	if (dns_parse_query(data, size, &query) < 0)
		return 0;
	promise(size <= DNS_QUERY_BYTES_MAX && query.question_len <= sizeof(query.question));
	promise(memchr(query.name, '\0', sizeof(query.name)) != NULL);
	promise(memcmp(data + 12, query.question, query.question_len) == 0);
	dns_get_type_text(query.type, type);
	promise(memchr(type, '\0', sizeof(type)) != NULL);
	/* What is taken for a host's name is what stands in the message, but for the case of its letters. */
	if (query.name_is_hostname && net_host_canonicalise(query.name, strlen(query.name), host) == 0)
		promise(strcmp(query.name, host) == 0 && query.question_len == strlen(host) + 2 + 4);
	if (dns_parse_reverse_name(query.name, &address))
		promise(address.ss_family == AF_INET || address.ss_family == AF_INET6);
	answer_it(&query, 0, "");
	answer_it(&query, DNS_ANSWERS_MAX, "");
	answer_it(&query, SIZE_MAX, "");
	answer_it(&query, 0,
		  query.name_is_hostname && net_host_canonicalise(query.name, strlen(query.name), host) == 0 ? host
													   : "a.b");
	return 0;
}
