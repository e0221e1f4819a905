/* The reader's side of compact.c: puts back into a record what the header and earlier records said. */
#include <stdio.h>
#include <string.h>

#include "audit/encode.h"
#include "audit/expand.h"

#include "base/banned.h"

static const char *const of_process[] = {"ppid", "host_pid", "exe"};

static void begin(struct expander *expander, const json_t *header)
{
	const json_t *run = json_object_get(header, "run");

	expand_done(expander);
	if (!json_is_true(json_object_get(header, "compact")))
		return;
	expander->said = json_object();
	if (json_is_string(run))
		expander->run = json_stringn(json_string_value(run), strnlen(json_string_value(run), AUDIT_RUN_MAX));
}

/* What it says of the process holds until it is said anew; a line with ppid says all of it. */
static void fill_process(struct expander *expander, json_t *record)
{
	const json_t *pid = json_object_get(record, "pid");
	char key[32];
	json_t *said;

	if (!json_is_integer(pid))
		return;
	(void)snprintf(key, sizeof(key), "%lld", (long long)json_integer_value(pid));
	if (!json_object_get(record, "ppid")) {
		said = json_object_get(expander->said, key);
		if (said)
			(void)json_object_update_missing(record, said);
		return;
	}
	said = json_object();
	for (size_t i = 0; i < sizeof(of_process) / sizeof(of_process[0]); i++)
		if (json_object_get(record, of_process[i]))
			(void)json_object_set(said, of_process[i], json_object_get(record, of_process[i]));
	(void)json_object_set_new(expander->said, key, said);
}

static void fill_effect(json_t *record)
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
		begin(expander, line);
	if (type || !expander->said)
		return false;
	if (expander->run && !json_object_get(line, "run"))
		(void)json_object_set(line, "run", expander->run);
	if (!json_object_get(line, "syscall"))
		return true;
	fill_process(expander, line);
	fill_effect(line);
	return true;
}

void expand_done(struct expander *expander)
{
	json_decref(expander->said);
	json_decref(expander->run);
	*expander = (struct expander){NULL, NULL};
}
