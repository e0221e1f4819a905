#include "syscalls/exec/args.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

static int push_front(struct exec_args *args, const char *text)
{
	char *copy;

	if (args->count == EXEC_ARGS_MAX)
		return -ELOOP;
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	args->text[EXEC_ARGS_MAX - ++args->count] = copy;
	return 0;
}

int exec_args_script(struct exec_args *args, const struct shebang *line, const char *name)
{
	int r = 0;

	/* A later script's name stands in front already: as the interpreter of the one before. */
	if (args->count == 0)
		r = push_front(args, name);
	if (r == 0 && line->has_arg)
		r = push_front(args, line->arg);
	if (r == 0)
		r = push_front(args, line->interp);
	return r;
}

int exec_args_take(struct exec_args *args, char ***ret_texts)
{
	char **texts = calloc(args->count + 1, sizeof(*texts));

	if (!texts)
		return -ENOMEM;
	memcpy(texts, args->text + EXEC_ARGS_MAX - args->count, args->count * sizeof(*texts));
	args->count = 0;
	*ret_texts = texts;
	return 0;
}

void exec_args_done(struct exec_args *args)
{
	for (size_t i = EXEC_ARGS_MAX - args->count; i < EXEC_ARGS_MAX; i++)
		free(args->text[i]);
	args->count = 0;
}
