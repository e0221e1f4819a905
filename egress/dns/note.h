/* Records of names that were refused. The program chooses them, so their number is bounded. */
#ifndef CALLGATE_EGRESS_DNS_NOTE_H
#define CALLGATE_EGRESS_DNS_NOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "egress/conn/loop.h"
#include "egress/control.h"
#include "egress/dns/message.h"

#define DNS_NOTES_PER_SECOND 10

struct egress;

struct dns_notes {
	struct egress *egress;
	struct timer timer;
	uint64_t second_ns; /* when the present second began */
	unsigned written;   /* in it */
	struct control_record more; /* those without a record of their own; count 0: none */
};

void dns_notes_init(struct dns_notes *notes, struct egress *egress);
/* Writes what is still to be told. */
void dns_notes_done(struct dns_notes *notes);

/*
 * Records a refusal, or counts it: within a second at most DNS_NOTES_PER_SECOND have records, then one follows for all
 * the others, with the last one's name and, unless all of them are of that name, the reason "rate_limited".
 */
void dns_note(struct dns_notes *notes, const struct dns_query *query, const char *reason, const char *label);

#endif
