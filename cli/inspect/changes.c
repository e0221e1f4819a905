/* Which files are other ones than when they were looked at. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup-json.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "cli/inspect/program.h"
#include "keeper/session-client.h"
#include "supervisor/report.h"

static bool changes_is_same(const struct stat *then, const struct stat *now)
{
	return now->st_dev == then->st_dev && now->st_ino == then->st_ino && now->st_size == then->st_size &&
	       now->st_ctim.tv_sec == then->st_ctim.tv_sec && now->st_ctim.tv_nsec == then->st_ctim.tv_nsec;
}

/* What became of the file that the name leads to. SESSION_CHANGE_MAX: nothing. */
static enum session_change changes_compare(const struct inspect_program *inspection, const struct inspect_seen *seen)
{
	_cleanup_free_ char *path = inspection->find_file(inspection->data, seen->found, false, NULL);
	struct stat now;
	char *slash;
	const int r = !path ? -ENOENT : stat(path, &now) < 0 ? -errno : 0;

	if (seen->status.st_ino == 0)
		return r == 0 || !io_error_means_absent(r) ? SESSION_CHANGE_ADDED : SESSION_CHANGE_MAX;
	if (r == 0)
		return changes_is_same(&seen->status, &now) ? SESSION_CHANGE_MAX : SESSION_CHANGE_OTHER;
	/* a scratch directory is gone by now, with all files in it */
	slash = path ? strrchr(path, '/') : NULL;
	if (slash)
		*slash = '\0';
	if (path && stat(path, &now) < 0)
		return SESSION_CHANGE_MAX;
	return io_error_means_absent(r) ? SESSION_CHANGE_REMOVED : SESSION_CHANGE_OTHER;
}

/* A list for each way in which files are other ones, all empty. A new reference; NULL: no memory. */
static json_t *changes_make_lists(void)
{
	json_t *lists = json_object();

	for (enum session_change change = 0; lists && change < SESSION_CHANGE_MAX; change++)
		(void)json_object_set_new(lists, session_change_get_key(change), json_array());
	return lists;
}

json_t *inspect_program_make_changes(const struct inspect_program *inspection, const bool *is_lost)
{
	json_t *found = changes_make_lists();

	for (size_t i = 0; found && i < inspection->seen_count; i++) {
		const char *name = inspection->seen[i].name;
		const enum session_change change = changes_compare(inspection, &inspection->seen[i]);
		json_t *text = NULL;

		if (is_lost && *is_lost)
			break;
		if (change == SESSION_CHANGE_MAX)
			continue;
		text = json_string(name);
		(void)json_array_append_new(json_object_get(found, session_change_get_key(change)),
					    text ? text : report_make_text_json(name)); /* no UTF-8 */
	}
	return found;
}

json_t *inspect_program_make_report(const struct inspect_program *inspection, const json_t *changes)
{
	_cleanup_json_ json_t *lists = changes_make_lists();
	json_t *report;

	if (!inspection->findings || (!inspection->refused && !inspection->warned))
		return NULL;
	report = json_pack("{s:b, s:O, s:I}", "refused", inspection->why != NULL, "findings", inspection->findings,
			   "unlisted", (json_int_t)inspect_program_count_unlisted(inspection));
	if (report)
		(void)json_object_update(report, lists);
	if (report && changes)
		(void)json_object_update(report, (json_t *)(uintptr_t)changes);
	return report;
}

void inspect_program_print_changes(const struct inspect_program *inspection, const json_t *changes)
{
	for (enum session_change change = 0; !inspection->is_quiet && change < SESSION_CHANGE_MAX; change++) {
		const json_t *name, *names = json_object_get(changes, session_change_get_key(change));
		size_t i;

		json_array_foreach(names, i, name)
		{
			cli_print_error(inspection->verb, "inspect: %s: %s", json_string_value(name),
					session_change_get_text(change));
		}
	}
}

void inspect_program_tell_changes(const struct inspect_program *inspection)
{
	_cleanup_json_ json_t *changes = inspection->is_quiet ? NULL : inspect_program_make_changes(inspection, NULL);

	inspect_program_print_changes(inspection, changes);
}

json_t *inspect_program_make_seen(const struct inspect_program *inspection)
{
	json_t *list = json_array();

	for (size_t i = 0; i < inspection->seen_count; i++) {
		const struct inspect_seen *seen = &inspection->seen[i];
		json_t *item = json_pack("{s:s, s:s, s:[I,I,I,I,I]}", "name", seen->name, "found", seen->found,
					 "status", (json_int_t)seen->status.st_dev, (json_int_t)seen->status.st_ino,
					 (json_int_t)seen->status.st_size, (json_int_t)seen->status.st_ctim.tv_sec,
					 (json_int_t)seen->status.st_ctim.tv_nsec);

		if (item) /* NULL: a name is no UTF-8, by which a session would not find it, either */
			(void)json_array_append_new(list, item);
	}
	return list;
}

/* Reads one of them. 0, -EBADMSG or -ENOMEM. */
static int changes_read_seen(const json_t *item, struct inspect_seen *ret_seen)
{
	const char *name = json_string_value(json_object_get(item, "name"));
	const char *found = json_string_value(json_object_get(item, "found"));
	const json_t *status = json_object_get(item, "status");

	if (!name || !found || json_array_size(status) != 5)
		return -EBADMSG;
	ret_seen->status.st_dev = (dev_t)json_integer_value(json_array_get(status, 0));
	ret_seen->status.st_ino = (ino_t)json_integer_value(json_array_get(status, 1));
	ret_seen->status.st_size = (off_t)json_integer_value(json_array_get(status, 2));
	ret_seen->status.st_ctim.tv_sec = (time_t)json_integer_value(json_array_get(status, 3));
	ret_seen->status.st_ctim.tv_nsec = (long)json_integer_value(json_array_get(status, 4));
	ret_seen->name = strdup(name);
	ret_seen->found = strdup(found);
	return ret_seen->name && ret_seen->found ? 0 : -ENOMEM;
}

int inspect_program_take_seen(struct inspect_program *inspection, const json_t *seen)
{
	const json_t *item;
	int r = 0;
	size_t i;

	if (!json_is_array(seen) || json_array_size(seen) > INSPECT_SEEN_MAX || inspection->seen)
		return -EBADMSG;
	inspection->seen = calloc(json_array_size(seen) + 1, sizeof(*inspection->seen));
	if (!inspection->seen)
		return -ENOMEM;
	json_array_foreach(seen, i, item)
	{
		r = r < 0 ? r : changes_read_seen(item, &inspection->seen[i]);
		inspection->seen_count = i + 1;
	}
	return r;
}
