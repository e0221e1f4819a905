#include "cli/policy/cases.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/cli.h"
#include "policy/parse/locate.h"

#define CASES_FILE_BYTES_MAX ((size_t)16 << 20) /* most bytes of a file of test cases of `policy test` */

/* The state of reading a file of cases. */
struct cases_file {
	const char *verb, *path, *text;
	struct json_last_line_search last_search;
	struct json_path at; /* place of the current value */
	bool failed;         /* an error was printed */
};

/* Enters a member or element, for the place in messages. */
static void cases_enter_position(struct cases_file *file, const char *name, size_t index)
{
	file->at.steps[file->at.depth++] = (struct json_path_step){name, index};
}

/* Prints a message about the current value. */
__attribute__((format(printf, 2, 3))) static void cases_print_error(struct cases_file *file, const char *format, ...)
{
	unsigned line = locate_find_line(file->text, &file->at, &file->last_search);
	_cleanup_free_ char *message = NULL;
	char key[256];
	va_list args;

	va_start(args, format);
	if (vasprintf(&message, format, args) < 0)
		message = NULL;
	va_end(args);
	(void)locate_print_path(&file->at, key, sizeof(key));
	cli_note("%s:%u: %s%s%s", file->path, line, key, *key ? ": " : "", message ? message : "");
	file->failed = true;
}

/* ---- reading one case ---- */

/* Finds the kind of question that a test case's member is named after. */
static bool cases_find_kind(const char *name, enum why_kind *ret_kind)
{
	for (enum why_kind kind = 0; kind < WHY_KIND_MAX; kind++)
		if (strcmp(why_kind_get_name(kind), name) == 0) {
			*ret_kind = kind;
			return true;
		}
	return false;
}

/* Whether the text is a verdict that a question can have: not "kill". */
static bool cases_is_verdict(const char *text)
{
	for (enum verdict verdict = 0; verdict < VERDICT_MAX; verdict++)
		if (verdict < VERDICT_KILL && strcmp(verdict_get_name(verdict), text) == 0)
			return true;
	return false;
}

/* Reads a member of a test case, and prints what is wrong with it. */
static void cases_read_member(struct cases_file *file, struct policy_case *one, const char *name, const json_t *value)
{
	static const char *const names[] = {"open", "exec", "connect", "listen", "url",
					    "name", "verdict", "rule", "reason", NULL};
	const char *text = json_string_value(value), *nearest = text_find_nearest_word(name, names);
	bool question = cases_find_kind(name, &one->kind), rule = strcmp(name, "rule") == 0;

	if (!nearest || strcmp(nearest, name) != 0)
		cases_print_error(file, "unknown key%s%s%s", nearest ? "; did you mean \"" : "", nearest ? nearest : "",
				  nearest ? "\"?" : "; see callgate(1) for the keys known here");
	else if (rule && json_is_null(value))
		one->expects_no_rule = true;
	else if (!text || !*text)
		cases_print_error(file, "must be a string that is not empty%s", rule ? ", or null for no rule" : "");
	else if (question && one->question)
		cases_print_error(file, "is a second question; make it a case of its own");
	else if (question)
		one->question = text;
	else if (strcmp(name, "verdict") != 0)
		*(strcmp(name, "name") == 0 ? &one->name : rule ? &one->rule : &one->reason) = text;
	else if (!cases_is_verdict(text))
		cases_print_error(file, "must be \"allow\", \"deny\", \"redirect\" or \"provide\", not \"%s\"", text);
	else
		one->verdict = text;
}

/* Reads a test case, and prints what is wrong with it. */
static void cases_read_case(struct cases_file *file, const json_t *object, struct policy_case *one)
{
	json_t *members = (json_t *)(uintptr_t)object, *value;
	enum why_kind kind = 0;
	const char *name;
	size_t index = 0;

	one->line = locate_find_line(file->text, &file->at, &file->last_search);
	if (!json_is_object(object)) {
		cases_print_error(file, "must be an object such as {\"open\": \"/etc/passwd\", \"verdict\": \"deny\"}");
		return;
	}
	json_object_foreach (members, name, value) {
		cases_enter_position(file, name, index++);
		cases_read_member(file, one, name, value);
		kind = one->question && one->question == json_string_value(value) ? one->kind : kind;
		file->at.depth--;
	}
	one->kind = kind;
	if (file->failed)
		return;
	if (!one->question)
		cases_print_error(file, "asks nothing; write \"open\", \"exec\", \"connect\", \"listen\" or \"url\"");
	if (!one->verdict)
		cases_print_error(file, "lacks \"verdict\"; write \"allow\" or \"deny\"");
}

/* ---- reading the file ---- */

/* Finds the list of cases in the file. NULL with a message. */
static const json_t *cases_find_list(struct cases_file *file, const json_t *root)
{
	json_t *members = (json_t *)(uintptr_t)root, *value;
	const json_t *list = NULL;
	const char *name;
	size_t index = 0, at = 0;

	if (!json_is_object(root)) {
		cases_print_error(file, "must be an object {\"cases\": [...]}");
		return NULL;
	}
	json_object_foreach (members, name, value) {
		cases_enter_position(file, name, index++);
		if (strcmp(name, "cases") == 0) {
			list = value;
			at = index - 1;
		} else if (strcmp(name, "description") != 0) {
			cases_print_error(file, "unknown key; there are \"cases\" and \"description\"");
		}
		file->at.depth--;
	}
	if (!json_is_array(list) || json_array_size(list) == 0) {
		cases_print_error(file, "must have \"cases\", a list of at least one case");
		return NULL;
	}
	cases_enter_position(file, "cases", at);
	return list;
}

static int cases_read_all(struct cases_file *file, const json_t *root, struct policy_cases *cases)
{
	const json_t *list = cases_find_list(file, root);

	cases->count = json_array_size(list);
	cases->cases = calloc(cases->count + 1, sizeof(*cases->cases));
	if (!cases->cases)
		return -ENOMEM;
	for (size_t i = 0; i < cases->count; i++) {
		bool failed = file->failed;

		file->failed = false;
		cases_enter_position(file, NULL, i);
		cases_read_case(file, json_array_get(list, i), &cases->cases[i]);
		file->at.depth--;
		file->failed |= failed;
	}
	return file->failed ? -EINVAL : 0;
}

int policy_cases_read(const char *verb, const char *path, struct policy_cases *ret_cases)
{
	struct policy_cases cases = {.count = 0};
	struct cases_file file = {.verb = verb, .path = path};
	_cleanup_free_ char *text = NULL;
	json_error_t error;
	size_t len;
	int ret = io_read_file(AT_FDCWD, path, CASES_FILE_BYTES_MAX, &text, &len);

	if (ret < 0) {
		cli_print_error(verb, "%s: %s", path, strerror(-ret));
		return ret;
	}
	file.text = text;
	cases.json = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
	if (!cases.json) {
		cli_note("%s:%d:%d: not valid JSON: %s", path, error.line, error.column, error.text);
		return -EINVAL;
	}
	ret = cases_read_all(&file, cases.json, &cases);
	if (ret == 0)
		*ret_cases = cases;
	else
		policy_cases_release(&cases);
	return ret;
}

void policy_cases_release(struct policy_cases *cases)
{
	free(cases->cases);
	json_decref(cases->json);
	*cases = (struct policy_cases){.count = 0};
}

/* ---- comparing answers ---- */

/* True if `text` has `words`, but not beginning or ending within a word: "read[1]" is not in "read[10]". */
static bool cases_text_contains_whole_words(const char *text, const char *words)
{
	size_t len = strlen(words);

	for (const char *at = text; (at = strstr(at, words)); at++)
		if ((at == text || strchr(" .", at[-1])) && (!at[len] || strchr(" :", at[len])))
			return true;
	return false;
}

bool policy_case_holds(const struct policy_case *expected, const struct why_answer *answer)
{
	bool allow = strcmp(expected->verdict, "allow") == 0;

	if (allow ? answer->verdict == VERDICT_DENY : strcmp(verdict_get_name(answer->verdict), expected->verdict) != 0)
		return false;
	if (expected->expects_no_rule && answer->rule)
		return false;
	if (expected->rule && !(answer->rule && cases_text_contains_whole_words(answer->rule, expected->rule)))
		return false;
	return !expected->reason || strcmp(expected->reason, answer->reason) == 0;
}
