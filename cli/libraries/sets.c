#include "cli/libraries/sets.h"

#include <string.h>

#include "base/cleanup-json.h"

bool sets_is_name(const char *name)
{
	return name[0] == '@' && !strchr(name, '/');
}

/* The sets of a language: an object with "packages" for each name without its "@". Owned by the caller, or NULL. */
static json_t *sets_load(const char *text, enum policy_language language)
{
	_cleanup_json_ json_t *root = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;

	return json_incref(json_object_get(root, policy_language_get_name(language)));
}

const char **sets_list(struct arena *arena, const char *text, enum policy_language language)
{
	_cleanup_json_ json_t *sets = sets_load(text, language);
	const char **names = NULL, *name;
	size_t count = 0;
	json_t *set;

	json_object_foreach(sets, name, set)
	{
		ARENA_APPEND(arena, names, count, arena_concat_texts(arena, "@", name, (char *)NULL));
	}
	ARENA_APPEND(arena, names, count, NULL);
	return names;
}

/* Adds the members of a set. False: there is no such set. */
static bool sets_add_members(struct arena *arena, const json_t *sets, const char *name, struct library_choices *choices)
{
	const json_t *members = json_object_get(json_object_get(sets, name + 1), "packages");

	for (size_t i = 0; i < json_array_size(members); i++) {
		const char *member = json_string_value(json_array_get(members, i));

		if (member)
			ARENA_APPEND(arena, choices->choice, choices->count,
				     ((struct library_choice){arena_dup(arena, member), name, false}));
	}
	return members;
}

void sets_expand(struct arena *arena, const char *text, enum policy_language language, const char *const *names,
		 struct library_choices *ret_choices, const char *const **ret_unknown)
{
	_cleanup_json_ json_t *sets = sets_load(text, language);
	struct library_choices choices = {0};
	const char **unknown = NULL;
	size_t count = 0;

	for (; *names; names++) {
		if (!sets_is_name(*names))
			ARENA_APPEND(arena, choices.choice, choices.count,
				     ((struct library_choice){*names, NULL, false}));
		else if (!sets_add_members(arena, sets, *names, &choices))
			ARENA_APPEND(arena, unknown, count, *names);
	}
	ARENA_APPEND(arena, unknown, count, NULL);
	*ret_choices = choices;
	*ret_unknown = unknown;
}
