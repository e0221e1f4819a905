/* Believable but made-up content for decoy files: who steals it has nothing. */
#ifndef CALLGATE_POLICY_PATHS_DECOY_H
#define CALLGATE_POLICY_PATHS_DECOY_H

#include "policy/arena.h"

/* The content for a path, by its name; the same for the same path. In the arena; NULL when memory ran out. */
const char *decoy_text(struct arena *arena, const char *path);

#endif
