/* Where interpreters are installed: by the system, by version managers, by whoever made a virtual environment. */
#ifndef CALLGATE_CLI_MANAGERS_H
#define CALLGATE_CLI_MANAGERS_H

#include <stdbool.h>

/*
 * Whether a whole directory (canonical) may be what @interpreter stands for: one version in a manager's place,
 * something installed below /opt or the like, or what lies in the workdir. Never a home directory, ~/.local, or what
 * holds the workdir. home and workdir (NULL: none) are canonical.
 *
 * *ret_place: where the manager's place was looked for, owned by the caller; a link on that way decided, and a run may
 * have made it (~/.pyenv where the home directory may be written). NULL: it is in the workdir, or there was no memory.
 */
bool managers_may_grant(const char *prefix, const char *home, const char *workdir, char **ret_place);

#endif
