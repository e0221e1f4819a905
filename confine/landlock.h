/*
 * The Landlock domain of the program. It only lets the program execute (and so read) what the policy lets it execute.
 * The program gets other files as descriptors that the supervisor opened outside the domain: Landlock checks when a
 * file is opened, not when a descriptor is used.
 */
#ifndef CALLGATE_CONFINE_LANDLOCK_H
#define CALLGATE_CONFINE_LANDLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "view/view.h"

#define LANDLOCK_ABI_WITH_SIGNAL_SCOPE 6 /* first ABI that denies signals to processes outside: Linux 6.12 */

/* Returns the Landlock ABI of the kernel, 1 or more; -ENOSYS: not built in; -EOPNOTSUPP: disabled; or -errno. */
int landlock_get_abi(void);

/* The access rights that an ABI can restrict: struct landlock_ruleset_attr of Linux 6.12. */
struct landlock_rights {
	uint64_t fs;
	uint64_t net;
	uint64_t scoped; /* LANDLOCK_SCOPE_* of this ABI */
};

/* Returns the rights of this ABI. For an ABI that is too new to be known: those of the newest known one. */
struct landlock_rights landlock_get_rights_of_abi(int abi);

#define LANDLOCK_ABI_TEXT_SIZE 192 /* buffer for landlock_describe_abi() */
/*
 * Writes what this ABI restricts and what only newer ones do: ", no TCP; not held: signals and abstract sockets, UDP",
 * or "". A longer text is cut.
 */
void landlock_describe_abi(int abi, char *out, size_t size);

/*
 * Makes a ruleset that restricts all rights of the ABI, with *ret_places exceptions for what the view lets the program
 * execute. landlock_enter_domain() puts it into effect. A CLOEXEC descriptor owned by the caller, or -errno.
 */
int landlock_build_ruleset(const struct view *view, int abi, unsigned *ret_places);

/*
 * As landlock_build_ruleset, for egress and resolver. Their domain denies files (with read_files: only writing),
 * listening on TCP ports, and signals and abstract unix sockets to processes outside. Connecting by TCP is allowed.
 */
int landlock_build_egress_ruleset(int abi, bool read_files);

/*
 * Restricts the calling thread and its future children for good, without audit messages for denials. no_new_privs must
 * be set. Async-signal-safe. 0 or -errno; -E2BIG: too many nested domains.
 */
int landlock_enter_domain(int ruleset_fd);

#endif
