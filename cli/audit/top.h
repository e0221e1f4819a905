/* Declarations shared by the source files of `callgate audit top`. */
#ifndef CALLGATE_CLI_AUDIT_TOP_H
#define CALLGATE_CLI_AUDIT_TOP_H

#include "cli/audit/audit.h"
#include "cli/audit/tally.h"

enum top_table { TOP_PATH, TOP_PROCESS, TOP_HOST, TOP_DENIAL, TOP_MAX };

/* What tally_item.count[] holds. */
enum { TOP_TOTAL = 0, TOP_RECENT = 1, TOP_DENIED = 2 };

#define TOP_RATE_HISTORY_SECONDS 64u

/* The state of `callgate audit top`. */
struct top_state {
	struct audit_filter filter;
	bool prints_once; /* the tables are printed at the end, not on a screen */
	struct tally tables[TOP_MAX];
	uint64_t records, denied;
	uint64_t first_ns, last_ns; /* times of the first and the last record */
	/* records of the last seconds; index: the second modulo TOP_RATE_HISTORY_SECONDS */
	uint64_t records_by_second[TOP_RATE_HISTORY_SECONDS];
	uint64_t peak_records_per_second;
	uint64_t last_drawn_ns; /* CLOCK_MONOTONIC: when the screen was drawn */
	bool is_out_of_memory;
};

/*
 * Switches the terminal to its alternate screen, without a cursor. From now on, signals that would end the process are
 * only noted.
 */
void top_begin_screen(void);
/* Restores the terminal. Then a noted signal ends the process, unless it is SIGINT. */
void top_end_screen(void);
/* True if a signal asks the process to end. If a signal asks it to stop, restores the terminal and stops. */
bool top_must_end_because_of_signal(void);

/* Prints the tables: as a screen of the terminal or, with --once, as text. */
void top_draw(struct top_state *top, bool screen);

#endif
