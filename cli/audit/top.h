/* Declarations shared by the source files of `callgate audit top`. */
#ifndef CALLGATE_CLI_AUDIT_TOP_H
#define CALLGATE_CLI_AUDIT_TOP_H

#include "cli/audit/audit.h"
#include "cli/audit/tally.h"

enum top_table { TOP_PATH, TOP_PROCESS, TOP_HOST, TOP_DENIAL, TOP_MAX };

/* What tally_item.count[] holds. */
enum { TOP_TOTAL = 0, TOP_RECENT = 1, TOP_DENIED = 2 };

#define TOP_SECONDS 64u

struct top {
	struct audit_filter filter;
	bool once;
	struct tally table[TOP_MAX];
	uint64_t records, denied;
	uint64_t first_ns, last_ns; /* times of the first and the last record */
	uint64_t second[TOP_SECONDS]; /* records of the last seconds; index: the second modulo TOP_SECONDS */
	uint64_t peak;
	uint64_t drawn_ns; /* CLOCK_MONOTONIC: when the screen was drawn */
	bool failed;       /* no memory */
};

/* Takes the terminal: its second screen, without a cursor. Signals that end a process are noted from now on. */
void top_begin_screen(void);
/* Gives the terminal back as it was. Then a signal that was noted ends the process, unless it is SIGINT. */
void top_end_screen(void);
/* True if a signal asks to end. Stops the process, with the terminal given back, if one asks for that. */
bool top_check_signals(void);

/* Writes what was counted: a screen for the terminal, or once, as text. */
void top_draw(struct top *top, bool screen);

#endif
