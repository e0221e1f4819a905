/*
 * The names of the sandbox layers in a policy's "require", in --require and --without, and in a result's "enforcement".
 * confine/layers.h has the state of each layer in a run.
 */
#ifndef CALLGATE_POLICY_PARSE_LAYER_NAMES_H
#define CALLGATE_POLICY_PARSE_LAYER_NAMES_H

#include <stddef.h>

/* In the order in which results list them. */
enum layer {
	LAYER_SECCOMP,      /* seccomp_notify */
	LAYER_NO_NEW_PRIVS, /* no_new_privs */
	LAYER_CAPABILITIES, /* capabilities: the program has none */
	LAYER_LANDLOCK,     /* landlock: the program's domain */
	LAYER_SELF_FILTER,  /* self_filter: keeper and supervisor have a seccomp filter of their own */
	LAYER_USERNS,       /* userns mountns pidns ipcns utsns netns cgroupns */
	LAYER_MOUNTNS,
	LAYER_PIDNS,
	LAYER_IPCNS,
	LAYER_UTSNS,
	LAYER_NETNS,
	LAYER_CGROUPNS,
	LAYER_CGROUPS, /* cgroups: memory, pids and cpu are limited by control groups, not by rlimits and sampling */
	LAYER_MAX,
};

#define LAYER_BIT(layer) (1u << (layer))
#define LAYERS_NAMESPACES                                                                                       \
	(LAYER_BIT(LAYER_USERNS) | LAYER_BIT(LAYER_MOUNTNS) | LAYER_BIT(LAYER_PIDNS) | LAYER_BIT(LAYER_IPCNS) | \
	 LAYER_BIT(LAYER_UTSNS) | LAYER_BIT(LAYER_NETNS) | LAYER_BIT(LAYER_CGROUPNS))
/* A run can start without these; the others are always required. */
#define LAYERS_OPTIONAL \
	(LAYERS_NAMESPACES | LAYER_BIT(LAYER_LANDLOCK) | LAYER_BIT(LAYER_SELF_FILTER) | LAYER_BIT(LAYER_CGROUPS))

/* Static. */
const char *layer_get_name(enum layer layer);

/* The LAYER_BITs of a name of `len` bytes ("namespaces": all seven); 0 when there is no such layer. */
unsigned layer_parse_bits(const char *name, size_t len);

/* The layer's name (or "namespaces") that is most similar to a misspelt one, or NULL. Static. */
const char *layer_find_nearest(const char *name);

/*
 * Adds the layers of a list "landlock,pidns" to *bits. 0, or -EINVAL with the unknown name in ret_bad, cut to `size`
 * bytes (at least 1).
 */
int layers_parse_list(const char *list, unsigned *bits, char *ret_bad, size_t size);

#endif
