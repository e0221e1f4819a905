/* The trials of examine.h. Each trial runs in a process of its own and reports by finding_set_state(). */
#ifndef CALLGATE_DOCTOR_PROBE_H
#define CALLGATE_DOCTOR_PROBE_H

#include <stdint.h>
#include <sys/types.h>

#include "doctor/examine.h"

/* Sets the finding of a probe. */
__attribute__((format(printf, 5, 6))) void finding_set_state(struct doctor *doctor, enum probe probe,
						       enum finding_state state, int error, const char *format,
						       ...);

/* Sets FINDING_FAILS, with a message that ends in the text of `error`, a positive errno. */
void probe_set_failing(struct doctor *doctor, enum probe probe, int error, const char *what);

/* Waits for a child and reaps it; after the timeout kills it. 0 with its status, -ETIMEDOUT or -ECHILD. */
int probe_wait_for_child(pid_t pid, unsigned timeout_ms, int *ret_status);

/* The name of the signal that ended a child with this wait status, without "SIG": "SYS", or "?". Static. */
const char *probe_name_signal(int wait_status);

/* Maps memory that is shared with the children of a trial; NULL with errno. It is released when the trial exits. */
void *probe_map_shared(size_t size);

/* Waits until `word` is not `value`. False after the timeout. */
bool probe_await_change_of_word(const volatile int *word, int value, unsigned timeout_ms);

/* Reads the first line of a file of /proc or /sys, cut to size. False when it cannot be read. */
bool probe_read_first_line(const char *path, char *out, size_t size);

/* Reads the number in a file of /proc or /sys; -1 when it cannot be read. */
long probe_read_number(const char *path);

/* ---- the trials: the .c files say what each does ---- */
void probe_kernel(struct doctor *doctor);
void probe_libraries(struct doctor *doctor);
void probe_outer_filter(struct doctor *doctor);
void probe_seccomp_filter(struct doctor *doctor);
void probe_seccomp_listener(struct doctor *doctor);
void probe_target_memory(struct doctor *doctor);
void probe_ptrace(struct doctor *doctor);
void probe_resolve_beneath(struct doctor *doctor);
void probe_landlock(struct doctor *doctor);
void probe_namespaces(struct doctor *doctor);
void probe_cgroups(struct doctor *doctor);
void probe_procfs(struct doctor *doctor);
void probe_last_pid(struct doctor *doctor);
void probe_scratch_base(struct doctor *doctor);
void probe_core_pattern(struct doctor *doctor);

#endif
