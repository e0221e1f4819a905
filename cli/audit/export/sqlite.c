/* A database of SQLite: the tables "records" and "runs", and the view "denials". */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "cli/audit/export/columns.h"
#include "cli/audit/export/export.h"
#include "cli/audit/export/sqlite-file.h"

#define SQLITE_COLUMNS_MAX 64u

/* A log that is exported, for the table "runs". */
struct sqlite_run {
	const char *path;
	json_t *header, *trailer; /* owned, or NULL */
};

/* The state of exporting to an SQLite database. */
struct sqlite_state {
	struct sqlite_file file;
	struct buf sql;          /* owned: creates "records" */
	struct sqlite_run *run;  /* a row of the table "runs" for each log; owned */
	size_t runs, room;
	char text[AUDIT_LINE_MAX_BYTES * 2]; /* room for the texts of a record */
};

static const char sqlite_runs_sql[] =
	"CREATE TABLE runs (log TEXT, run TEXT, version TEXT, command TEXT, policy TEXT, policy_sha256 TEXT, "
	"workdir TEXT, kernel TEXT, machine TEXT, started TEXT, ended TEXT, status TEXT, exit_code INTEGER, "
	"signal INTEGER, records INTEGER, judged INTEGER, allowed INTEGER, denied INTEGER)";
static const char sqlite_denials_sql[] =
	"CREATE VIEW denials AS SELECT count(*) AS times, coalesce(syscall, event) AS call, "
	"coalesce(resolved, path, host) AS object, port, reason, rule FROM records WHERE verdict IN ('deny', 'kill') "
	"GROUP BY 2, 3, 4, 5, 6 ORDER BY 1 DESC";

static int sqlite_begin(struct export_state *export)
{
	static const char *const types[] = {
		[COLUMN_TEXT] = "TEXT", [COLUMN_INTEGER] = "INTEGER", [COLUMN_REAL] = "REAL"};
	struct sqlite_state *state = calloc(1, sizeof(*state));

	export->state = state;
	if (!state)
		return -ENOMEM;
	buf_puts(&state->sql, "CREATE TABLE records (");
	for (size_t i = 0; i < columns_count(); i++)
		buf_printf(&state->sql, "%s\"%s\" %s", i > 0 ? ", " : "", column_get_name(i),
			   types[column_get_type(i)]);
	buf_puts(&state->sql, ")");
	sqlite_file_begin(&state->file, export->out);
	sqlite_table_begin(&state->file);
	return state->sql.failed ? -ENOMEM : 0;
}

static struct sqlite_run *sqlite_find_run(struct sqlite_state *state, const struct audit_log *log)
{
	for (size_t i = 0; i < state->runs; i++)
		if (state->run[i].path == log->path)
			return &state->run[i];
	if (!array_reserve(&state->run, state->runs, &state->room))
		return NULL;
	state->run[state->runs] = (struct sqlite_run){.path = log->path};
	return &state->run[state->runs++];
}

/* Keeps a header or trailer for the row of its run, which is written at the end. 0 or -ENOMEM. */
static int sqlite_store_header_or_trailer(struct sqlite_state *state, const struct audit_entry *entry)
{
	struct sqlite_run *run = sqlite_find_run(state, entry->log);
	json_t **end;

	if (!run)
		return -ENOMEM;
	end = strcmp(audit_line_get_type(entry->json), "header") == 0 ? &run->header : &run->trailer;
	json_decref(*end);
	*end = json_deep_copy(entry->json);
	return *end ? 0 : -ENOMEM;
}

/* Makes the value of a column. Texts are written to state->text, from *used on. */
static int sqlite_make_value(struct sqlite_state *state, size_t column, const struct audit_entry *entry, size_t *used,
			     struct sqlite_value *ret_value)
{
	struct column_value value = column_get_value(column, entry);
	enum column_type type = column_get_type(column);
	ssize_t len = (ssize_t)value.text_value.len;

	*ret_value = (struct sqlite_value){.type = SQLITE_NULL};
	if (!value.is_present)
		return 0;
	if (type == COLUMN_INTEGER) {
		*ret_value = (struct sqlite_value){.type = SQLITE_INTEGER, .integer = value.integer_value};
		return 0;
	}
	if (value.text_value.len > sizeof(state->text) - *used)
		return -E2BIG;
	if (type == COLUMN_REAL || strcmp(column_get_name(column), "args") == 0) /* JSON stays JSON */
		memcpy(state->text + *used, value.text_value.at, value.text_value.len);
	else
		len = scan_copy_unescaped_utf8(&value.text_value, state->text + *used);
	if (len < 0)
		return (int)len;
	*ret_value = (struct sqlite_value){.type = SQLITE_TEXT, .text = state->text + *used, .len = (size_t)len};
	if (type == COLUMN_REAL) {
		state->text[*used + (size_t)len] = '\0';
		ret_value->type = SQLITE_REAL;
		ret_value->real = strtod(state->text + *used, NULL);
	}
	*used += (size_t)len;
	return 0;
}

static int sqlite_add_entry(struct export_state *export, const struct audit_entry *entry)
{
	struct sqlite_state *state = export->state;
	struct sqlite_value value[SQLITE_COLUMNS_MAX];
	size_t used = 0;
	int r = 0;

	if (entry->json)
		return sqlite_store_header_or_trailer(state, entry);
	for (size_t i = 0; i < columns_count() && i < SQLITE_COLUMNS_MAX && r == 0; i++)
		r = sqlite_make_value(state, i, entry, &used, &value[i]);
	return r < 0 ? r : sqlite_table_add(&state->file, value, columns_count());
}

static struct sqlite_value sqlite_make_text_value(const char *text)
{
	return (struct sqlite_value){.type = text ? SQLITE_TEXT : SQLITE_NULL, .text = text,
				     .len = text ? strlen(text) : 0};
}

static struct sqlite_value sqlite_make_json_value(const json_t *line, const char *key)
{
	const json_t *field = json_object_get(line, key);

	if (json_is_integer(field))
		return (struct sqlite_value){.type = SQLITE_INTEGER, .integer = json_integer_value(field)};
	return sqlite_make_text_value(json_string_value(field));
}

/* Adds a row to the table "runs". */
static int sqlite_add_run(struct sqlite_state *state, const struct sqlite_run *run)
{
	const json_t *policy = json_object_get(run->header, "policy");
	_cleanup_free_ char *command = json_dumps(json_object_get(run->header, "command"), JSON_COMPACT);
	const struct sqlite_value values[] = {
		sqlite_make_text_value(run->path),
		sqlite_make_json_value(run->header, "run"),
		sqlite_make_json_value(run->header, "version"),
		sqlite_make_text_value(command),
		sqlite_make_json_value(policy, "name"),
		sqlite_make_json_value(policy, "sha256"),
		sqlite_make_json_value(run->header, "workdir"),
		sqlite_make_json_value(run->header, "kernel"),
		sqlite_make_json_value(run->header, "machine"),
		sqlite_make_json_value(run->header, "time"),
		sqlite_make_json_value(run->trailer, "time"),
		sqlite_make_json_value(run->trailer, "status"),
		sqlite_make_json_value(run->trailer, "exit_code"),
		sqlite_make_json_value(run->trailer, "signal"),
		sqlite_make_json_value(run->trailer, "records"),
		sqlite_make_json_value(run->trailer, "judged"),
		sqlite_make_json_value(run->trailer, "allowed"),
		sqlite_make_json_value(run->trailer, "denied"),
	};

	return sqlite_table_add(&state->file, values, sizeof(values) / sizeof(values[0]));
}

static int sqlite_end(struct export_state *export)
{
	struct sqlite_state *state = export->state;
	int r = sqlite_table_end(&state->file, "records", state->sql.data);

	sqlite_table_begin(&state->file);
	for (size_t i = 0; i < state->runs && r == 0; i++)
		r = sqlite_add_run(state, &state->run[i]);
	if (r == 0)
		r = sqlite_table_end(&state->file, "runs", sqlite_runs_sql);
	if (r < 0)
		return r;
	sqlite_file_add_view(&state->file, "denials", sqlite_denials_sql);
	return sqlite_file_end(&state->file);
}

static void sqlite_release(struct export_state *export)
{
	struct sqlite_state *state = export->state;

	if (!state)
		return;
	for (size_t i = 0; i < state->runs; i++) {
		json_decref(state->run[i].header);
		json_decref(state->run[i].trailer);
	}
	free(state->run);
	buf_release(&state->sql);
	sqlite_file_release(&state->file);
}

const struct export_format export_sqlite = {.name = "sqlite",
					    .needs_file = true,
					    .begin = sqlite_begin,
					    .entry = sqlite_add_entry,
					    .end = sqlite_end,
					    .release = sqlite_release};
