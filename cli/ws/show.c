#include "cli/ws/show.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "approval/show.h"
#include "base/buf.h"
#include "base/cleanup-json.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "supervisor/report.h"

/* How kinds and differences are called. */
static const struct {
	char letter;
	const char *name;
} show_kinds[WORKSPACE_CHANGE_KIND_MAX] = {
	[WORKSPACE_ADDED] = {'A', "added"},       [WORKSPACE_DELETED] = {'D', "deleted"},
	[WORKSPACE_MODIFIED] = {'M', "modified"}, [WORKSPACE_REPLACED] = {'T', "replaced"},
	[WORKSPACE_RENAMED] = {'R', "renamed"},
};
static const struct {
	unsigned bit;
	const char *name;
} show_differences[] = {
	{WORKSPACE_CONTENT_DIFFERS, "content"}, {WORKSPACE_MODE_DIFFERS, "mode"},
	{WORKSPACE_OWNER_DIFFERS, "owner"},     {WORKSPACE_ATTRIBUTES_DIFFER, "attributes"},
	{WORKSPACE_TIME_DIFFERS, "time"},
};
#define SHOW_DIFFERENCES (sizeof(show_differences) / sizeof(show_differences[0]))

static const char *show_get_type(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "file";
	case S_IFDIR:
		return "directory";
	case S_IFLNK:
		return "symlink";
	case S_IFIFO:
		return "fifo";
	case S_IFSOCK:
		return "socket";
	case S_IFCHR:
		return "character device";
	case S_IFBLK:
		return "block device";
	default:
		return "unknown";
	}
}

/* The entry that a change is about: the new one, or the deleted one. */
static const struct workspace_entry *show_get_entry(const struct workspace_change *change)
{
	return change->upper.exists ? &change->upper : &change->base;
}

/* Adds text, escaped for terminals. */
static void show_put_escaped(struct buf *out, const char *text)
{
	const size_t len = strlen(text);
	_cleanup_free_ char *escaped = malloc(len * TEXT_ESCAPED_BYTES_PER_BYTE_MAX + 1);

	if (escaped)
		buf_add(out, escaped, text_escape_for_display(escaped, text, len, false));
	out->failed |= !escaped;
}

/* Adds a path as people see it. */
static void show_put_path(struct buf *out, const char *dir, const char *path)
{
	if (dir)
		show_put_escaped(out, dir);
	if (dir && *path)
		buf_puts(out, "/");
	show_put_escaped(out, *path || dir ? path : ".");
}

char *show_make_path(const char *dir, const struct workspace_change *change)
{
	_cleanup_buf_ struct buf out = {0};

	if (change->old_path) {
		show_put_path(&out, dir, change->old_path);
		buf_puts(&out, " -> ");
	}
	show_put_path(&out, dir, change->path);
	if (S_ISDIR(show_get_entry(change)->mode))
		buf_puts(&out, "/");
	return buf_take_text(&out);
}

/* ---- lines ---- */

/* Adds one difference of a change. */
static void show_put_difference(struct buf *out, const struct workspace_change *change, size_t at)
{
	const struct workspace_entry *old = &change->base, *new = &change->upper;

	buf_printf(out, "%s%s", out->len > 0 ? ", " : "  ", show_differences[at].name);
	if (show_differences[at].bit == WORKSPACE_MODE_DIFFERS)
		buf_printf(out, " %04o -> %04o", (unsigned)old->mode & 07777, (unsigned)new->mode & 07777);
	else if (show_differences[at].bit == WORKSPACE_OWNER_DIFFERS)
		buf_printf(out, " %u:%u -> %u:%u", old->uid, old->gid, new->uid, new->gid);
}

int show_line(const char *dir, const struct workspace_change *change, bool is_conflict)
{
	const struct workspace_entry *entry = show_get_entry(change);
	_cleanup_free_ char *path = show_make_path(dir, change);
	_cleanup_buf_ struct buf more = {0};

	if (change->kind == WORKSPACE_REPLACED)
		buf_printf(&more, "  %s -> %s", show_get_type(change->base.mode), show_get_type(change->upper.mode));
	else if (!S_ISREG(entry->mode) && !S_ISDIR(entry->mode))
		buf_printf(&more, "  %s", show_get_type(entry->mode));
	for (size_t i = 0; i < SHOW_DIFFERENCES; i++)
		if (change->differences & show_differences[i].bit)
			show_put_difference(&more, change, i);
	if (is_conflict)
		buf_printf(&more, "%sconflict: %s outside since the run began", more.len > 0 ? ", " : "  ",
			   change->kind == WORKSPACE_ADDED ? "its old file was replaced or removed" : "changed");
	if (!path || more.failed)
		return -ENOMEM;
	return text_printf(stdout, "%c  %s%s\n", show_kinds[change->kind].letter, path, more.data ? more.data : "");
}

/* ---- JSON ---- */

/* An entry as JSON; null: it does not exist. sha256: NULL: not told. Owned by the caller; NULL: no memory. */
static json_t *show_make_entry(const struct workspace_entry *entry, const char *sha256)
{
	json_t *object;
	char mode[8];

	if (!entry->exists)
		return json_null();
	(void)snprintf(mode, sizeof(mode), "%04o", (unsigned)entry->mode & 07777);
	object = json_pack("{s:s, s:s, s:I, s:I, s:I}", "type", show_get_type(entry->mode), "mode", mode, "uid",
			   (json_int_t)entry->uid, "gid", (json_int_t)entry->gid, "size", (json_int_t)entry->size);
	if (object && sha256)
		(void)json_object_set_new(object, "sha256", *sha256 ? json_string(sha256) : json_null());
	return object;
}

int show_json(const char *dir, const struct workspace_change *change, json_t *conflict,
	      const struct ws_fingerprints *fingerprints, const struct show_result *result)
{
	json_t *differences = json_array();
	_cleanup_json_ json_t *object = NULL;
	_cleanup_free_ char *text = NULL;

	for (size_t i = 0; i < SHOW_DIFFERENCES; i++)
		if (change->differences & show_differences[i].bit)
			(void)json_array_append_new(differences, json_string(show_differences[i].name));
	object = json_pack("{s:o*, s:o, s:s, s:o, s:o, s:o, s:o, s:o}", "dir", dir ? report_make_text_json(dir) : NULL,
			   "path", report_make_text_json(change->path), "change", show_kinds[change->kind].name,
			   "old_path", report_make_text_json(change->old_path), "differences", differences, "old",
			   show_make_entry(&change->base, fingerprints ? fingerprints->old : NULL), "new",
			   show_make_entry(&change->upper, fingerprints ? fingerprints->new : NULL), "conflict",
			   conflict ? conflict : json_null());
	if (object && result) {
		(void)json_object_set_new(object, "result", json_string(result->word));
		(void)json_object_set_new(object, "why", report_make_text_json(result->why));
	}
	text = show_as_json(object, JSON_COMPACT); /* also for eyes */
	if (!text)
		return -ENOMEM;
	return text_printf(stdout, "%s\n", text);
}
