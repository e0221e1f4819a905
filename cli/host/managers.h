/* The places where interpreters are installed: by the system, by version managers, in virtual environments. */
#ifndef CALLGATE_CLI_HOST_MANAGERS_H
#define CALLGATE_CLI_HOST_MANAGERS_H

#include <stdbool.h>

/*
 * Whether @interpreter may stand for a whole directory (canonical): for one version in a version manager's directory,
 * for something installed below /opt and the like, or for a directory in the workdir. Never for a home directory,
 * ~/.local, or a directory that holds the workdir. home and workdir may be NULL and need not be canonical.
 *
 * *ret_place: the manager's directory before links are resolved, owned by the caller. A run may have made a link on the
 * way to it (~/.pyenv where the home directory may be written). NULL: the prefix is in the workdir, or no memory.
 */
bool managers_may_grant_prefix(const char *prefix, const char *home, const char *workdir, char **ret_place);

#endif
