/* Prints the effective policy (composed, variables expanded) as JSON that policy_load accepts. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/sha256.h"
#include "base/text.h"
#include "policy/findings.h"
#include "policy/model.h"
#include "policy/parse/layer-names.h"

/* Makes a JSON string in which "${" is escaped, so that loading it gives the same text again. */
static json_t *show_make_escaped_string(const char *text)
{
	_cleanup_buf_ struct buf out = {0};
	const char *open;

	for (; (open = strstr(text, "${")); text = open + 2) {
		buf_add(&out, text, (size_t)(open - text));
		buf_puts(&out, "$${");
	}
	buf_puts(&out, text);
	return out.failed ? NULL : json_string(out.data);
}

/* Returns the array or object at a key, and creates it when missing. Borrowed. */
static json_t *show_get_or_make_member(json_t *object, const char *key, bool array)
{
	json_t *found = json_object_get(object, key);

	if (found)
		return found;
	if (json_object_set_new(object, key, array ? json_array() : json_object()) < 0)
		return NULL;
	return json_object_get(object, key);
}

/* Appends an item to an array, unless the array has an equal item. Takes the item. */
static int show_append_if_absent(json_t *array, json_t *item)
{
	for (size_t i = 0; item && i < json_array_size(array); i++) {
		if (json_equal(json_array_get(array, i), item)) {
			json_decref(item);
			return 0;
		}
	}
	return json_array_append_new(array, item);
}

/*
 * True for a rule without effect, which must not be shown: the output is one file, and a grant and a deny of the same
 * path in one file are an error.
 */
static bool show_rule_has_no_effect(const struct policy *policy, const struct rule *rule)
{
	if (rule->is_overridden || rule->hides_name) /* show_libraries() shows what hides names */
		return true;
	if (!kind_is_grant(rule->kind))
		return false;
	for (size_t i = 0; i < policy->rule_count; i++)
		if (policy->rule[i].kind == RULE_DENY && !policy->rule[i].hides_name &&
		    strcmp(policy->rule[i].expanded_path.path, rule->expanded_path.path) == 0)
			return true;
	return false;
}

/* Finds the item of a list of paths, a string or an object, that has this path. `list` may be NULL. */
static size_t show_find_path(const json_t *list, const json_t *path)
{
	size_t i = 0;

	for (; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);

		if (json_equal(json_is_object(item) ? json_object_get(item, "path") : item, path))
			break;
	}
	return i;
}

/* Appends the path of a rule, unless the list has it; as an object when a rule for the path has more members. */
static int show_append_path(json_t *list, const struct rule *rule)
{
	json_auto_t *path = show_make_escaped_string(rule->expanded_path.text_shown_to_user), *members = json_object();
	size_t at = show_find_path(list, path);
	json_t *item = json_array_get(list, at);
	int ret = 0;

	if (rule->because_text)
		ret |= json_object_set_new(members, "because", json_string(rule->because_text));
	if (rule->on_deny)
		ret |= json_object_set_new(members, "on_deny", json_string(policy_on_deny_get_name(rule->on_deny)));
	if (rule->decoy_read_ends_run)
		ret |= json_object_set_new(members, "on_read", json_string("kill"));
	if (json_is_object(item))
		return ret | json_object_update_missing(item, members);
	if (json_object_size(members) > 0) {
		ret |= json_object_set(members, "path", path);
		return ret | (item ? json_array_set(list, at, members) : json_array_append(list, members));
	}
	return item ? ret : json_array_append(list, path) | ret;
}

/* Adds a path to its entry of "after_read", which show_after_entries() has made. */
static int show_add_path_of_after_entry(json_t *root, const struct rule *rule)
{
	json_t *entry = json_array_get(json_object_get(root, "after_read"), rule->after_entry_index);

	if (rule->kind == RULE_AFTER_WRITE)
		entry = json_object_get(entry, "then");
	return show_append_path(
		show_get_or_make_member(entry, rule->kind == RULE_AFTER_WRITE ? "write" : "paths", true), rule);
}

/* Adds the entries of "after_read" to the policy's JSON. Not 0: out of memory. */
static int show_after_entries(json_t *root, const struct policy *policy)
{
	json_t *list = policy->after_entry_count ? show_get_or_make_member(root, "after_read", true) : NULL;
	int ret = 0;

	for (size_t i = 0; i < policy->after_entry_count; i++) {
		const struct source_after_entry *after = policy->after_entry[i].source_entry;
		json_t *entry = json_pack("{s:[], s:{s:s*}, s:s*}", "paths", "then", "network",
					  after->closes_network ? "none" : NULL, "because", after->because_text);

		ret |= json_array_append_new(list, entry);
		if (after->closes_writing)
			ret |= show_get_or_make_member(json_object_get(entry, "then"), "write", true) ? 0 : -1;
	}
	return ret;
}

static int show_rule(json_t *root, const struct rule *rule)
{
	static const char *const lists[RULE_MAX] = {
		[RULE_READ] = "read", [RULE_WRITE] = "write", [RULE_EXEC] = "exec",
		[RULE_DENY] = "deny", [RULE_DECOY] = "decoy", [RULE_EXEC_DENY] = "deny",
		[RULE_PUBLIC] = "public", [RULE_PRIVATE] = "private",
	};
	json_t *section, *item;

	if (kind_is_after(rule->kind))
		return show_add_path_of_after_entry(root, rule);
	section = show_get_or_make_member(root, rule->kind == RULE_EXEC_DENY ? "exec" : "filesystem", false);

	if (rule->kind == RULE_PROVIDE) {
		json_auto_t *name = show_make_escaped_string(rule->expanded_path.text_shown_to_user);

		return json_object_set_new(show_get_or_make_member(section, "provide", false), json_string_value(name),
					   json_string(rule->file_content));
	}
	if (rule->kind != RULE_REDIRECT)
		return show_append_path(show_get_or_make_member(section, lists[rule->kind], true), rule);
	item = json_object();
	if (json_object_set_new(item, "from", show_make_escaped_string(rule->expanded_path.text_shown_to_user)) < 0 ||
	    json_object_set_new(item, "to", show_make_escaped_string(rule->to.text_shown_to_user)) < 0 ||
	    (rule->because_text && json_object_set_new(item, "because", json_string(rule->because_text)) < 0)) {
		json_decref(item);
		return -1;
	}
	return show_append_if_absent(show_get_or_make_member(section, "redirect", true), item);
}

static int show_env(json_t *root, const struct policy *policy)
{
	json_t *env = policy->env_count ? show_get_or_make_member(root, "env", false) : NULL;
	int ret = 0;

	for (size_t i = 0; i < policy->env_count; i++) {
		const struct policy_env *one = &policy->env[i];

		if (one->value)
			ret |= json_object_set_new(show_get_or_make_member(env, "set", false), one->name,
						   show_make_escaped_string(one->value));
		else
			ret |= json_array_append_new(show_get_or_make_member(env, "pass", true),
						     json_string(one->name));
	}
	return ret;
}

static json_t *show_make_time(uint64_t ns)
{
	char text[64];

	/* text_parse_duration accepts six decimals: as milliseconds they express every nanosecond */
	(void)snprintf(text, sizeof(text), "%" PRIu64 ".%06" PRIu64 "ms", ns / 1000000, ns % 1000000);
	if (ns % 1000000000 == 0)
		(void)snprintf(text, sizeof(text), "%" PRIu64 "s", ns / 1000000000);
	return json_string(text);
}

static int show_limits(json_t *root, struct policy_limits limits)
{
	int ret = 0;

	for (enum policy_limit which = 0; which < POLICY_LIMIT_MAX; which++) {
		uint64_t value = *policy_limit_get_field(&limits, which);

		if (value)
			ret |= json_object_set_new(
				show_get_or_make_member(root, "limits", false), policy_limit_get_name(which),
				policy_limit_is_time(which) ? show_make_time(value) : json_integer((json_int_t)value));
	}
	return ret;
}

/* Adds the section "audit" to the policy's JSON. Not 0: out of memory. */
static int show_audit(json_t *root, const struct policy *policy)
{
	json_t *object = show_get_or_make_member(root, "audit", false);
	int ret = json_object_set_new(object, "allowed", json_boolean(policy->settings.audits_allowed_calls));

	if (policy->settings.audit_is_compact)
		ret |= json_object_set_new(object, "compact", json_true());
	if (policy->settings.audits_fstat)
		ret |= json_object_set_new(object, "fstat", json_true());
	if (policy->settings.audit_file)
		ret |= json_object_set_new(object, "file", show_make_escaped_string(policy->settings.audit_file));
	return ret;
}

static int show_process(json_t *root, const struct policy *policy)
{
	if (!policy->settings.allows_unix_datagrams)
		return 0;
	return json_object_set_new(show_get_or_make_member(root, "process", false), "unix_datagrams", json_true());
}

static int show_required_layers(json_t *root, unsigned required)
{
	int ret = 0;

	for (enum layer layer = 0; layer < LAYER_MAX; layer++)
		if (required & LAYER_BIT(layer))
			ret |= json_array_append_new(show_get_or_make_member(root, "require", true),
						     json_string(layer_get_name(layer)));
	return ret;
}

static int show_findings(json_t *root, const char *name, uint32_t bits)
{
	json_t *list = json_array();
	int ret = 0;

	for (enum inspect_kind kind = 0; kind < INSPECT_KIND_MAX; kind++)
		if (bits & INSPECT_BIT(kind))
			ret |= json_array_append_new(list, json_string(inspect_kind_get_name(kind)));
	if (bits == 0)
		json_decref(list);
	else
		ret |= json_object_set_new(show_get_or_make_member(root, "inspect", false), name, list);
	return ret;
}

static int show_modules(json_t *root, const struct policy_settings *settings)
{
	json_t *list = settings->module_count > 0 ? json_array() : NULL;
	int ret = 0;

	for (size_t i = 0; i < settings->module_count; i++)
		ret |= json_array_append_new(list, json_string(settings->modules[i]));
	return list ? ret | json_object_set_new(show_get_or_make_member(root, "inspect", false), "modules", list) : ret;
}

static int show_libraries(json_t *root, const struct policy *policy)
{
	int ret = 0;

	for (enum policy_language language = 0; language < POLICY_LANGUAGE_MAX; language++) {
		const struct source_libraries *libraries = &policy->libraries[language];
		json_t *list = libraries->source_location
				       ? show_get_or_make_member(show_get_or_make_member(root, "libraries", false),
								 policy_language_get_name(language), true)
				       : NULL;

		for (size_t i = 0; i < libraries->count; i++)
			ret |= show_append_if_absent(list, json_string(libraries->name[i]));
	}
	return ret;
}

char *policy_make_json(const struct policy *policy)
{
	json_auto_t *root = json_object();
	_cleanup_free_ char *text = NULL;
	int ret = json_object_set_new(root, "version", json_integer(1));

	ret |= json_object_set_new(root, "name", json_string(policy->settings.name));
	ret |= json_object_set_new(root, "workdir", show_make_escaped_string(policy->settings.workdir));
	if (policy->settings.on_deny)
		ret |= json_object_set_new(root, "on_deny",
					   json_string(policy_on_deny_get_name(policy->settings.on_deny)));
	if (policy->settings.judge)
		ret |= json_object_set_new(root, "judge", json_string(policy_judge_get_name(policy->settings.judge)));
	if (policy->settings.workspace == POLICY_WORKSPACE_COW) /* "direct" is what holds without the key */
		ret |= json_object_set_new(show_get_or_make_member(root, "workspace", false), "mode",
					   json_string("cow"));
	for (size_t i = 0; i < policy->settings.workspace_dir_count; i++)
		ret |= json_array_append_new(show_get_or_make_member(show_get_or_make_member(root, "workspace", false),
								     "directories", true),
					     show_make_escaped_string(policy->settings.workspace_dir[i]));
	if (policy->settings.user)
		ret |= json_object_set_new(root, "user", json_string(policy->settings.user));
	ret |= show_after_entries(root, policy);
	for (size_t i = 0; i < policy->rule_count; i++)
		if (!show_rule_has_no_effect(policy, &policy->rule[i]))
			ret |= show_rule(root, &policy->rule[i]);
	ret |= show_env(root, policy);
	ret |= show_limits(root, policy->settings.limits);
	ret |= show_audit(root, policy) | show_process(root, policy);
	ret |= show_required_layers(root, policy->settings.required_layers);
	ret |= show_findings(root, "refuse", policy->settings.refused_findings);
	ret |= show_findings(root, "warn", policy->settings.warned_findings);
	ret |= show_modules(root, &policy->settings);
	ret |= show_libraries(root, policy);
	ret |= policy_show_network(root, &policy->network);
	if (ret)
		return NULL;
	text = json_dumps(root, JSON_INDENT(2));
	return text ? text_format("%s\n", text) : NULL;
}

int policy_compute_sha256(struct policy *policy)
{
	/* Records name the policy by which accesses are judged. */
	_cleanup_free_ char *text = policy_make_json(policy_get_judged_policy(policy));

	if (!text)
		return -ENOMEM;
	sha256_hash_bytes(text, strlen(text), policy->settings.sha256);
	return 0;
}
