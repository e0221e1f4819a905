/*
 * What only runs with a network need is in a module, callgate-net.so, and loaded when it is first asked for: its libraries
 * (OpenSSL, nghttp2, libidn2, libpsl) cost every start 2.5 ms and every fork the copies of their pages.
 */
#ifndef CALLGATE_BASE_MODULE_H
#define CALLGATE_BASE_MODULE_H

enum module_part {
	MODULE_NAMES,  /* struct net_names, policy/network/names.h */
	MODULE_EGRESS, /* struct egress_parts, egress/parts.h */
	MODULE_PARTS,
};

/* What the module has at its one symbol. */
struct module {
	const char *version; /* that of the program it was built with */
	const void *part[MODULE_PARTS];
};
#define MODULE_SYMBOL "callgate_module"

/*
 * Lies beside the program, as after a build, or where it is installed. Stays loaded. Not for two threads at once. NULL:
 * *ret_why (static) says why not, to follow a name.
 */
const void *module_part(enum module_part part, const char **ret_why);

#endif
