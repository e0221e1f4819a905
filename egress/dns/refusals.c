#include "egress/dns/refusals.h"

#include <stddef.h>
#include <string.h>

#include "base/times.h"
#include "egress/conn/line.h"
#include "egress/state.h"

#define MS_PER_S 1000u

/* Sends the pending record. A failure is ignored: the control socket has failed, which ends the process. */
static void refusals_write_pending(struct dns_refusals *refusals)
{
	if (refusals->unwritten_refusals_record.refusal_count)
		(void)line_send_record(refusals->egress->line, &refusals->unwritten_refusals_record, NULL, NULL, NULL);
	refusals->unwritten_refusals_record.refusal_count = 0;
}

static void refusals_on_flush_due(struct timer *timer)
{
	refusals_write_pending(container_of(timer, struct dns_refusals, flush_timer));
}

void dns_refusals_init(struct dns_refusals *refusals, struct egress *egress)
{
	refusals->egress = egress;
	refusals->flush_timer.fire = refusals_on_flush_due;
}

void dns_refusals_release(struct dns_refusals *refusals)
{
	loop_clear_timer(refusals->egress->loop, &refusals->flush_timer);
	refusals_write_pending(refusals);
}

/* Fills in the record of a refused query. */
static void refusal_fill_record(struct control_record *record, const struct dns_query *query, const char *reason,
				const char *label)
{
	char type[DNS_TYPE_TEXT_SIZE];

	memset(record, 0, sizeof(*record));
	record->event = CONTROL_EVENT_DNS;
	record->refusal_count = 1;
	dns_get_type_text(query->type, type);
	LINE_COPY_TEXT(record->host, query->name[0] ? query->name : ".");
	LINE_COPY_TEXT(record->proto, "dns");
	LINE_COPY_TEXT(record->method, type);
	LINE_COPY_TEXT(record->rule, label);
	LINE_COPY_TEXT(record->reason, reason);
}

/* Counts a refusal that is not recorded by itself, but summed up in one record a second. */
static void refusal_count_unwritten(struct dns_refusals *refusals, const struct control_record *record)
{
	uint32_t before = refusals->unwritten_refusals_record.refusal_count;
	bool same = before == 0 || (strcmp(refusals->unwritten_refusals_record.host, record->host) == 0 &&
				    strcmp(refusals->unwritten_refusals_record.reason, record->reason) == 0);

	refusals->unwritten_refusals_record = *record;
	refusals->unwritten_refusals_record.refusal_count = before < UINT32_MAX ? before + 1 : before;
	if (!same)
		LINE_COPY_TEXT(refusals->unwritten_refusals_record.reason, "rate_limited");
	if (before == 0)
		loop_set_timer(refusals->egress->loop, &refusals->flush_timer, MS_PER_S);
}

void dns_refusals_add(struct dns_refusals *refusals, const struct dns_query *query, const char *reason,
			 const char *label)
{
	uint64_t now = loop_get_now_ns(refusals->egress->loop);
	struct control_record record;

	if (now - refusals->current_second_start_ns >= NS_PER_S) {
		refusals->current_second_start_ns = now;
		refusals->written_in_current_second = 0;
	}
	refusal_fill_record(&record, query, reason, label);
	if (refusals->written_in_current_second < DNS_REFUSALS_PER_SECOND) {
		refusals->written_in_current_second++;
		(void)line_send_record(refusals->egress->line, &record, NULL, NULL, NULL);
	} else {
		refusal_count_unwritten(refusals, &record);
	}
}
