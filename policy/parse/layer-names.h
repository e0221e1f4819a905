/*
 * The names of the sandbox layers: in "require" of a policy, --require, --without, and "enforcement" of a result.
 * confine/layers.h has the state of each layer in a run.
 */
#ifndef CALLGATE_POLICY_PARSE_LAYER_NAMES_H
#define CALLGATE_POLICY_PARSE_LAYER_NAMES_H

#include <stddef.h>

/*
 * The sandbox layers, in the order in which results list them. Each comment begins with the name that policies, options
 * and results use.
 */
enum layer {
	LAYER_SECCOMP,      /* seccomp_notify */
	LAYER_NO_NEW_PRIVS, /* no_new_privs */
	LAYER_CAPABILITIES, /* capabilities: the program has none */
	LAYER_LANDLOCK,     /* landlock: the program is in a Landlock domain */
	LAYER_SELF_FILTER,  /* self_filter: keeper and supervisor have a seccomp filter of their own */
	LAYER_USERNS,       /* userns mountns pidns ipcns utsns netns cgroupns: the namespaces */
	LAYER_MOUNTNS,
	LAYER_PIDNS,
	LAYER_IPCNS,
	LAYER_UTSNS,
	LAYER_NETNS,
	LAYER_CGROUPNS,
	LAYER_CGROUPS, /* cgroups: memory, pids and cpu are limited by control groups, not by rlimits and sampling */
	/* kernel-reads: not a layer, but "judge": "changes" in effect; required and described like a layer */
	LAYER_KERNEL_READS,
	LAYER_MAX,
	/* how many layers depend on what the machine offers: all before kernel-reads */
	LAYER_OFFERED_BY_MACHINE_MAX = LAYER_KERNEL_READS,
};

#define LAYER_BIT(layer) (1u << (layer))
#define LAYERS_NAMESPACES                                                                                       \
	(LAYER_BIT(LAYER_USERNS) | LAYER_BIT(LAYER_MOUNTNS) | LAYER_BIT(LAYER_PIDNS) | LAYER_BIT(LAYER_IPCNS) | \
	 LAYER_BIT(LAYER_UTSNS) | LAYER_BIT(LAYER_NETNS) | LAYER_BIT(LAYER_CGROUPNS))
/* Layers without which a run can start. The other layers are always required. */
#define LAYERS_OPTIONAL \
	(LAYERS_NAMESPACES | LAYER_BIT(LAYER_LANDLOCK) | LAYER_BIT(LAYER_SELF_FILTER) | LAYER_BIT(LAYER_CGROUPS))

/* The name of a layer. Static. */
const char *layer_get_name(enum layer layer);

/* Returns the LAYER_BITs of a name of `len` bytes ("namespaces": all seven); 0 when there is no such layer. */
unsigned layer_parse_bits(const char *name, size_t len);

/* Finds the layer name (or "namespaces") that is most similar to a misspelt name, or returns NULL. Static. */
const char *layer_find_nearest_name(const char *name);

/*
 * Adds the layers of a list such as "landlock,pidns" to *bits. 0, or -EINVAL with the unknown name in ret_bad, cut to
 * `size` bytes (at least 1).
 */
int layers_parse_list(const char *list, unsigned *bits, char *ret_bad, size_t size);

#endif
