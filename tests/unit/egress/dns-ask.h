/* Queries of the DNS made by hand, and answers taken apart, for tests. */
#ifndef CALLGATE_TESTS_DNS_ASK_H
#define CALLGATE_TESTS_DNS_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dns_bytes {
	uint8_t at[4096];
	size_t len;
};

/* "" is the root; labels between dots, as they are. edns < 0: no OPT record, else its version. */
struct dns_bytes dns_ask(uint16_t id, const char *name, unsigned type, int edns);

struct dns_told {
	unsigned id, flags, code, questions, answers, extras;
	char name[1024]; /* of the question, case and all */
	char text[2048]; /* "A 198.18.0.16 60, AAAA fd00::1 60" */
};
/* False: the message is not well-formed, or its answers are about another name than its question. */
bool dns_tell(const uint8_t *data, size_t len, struct dns_told *ret_told);

#endif
