#include "cli/learn/draft.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/cli.h"
#include "policy/parse/format.h"
#include "supervisor/report.h"

static const char *draft_get_right_name(unsigned right)
{
	return right == POLICY_EXEC ? "exec" : right == POLICY_WRITE ? "write" : "read";
}

int draft_init(struct draft *draft, const json_t *old, const char *name, const char *base)
{
	draft->ungrantable = json_array();
	draft->disabled_paths = json_array();
	draft->root = old ? json_deep_copy(old)
			  : json_pack("{s:i, s:s, s:s}", "version", 1, "name", name, "description",
				      "Learnt by callgate learn: look at each rule, and at what it grants beside.");
	if (draft->root && !old && base && json_object_set_new(draft->root, "extends", json_pack("[s]", base)) < 0)
		return -ENOMEM;
	return draft->root && draft->ungrantable && draft->disabled_paths ? 0 : -ENOMEM;
}

void draft_release(struct draft *draft)
{
	json_decref(draft->root);
	json_decref(draft->ungrantable);
	json_decref(draft->disabled_paths);
	*draft = (struct draft){0};
}

json_t *draft_get_list(struct draft *draft, const char *section, const char *key)
{
	json_t *object = json_object_get(draft->root, section), *list;

	if (!object) {
		object = json_object();
		if (json_object_set_new(draft->root, section, object) < 0)
			return NULL;
	}
	list = json_object_get(object, key);
	if (list)
		return list;
	list = json_array();
	return json_object_set_new(object, key, list) < 0 ? NULL : list;
}

int draft_add_network_denying_all(struct draft *draft)
{
	if (json_object_get(draft->root, "network"))
		return 0;
	return json_object_set_new(draft->root, "network", json_pack("{s:s}", "default", "deny")) < 0 ? -ENOMEM : 0;
}

/* Finds the entry of a list that names this path: a string, or an object with "path". */
static json_t *draft_find_entry(const json_t *list, const char *path)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *entry = json_array_get(list, i);
		const char *text = json_string_value(json_is_string(entry) ? entry : json_object_get(entry, "path"));

		if (text && strcmp(text, path) == 0)
			return entry;
	}
	return NULL;
}

/* As JSON, what a rule grants beside what the program used: the number of files, and sensitive names. */
static json_t *draft_make_side_grants_json(const struct scan_found *found)
{
	json_t *names = json_array();

	for (size_t i = 0; i < SCAN_SENSITIVE_NAMES_MAX && found->sensitive_names[i]; i++)
		(void)json_array_append_new(names, report_make_text_json(found->sensitive_names[i]));
	return json_pack("{s:I, s:o}", "count", (json_int_t)(found->files - found->used), "names", names);
}

int draft_add_path_rule(struct draft *draft, unsigned right, const char *path, char *because_taken,
			const struct scan_found *found, const char *disabled)
{
	_cleanup_free_ char *because = because_taken;
	json_t *list = draft_get_list(draft, "filesystem", draft_get_right_name(right)), *entry;

	if (!list || !because)
		return -ENOMEM;
	entry = draft_find_entry(list, path);
	if (entry) /* the policy has this rule already, perhaps with "disabled" from an earlier policy */
		return disabled || !json_object_get(entry, "disabled") ? 0
		       : json_object_del(entry, "disabled") < 0     ? -ENOMEM
								     : 0;
	entry = json_pack("{s:s, s:o}", "path", path, "because", report_make_text_json(because));
	if (entry && found && found->files > found->used)
		(void)json_object_set_new(entry, "also_grants", draft_make_side_grants_json(found));
	if (entry && disabled)
		(void)json_object_set_new(entry, "disabled", json_string(disabled));
	return json_array_append_new(list, entry) < 0 ? -ENOMEM : 0;
}

int draft_add_deny_rule(struct draft *draft, const char *pattern, const char *because)
{
	json_t *list = draft_get_list(draft, "filesystem", "deny");

	if (!list)
		return -ENOMEM;
	if (draft_find_entry(list, pattern))
		return 0;
	return json_array_append_new(list, json_pack("{s:s, s:o}", "path", pattern, "because",
						     report_make_text_json(because))) < 0
		       ? -ENOMEM
		       : 0;
}

int draft_add_ungrantable_path(struct draft *draft, unsigned right, const char *path, const char *why)
{
	json_t *text = report_make_text_json(path), *name = json_string(draft_get_right_name(right));
	json_t *entry = json_pack("{s:o, s:o, s:s}", "path", text, "right", name, "why", why);

	if (!entry)
		return -ENOMEM;
	for (size_t i = 0; i < json_array_size(draft->ungrantable); i++)
		if (json_equal(json_array_get(draft->ungrantable, i), entry)) {
			json_decref(entry);
			return 0;
		}
	return json_array_append_new(draft->ungrantable, entry) < 0 ? -ENOMEM : 0;
}

int draft_add_disabled_path(struct draft *draft, const char *path)
{
	json_t *text = report_make_text_json(path);

	if (!text)
		return -ENOMEM;
	if (draft_find_entry(draft->disabled_paths, json_string_value(text))) {
		json_decref(text);
		return 0;
	}
	return json_array_append_new(draft->disabled_paths, text) < 0 ? -ENOMEM : 0;
}

/* Counts the rules of a list that are in force, without those that have "disabled". */
static size_t draft_count_list(const json_t *list)
{
	size_t count = 0;

	for (size_t i = 0; i < json_array_size(list); i++)
		count += !json_object_get(json_array_get(list, i), "disabled");
	return count;
}

bool draft_writes_outside_workdir(const struct draft *draft)
{
	const json_t *list = json_object_get(json_object_get(draft->root, "filesystem"), "write");
	const json_t *extends = json_object_get(draft->root, "extends");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *entry = json_array_get(list, i);
		const char *path = json_string_value(json_is_string(entry) ? entry : json_object_get(entry, "path"));

		if (path && !json_object_get(entry, "disabled") && strncmp(path, "@workdir", 8) != 0 &&
		    strncmp(path, "@scratch", 8) != 0)
			return true;
	}
	/* skips the profiles of callgate: none grants writing outside the working directory */
	for (size_t i = 0; i < json_array_size(extends); i++)
		if (strpbrk(json_string_value(json_array_get(extends, i)), "/."))
			return true;
	return json_is_string(extends) && strpbrk(json_string_value(extends), "/.");
}

size_t draft_count_rules(const struct draft *draft)
{
	static const char *const keys[][2] = {
		{"filesystem", "read"}, {"filesystem", "write"}, {"filesystem", "exec"}, {"filesystem", "deny"},
		{"network", "allow"},   {"network", "listen"},
	};
	size_t count = 0;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		count += draft_count_list(
			json_object_get(json_object_get(draft->root, keys[i][0]), keys[i][1]));
	return count;
}

/* Renames the temporary file to `path`. must_be_new: fails if a file has that name already. 0 or -errno. */
static int draft_rename(const char *temporary, const char *path, bool must_be_new)
{
	if (!must_be_new)
		return rename(temporary, path) < 0 ? -errno : 0;
	return io_rename_new(AT_FDCWD, temporary, AT_FDCWD, path);
}

int draft_write(const struct draft *draft, const char *path, bool must_be_new)
{
	_cleanup_free_ char *text = json_dumps(draft->root, JSON_INDENT(2)), *aside = text_format("%s.XXXXXX", path),
			    *line = NULL;
	_cleanup_policy_errors_ struct policy_errors errors = {0};
	_cleanup_close_ int fd = -1;
	int r;

	if (!text || !aside)
		return -ENOMEM;
	r = policy_format_text(path, text, &errors, &line);
	cli_print_policy_errors("learn", &errors);
	if (r < 0)
		return r;
	fd = mkostemp(aside, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = io_write_all(fd, line, strlen(line));
	if (r == 0 && (fchmod(fd, 0644) < 0 || fsync(fd) < 0))
		r = -errno;
	if (r == 0)
		r = draft_rename(aside, path, must_be_new);
	if (r < 0)
		(void)unlink(aside);
	return r;
}
