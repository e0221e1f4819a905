#include "egress/dns/note.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "egress/conn/line.h"
#include "egress/state.h"

#include "base/banned.h"

#define SECOND_MS 1000u
#define SECOND_NS 1000000000u

/* A line that has failed ends the process: nothing is to be done about it here. */
static void write_record(struct dns_notes *notes, struct control_record *record)
{
	(void)line_record(notes->egress->line, record, NULL, NULL, NULL, NULL);
}

static void write_more(struct dns_notes *notes)
{
	if (notes->more.count)
		write_record(notes, &notes->more);
	notes->more.count = 0;
}

static void second_over(struct timer *timer)
{
	write_more((struct dns_notes *)(void *)((char *)timer - offsetof(struct dns_notes, timer)));
}

void dns_notes_init(struct dns_notes *notes, struct egress *egress)
{
	notes->egress = egress;
	notes->timer.fire = second_over;
}

void dns_notes_done(struct dns_notes *notes)
{
	loop_timer_clear(notes->egress->loop, &notes->timer);
	write_more(notes);
}

static void fill(struct control_record *record, const struct dns_query *query, const char *reason, const char *label)
{
	char type[DNS_TYPE_TEXT];

	memset(record, 0, sizeof(*record));
	record->event = CONTROL_EVENT_DNS;
	record->count = 1;
	dns_type_text(query->type, type);
	(void)snprintf(record->host, sizeof(record->host), "%s", query->name[0] ? query->name : ".");
	(void)snprintf(record->proto, sizeof(record->proto), "dns");
	(void)snprintf(record->method, sizeof(record->method), "%s", type);
	(void)snprintf(record->rule, sizeof(record->rule), "%s", label ? label : "");
	(void)snprintf(record->reason, sizeof(record->reason), "%s", reason);
}

static void count(struct dns_notes *notes, const struct control_record *record)
{
	uint32_t before = notes->more.count;
	bool same = before == 0 || (strcmp(notes->more.host, record->host) == 0 &&
				    strcmp(notes->more.reason, record->reason) == 0);

	notes->more = *record;
	notes->more.count = before < UINT32_MAX ? before + 1 : before;
	if (!same)
		(void)snprintf(notes->more.reason, sizeof(notes->more.reason), "rate_limited");
	if (before == 0) /* without memory for the timer it is told with the next or at the end */
		(void)loop_timer_set(notes->egress->loop, &notes->timer, SECOND_MS);
}

void dns_note(struct dns_notes *notes, const struct dns_query *query, const char *reason, const char *label)
{
	uint64_t now = loop_now_ns(notes->egress->loop);
	struct control_record record;

	if (now - notes->second_ns >= SECOND_NS) {
		notes->second_ns = now;
		notes->written = 0;
	}
	fill(&record, query, reason, label);
	if (notes->written < DNS_NOTES_PER_SECOND) {
		notes->written++;
		write_record(notes, &record);
	} else {
		count(notes, &record);
	}
}
