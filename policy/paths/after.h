/*
 * "after_read": what the run loses when one of its processes has read a file. Called by syscalls/ and supervisor/.
 *
 * A set of entries has the bit 1 << index of each. An entry fires once, for the whole run, and nothing takes that back.
 * The set of fired entries is the only part of a policy that changes after loading: the functions that judge apply it.
 */
#ifndef CALLGATE_POLICY_PATHS_AFTER_H
#define CALLGATE_POLICY_PATHS_AFTER_H

#include <stddef.h>
#include <stdint.h>

struct policy;

#define POLICY_AFTER_ENTRIES_MAX 32 /* most entries of "after_read" in a policy */

/* The number of entries of "after_read". */
size_t policy_count_after_entries(const struct policy *policy);
/* The name of an entry of "after_read" in records: "data.json: after_read[0]". Owned by the policy. */
const char *policy_get_after_label(const struct policy *policy, unsigned index);
/* "because" of an entry of "after_read": why the entry exists, for people; NULL: the policy does not say. */
const char *policy_get_after_because_text(const struct policy *policy, unsigned index);

/* The entries that reading a canonical virtual path fires, whether they have fired already or not. */
uint32_t policy_find_entries_fired_by_read(const struct policy *policy, const char *path, size_t len);
/*
 * The entries that reading the path, or anything that could be below it, fires: a directory that is renamed takes
 * everything below it along.
 */
uint32_t policy_find_entries_fired_by_read_below(const struct policy *policy, const char *path, size_t len);

/* Marks entries as fired. In a run with --mode observe: those of the judged policy. */
void policy_fire_after_entries(const struct policy *policy, uint32_t entries);
uint32_t policy_get_fired_after_entries(const struct policy *policy);

/*
 * The entries that close this path to writing once they have fired. A file may be renamed or linked only between paths
 * for which they are the same.
 */
uint32_t policy_find_entries_that_can_close_writing(const struct policy *policy, const char *path, size_t len);

/* The fired entries that close this path to writing. */
uint32_t policy_find_entries_that_closed_writing(const struct policy *policy, const char *path, size_t len);
/* The set of entries that have a "write", fired or not. */
uint32_t policy_get_entries_closing_writing(const struct policy *policy);
/* The set of entries that close the network, fired or not. */
uint32_t policy_get_entries_closing_network(const struct policy *policy);
/* The name of the fired entry that closes the network; NULL: none has. */
const char *policy_find_entry_that_closed_network(const struct policy *policy);

#endif
