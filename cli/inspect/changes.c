/* Which files are other ones than when they were looked at. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup-json.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "cli/inspect/program.h"

/* Whether the name leads to another file, or to one whose content or attributes were changed since. */
static bool changes_has_changed(const struct inspect_program *inspection, const struct inspect_seen *seen)
{
	_cleanup_free_ char *path = inspection->find_file(inspection->data, seen->found, false, NULL);
	const struct stat *then = &seen->status;
	struct stat now;
	char *slash;

	if (then->st_ino == 0)
		return path && (stat(path, &now) == 0 || !io_error_means_absent(-errno));
	if (!path)
		return true;
	if (stat(path, &now) == 0)
		return now.st_dev != then->st_dev || now.st_ino != then->st_ino || now.st_size != then->st_size ||
		       now.st_ctim.tv_sec != then->st_ctim.tv_sec || now.st_ctim.tv_nsec != then->st_ctim.tv_nsec;
	/* a scratch directory is gone by now, with all files in it */
	slash = strrchr(path, '/');
	if (slash)
		*slash = '\0';
	return stat(path, &now) == 0;
}

void inspect_program_visit_changes(const struct inspect_program *inspection, void *data,
				   void (*tell)(void *data, const char *name, bool is_new))
{
	for (size_t i = 0; i < inspection->seen_count; i++)
		if (changes_has_changed(inspection, &inspection->seen[i]))
			tell(data, inspection->seen[i].name, inspection->seen[i].status.st_ino == 0);
}

void inspect_program_print_change(const struct inspect_program *inspection, const char *name, bool is_new)
{
	if (!inspection->is_quiet)
		cli_print_error(inspection->verb,
				is_new ? "inspect: %s: was made after it was looked for"
				       : "inspect: %s: was changed after it was looked at",
				name);
}

static void changes_print(void *data, const char *name, bool is_new)
{
	inspect_program_print_change(data, name, is_new);
}

void inspect_program_tell_changes(const struct inspect_program *inspection)
{
	if (!inspection->is_quiet)
		inspect_program_visit_changes(inspection, (void *)(uintptr_t)inspection, changes_print);
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
