#include "confine/layers.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* Linux 5.14: has Landlock (since 5.13), mount_setattr(2) (5.12) and SECCOMP_ADDFD_FLAG_SEND (5.14). */
#define OLDEST_KERNEL_MAJOR 5
#define OLDEST_KERNEL_MINOR 14 /* of Linux 5.14, the oldest supported kernel */

struct layers *layers_create(unsigned without, unsigned required)
{
	struct layers *layers = mmap(NULL, sizeof(*layers), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (layers == MAP_FAILED)
		return NULL;
	layers->switched_off_layers = without;
	layers->required_layers = required;
	for (enum layer layer = 0; layer < LAYER_MAX; layer++)
		layers_set_state(layers, layer, false,
				 without & LAYER_BIT(layer)    ? "switched off by --without"
				 : layer == LAYER_KERNEL_READS ? ""
							       : "not tried");
	return layers;
}

void layers_free(struct layers *layers)
{
	if (layers)
		(void)munmap(layers, sizeof(*layers));
}

bool layers_wants_layer(const struct layers *layers, enum layer layer)
{
	return !(layers->switched_off_layers & LAYER_BIT(layer));
}

void layers_set_state(struct layers *layers, enum layer layer, bool active, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(layers->layer[layer].why, sizeof(layers->layer[layer].why), format, arguments);
	va_end(arguments);
	layers->layer[layer].active = active;
}

void layers_add_to_reason(struct layers *layers, enum layer layer, const char *text)
{
	char *why = layers->layer[layer].why;
	const size_t len = strlen(why);

	(void)snprintf(why + len, sizeof(layers->layer[layer].why) - len, "%s", text); /* cut */
}

enum layer layers_find_missing_required_layer(const struct layers *layers)
{
	for (enum layer layer = 0; layer < LAYER_MAX; layer++)
		if ((layers->required_layers & LAYER_BIT(layer)) && !layers->layer[layer].active)
			return layer;
	return LAYER_MAX;
}

bool layers_describe_old_kernel(const char *release, char *text, size_t size)
{
	unsigned major = 0, minor = 0;

	text[0] = '\0';
	if (sscanf(release, "%u.%u", &major, &minor) != 2 || major > OLDEST_KERNEL_MAJOR ||
	    (major == OLDEST_KERNEL_MAJOR && minor >= OLDEST_KERNEL_MINOR))
		return false;
	(void)snprintf(text, size, "Linux %u.%u is older than %d.%d, which callgate is made for: layers are missing",
		       major, minor, OLDEST_KERNEL_MAJOR, OLDEST_KERNEL_MINOR);
	return true;
}

json_t *layers_make_json(const struct layers *layers)
{
	json_t *object = json_object();

	for (enum layer layer = 0; layer < LAYER_MAX; layer++)
		if (layers->layer[layer].why[0] &&
		    json_object_set_new(object, layer_get_name(layer),
					json_pack("{s:b, s:s}", "active", (int)layers->layer[layer].active, "why",
						  layers->layer[layer].why)) < 0) {
			json_decref(object);
			return NULL;
		}
	return object;
}
