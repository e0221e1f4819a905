#include "cli/experiment/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "policy/parse/locate.h"

#define PLAN_FILE_BYTES_MAX (16u << 20)

/* The place in the plan that is being read, for messages. */
struct plan_position {
	const char *file, *text;
	struct json_path at;
	bool *failed; /* becomes true with the first error */
};

/* The position of a member in an object, for messages. The member may be missing. */
static struct plan_position plan_position_of_member(const struct plan_position *spot, json_t *object, const char *name)
{
	struct plan_position inner = *spot;
	size_t index = 0;
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value) {
		if (strcmp(key, name) == 0)
			break;
		index++;
	}
	inner.at.steps[inner.at.depth++] = (struct json_path_step){.name = name, .index = index};
	return inner;
}

/* The position of a list's element within the plan. */
static struct plan_position plan_position_of_item(const struct plan_position *spot, size_t index)
{
	struct plan_position inner = *spot;

	inner.at.steps[inner.at.depth++] = (struct json_path_step){.index = index};
	return inner;
}

static void plan_print_error(const struct plan_position *spot, const char *message)
{
	struct json_last_line_search memo = {0};
	char key[256];

	(void)locate_print_path(&spot->at, key, sizeof(key));
	cli_print_error("experiment", "%s:%u: %s%s%s", spot->file, locate_find_line(spot->text, &spot->at, &memo), key,
			*key ? ": " : "", message);
	*spot->failed = true;
}

/* Refuses members of the object whose names are not in `names`, which ends with NULL. */
static void plan_check_member_names(const struct plan_position *spot, json_t *object, const char *const *names)
{
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value) {
		size_t i = 0;

		while (names[i] && strcmp(names[i], key) != 0)
			i++;
		if (!names[i]) {
			struct plan_position inner = plan_position_of_member(spot, object, key);
			const char *nearest = text_find_nearest_word(key, names);
			_cleanup_free_ char *message =
				nearest ? text_format("unknown key; did you mean \"%s\"?", nearest) : NULL;

			plan_print_error(&inner, message ? message : "unknown key");
		}
	}
}

/*
 * Reads a member that is a text. Returns NULL, with a message, if it is no text, or if it is required and missing;
 * without a message if it is optional and missing.
 */
static const char *plan_read_text(const struct plan_position *spot, json_t *object, const char *name, bool required)
{
	json_t *value = json_object_get(object, name);
	struct plan_position inner = plan_position_of_member(spot, object, name);
	const char *text = json_string_value(value);

	if (text && *text && strlen(text) == json_string_length(value))
		return text;
	if (value || required)
		plan_print_error(&inner, value ? "write a text that is not empty" : "missing");
	return NULL;
}

/* Reads a number from 0 to `most`. Returns `otherwise` if there is none, or after an error. */
static uint64_t plan_read_number(const struct plan_position *spot, json_t *object, const char *name, uint64_t most,
				 uint64_t otherwise)
{
	json_t *value = json_object_get(object, name);
	struct plan_position inner = plan_position_of_member(spot, object, name);

	if (!value)
		return otherwise;
	if (json_is_integer(value) && json_integer_value(value) >= 0 && (uint64_t)json_integer_value(value) <= most)
		return (uint64_t)json_integer_value(value);
	plan_print_error(&inner, "write a whole number within its range");
	return otherwise;
}

/* Reads a path of the plan and makes it absolute. Owned; NULL: the member is missing or was refused. */
static char *plan_read_path(const struct plan_position *spot, json_t *object, const char *name, const char *dir,
			    bool required)
{
	struct plan_position inner = plan_position_of_member(spot, object, name);
	const char *text = plan_read_text(spot, object, name, required);
	bool absolute = text && *text == '/';
	_cleanup_free_ char *joined =
		text ? text_format("%s%s%s", absolute ? "" : dir, absolute ? "" : "/", text) : NULL;
	char *path = joined ? realpath(joined, NULL) : NULL;

	if (text && !path) {
		_cleanup_free_ char *message = text_format("%s: %s", joined ? joined : text, strerror(errno));

		plan_print_error(&inner, message ? message : "no memory");
	}
	return path;
}

/* Reads a list of texts into `list`. */
static void plan_read_texts(const struct plan_position *spot, json_t *object, const char *name, bool required,
			    struct cli_list *list)
{
	json_t *value = json_object_get(object, name), *item;
	struct plan_position inner = plan_position_of_member(spot, object, name);
	size_t i;

	if (!value && !required)
		return;
	if (!json_is_array(value) || (required && json_array_size(value) == 0)) {
		plan_print_error(&inner, value ? "write a list of texts" : "missing: write a list of texts");
		return;
	}
	json_array_foreach(value, i, item) {
		struct plan_position at = plan_position_of_item(&inner, i);

		if (!json_is_string(item) || strlen(json_string_value(item)) != json_string_length(item))
			plan_print_error(&at, "write a text");
		else if (cli_list_add_owned(list, strdup(json_string_value(item))) < 0)
			plan_print_error(&at, "no memory");
	}
}

/* Reads the name of an item. Refuses a name that another item of the list has, because names tell the rows apart. */
static const char *plan_read_unique_name(const struct plan_position *spot, json_t *list, size_t index)
{
	json_t *item = json_array_get(list, index);
	const char *name = plan_read_text(spot, item, "name", true);
	struct plan_position inner = plan_position_of_member(spot, item, "name");

	for (size_t i = 0; name && i < index; i++) {
		const char *other = json_string_value(json_object_get(json_array_get(list, i), "name"));

		if (other && strcmp(other, name) == 0)
			plan_print_error(&inner, "another item of the list has this name");
	}
	return name ? name : "";
}

static void plan_read_program(struct plan *plan, const struct plan_position *spot, json_t *list, size_t index)
{
	static const char *const names[] = {"name", "command", "workdir", NULL};
	struct plan_program *program = &plan->programs[index];
	json_t *item = json_array_get(list, index);

	plan_check_member_names(spot, item, names);
	program->name = plan_read_unique_name(spot, list, index);
	plan_read_texts(spot, item, "command", true, &program->command);
	program->workdir = plan_read_path(spot, item, "workdir", plan->dir, false);
}

static void plan_read_input(struct plan *plan, const struct plan_position *spot, json_t *list, size_t index)
{
	static const char *const names[] = {"name", "file", "stdin", NULL};
	struct plan_input *input = &plan->inputs[index];
	json_t *item = json_array_get(list, index);

	plan_check_member_names(spot, item, names);
	input->name = plan_read_unique_name(spot, list, index);
	input->file = plan_read_path(spot, item, "file", plan->dir, false);
	input->stdin_file = plan_read_path(spot, item, "stdin", plan->dir, false);
}

/* Adds an option of callgate run and its value to a policy of the plan. The policy then owns the value. */
static void policy_add_option(const struct plan_position *spot, struct plan_policy *policy, const char *option,
			      char *value)
{
	if (!value)
		return;
	if (cli_list_add_owned(&policy->options, strdup(option)) == 0 &&
	    cli_list_add_owned(&policy->options, value) == 0)
		return;
	plan_print_error(spot, "no memory");
}

static void plan_read_policy(struct plan *plan, const struct plan_position *spot, json_t *list, size_t index)
{
	static const char *const names[] = {"name", "file", "profile", "options", NULL};
	struct plan_policy *policy = &plan->policies[index];
	json_t *item = json_array_get(list, index);
	const char *profile = plan_read_text(spot, item, "profile", false);
	char *file = plan_read_path(spot, item, "file", plan->dir, false);

	plan_check_member_names(spot, item, names);
	policy->name = plan_read_unique_name(spot, list, index);
	if (plan->timeout) /* added first, so that the policy's own options may override it */
		policy_add_option(spot, policy, "-t", strdup(plan->timeout));
	policy_add_option(spot, policy, "-p", file);
	policy_add_option(spot, policy, "--profile", profile ? strdup(profile) : NULL);
	if (!json_object_get(item, "file") && !profile)
		plan_print_error(spot, "name a \"file\" or a \"profile\"");
	plan_read_texts(spot, item, "options", false, &policy->options);
}

/*
 * Reads a list of objects of the plan into a new array, by calling `read` for each. Returns the number of items, or 0
 * with a message printed.
 */
static size_t plan_read_items(struct plan *plan, const struct plan_position *spot, const char *name, size_t size,
			      void *ret_items,
			      void (*read)(struct plan *, const struct plan_position *, json_t *, size_t))
{
	json_t *list = json_object_get(plan->json, name);
	struct plan_position inner = plan_position_of_member(spot, plan->json, name);
	size_t count = json_array_size(list);
	void *items = calloc(count + 1, size);

	if (!json_is_array(list) || count == 0 || count > PLAN_ITEMS_MAX || !items) {
		free(items);
		plan_print_error(&inner,
				 list ? "write a list of 1 to 1000 objects" : "missing: write a list of objects");
		return 0;
	}
	memcpy(ret_items, &items, sizeof(items));
	for (size_t i = 0; i < count; i++) {
		struct plan_position at = plan_position_of_item(&inner, i);

		if (json_is_object(json_array_get(list, i)))
			read(plan, &at, list, i);
		else
			plan_print_error(&at, "write an object");
	}
	return count;
}

/* Prints an error if the plan's "timeout" is no time. */
static void plan_check_timeout(const struct plan *plan, const struct plan_position *spot)
{
	struct plan_position at = plan_position_of_member(spot, plan->json, "timeout");
	uint64_t ns;

	if (plan->timeout && strcmp(plan->timeout, "none") != 0 && text_parse_duration(plan->timeout, &ns) < 0)
		plan_print_error(&at, "write a time such as \"10s\", \"2m\" or \"none\"");
}

static void plan_read_all(struct plan *plan, const struct plan_position *spot)
{
	static const char *const names[] = {"version", "name", "programs", "inputs", "policies", "repetitions", "seed",
					    "timeout", NULL};

	plan_check_member_names(spot, plan->json, names);
	if (json_integer_value(json_object_get(plan->json, "version")) != 1) {
		struct plan_position at = plan_position_of_member(spot, plan->json, "version");

		plan_print_error(&at, "this callgate reads version 1");
	}
	(void)plan_read_text(spot, plan->json, "name", false);
	plan->repetitions = (unsigned)plan_read_number(spot, plan->json, "repetitions", PLAN_REPETITIONS_MAX, 1);
	plan->seed = plan_read_number(spot, plan->json, "seed", INT32_MAX, 0);
	plan->timeout = plan_read_text(spot, plan->json, "timeout", false);
	plan_check_timeout(plan, spot);
	plan->program_count = plan_read_items(plan, spot, "programs", sizeof(*plan->programs), &plan->programs,
					      plan_read_program);
	plan->policy_count = plan_read_items(plan, spot, "policies", sizeof(*plan->policies), &plan->policies,
					     plan_read_policy);
	if (json_object_get(plan->json, "inputs")) {
		plan->input_count = plan_read_items(plan, spot, "inputs", sizeof(*plan->inputs), &plan->inputs,
						    plan_read_input);
		return;
	}
	plan->inputs = calloc(1, sizeof(*plan->inputs));
	plan->input_count = plan->inputs != NULL;
	if (plan->inputs)
		plan->inputs[0].name = "";
}

int plan_load(const char *path, struct plan *ret_plan)
{
	_cleanup_free_ char *text = NULL, *absolute = realpath(path, NULL);
	bool failed = false;
	json_error_t error;
	struct plan_position spot = {.file = path, .failed = &failed};
	size_t len = 0;
	int r = absolute ? io_read_file(AT_FDCWD, absolute, PLAN_FILE_BYTES_MAX, &text, &len) : -errno;

	*ret_plan = (struct plan){0};
	if (!absolute || r < 0) {
		cli_print_error("experiment", "%s: %s", path, strerror(-r));
		return -EINVAL;
	}
	*strrchr(absolute, '/') = '\0';
	ret_plan->dir = steal_pointer(&absolute);
	ret_plan->json = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
	spot.text = text;
	if (!json_is_object(ret_plan->json)) {
		if (ret_plan->json)
			cli_print_error("experiment", "%s:1: write an object", path);
		else
			cli_print_error("experiment", "%s:%d:%d: not valid JSON: %s", path, error.line, error.column,
					error.text);
		return -EINVAL;
	}
	plan_read_all(ret_plan, &spot);
	return failed || ret_plan->input_count == 0 ? -EINVAL : 0;
}

void plan_release(struct plan *plan)
{
	for (size_t i = 0; i < plan->program_count; i++) {
		cli_list_release(&plan->programs[i].command);
		free(plan->programs[i].workdir);
	}
	for (size_t i = 0; i < plan->input_count; i++) {
		free(plan->inputs[i].file);
		free(plan->inputs[i].stdin_file);
	}
	for (size_t i = 0; i < plan->policy_count; i++)
		cli_list_release(&plan->policies[i].options);
	free(plan->programs);
	free(plan->inputs);
	free(plan->policies);
	free(plan->dir);
	json_decref(plan->json);
	*plan = (struct plan){0};
}
