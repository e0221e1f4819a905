#include "cli/audit/rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "audit/read.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/audit/fields.h"
#include "policy/match.h"
#include "replay/label.h"

int rule_usage_count_record(struct rule_usage *rules, const struct scan_record *record)
{
	_cleanup_buf_ struct buf label = {0};
	struct tally_item *item;

	if (!record->rule.at)
		return 0;
	audit_put_text(&label, &record->rule);
	item = label.failed ? NULL : tally_find_or_add_item(&rules->rule_uses, label.data ? label.data : "", label.len);
	if (!item)
		return -ENOMEM;
	item->counts[0] += record->refusal_count ? record->refusal_count : 1;
	return 0;
}

/*
 * Collects the labels of the recorded rules. Policy file and index are cut off the labels, because the same rule has
 * another index in another policy.
 */
static bool rules_collect_labels_without_position(const struct rule_usage *rules, struct tally *stripped)
{
	char text[LABEL_WITHOUT_FILE_TEXT_SIZE];

	for (size_t i = 0; i < rules->rule_uses.item_count; i++) {
		const struct tally_item *item = rules->rule_uses.items[i];

		if (!tally_find_or_add_item(stripped, text,
					    label_remove_file_and_index(item->name, item->len, text, sizeof(text))))
			return false;
	}
	return true;
}

/* The labels of rules that no log names, although the policy has them. */
static json_t *rules_list_unused(const struct tally *stripped, const struct policy *policy)
{
	const struct policy_question question = {.kind = POLICY_QUESTION_PATH, .path = "/"};
	struct policy_rule_label rule;
	struct tally listed = {0};
	json_t *unused = json_array();

	for (size_t at = 0; unused && policy_match_next_rule(policy, &question, &at, &rule);) {
		_cleanup_free_ char *shown = malloc(strlen(rule.label) * TEXT_ESCAPED_BYTES_PER_BYTE_MAX + 1);
		char text[LABEL_WITHOUT_FILE_TEXT_SIZE];
		struct tally_item *item;
		size_t len;

		if (!shown)
			continue;
		shown[text_escape_for_json(shown, rule.label, strlen(rule.label))] = '\0';
		len = label_remove_file_and_index(shown, strlen(shown), text, sizeof(text));
		if (tally_find_item(stripped, text, len))
			continue;
		item = tally_find_or_add_item(&listed, shown, strlen(shown));
		/* lists each label once, because @interpreter makes several rules with one label */
		if (item && item->counts[0]++ == 0)
			(void)json_array_append_new(unused, json_string(shown));
	}
	tally_release(&listed);
	return unused;
}

/* Returns the workdir of the recorded run, owned by the caller; NULL: it is no directory of this machine. */
static char *rules_find_workdir(const json_t *header)
{
	size_t len;
	char *workdir = audit_line_get_bytes(header, "workdir", &len);
	struct stat status;

	if (workdir && stat(workdir, &status) == 0 && S_ISDIR(status.st_mode))
		return workdir;
	free(workdir);
	return NULL;
}

int rule_usage_find_unused_rules(struct rule_usage *rules, const struct cli_policy_options *given, const json_t *header)
{
	struct cli_policy_options options = *given; /* a copy, whose members are borrowed */
	_cleanup_free_ char *workdir = rules_find_workdir(header);
	const json_t *command = json_object_get(header, "command"), *of_run = json_object_get(header, "policy");
	const char *program = json_string_value(json_array_get(command, 0));
	const char *sha256 = json_string_value(json_object_get(of_run, "sha256"));
	_cleanup_host_ struct cli_host host = {0};
	_cleanup_policy_ struct policy *policy = NULL;
	struct tally stripped = {0};

	if (options.policy_names.count == 0)
		return CLI_EXIT_OK;
	if (!options.workdir && workdir)
		options.workdir_as_written = options.workdir = workdir;
	if (cli_load_policy_without_run(&options, "audit", program, &host, &policy) != CLI_EXIT_OK)
		return CLI_EXIT_ERROR;
	if (policy_compute_sha256(policy) == 0)
		rules->logs_have_same_policy = sha256 && strcmp(sha256, policy_get_settings(policy)->sha256) == 0;
	if (rules_collect_labels_without_position(rules, &stripped))
		rules->unused_labels = rules_list_unused(&stripped, policy);
	tally_release(&stripped);
	return rules->unused_labels ? CLI_EXIT_OK : cli_fail_no_memory("audit");
}

void rule_usage_release(struct rule_usage *rules)
{
	tally_release(&rules->rule_uses);
	json_decref(rules->unused_labels);
}
