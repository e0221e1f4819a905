/*
 * How many descriptors sandboxes and programs may take of this process's limit of open files. The rest is left to
 * others, such as the connections of clients: a server without a descriptor could not even answer a refusal.
 */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "agents/sandbox/private.h"

/* The limit of open files before sandbox_raise_open_files_limit() raised it. rlim_max 0: it was not raised. */
static struct rlimit open_files_former_limit;
static uint64_t open_files_limit = UINT64_MAX, open_files_reserved_count, open_files_taken_count;

void sandbox_raise_open_files_limit(void)
{
	struct rlimit raised;

	if (getrlimit(RLIMIT_NOFILE, &raised) < 0)
		return;
	open_files_former_limit = raised;
	raised.rlim_cur = raised.rlim_max;
	/* EPERM: above fs.nr_open; the limit stays */
	open_files_limit = setrlimit(RLIMIT_NOFILE, &raised) < 0 ? open_files_former_limit.rlim_cur : raised.rlim_cur;
}

/* The limit of open files that sandbox_raise_open_files_limit() has set; UINT64_MAX if it was not called. */
uint64_t sandbox_get_open_files_limit(void)
{
	return open_files_limit;
}

void sandbox_reserve_open_files(uint64_t count)
{
	open_files_reserved_count = count;
}

const char *sandbox_describe_error(int error)
{
	if (error == EMFILE)
		return "too many programs run: the server's limit of open files (ulimit -Hn) is reached";
	if (error == ENFILE)
		return "the machine has as many open files as it may have (fs.file-max)";
	if (error == EUSERS)
		return "too much of this sandbox, or of this client, waits to be looked at; try again later";
	return strerror(error);
}

bool sandbox_error_is_lack_of_descriptors(int error)
{
	return error == EMFILE || error == ENFILE;
}

int open_files_take(unsigned count)
{
	if (open_files_reserved_count + open_files_taken_count + count > open_files_limit)
		return -EMFILE;
	open_files_taken_count += count;
	return 0;
}

/* Gives back descriptors that open_files_take() counted. */
void open_files_give_back(unsigned count)
{
	open_files_taken_count -= count;
}

void open_files_set_former_limit(struct rlimit *ret_present)
{
	*ret_present = (struct rlimit){.rlim_max = 0};
	if (open_files_former_limit.rlim_max != 0 && getrlimit(RLIMIT_NOFILE, ret_present) == 0)
		(void)setrlimit(RLIMIT_NOFILE, &open_files_former_limit); /* cannot fail: no limit is raised */
}

/* Sets the limit of open files back to what open_files_set_former_limit() found. */
void open_files_restore_limit(const struct rlimit *present)
{
	if (present->rlim_max != 0)
		(void)setrlimit(RLIMIT_NOFILE, present); /* cannot fail: the hard limit is the same */
}
