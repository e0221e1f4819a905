/*
 * The directories of all runs that a user has. Runs use one of them at a time (scratch-base.c). While the name of that
 * one was taken, or its mode was wrong, they have used another one, in which workspaces and sessions stay.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "keeper/scratch-private.h"

/* Opens the directory that runs use now. Its path, owned by the caller; NULL: with *ret_errno and a message. */
static char *bases_open_present(struct scratch_bases *bases, int *ret_errno, struct policy_error *ret_error)
{
	struct scratch scratch = {.base_fd = -1, .fd = -1};

	*ret_errno = scratch_open_base(&scratch, ret_error);
	free(scratch.base_name_notice);
	if (*ret_errno == 0) {
		bases->fd[bases->count++] = scratch.base_fd;
		return scratch.base_path;
	}
	free(scratch.base_path);
	cleanup_close(&scratch.base_fd);
	if (!ret_error->text[0])
		(void)snprintf(ret_error->text, sizeof(ret_error->text), "%s", strerror(-*ret_errno));
	return NULL;
}

/* Adds the directories that runs have used at other times. present: the path of the one that they use now. */
static void bases_open_others(struct scratch_bases *bases, const char *present)
{
	_cleanup_scratch_base_list_ struct scratch_base_list list = {.path = NULL};
	_cleanup_free_ char *dir = strndup(present, (size_t)(strrchr(present, '/') - present));
	char known[sizeof("callgate-4294967295")], why[SCRATCH_REASON_SIZE];

	(void)snprintf(known, sizeof(known), "callgate-%u", (unsigned)geteuid());
	if (dir)
		(void)scratch_list_private_bases(*dir ? dir : "/", known, &list); /* without memory, some of them */
	for (size_t i = 0; i < list.count && bases->count < SCRATCH_BASES_MAX; i++) {
		const int fd =
			strcmp(list.path[i], present) == 0 ? -EEXIST : scratch_open_private_dir(list.path[i], why);

		if (fd >= 0)
			bases->fd[bases->count++] = fd;
	}
}

int scratch_open_bases(struct scratch_bases *ret_bases, struct policy_error *ret_error)
{
	_cleanup_free_ char *present = NULL;
	int error;

	ret_bases->count = 0;
	present = bases_open_present(ret_bases, &error, ret_error);
	if (!present)
		return error;
	bases_open_others(ret_bases, present);
	return 0;
}

void scratch_bases_release(struct scratch_bases *bases)
{
	for (size_t i = 0; i < bases->count; i++)
		cleanup_close(&bases->fd[i]);
	bases->count = 0;
}

int scratch_open_base_of(const char *path, struct policy_error *ret_error)
{
	_cleanup_scratch_bases_ struct scratch_bases bases = {.count = 0};
	int error;
	_cleanup_free_ char *present = bases_open_present(&bases, &error, ret_error);

	if (!present)
		return error;
	if (faccessat(bases.fd[0], path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return steal_fd(&bases.fd[0]);
	bases_open_others(&bases, present);
	for (size_t i = 1; i < bases.count; i++)
		if (faccessat(bases.fd[i], path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			return steal_fd(&bases.fd[i]);
	return steal_fd(&bases.fd[0]);
}
