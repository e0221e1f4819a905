#include "cli/session/request.h"

#include <stdlib.h>
#include <string.h>

/* Makes an object of the variables of -e. A variable without a value gets the value in callgate's environment. */
static json_t *exec_make_environment(const struct cli_list *list)
{
	json_t *env = json_object();

	for (size_t i = 0; i < list->count; i++) {
		char *equal = strchr(list->item[i], '=');
		const char *value = equal ? equal + 1 : getenv(list->item[i]);

		if (equal)
			*equal = '\0';
		if (value)
			(void)json_object_set_new(env, list->item[i], json_string(value));
	}
	return env;
}

json_t *exec_make_request(const struct exec_options *options, char *const *argv)
{
	json_t *env = exec_make_environment(&options->env), *list = json_array();
	const char *term = getenv("TERM");

	if (options->tty && term && !json_object_get(env, "TERM"))
		(void)json_object_set_new(env, "TERM", json_string(term));
	for (; *argv; argv++)
		if (json_array_append_new(list, json_string(*argv)) < 0) {
			json_decref(env);
			json_decref(list);
			return NULL;
		}
	return json_pack("{s:s, s:b, s:o, s:o, s:s*, s:I, s:b, s:o*}", "op", "exec", "inspected", true, "env", env,
			 "argv", list, "cwd", options->cwd, "wall_ms", (json_int_t)(options->wall_ns / 1000000),
			 "detached", options->detach, "terminal", options->tty ? json_object() : NULL);
}
