/*
 * Expands @workdir, @scratch, @interpreter, "~" and ${NAME} in paths and environment values, and checks the results.
 * They must be UTF-8: JSON, and so `callgate show`, cannot hold other bytes.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "policy/model.h"

#define NAME_BYTES_MAX 255 /* longest file name: NAME_MAX */

/* ---- ${NAME} ---- */

/* The value of ${NAME} in the caller's environment; an error is added if it is NULL. `path`: refuses a "*" in it. */
static const char *vars_find_env_value(struct compiler *compiler, const struct source_text *text, const char *name,
				       bool path)
{
	const char *value = compiler->host->env ? compiler->host->env(compiler->host->ctx, name) : NULL;

	if (!value || !*value)
		compiler_add_error(compiler, text->source_location, "${%s} is not set; set it or write the path itself",
				   name);
	else if (path && strchr(value, '*'))
		compiler_add_error(compiler, text->source_location,
				   "the value of ${%s} has a \"*\", which would act as a glob", name);
	else if (!text_is_utf8(value, strlen(value)))
		compiler_add_error(compiler, text->source_location, "the value of ${%s} is not UTF-8", name);
	else
		return value;
	return NULL;
}

/* Replaces every ${NAME} by its value. Owned by the caller; NULL with a message when a variable has no value. */
static char *vars_replace_env_references(struct compiler *compiler, const struct source_text *text, const char *from,
					 bool path)
{
	_cleanup_buf_ struct buf out = {0};
	const char *open, *close;
	char *done;

	while ((open = strstr(from, "${"))) {
		const char *value;
		char name[128];

		if (open > from && open[-1] == '$') { /* "$${" is an escaped "${" */
			buf_add(&out, from, (size_t)(open - 1 - from));
			buf_puts(&out, "${");
			from = open + 2;
			continue;
		}
		close = strchr(open, '}');
		if (!close || close == open + 2 || (size_t)(close - open) > sizeof(name)) {
			compiler_add_error(compiler, text->source_location,
					   "\"${\" without a name and \"}\"; write ${NAME}");
			return NULL;
		}
		(void)snprintf(name, sizeof(name), "%.*s", (int)(close - open - 2), open + 2);
		value = vars_find_env_value(compiler, text, name, path);
		if (!value)
			return NULL;
		buf_add(&out, from, (size_t)(open - from));
		buf_puts(&out, value);
		from = close + 1;
	}
	buf_puts(&out, from);
	done = buf_take_text(&out);
	return done ? done : arena_fail_no_memory(&compiler->policy->arena);
}

/* ---- paths ---- */

/* Checks one component of a policy's path. Returns false after it has added an error. */
static bool vars_check_component(struct compiler *compiler, const struct source_text *text, const char *name,
				 size_t len, unsigned flags)
{
	if ((len == 1 && name[0] == '.') || (len == 2 && name[0] == '.' && name[1] == '.'))
		compiler_add_error(compiler, text->source_location,
				   "\"%s\" has a \"%.*s\" in it; write the path without it", text->text, (int)len,
				   name);
	else if (len > NAME_BYTES_MAX)
		compiler_add_error(compiler, text->source_location,
				   "has a name longer than %d bytes, which no file can have", NAME_BYTES_MAX);
	else if (!(flags & VARS_ALLOW_GLOB) && glob_is_wild(name, len))
		compiler_add_error(compiler, text->source_location, "\"%s\" is a glob; one path is needed here",
				   text->text);
	else if (len > 2 && memmem(name, len, "**", 2))
		compiler_add_error(compiler, text->source_location,
			      "\"%.*s\": \"**\" must stand alone between slashes; use \"*\" within a name", (int)len,
			      name);
	else
		return true;
	return false;
}

/* Appends the components of a path, each after one slash; skips empty components. False with a message. */
static bool vars_add_components(struct compiler *compiler, const struct source_text *text, const char *path,
				unsigned flags, char out[PATH_MAX], size_t *ret_len)
{
	size_t len = *ret_len;

	while (*path) {
		size_t size = (size_t)(strchrnul(path, '/') - path);

		if (size && !vars_check_component(compiler, text, path, size, flags))
			return false;
		if (size && len + 1 + size >= PATH_MAX) {
			compiler_add_error(compiler, text->source_location,
					   "is longer than %d bytes, the maximum of a path", PATH_MAX - 1);
			return false;
		}
		if (size) {
			out[len++] = '/';
			memcpy(out + len, path, size);
			len += size;
		}
		path += size;
		if (*path)
			path++;
	}
	out[*ret_len = len] = '\0';
	return true;
}

/* A path, split into the variable that it begins with, if any, and the rest. */
struct vars_prefix {
	enum path_base place;
	bool is_interpreter;         /* the variable is @interpreter, which has many values */
	const char *base;            /* the value of the variable; NULL: none, and `rest_of_path` is the whole path */
	const char *text_shown_to_user; /* what `callgate show` prints for the variable; NULL: its value */
	const char *rest_of_path;
};

/* Adds an error about a variable that is unknown, or is not allowed here. Returns false. */
static bool vars_report_bad_variable(struct compiler *compiler, const struct source_text *text, const char *path)
{
	static const char *const known[] = {"@workdir", "@scratch", "@interpreter", NULL};
	char name[64];
	const char *nearest;

	(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(path, "/"), path);
	nearest = text_find_nearest_word(name, known);
	if (nearest && strcmp(nearest, name) != 0)
		compiler_add_error(compiler, text->source_location, "unknown variable \"%s\"; did you mean \"%s\"?",
				   name, nearest);
	else if (nearest)
		compiler_add_error(compiler, text->source_location, "%s cannot stand here%s", name,
			      strcmp(name, "@scratch") == 0
				      ? ": the scratch space has no name in the view; redirect a name to it"
				      : "");
	else
		compiler_add_error(compiler, text->source_location,
			      "unknown variable \"%s\"; there are @workdir, @scratch, @interpreter", name);
	return false;
}

/* Whether the path is the variable, or begins with it and a slash. *ret_rest: what follows the variable. */
static bool vars_path_begins_with_variable(const char *path, const char *word, const char **ret_rest)
{
	size_t len = strlen(word);

	if (strncmp(path, word, len) != 0 || (path[len] && path[len] != '/'))
		return false;
	*ret_rest = path + len;
	return true;
}

/*
 * Finds what a path begins with: a variable such as @workdir, "~", "/" or "**" with a slash. false: an error was added.
 */
static bool vars_parse_prefix(struct compiler *compiler, const struct source_text *text, const char *path,
			      unsigned flags, struct vars_prefix *prefix)
{
	const struct policy_host *host = compiler->host;
	const char *workdir = compiler->policy->settings.workdir;

	*prefix = (struct vars_prefix){.place = PATH_BASE_ROOT, .rest_of_path = path};
	if (flags & VARS_ALLOW_WORKDIR && vars_path_begins_with_variable(path, "@workdir", &prefix->rest_of_path)) {
		*prefix = (struct vars_prefix){PATH_BASE_WORKDIR, false, workdir, "@workdir", prefix->rest_of_path};
		return true;
	}
	if (flags & VARS_ALLOW_SCRATCH && vars_path_begins_with_variable(path, "@scratch", &prefix->rest_of_path)) {
		*prefix = (struct vars_prefix){PATH_BASE_SCRATCH, false, host->scratch_path, "@scratch",
					       prefix->rest_of_path};
		return true;
	}
	if (flags & VARS_ALLOW_INTERPRETER &&
	    vars_path_begins_with_variable(path, "@interpreter", &prefix->rest_of_path)) {
		prefix->is_interpreter = true;
		return true;
	}
	if (path[0] == '@')
		return vars_report_bad_variable(compiler, text, path);
	if (vars_path_begins_with_variable(path, "~", &prefix->rest_of_path)) {
		prefix->base = host->home;
		if (host->home && !strchr(host->home, '*') && text_is_utf8(host->home, strlen(host->home)))
			return true;
		compiler_add_error(compiler, text->source_location,
				   "\"~\" has no home directory to expand to; set HOME");
		return false;
	}
	if (path[0] == '/')
		return true;
	if (flags & VARS_ALLOW_NAME_ANYWHERE && strncmp(path, "**/", 3) == 0 && path[3])
		return true;
	compiler_add_error(compiler, text->source_location, "\"%s\" is relative; write an absolute path%s or ~/...%s",
			   text->text, flags & VARS_ALLOW_WORKDIR ? ", @workdir/..." : "",
			   flags & VARS_ALLOW_NAME_ANYWHERE ? ", or **/NAME for a name anywhere" : "");
	return false;
}

/* Joins the base and the rest of a path, checks the result, and calls `visit` with it. */
static void vars_make_path(struct compiler *compiler, const struct source_text *text, const struct vars_prefix *prefix,
			   unsigned flags, vars_visit_expanded_path *visit, void *ctx)
{
	struct arena *arena = &compiler->policy->arena;
	const char *base = prefix->base ? prefix->base : "";
	struct expanded_path done = {.place = prefix->place, .is_of_interpreter = prefix->is_interpreter};
	size_t base_len, len = 0;
	char path[PATH_MAX];

	if (!text_is_utf8(base, strlen(base)) || !text_is_utf8(prefix->rest_of_path, strlen(prefix->rest_of_path))) {
		compiler_add_error(compiler, text->source_location, "is not UTF-8; name its directory, or use a glob");
		return;
	}
	if (!vars_add_components(compiler, text, base, flags, path, &len))
		return;
	base_len = len;
	if (!vars_add_components(compiler, text, prefix->rest_of_path, flags, path, &len))
		return;
	if (len == 0)
		done.path = arena_dupn(arena, "/", 1);
	/* a path that begins with "**" has no slash before it */
	else if ((*base ? *base : *prefix->rest_of_path) != '/')
		done.path = arena_dupn(arena, path + 1, len - 1);
	else
		done.path = arena_dupn(arena, path, len);
	done.text_shown_to_user = done.path;
	if (prefix->text_shown_to_user)
		done.text_shown_to_user =
			arena_concat_texts(arena, prefix->text_shown_to_user, path + base_len, (char *)NULL);
	visit(compiler, ctx, &done);
}

void vars_expand_path(struct compiler *compiler, const struct source_text *text, unsigned flags,
		      vars_visit_expanded_path *visit, void *ctx)
{
	bool plain = !strchr(text->text, '$');
	_cleanup_free_ char *replaced = plain ? NULL : vars_replace_env_references(compiler, text, text->text, true);
	const char *path = plain ? text->text : replaced;
	const char *const *roots;
	struct vars_prefix prefix;

	if (!path || !vars_parse_prefix(compiler, text, path, flags, &prefix))
		return;
	if (!prefix.is_interpreter) {
		vars_make_path(compiler, text, &prefix, flags, visit, ctx);
		return;
	}
	roots = compiler->host->interpreter ? compiler->host->interpreter(compiler->host->ctx) : NULL;
	for (; roots && *roots; roots++) {
		prefix.base = *roots;
		vars_make_path(compiler, text, &prefix, flags, visit, ctx);
	}
}

/* ---- environment values ---- */

/* Appends base and rest as an entry of a list separated by colons. */
static void vars_append_path_list_entry(struct buf *out, const char *base, const char *rest, size_t rest_len)
{
	if (out->len)
		buf_puts(out, ":");
	buf_puts(out, base);
	buf_add(out, rest, rest_len);
}

/* Appends ROOT/rest (ROOT/bin, for example) for each directory where the interpreter is installed, if that exists. */
static void vars_add_interpreters(struct compiler *compiler, struct buf *out, const char *rest, size_t rest_len)
{
	const struct policy_host *host = compiler->host;
	const char *const *roots = host->interpreter ? host->interpreter(host->ctx) : NULL;

	for (; roots && *roots; roots++) {
		_cleanup_buf_ struct buf name = {0};
		_cleanup_free_ char *real = NULL;

		buf_puts(&name, *roots);
		buf_add(&name, rest, rest_len);
		real = name.data ? host->realpath(host->ctx, name.data) : NULL;
		if (real)
			vars_append_path_list_entry(out, *roots, rest, rest_len);
	}
}

const char *vars_expand_value(struct compiler *compiler, const struct source_text *text)
{
	bool plain = !strchr(text->text, '$');
	_cleanup_free_ char *replaced = plain ? NULL : vars_replace_env_references(compiler, text, text->text, false);
	const char *value = plain ? text->text : replaced;
	_cleanup_buf_ struct buf out = {0};
	const char *part, *rest, *end;

	if (!value)
		return NULL;
	if (value[0] != '@' && !strstr(value, ":@"))
		return arena_dup(&compiler->policy->arena, value);
	for (part = value;; part = end + 1) {
		end = strchrnul(part, ':');
		rest = part + strcspn(part, "/:");
		if ((size_t)(rest - part) == strlen("@workdir") && strncmp(part, "@workdir", strlen("@workdir")) == 0)
			vars_append_path_list_entry(&out, compiler->policy->settings.workdir, rest,
						    (size_t)(end - rest));
		else if ((size_t)(rest - part) == strlen("@interpreter") &&
			 strncmp(part, "@interpreter", strlen("@interpreter")) == 0)
			vars_add_interpreters(compiler, &out, rest, (size_t)(end - rest));
		else
			vars_append_path_list_entry(&out, "", part, (size_t)(end - part));
		if (!*end)
			break;
	}
	if (out.failed)
		return arena_fail_no_memory(&compiler->policy->arena);
	return arena_dup(&compiler->policy->arena, out.data ? out.data : "");
}
