/*
 * The layers that hold a run: which are wanted, which are required, which are active and why not. One page shared by
 * keeper and supervisor (MAP_SHARED), since each of them finds out about some.
 */
#ifndef CALLGATE_CONFINE_LAYERS_H
#define CALLGATE_CONFINE_LAYERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "policy/parse/layer-names.h"

struct layers {
	unsigned without;  /* LAYER_BITs the user switched off: not to be tried */
	unsigned required; /* LAYER_BITs whose absence is an error */
	struct {
		bool active;
		char why[200]; /* one sentence without a full stop: what it does, or why it is not there */
	} layer[LAYER_MAX];
};

/*
 * A shared page with every layer inactive ("not tried", "switched off by --without"). NULL with errno. layers_free
 * releases the caller's mapping.
 */
struct layers *layers_create(unsigned without, unsigned required);
void layers_free(struct layers *layers);

/* True unless the user switched it off, which `why` says from the beginning. */
bool layers_wanted(const struct layers *layers, enum layer layer);

/* What became of a layer. */
__attribute__((format(printf, 4, 5))) void layers_set(struct layers *layers, enum layer layer, bool active,
						      const char *format, ...);

/* The first required layer that is not active, or LAYER_MAX. */
enum layer layers_missing(const struct layers *layers);

/* The result's "enforcement": {NAME: {"active", "why"}}. Owned by the caller; NULL: no memory. */
json_t *layers_json(const struct layers *layers);

#endif
