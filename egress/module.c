/* callgate-net.so's one symbol. */
#include "config.h"
#include "base/module.h"
#include "egress/parts.h"
#include "policy/network/names.h"

#include "base/banned.h"

extern const struct module callgate_module;

__attribute__((visibility("default"))) const struct module callgate_module = {
	.version = PACKAGE_VERSION,
	.part = {[MODULE_NAMES] = &net_names_linked, [MODULE_EGRESS] = &egress_linked},
};
