/* The state of the sandbox layers of a run. It is in memory that keeper and supervisor share: each sets some layers. */
#ifndef CALLGATE_CONFINE_LAYERS_H
#define CALLGATE_CONFINE_LAYERS_H

#include <jansson.h>
#include <stdbool.h>

#include "policy/parse/layer-names.h"

/* The state of each sandbox layer of a run, for its report. */
struct layers {
	unsigned switched_off_layers;  /* LAYER_BITs that the user switched off */
	unsigned required_layers; /* LAYER_BITs whose absence is an error */
	struct {
		bool active;
		/* one sentence without a full stop: what the layer does, or why it is inactive; "": not shown */
		char why[320];
	} layer[LAYER_MAX];
};

/* Makes a shared mapping with every layer inactive ("not tried", "switched off by --without"). NULL with errno. */
struct layers *layers_create(unsigned without, unsigned required);
void layers_free(struct layers *layers);

/* True unless the user switched the layer off. */
bool layers_wants_layer(const struct layers *layers, enum layer layer);

/* Sets the state of a layer, and its reason. */
__attribute__((format(printf, 4, 5))) void layers_set_state(struct layers *layers, enum layer layer, bool active,
						      const char *format, ...);

/* Adds to the reason of a layer, as far as it fits. */
void layers_add_to_reason(struct layers *layers, enum layer layer, const char *text);

/* Returns the first required layer that is not active, or LAYER_MAX. */
enum layer layers_find_missing_required_layer(const struct layers *layers);

/*
 * Tells in one sentence, without a full stop, that the kernel of this release (utsname.release) is older than those
 * that callgate is made for. Each layer is tried all the same, and says what it lacks. False, and "", for other
 * releases.
 */
bool layers_describe_old_kernel(const char *release, char *text, size_t size);

/* Makes "enforcement" of the result: {NAME: {"active", "why"}}. Owned by the caller; NULL: out of memory. */
json_t *layers_make_json(const struct layers *layers);

#endif
