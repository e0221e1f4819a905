#include "egress/parts.h"

#include "base/module.h"

#include "base/banned.h"

extern const struct egress_parts egress_linked __attribute__((weak, visibility("hidden")));

const struct egress_parts *egress_parts(const char **ret_why)
{
	return &egress_linked ? &egress_linked : module_part(MODULE_EGRESS, ret_why);
}
