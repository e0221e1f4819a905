/* "inspect" of a template's policy: programs and code are looked at before they run; what was found is in the log. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/e2b/private.h"
#include "agents/slist.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "keeper/session-client.h"
#include "policy/findings.h"

#define LOOKING_LOGGED_FINDINGS_MAX 50 /* of one program */
#define LOOKING_LOGGED_NAME_BYTES_MAX 1000 /* of a program's name, which the client chooses */

/* Files that were looked at before a program started, and are looked at again, as it has ended. */
struct e2b_changes {
	struct e2b_changes *next;
	struct e2b_sandbox *box;
	struct sandbox_look *look;
	char *program; /* for the log; owned; NULL: not known */
};

/* Writes a line of the log about a sandbox. Takes the value. */
static void looking_log(const struct e2b_sandbox *box, const char *event, const char *program, const char *name,
			json_t *value)
{
	_cleanup_free_ char *shown = program ? text_copy_shortened(program, LOOKING_LOGGED_NAME_BYTES_MAX) : NULL;

	log_event(event,
		  json_pack("{s:s, s:s, s:s, s:s*, s:o}", "sandbox", box->id, "key", box->key ? box->key->name : "",
			    "session", sandbox_get_id(box->sandbox), "program", shown, name, value));
}

/* Logs what is to be warned of, and how much more there was. */
static void looking_log_findings(const struct e2b_sandbox *box, const char *program, const json_t *answer)
{
	const json_t *findings = json_object_get(answer, "findings");
	json_int_t unlisted = json_integer_value(json_object_get(answer, "unlisted"));
	json_t *logged = json_array(), *finding;
	size_t i;

	json_array_foreach(findings, i, finding)
	{
		if (i < LOOKING_LOGGED_FINDINGS_MAX)
			(void)json_array_append(logged, finding);
	}
	unlisted += (json_int_t)(json_array_size(findings) - json_array_size(logged));
	if (json_array_size(logged) > 0)
		looking_log(box, "findings", program, "findings", logged);
	else
		json_decref(logged);
	if (unlisted > 0)
		looking_log(box, "findings_unlisted", program, "count", json_integer(unlisted));
}

bool e2b_judge_look(const struct e2b_sandbox *box, const char *program, const json_t *answer, const char *why,
		    char **ret_refusal)
{
	const char *found = json_string_value(json_object_get(answer, "why"));
	const bool is_refused = !answer || !json_is_false(json_object_get(answer, "refused"));
	char *text;
	int r;

	looking_log_findings(box, program, answer);
	if (!is_refused)
		return true;
	text = answer ? inspect_make_refusal(found ? found : "?") : text_format("not started, not looked at: %s", why);
	looking_log(box, "program_refused", program, "why", json_string(text ? text : "?"));
	r = sandbox_record_refusal(box->sandbox, program, found ? found : why ? why : "?");
	if (r < 0)
		looking_log(box, "refusal_not_recorded", program, "why", json_string(strerror(-r)));
	*ret_refusal = text;
	return false;
}

static void changes_free(struct e2b_changes *changes)
{
	slist_remove(changes->box->changes, changes, next);
	sandbox_look_free(changes->look);
	free(changes->program);
	free(changes);
}

/* Logs and records which files were changed. answer NULL: it is not known, and `why` says why. */
static void changes_tell(const struct e2b_sandbox *box, const char *program, const json_t *answer, const char *why)
{
	json_t *names = json_array();

	for (enum session_change change = 0; change < SESSION_CHANGE_MAX; change++)
		(void)json_array_extend(names, json_object_get(answer, session_change_get_key(change)));
	if (!answer)
		looking_log(box, "changes_unknown", program, "why", json_string(why));
	else if (json_array_size(names) > 0)
		looking_log(box, "changed_after_look", program, "files", json_incref(names));
	json_decref(names);
	(void)sandbox_record_changes(box->sandbox, program, answer, why); /* the log has it in any case */
}

static void changes_on_looked(void *data, const json_t *answer, const char *why)
{
	struct e2b_changes *changes = data;

	changes->look = NULL;
	changes_tell(changes->box, changes->program, answer, why);
	changes_free(changes);
}

/* Starts to look again. 0 or -errno. */
static int changes_start(struct e2b_sandbox *box, const char *program, const json_t *looked, const char *cwd)
{
	struct sandbox_look_options options = {.callgate_path = box->e2b->options.callgate_path,
					       .owner = box->key,
					       .cwd = cwd,
					       .on_end = changes_on_looked};
	struct e2b_changes *changes = calloc(1, sizeof(*changes));
	int r;

	if (!changes)
		return -ENOMEM;
	changes->box = box;
	changes->program = program ? strdup(program) : NULL;
	changes->next = box->changes;
	box->changes = changes;
	options.data = changes;
	r = sandbox_look_for_changes(box->sandbox, &options, looked, &changes->look);
	if (r < 0)
		changes_free(changes);
	return r;
}

void e2b_tell_changes(struct e2b_sandbox *box, const char *program, const json_t *looked, const char *cwd)
{
	int r = 0;

	if (json_array_size(json_object_get(looked, "seen")) > 0)
		r = changes_start(box, program, looked, cwd);
	if (r < 0)
		changes_tell(box, program, NULL, sandbox_describe_error(-r));
}

void e2b_tell_changes_unknown(const struct e2b_sandbox *box, const char *program, const json_t *looked)
{
	if (json_array_size(json_object_get(looked, "seen")) > 0)
		changes_tell(box, program, NULL, "the program or its sandbox was ended");
}

void e2b_changes_free_all(struct e2b_sandbox *box)
{
	while (box->changes) {
		changes_tell(box, box->changes->program, NULL, "the program or its sandbox was ended");
		changes_free(box->changes);
	}
}
