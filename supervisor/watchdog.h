/*
 * Frees the receiver when a system call it makes for the program blocks after all (a FIFO that took a regular file's
 * place, a lease on a granted file): the call is interrupted and fails, every other task of the run goes on.
 */
#ifndef CALLGATE_SUPERVISOR_WATCHDOG_H
#define CALLGATE_SUPERVISOR_WATCHDOG_H

#define WATCHDOG_PERIOD_MS 100 /* a call is interrupted after one to two periods */

struct watchdog;

/* Watches the calling thread. SIGUSR1 must have a handler without SA_RESTART (blocking_create installs it). */
int watchdog_create(struct watchdog **ret_watchdog);
/* No more notifications come: lets its thread end meanwhile, for whom watchdog_free() waits. */
void watchdog_stop(struct watchdog *watchdog);
void watchdog_free(struct watchdog *watchdog);

/* Around each notification. No system call. */
void watchdog_busy(struct watchdog *watchdog);
void watchdog_idle(struct watchdog *watchdog);

#endif
