#include "keeper/libraries.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "policy/paths/suggest.h"

/* The entry of a language, which is added if there is none. Borrowed; NULL: no memory. */
static json_t *libraries_get_entry(json_t *list, const char *language)
{
	json_t *entry;
	size_t i;

	json_array_foreach(list, i, entry)
	{
		if (strcmp(json_string_value(json_object_get(entry, "language")), language) == 0)
			return entry;
	}
	entry = json_pack("{s:s, s:[]}", "language", language, "missing");
	(void)json_array_append_new(list, entry);
	return entry;
}

static void libraries_add_name(json_t *entry, const char *name)
{
	json_t *missing = json_object_get(entry, "missing"), *item;
	size_t i;

	json_array_foreach(missing, i, item)
	{
		if (strcmp(json_string_value(item), name) == 0)
			return;
	}
	(void)json_array_append_new(missing, json_string(name));
}

/* Sets what would show all packages of an entry. */
static void libraries_set_suggestion(json_t *entry)
{
	const json_t *missing = json_object_get(entry, "missing"), *item;
	_cleanup_buf_ struct buf names = {0};
	_cleanup_free_ char *text = NULL;
	size_t i;

	json_array_foreach(missing, i, item)
	{
		buf_printf(&names, "%s\"%s\"", i > 0 ? ", " : "", json_string_value(item));
	}
	if (!names.failed)
		text = suggest_libraries(json_string_value(json_object_get(entry, "language")), names.data);
	(void)json_object_set_new(entry, "suggest", text ? json_string(text) : json_null());
}

json_t *libraries_make_missing(const json_t *denials)
{
	json_t *list = json_array(), *entry;
	const json_t *denial;
	size_t i;

	json_array_foreach(denials, i, denial)
	{
		const char *rule = json_string_value(json_object_get(denial, "rule"));
		_cleanup_free_ char *language = NULL, *name = NULL;

		if (rule && suggest_find_library(rule, &language, &name))
			libraries_add_name(libraries_get_entry(list, language), name);
	}
	json_array_foreach(list, i, entry)
	{
		libraries_set_suggestion(entry);
	}
	return list;
}
