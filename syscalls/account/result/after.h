/*
 * after_read during a run: finds the calls that fire an entry of the policy, and keeps for the result what the run lost
 * then. A call that fires entries waits, neither recorded nor performed, while supervisor/closing/ takes away what the
 * entries say. The target thread then makes the call again. For the supervisor thread only.
 */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_RESULT_AFTER_H
#define CALLGATE_SYSCALLS_ACCOUNT_RESULT_AFTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "policy/paths/after.h"
#include "policy/policy.h"

struct call;

/* An entry that has fired. */
struct after_fired {
	unsigned entry; /* index in the policy */
	uint64_t seq;   /* number of the record */
	pid_t pid;
	pid_t host_pid; /* the process's pid outside the run's pid namespace; 0: the same pid, or unknown */
	char *path;     /* canonical virtual path that was read; owned */
	char *exe;      /* owned */
	uint64_t descriptors, mappings, processes; /* closed, made inaccessible, killed */
};

/* Which after_read entries of the policy have fired. */
struct after_entries {
	uint32_t completed_entries_mask; /* entries that have fired, and whose consequences are complete */
	/* thread whose next call that fires an entry is refused, because not all consequences could be applied */
	pid_t refused;
	size_t count; /* used entries of fired[] */
	struct after_fired fired[POLICY_AFTER_ENTRIES_MAX];
};

/* NULL: no memory. */
struct after_entries *after_create(void);
void after_free(struct after_entries *after);

/*
 * Returns the entries that the allowed call fires and whose consequences are not complete. With --mode observe entries
 * have no consequences: the function notes them as fired, and returns 0.
 */
uint32_t after_find_entries_to_fire(struct call *call);

/*
 * Notes that the call fires these entries, writes their records, and lets the policy deny from now on what they deny.
 */
void after_fire_entries(struct call *call, uint32_t entries);

enum after_loss { AFTER_DESCRIPTOR, AFTER_SOCKET, AFTER_MAPPING, AFTER_PROCESS, AFTER_LOSS_MAX };

/* Records and counts that an entry took something from call->task. path: of the file, or NULL. */
void after_record_loss(const struct call *call, unsigned entry, enum after_loss loss, const char *path);

#endif
