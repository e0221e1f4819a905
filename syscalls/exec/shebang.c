#include "syscalls/exec/shebang.h"

#include <errno.h>

static bool shebang_is_blank(char byte)
{
	return byte == ' ' || byte == '\t';
}

/* The first byte from first to last that is not a blank, or NULL. */
static const char *shebang_skip_blanks(const char *first, const char *last)
{
	for (; first <= last; first++)
		if (!shebang_is_blank(*first))
			return first;
	return NULL;
}

/* The first blank or NUL from first to last, or NULL. */
static const char *shebang_find_end(const char *first, const char *last)
{
	for (; first <= last; first++)
		if (shebang_is_blank(*first) || !*first)
			return first;
	return NULL;
}

/* Copies the bytes from `from` to `end` (excluded), up to a NUL. */
static void shebang_copy_text(char out[SHEBANG_HEAD_BYTES], const char *from, const char *end)
{
	size_t len = strnlen(from, (size_t)(end - from));

	memcpy(out, from, len);
	out[len] = '\0';
}

bool shebang_has_mark(const char head[SHEBANG_HEAD_BYTES])
{
	return head[0] == '#' && head[1] == '!';
}

int shebang_parse(const char head[SHEBANG_HEAD_BYTES], struct shebang *ret_shebang)
{
	const char *last = head + SHEBANG_HEAD_BYTES - 1;
	const char *end, *name, *blank, *arg = NULL;

	if (!shebang_has_mark(head))
		return -ENOEXEC;
	end = memchr(head, '\n', strnlen(head, SHEBANG_HEAD_BYTES)); /* like the kernel's strnchr(), stops at a NUL */
	if (!end) {
		/* The line is longer than the head. The argument may be cut off, but not the name. */
		name = shebang_skip_blanks(head + 2, last);
		if (!name || !shebang_find_end(name, last))
			return -ENOEXEC;
		end = last;
	}
	while (shebang_is_blank(end[-1])) /* the loop ends at the '!' of "#!" at the latest */
		end--;
	name = shebang_skip_blanks(head + 2, end);
	if (!name || name == end)
		return -ENOEXEC;
	blank = shebang_find_end(name, end);
	if (blank && *blank)
		arg = shebang_skip_blanks(blank, end);
	shebang_copy_text(ret_shebang->interp, name, arg ? blank : end);
	ret_shebang->has_arg = arg != NULL;
	ret_shebang->arg[0] = '\0';
	if (arg)
		shebang_copy_text(ret_shebang->arg, arg, end);
	return 0;
}

static int exec_args_prepend(struct exec_args *args, const char *text)
{
	char *copy;

	if (args->count == SHEBANG_CHAIN_ARGS_MAX)
		return -ELOOP;
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	args->text[SHEBANG_CHAIN_ARGS_MAX - ++args->count] = copy;
	return 0;
}

int exec_args_add_script(struct exec_args *args, const struct shebang *line, const char *name)
{
	int r = 0;

	/* The name of a later script was added already, as the interpreter of the previous script. */
	if (args->count == 0)
		r = exec_args_prepend(args, name);
	if (r == 0 && line->has_arg)
		r = exec_args_prepend(args, line->arg);
	if (r == 0)
		r = exec_args_prepend(args, line->interp);
	return r;
}

int exec_args_move_to_array(struct exec_args *args, char ***ret_texts)
{
	char **texts = calloc(args->count + 1, sizeof(*texts));

	if (!texts)
		return -ENOMEM;
	memcpy(texts, args->text + SHEBANG_CHAIN_ARGS_MAX - args->count, args->count * sizeof(*texts));
	args->count = 0;
	*ret_texts = texts;
	return 0;
}

void exec_args_release(struct exec_args *args)
{
	for (size_t i = SHEBANG_CHAIN_ARGS_MAX - args->count; i < SHEBANG_CHAIN_ARGS_MAX; i++)
		free(args->text[i]);
	args->count = 0;
}
