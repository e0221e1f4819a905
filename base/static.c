/*
 * Of the program that is linked statically, in place of shared.c and module.c: it has nothing itself and becomes the one
 * that has.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/beside.h"
#include "base/module.h"
#include "base/shared.h"

#include "base/banned.h"

#define FILE_NAME "callgate-shared"

static struct {
	char **argv;
	void (*undo)(void *ctx);
	void *ctx;
	bool settled;
} program;

/* A copy: options are put into order as they are read, and the verb gets another name. */
void shared_program_arguments(int argc, char **argv)
{
	program.argv = calloc((size_t)argc + 1, sizeof(*argv));
	if (program.argv)
		memcpy(program.argv, argv, (size_t)argc * sizeof(*argv));
}

void shared_program_undo(void (*undo)(void *ctx), void *ctx)
{
	program.undo = undo;
	program.ctx = ctx;
}

void shared_program_settled(void)
{
	program.settled = true;
}

int shared_program(const char **ret_why)
{
	static char trouble[PATH_MAX + 256];
	char path[PATH_MAX];
	int error;

	*ret_why = "has changed since it was first read; try again";
	if (program.settled)
		return -EBUSY;
	*ret_why = trouble;
	if (beside_find(FILE_NAME, path) < 0) {
		(void)snprintf(trouble, sizeof(trouble), "cannot go on: " BESIDE_WRITABLE, path);
		return -EPERM;
	}
	errno = ENOMEM;
	if (program.argv && access(path, X_OK) == 0) { /* who can do without it needs what would be undone */
		if (program.undo)
			program.undo(program.ctx);
		(void)fflush(NULL); /* who writes to it tells of errors */
		(void)execv(path, program.argv);
	}
	error = -errno;
	(void)snprintf(trouble, sizeof(trouble), "needs %s, which cannot be started: %s", path, strerror(-error));
	return error;
}

const void *module_part(enum module_part part, const char **ret_why)
{
	(void)part;
	(void)shared_program(ret_why);
	return NULL;
}
