/* The reader's side of compact.c. */
#include <stdio.h>
#include <string.h>

#include "audit/encode.h"
#include "audit/expand.h"

#include "base/banned.h"

static const char *const expand_fields[] = {"ppid", "host_pid", "exe"};

static void expand_header(struct expander *expander, const json_t *header)
{
	const json_t *run = json_object_get(header, "run");

	expand_done(expander);
	if (!json_is_true(json_object_get(header, "compact")))
		return;
	expander->processes = json_object();
	if (json_is_string(run))
		expander->run = json_stringn(json_string_value(run), strnlen(json_string_value(run), AUDIT_RUN_MAX));
}

/* A record with ppid has all fields of its process. They hold until that pid's next record with ppid. */
static void expand_process(struct expander *expander, json_t *record)
{
	const json_t *pid = json_object_get(record, "pid");
	char key[32];
	json_t *known;

	if (!json_is_integer(pid))
		return;
	(void)snprintf(key, sizeof(key), "%lld", (long long)json_integer_value(pid));
	if (!json_object_get(record, "ppid")) {
		known = json_object_get(expander->processes, key);
		if (known)
			(void)json_object_update_missing(record, known);
		return;
	}
	known = json_object();
	for (size_t i = 0; i < sizeof(expand_fields) / sizeof(expand_fields[0]); i++)
		if (json_object_get(record, expand_fields[i]))
			(void)json_object_set(known, expand_fields[i], json_object_get(record, expand_fields[i]));
	(void)json_object_set_new(expander->processes, key, known);
}

static void expand_effect(json_t *record)
{
	const char *verdict = json_string_value(json_object_get(record, "verdict"));
	bool refused = verdict && (strcmp(verdict, "deny") == 0 || strcmp(verdict, "kill") == 0);

	if (!json_object_get(record, "effect"))
		(void)json_object_set_new(record, "effect", json_string(refused ? "refused" : "performed"));
}

bool expand_line(struct expander *expander, json_t *line)
{
	const char *type = json_string_value(json_object_get(line, "type"));

	if (type && strcmp(type, "header") == 0)
		expand_header(expander, line);
	if (type || !expander->processes)
		return false;
	if (expander->run && !json_object_get(line, "run"))
		(void)json_object_set(line, "run", expander->run);
	if (!json_object_get(line, "syscall"))
		return true;
	expand_process(expander, line);
	expand_effect(line);
	return true;
}

void expand_done(struct expander *expander)
{
	json_decref(expander->processes);
	json_decref(expander->run);
	*expander = (struct expander){NULL, NULL};
}
