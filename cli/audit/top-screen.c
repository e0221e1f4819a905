/* The terminal of `callgate audit top`: uses ECMA-48 sequences that all terminals of today understand. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/audit/top.h"

/* Sequences that begin and end the screen: alternate screen, no cursor, no wrapping of long lines. */
#define SCREEN_BEGIN_SEQUENCE "\033[?1049h\033[?25l\033[?7l"
#define SCREEN_END_SEQUENCE "\033[?7h\033[?25h\033[?1049l"
#define SCREEN_CLEAR_SEQUENCE "\033[H\033[2J"

#define TOP_ROWS_WITHOUT_SCREEN 10u
#define TOP_ROWS_IF_SIZE_UNKNOWN 24u
#define TOP_HEADING_ROWS 7u /* rows above the tables: two lines of totals, a heading for each table, an empty line */

static const int top_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};
static volatile sig_atomic_t top_signal;

/* Signal handler: the loop ends when it sees the number. */
static void top_store_signal_number(int number)
{
	top_signal = number;
}

/* Writes an escape sequence to the terminal at once. */
static void top_write_sequence(const char *sequence)
{
	(void)fputs(sequence, stdout); /* audit_flush_stdout() reports failures */
	(void)fflush(stdout);
}

void top_begin_screen(void)
{
	const struct sigaction action = {.sa_handler = top_store_signal_number};
	struct sigaction before;

	for (size_t i = 0; i < sizeof(top_signals) / sizeof(top_signals[0]); i++)
		if (sigaction(top_signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			(void)sigaction(top_signals[i], &action, NULL);
	top_write_sequence(SCREEN_BEGIN_SEQUENCE);
}

void top_end_screen(void)
{
	const struct sigaction standard = {.sa_handler = SIG_DFL};

	top_write_sequence(SCREEN_END_SEQUENCE);
	for (size_t i = 0; i < sizeof(top_signals) / sizeof(top_signals[0]); i++)
		(void)sigaction(top_signals[i], &standard, NULL);
	if (top_signal && top_signal != SIGINT)
		(void)raise(top_signal);
}

bool top_must_end_because_of_signal(void)
{
	if (top_signal != SIGTSTP)
		return top_signal != 0;
	top_signal = 0;
	top_write_sequence(SCREEN_END_SEQUENCE);
	(void)raise(SIGSTOP);
	top_write_sequence(SCREEN_BEGIN_SEQUENCE);
	return false;
}

static size_t top_get_screen_rows(void)
{
	struct winsize size;
	size_t rows = TOP_ROWS_IF_SIZE_UNKNOWN;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0)
		rows = size.ws_row;
	return rows > TOP_HEADING_ROWS + TOP_MAX ? (rows - TOP_HEADING_ROWS) / TOP_MAX : 1;
}

/* Draws the first rows of a table. screen: sorted by what happened lately, which then counts less. */
static void top_draw_table(struct top_state *top, enum top_table table, size_t rows, bool screen)
{
	static const char *const titles[TOP_MAX] = {
		[TOP_PATH] = "paths", [TOP_PROCESS] = "processes", [TOP_HOST] = "endpoints", [TOP_DENIAL] = "denials"};
	struct tally *tally = &top->tables[table];
	_cleanup_free_ struct tally_item **sorted = tally_sort_items_by_count(tally, screen ? TOP_RECENT : TOP_TOTAL);

	(void)text_printf(stdout, "    calls   denied  %s\n", titles[table]);
	for (size_t i = 0; sorted && i < tally->item_count && i < rows; i++)
		(void)text_printf(stdout, "%9llu %8llu  %s\n", (unsigned long long)sorted[i]->counts[TOP_TOTAL],
				  (unsigned long long)sorted[i]->counts[TOP_DENIED], sorted[i]->name);
	for (size_t i = 0; screen && i < tally->item_count; i++)
		tally->items[i]->counts[TOP_RECENT] -= (tally->items[i]->counts[TOP_RECENT] + 3) / 4;
}

void top_draw(struct top_state *top, bool screen)
{
	uint64_t last = top->last_ns / 1000000000,
		 complete = last ? top->records_by_second[(last - 1) % TOP_RATE_HISTORY_SECONDS] : 0;
	double seconds = (double)(top->last_ns - top->first_ns) / 1e9;
	size_t rows = screen ? top_get_screen_rows() : TOP_ROWS_WITHOUT_SCREEN;

	if (screen)
		(void)fputs(SCREEN_CLEAR_SEQUENCE, stdout);
	(void)text_printf(stdout, "%llu calls, %llu denied, in %.1f s\n", (unsigned long long)top->records,
			  (unsigned long long)top->denied, seconds);
	(void)text_printf(stdout, "calls a second: %s%llu, %.0f on average, %llu at most\n",
			  screen ? "last " : "at the end ", (unsigned long long)complete,
			  (double)top->records / (seconds > 1 ? seconds : 1),
			  (unsigned long long)top->peak_records_per_second);
	for (enum top_table i = 0; i < TOP_MAX; i++)
		top_draw_table(top, i, rows, screen);
	(void)fflush(stdout);
}
