/* Plausible but false content for decoy files. */
#ifndef CALLGATE_POLICY_PATHS_DECOY_H
#define CALLGATE_POLICY_PATHS_DECOY_H

#include "policy/arena.h"

/* The content for a path, chosen by its last component; deterministic. In the arena; NULL when memory ran out. */
const char *decoy_text(struct arena *arena, const char *path);

#endif
