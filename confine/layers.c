#include "confine/layers.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>

struct layers *layers_create(unsigned without, unsigned required)
{
	struct layers *layers =
		mmap(NULL, sizeof(*layers), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (layers == MAP_FAILED)
		return NULL;
	layers->switched_off_layers = without;
	layers->required_layers = required;
	for (enum layer layer = 0; layer < LAYER_MAX; layer++)
		layers_set_state(layers, layer, false,
			   without & LAYER_BIT(layer)     ? "switched off by --without"
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

enum layer layers_find_missing_required_layer(const struct layers *layers)
{
	for (enum layer layer = 0; layer < LAYER_MAX; layer++)
		if ((layers->required_layers & LAYER_BIT(layer)) && !layers->layer[layer].active)
			return layer;
	return LAYER_MAX;
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
