/*
 * Hostile programs, one function each, that run inside callgate: cases-threat NAME [ARG…]. Each tries one of the
 * threats in doc/security.md, prints what succeeded, and exits with 0 when nothing did.
 */
#ifndef CALLGATE_TESTS_CASES_THREAT_H
#define CALLGATE_TESTS_CASES_THREAT_H

#include <stdbool.h>
#include <stdint.h>

/* Reports that something denied succeeded. */
void threat_got(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Reports that something allowed failed. */
void threat_missed(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* ret is the result of a system call that must have failed: with `error`, or with any errno when that is 0. */
void threat_refused(const char *what, long ret, int error);
/* It must have failed with one of two errnos. */
void threat_refused2(const char *what, long ret, int error, int other);
/* True in a run with "judge": "changes": the kernel answers calls that only read. */
bool threat_kernel_reads(void);
/* ret must be >= 0. */
void threat_works(const char *what, long ret);
/* 0 when neither threat_got nor threat_missed was called. */
int threat_result(void);

/* Ignores a system call's result: the caller checks its effects instead. */
void threat_tries(long ret);

double threat_now(void); /* seconds, monotonic */
/* True when the file can be opened and holds `text`. */
bool threat_reads(const char *path, const char *text);

int threat_clone(char **arg);
int threat_exec(char **arg);
int threat_exec_race(char **arg);
int threat_exec_thread(char **arg);
int threat_dumpable(char **arg);
int threat_nested(char **arg);
int threat_promises(char **arg);
int threat_fds(char **arg);
int threat_others(char **arg);
int threat_ptrace(char **arg);
int threat_traced_end(char **arg);
int threat_ptrace_storm(char **arg);
int threat_unbounded(char **arg);
int threat_killall(char **arg);
int threat_handles(char **arg);
int threat_daemon(char **arg);
int threat_core(char **arg);
int threat_arches(char **arg);
int threat_highbits(char **arg);
int threat_refusals(char **arg);
int threat_sweep(char **arg);
int threat_flip(char **arg);
int threat_flip_shared(char **arg);
int threat_flip_chdir(char **arg);
int threat_flip_exec(char **arg);
int threat_flip_exec_shared(char **arg);
int threat_list_chdir(char **arg);
int threat_memory(char **arg);
int threat_swap(char **arg);
int threat_spoof(char **arg);
int threat_alias(char **arg);
int threat_appear(char **arg);
int threat_carried(char **arg);
int threat_environ(char **arg);
int threat_procfs(char **arg);
int threat_reopen(char **arg);
int threat_metadata(char **arg);
int threat_setid(char **arg);
int threat_fifos(char **arg);
int threat_signals(char **arg);
int threat_sigurg(char **arg);
int threat_sigkill(char **arg);
int threat_full(char **arg);
int threat_tty(char **arg);
int threat_ioctls(char **arg);
int threat_names(char **arg);
int threat_marker(char **arg);
int threat_load(char **arg);
int threat_linger(char **arg);
int threat_network(char **arg);
int threat_fastopen(char **arg);
int threat_mptcp(char **arg);
int threat_messages(char **arg);
int threat_families(char **arg);
int threat_netlink(char **arg);
int threat_procnet(char **arg);
int threat_addresses(char **arg);
int threat_unix(char **arg);
int threat_datagrams(char **arg);
int threat_crowd(char **arg);
int threat_storm(char **arg);

#endif
