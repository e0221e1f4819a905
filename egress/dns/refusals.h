/*
 * Writes records of refused names, at a limited rate, because the program chooses the names. Called in the egress
 * process by server.c.
 */
#ifndef CALLGATE_EGRESS_DNS_REFUSALS_H
#define CALLGATE_EGRESS_DNS_REFUSALS_H

#include <stdint.h>

#include "egress/conn/loop.h"
#include "egress/control.h"
#include "egress/dns/message.h"

#define DNS_REFUSALS_PER_SECOND 10 /* most refused names that get a record of their own in a second */

struct egress;

/* Limits how many refused DNS queries a second get a record of their own. */
struct dns_refusals {
	struct egress *egress;
	struct timer flush_timer;         /* writes unwritten_refusals_record */
	uint64_t current_second_start_ns; /* start of the present second */
	unsigned written_in_current_second;   /* number of records written in this second */
	/* counts the refusals without a record of their own; count 0: none */
	struct control_record unwritten_refusals_record;
};

void dns_refusals_init(struct dns_refusals *refusals, struct egress *egress);
/* Writes the pending record and stops the timer. */
void dns_refusals_release(struct dns_refusals *refusals);

/*
 * Records a refusal, or only counts it after DNS_REFUSALS_PER_SECOND records in a second. Then one further record has
 * the count, with the last name and, if names or reasons differed, the reason "rate_limited".
 */
void dns_refusals_add(struct dns_refusals *refusals, const struct dns_query *query, const char *reason,
			 const char *label);

#endif
