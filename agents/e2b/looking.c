/* "inspect" of a template's policy: programs and code are looked at before they run; what was found is in the log. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/e2b/private.h"
#include "agents/slist.h"
#include "base/cleanup.h"

#define LOOKING_LOGGED_FINDINGS_MAX 50 /* of one program */

/* Files that were looked at before a program started, and are looked at again, as it has ended. */
struct e2b_changes {
	struct e2b_changes *next;
	struct e2b_sandbox *box;
	struct sandbox_look *look;
};

/* Writes a line of the log about a sandbox. Takes the value. */
static void looking_log(const struct e2b_sandbox *box, const char *event, const char *program, const char *name,
			json_t *value)
{
	log_event(event,
		  json_pack("{s:s, s:s, s:s, s:s*, s:o}", "sandbox", box->id, "key", box->key ? box->key->name : "",
			    "session", sandbox_get_id(box->sandbox), "program", program, name, value));
}

/* Logs what is to be warned of. */
static void looking_log_findings(const struct e2b_sandbox *box, const char *program, const json_t *findings)
{
	json_t *logged = json_array(), *finding;
	size_t i;

	json_array_foreach(findings, i, finding)
	{
		if (i < LOOKING_LOGGED_FINDINGS_MAX)
			(void)json_array_append(logged, finding);
	}
	if (json_array_size(logged) > 0)
		looking_log(box, "findings", program, "findings", logged);
	else
		json_decref(logged);
}

char *e2b_judge_look(const struct e2b_sandbox *box, const char *program, const json_t *answer, const char *why)
{
	const char *found = json_string_value(json_object_get(answer, "why"));
	const bool is_refused = !answer || !json_is_false(json_object_get(answer, "refused"));
	const char *reason = answer ? "not started, because of what was found in it" : "not started, not looked at";
	char *text;

	looking_log_findings(box, program, json_object_get(answer, "findings"));
	if (!is_refused)
		return NULL;
	if (asprintf(&text, "%s: %s", reason, answer ? (found ? found : "?") : why) < 0)
		text = NULL;
	looking_log(box, "program_refused", program, "why", json_string(text ? text : reason));
	sandbox_record_refusal(box->sandbox, program, found ? found : why ? why : reason);
	return text ? text : strdup(reason);
}

static void changes_free(struct e2b_changes *changes)
{
	slist_remove(changes->box->changes, changes, next);
	sandbox_look_free(changes->look);
	free(changes);
}

static void changes_on_looked(void *data, const json_t *answer, const char *why)
{
	struct e2b_changes *changes = data;
	json_t *names = json_object_get(answer, "changed");

	(void)why; /* the session has ended, or there is no memory: nothing is known of the files */
	changes->look = NULL;
	if (json_array_size(names) > 0)
		looking_log(changes->box, "changed_after_look", NULL, "files", json_incref(names));
	changes_free(changes);
}

void e2b_tell_changes(struct e2b_sandbox *box, const json_t *looked, const char *cwd)
{
	struct sandbox_look_options options = {
		.callgate_path = box->e2b->options.callgate_path, .cwd = cwd, .on_end = changes_on_looked};
	struct e2b_changes *changes;

	if (json_array_size(json_object_get(looked, "seen")) == 0)
		return;
	changes = calloc(1, sizeof(*changes));
	if (!changes)
		return;
	changes->box = box;
	changes->next = box->changes;
	box->changes = changes;
	options.data = changes;
	if (sandbox_look_for_changes(box->sandbox, &options, looked, &changes->look) < 0)
		changes_free(changes);
}

void e2b_changes_free_all(struct e2b_sandbox *box)
{
	while (box->changes)
		changes_free(box->changes);
}
