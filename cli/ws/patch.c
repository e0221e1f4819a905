#include "cli/ws/patch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/ws/hunks.h"
#include "cli/ws/show.h"

/* What files are called that have no hunks. */
static const char *const patch_kinds[] = {
	[HUNKS_BINARY] = "Binary", [HUNKS_LARGE] = "Large", [HUNKS_UNREAD] = "Unreadable"};

#define PATCH_BAR_COLUMNS_MAX 40u /* longest bar of plus and minus signs */

/* ---- names ---- */

/* True when git would quote the name. Also with spaces, at which patch(1) would cut it. */
static bool patch_must_quote(const char *path)
{
	for (; *path; path++)
		if ((unsigned char)*path <= ' ' || (unsigned char)*path >= 0x7f || *path == '"' || *path == '\\')
			return true;
	return false;
}

/* Adds a name as git writes it: in quotes, with octal escapes, if one of its bytes is not printable ASCII. */
static void patch_put_name(struct buf *out, const char *prefix, const char *path)
{
	if (!patch_must_quote(path)) {
		buf_printf(out, "%s%s", prefix, path);
		return;
	}
	buf_printf(out, "\"%s", prefix);
	for (; *path; path++) {
		const unsigned char byte = (unsigned char)*path;

		if (byte < ' ' || byte >= 0x7f)
			buf_printf(out, "\\%03o", byte);
		else
			buf_printf(out, byte == '"' || byte == '\\' ? "\\%c" : "%c", byte);
	}
	buf_puts(out, "\"");
}

/* Adds "--- a/name", or "--- /dev/null" where there is no entry. */
static void patch_put_file_line(struct buf *out, const char *mark, const char *prefix, const char *path,
				const struct workspace_entry *entry)
{
	buf_printf(out, "%s ", mark);
	if (entry)
		patch_put_name(out, prefix, path);
	else
		buf_puts(out, "/dev/null");
	buf_puts(out, "\n");
}

/* ---- one file ---- */

/* Two states of a file; NULL: it does not exist. */
struct patch_file {
	const char *old_path, *new_path; /* in their directory */
	const char *old_name, *new_name; /* in the patch */
	const struct workspace_entry *old, *new;
	bool is_same_content;
};

/* The mode that git gives an entry; 0: it has no form in a patch. */
static unsigned patch_get_mode(const struct workspace_entry *entry)
{
	if (S_ISLNK(entry->mode))
		return 0120000;
	if (!S_ISREG(entry->mode))
		return 0;
	return entry->mode & 0100 ? 0100755 : 0100644;
}

/* Adds the lines in front of the hunks. */
static void patch_put_header(struct buf *out, const struct patch_file *file)
{
	buf_puts(out, "diff --git ");
	patch_put_name(out, "a/", file->old_name);
	buf_puts(out, " ");
	patch_put_name(out, "b/", file->new_name);
	if (!file->old)
		buf_printf(out, "\nnew file mode %06o\n%s", patch_get_mode(file->new),
			   file->new->size == 0 ? "index 0000000..e69de29\n" : "");
	else if (!file->new)
		buf_printf(out, "\ndeleted file mode %06o\n%s", patch_get_mode(file->old),
			   file->old->size == 0 ? "index e69de29..0000000\n" : "");
	else if (patch_get_mode(file->old) != patch_get_mode(file->new) || S_ISLNK(file->new->mode))
		/* Of a link in any case: patch(1) would not know that it is one. */
		buf_printf(out, "\nold mode %06o\nnew mode %06o\n", patch_get_mode(file->old),
			   patch_get_mode(file->new));
	else
		buf_puts(out, "\n");
	if (file->old && file->new &&strcmp(file->old_name, file->new_name) != 0) {
		buf_puts(out, "similarity index 100%\nrename from ");
		patch_put_name(out, "", file->old_name);
		buf_puts(out, "\nrename to ");
		patch_put_name(out, "", file->new_name);
		buf_puts(out, "\n");
	}
}

/* Prints text that is a part of a patch. 0 or -errno. */
static int patch_write(const struct ws_patch *patch, const struct buf *text)
{
	if (text->failed)
		return -ENOMEM;
	if (text->len == 0)
		return 0;
	if (patch->to_terminal)
		return text_print(stdout, text->data, true);
	return fwrite(text->data, 1, text->len, stdout) == text->len ? 0 : -EIO;
}

/*
 * Prints a line instead of the hunks of files that are not text. Without "#", git would take it for a part of the patch
 * that it cannot apply, and apply nothing.
 */
static int patch_print_no_text(struct ws_patch *patch, const struct patch_file *file, enum hunks_kind kind)
{
	_cleanup_buf_ struct buf line = {0};

	patch->left_out++;
	patch->unread += kind == HUNKS_UNREAD;
	buf_printf(&line, "# %s files ", patch_kinds[kind]);
	patch_put_name(&line, "a/", file->old_name);
	buf_puts(&line, " and ");
	patch_put_name(&line, "b/", file->new_name);
	buf_puts(&line, " differ\n");
	return patch_write(patch, &line);
}

/* Prints the patch of one file. 0 or -errno. */
static int patch_print_file(struct ws_patch *patch, const struct patch_file *file)
{
	_cleanup_buf_ struct buf header = {0};
	struct hunks hunks = {.kind = HUNKS_TEXT};
	int r = 0;

	if (!file->is_same_content)
		r = hunks_make(patch->layer, file->old_path, file->old, file->new_path, file->new, &hunks);
	if (r < 0)
		return r;
	if (hunks.kind != HUNKS_TEXT)
		return patch_print_no_text(patch, file, hunks.kind);
	patch_put_header(&header, file);
	if (hunks.text.len > 0) {
		patch_put_file_line(&header, "---", "a/", file->old_name, file->old);
		patch_put_file_line(&header, "+++", "b/", file->new_name, file->new);
	}
	r = patch_write(patch, &header);
	if (r == 0)
		r = patch_write(patch, &hunks.text);
	buf_release(&hunks.text);
	return r;
}

/* ---- changes ---- */

/* True when a patch can say all that differs between two entries, times aside. */
static bool patch_can_say_differences(const struct workspace_change *change)
{
	const unsigned changed_bits = (unsigned)(change->base.mode ^ change->upper.mode);

	if (change->differences & (WORKSPACE_OWNER_DIFFERS | WORKSPACE_ATTRIBUTES_DIFFER))
		return false;
	return !(change->differences & WORKSPACE_MODE_DIFFERS) || (changed_bits & ~0111u) == 0;
}

/* The name of a path in the patch. Owned by the caller; NULL: no memory. */
static char *patch_make_name(const struct ws_patch *patch, const char *path)
{
	return patch->dir ? text_format("%s/%s", patch->dir + 1, path) : strdup(path);
}

/* Prints a file that was and is one, such as a modified one. */
static int patch_print_pair(struct ws_patch *patch, const struct workspace_change *change)
{
	const unsigned said = WORKSPACE_CONTENT_DIFFERS | WORKSPACE_MODE_DIFFERS;
	const char *const old_path = change->old_path ? change->old_path : change->path;
	_cleanup_free_ char *old_name = patch_make_name(patch, old_path), *name = patch_make_name(patch, change->path);
	const struct patch_file file = {.old_path = old_path,
					.new_path = change->path,
					.old_name = old_name,
					.new_name = name,
					.old = &change->base,
					.new = &change->upper,
					.is_same_content = !(change->differences & WORKSPACE_CONTENT_DIFFERS)};

	if (!old_name || !name)
		return -ENOMEM;
	if (!patch_get_mode(&change->upper) || !patch_can_say_differences(change))
		patch->left_out++;
	if (!patch_get_mode(&change->upper))
		return 0;
	if (!change->old_path && file.is_same_content &&
	    (!(change->differences & said) || patch_get_mode(&change->base) == patch_get_mode(&change->upper)))
		return 0;
	return patch_print_file(patch, &file);
}

/* Prints that an entry was deleted (is_new false) or added. */
static int patch_print_half(struct ws_patch *patch, const struct workspace_change *change, bool is_new)
{
	_cleanup_free_ char *name = patch_make_name(patch, change->path);
	const struct patch_file file = {.old_path = change->path,
					.new_path = change->path,
					.old_name = name,
					.new_name = name,
					.old = is_new ? NULL : &change->base,
					.new = is_new ? &change->upper : NULL};
	const unsigned git_mode = patch_get_mode(is_new ? &change->upper : &change->base);
	const size_t left_out = patch->left_out;
	int r = !name ? -ENOMEM : git_mode ? patch_print_file(patch, &file) : 0;

	if (!git_mode || (is_new && S_ISREG(git_mode) && change->upper.mode != git_mode))
		patch->left_out = left_out + 1; /* once, also when it has no text */
	return r;
}

int patch_print_change(struct ws_patch *patch, const struct workspace_change *change, enum ws_patch_part part)
{
	switch (change->kind) {
	case WORKSPACE_ADDED:
		return part == WS_PATCH_REST ? patch_print_half(patch, change, true) : 0;
	case WORKSPACE_DELETED:
		return part == WS_PATCH_DELETIONS ? patch_print_half(patch, change, false) : 0;
	case WORKSPACE_REPLACED:
		return part == WS_PATCH_RENAMES ? 0 : patch_print_half(patch, change, part == WS_PATCH_REST);
	case WORKSPACE_RENAMED:
		return part == WS_PATCH_RENAMES ? patch_print_pair(patch, change) : 0;
	case WORKSPACE_MODIFIED:
		return part == WS_PATCH_REST ? patch_print_pair(patch, change) : 0;
	case WORKSPACE_CHANGE_KIND_MAX:
		break;
	}
	return 0;
}

/* ---- numbers of lines ---- */

/* Prints one sign for each line, or fewer where there are many lines. */
static int patch_print_bar(uint64_t added, uint64_t removed)
{
	const uint64_t total = added + removed, most = PATCH_BAR_COLUMNS_MAX;
	uint64_t plus = added, minus = removed;

	if (total > most) {
		plus = added > 0 ? (added * most + total - 1) / total : 0;
		minus = removed > 0 ? (removed * most + total - 1) / total : 0;
	}
	while (plus-- > 0)
		if (putchar('+') == EOF)
			return -EIO;
	while (minus-- > 0)
		if (putchar('-') == EOF)
			return -EIO;
	return putchar('\n') == EOF ? -EIO : 0;
}

/* Prints what is behind the path: numbers of lines, or of bytes. */
static int patch_print_numbers(const struct workspace_change *change, const struct hunks *hunks)
{
	const uint64_t lines = hunks->added + hunks->removed;

	int r;

	if (hunks->kind != HUNKS_TEXT)
		return text_printf(stdout, "%5s %llu -> %llu bytes\n",
				   hunks->kind == HUNKS_BINARY ? "Bin" : patch_kinds[hunks->kind],
				   (unsigned long long)change->base.size, (unsigned long long)change->upper.size);
	r = text_printf(stdout, "%5llu ", (unsigned long long)lines);
	return r < 0 ? r : patch_print_bar(hunks->added, hunks->removed);
}

/* Compares the texts of a change that has any. 0 or -errno. */
static int patch_make_hunks(const struct ws_patch *patch, const struct workspace_change *change, struct hunks *hunks)
{
	const bool was = change->base.exists && patch_get_mode(&change->base);
	const bool is = change->upper.exists && patch_get_mode(&change->upper);

	if (change->kind == WORKSPACE_RENAMED || (!was && !is) ||
	    (change->kind == WORKSPACE_MODIFIED && !(change->differences & WORKSPACE_CONTENT_DIFFERS)))
		return 0;
	return hunks_make(patch->layer, change->path, was ? &change->base : NULL, change->path,
			  is ? &change->upper : NULL, hunks);
}

int patch_print_stat(struct ws_patch *patch, const struct workspace_change *change, int path_width)
{
	_cleanup_free_ char *path = show_make_path(patch->dir, change);
	struct hunks hunks = {.kind = HUNKS_TEXT};
	int r = path ? patch_make_hunks(patch, change, &hunks) : -ENOMEM;

	if (r < 0)
		return r;
	patch->unread += hunks.kind == HUNKS_UNREAD;
	patch->added += hunks.added;
	patch->removed += hunks.removed;
	r = text_printf(stdout, " %-*s | ", path_width, path);
	if (r == 0)
		r = patch_print_numbers(change, &hunks);
	buf_release(&hunks.text);
	return r;
}
