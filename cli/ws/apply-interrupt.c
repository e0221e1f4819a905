/* What callgate ws apply says when a signal ends it: the journal stays then, and with it half-made entries. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/ws/apply-private.h"

static const int interrupt_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

/* What the handler writes: it may call nothing that makes text. */
static char interrupt_text[160];
static size_t interrupt_len;

/* Tells, and ends the process by the signal: the handler was reset, and the signal is not blocked (SA_NODEFER). */
static void interrupt_handle(int number)
{
	const ssize_t written = write(STDERR_FILENO, interrupt_text, interrupt_len);

	(void)written; /* nothing can be done about that here */
	(void)raise(number);
}

/* Sets the handler of a signal that is not ignored, as by nohup(1). */
static void interrupt_set(int number, void (*handler)(int number))
{
	const struct sigaction action = {.sa_handler = handler, .sa_flags = (int)(SA_RESETHAND | SA_NODEFER)};
	struct sigaction before;

	if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
		(void)sigaction(number, &action, NULL);
}

void apply_tell_when_interrupted(const char *id)
{
	const int len = snprintf(interrupt_text, sizeof(interrupt_text),
				 "\ncallgate ws apply: interrupted; callgate ws recover %s ends that\n", id);

	interrupt_len = (size_t)len < sizeof(interrupt_text) ? (size_t)len : sizeof(interrupt_text) - 1;
	for (size_t i = 0; i < sizeof(interrupt_signals) / sizeof(interrupt_signals[0]); i++)
		interrupt_set(interrupt_signals[i], interrupt_handle);
}

void apply_end_interrupts(void)
{
	for (size_t i = 0; i < sizeof(interrupt_signals) / sizeof(interrupt_signals[0]); i++)
		interrupt_set(interrupt_signals[i], SIG_DFL);
}
