/*
 * The second lock: a Landlock domain for the program that grants nothing but to execute (and so to read) what the
 * policy lets it execute. Whatever else it has reaches it as descriptors that the supervisor opened, outside the
 * domain, and those Landlock leaves alone: what was allowed when a file was opened stays with the descriptor.
 */
#ifndef CALLGATE_CONFINE_LANDLOCK_H
#define CALLGATE_CONFINE_LANDLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "view/view.h"

#define LANDLOCK_ABI_SIGNALS 6 /* from here on it keeps signals inside: Linux 6.12 */

/* The kernel's Landlock ABI, 1 or more; -ENOSYS: not in this kernel, -EOPNOTSUPP: not active, or a sandbox's -errno. */
int landlock_abi(void);

/* All that an ABI can take away: struct landlock_ruleset_attr as of Linux 6.12. */
struct landlock_rights {
	uint64_t fs;
	uint64_t net;
	uint64_t scoped;
};

/* Those of this ABI, or of the newest one known here when it is newer. */
struct landlock_rights landlock_rights(int abi);

/*
 * A ruleset of everything the ABI knows, with exceptions for what the view lets be executed; nothing is restricted yet.
 * Returns a CLOEXEC descriptor owned by the caller, or -errno. *ret_places: the exceptions, for the user.
 */
int landlock_build(const struct view *view, int abi, unsigned *ret_places);

/*
 * For processes of callgate's own that talk to the world (the egress side): no file but, with read_files, reading any;
 * no TCP port to listen at; no signal to and no abstract socket of anybody outside. Connecting stays. As above.
 */
int landlock_build_own(int abi, bool read_files);

/*
 * Puts the calling thread and all its children under the ruleset, for good, without filling the kernel's log with what
 * is refused. no_new_privs must be set. Async-signal-safe. 0 or -errno; -E2BIG: too many domains around it already.
 */
int landlock_enter(int ruleset_fd);

#endif
