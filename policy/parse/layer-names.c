#include "policy/parse/layer-names.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Names by layer, NULL-ended. The name at [LAYER_MAX] stands for all namespaces. */
static const char *const names[LAYER_MAX + 2] = {
	[LAYER_SECCOMP] = "seccomp_notify",
	[LAYER_NO_NEW_PRIVS] = "no_new_privs",
	[LAYER_CAPABILITIES] = "capabilities",
	[LAYER_LANDLOCK] = "landlock",
	[LAYER_SELF_FILTER] = "self_filter",
	[LAYER_USERNS] = "userns",
	[LAYER_MOUNTNS] = "mountns",
	[LAYER_PIDNS] = "pidns",
	[LAYER_IPCNS] = "ipcns",
	[LAYER_UTSNS] = "utsns",
	[LAYER_NETNS] = "netns",
	[LAYER_CGROUPNS] = "cgroupns",
	[LAYER_CGROUPS] = "cgroups",
	[LAYER_KERNEL_READS] = "kernel-reads",
	[LAYER_MAX] = "namespaces",
};

const char *layer_get_name(enum layer layer)
{
	return names[layer];
}

unsigned layer_parse_bits(const char *name, size_t len)
{
	for (enum layer layer = 0; layer <= LAYER_MAX; layer++)
		if (strlen(names[layer]) == len && memcmp(names[layer], name, len) == 0)
			return layer == LAYER_MAX ? LAYERS_NAMESPACES : LAYER_BIT(layer);
	return 0;
}

const char *layer_find_nearest_name(const char *name)
{
	return text_find_nearest_word(name, names);
}

int layers_parse_list(const char *list, unsigned *bits, char *ret_bad, size_t size)
{
	unsigned sum = 0;

	for (const char *at = list;; at++) {
		size_t len = strcspn(at, ",");
		unsigned named = layer_parse_bits(at, len);

		if (!named) {
			(void)snprintf(ret_bad, size, "%.*s", (int)(len < size ? len : size - 1), at); /* cut */
			return -EINVAL;
		}
		sum |= named;
		at += len;
		if (!*at)
			break;
	}
	*bits |= sum;
	return 0;
}
