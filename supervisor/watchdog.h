/*
 * Interrupts the supervisor thread when a system call that it makes for the program blocks unexpectedly: on a FIFO that
 * replaced a regular file, or a lease on a granted file. That call fails, and the rest of the run goes on.
 */
#ifndef CALLGATE_SUPERVISOR_WATCHDOG_H
#define CALLGATE_SUPERVISOR_WATCHDOG_H

#include <stdatomic.h>
#include <stdint.h>

#define WATCHDOG_CHECK_INTERVAL_MS 100 /* a notification is interrupted after one to two periods */

struct watchdog;

/*
 * Watches the calling thread. SIGUSR1 must have a handler without SA_RESTART; blocking_create installs it.
 * copying_until_ns: borrowed; until that time of CLOCK_MONOTONIC, the notification is not interrupted, because a file
 * is copied for it. watchdog_end_notification() sets it to 0.
 */
int watchdog_create(_Atomic uint64_t *copying_until_ns, struct watchdog **ret_watchdog);
/* Tells the watchdog's thread to end; watchdog_free() waits for the end. To be called after the last notification. */
void watchdog_stop(struct watchdog *watchdog);
void watchdog_free(struct watchdog *watchdog);

/* To be called before and after each notification. Neither makes a system call. */
void watchdog_begin_notification(struct watchdog *watchdog);
void watchdog_end_notification(struct watchdog *watchdog);

#endif
