/* Closes descriptors and frees memory at the end of a scope (the cleanup attribute). All functions keep errno. */
#ifndef CALLGATE_BASE_CLEANUP_H
#define CALLGATE_BASE_CLEANUP_H

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_close(const int *fd)
{
	int saved;

	if (*fd < 0)
		return;
	saved = errno;
	(void)close(*fd); /* never retried: Linux releases the descriptor even on EINTR */
	errno = saved;
}

static inline void cleanup_free(void *memory)
{
	int saved = errno;

	free(*(void **)memory);
	errno = saved;
}

static inline void cleanup_fclose(FILE **file)
{
	int saved = errno;

	if (*file)
		(void)fclose(*file);
	errno = saved;
}

static inline void cleanup_closedir(DIR **dir)
{
	int saved = errno;

	if (*dir)
		(void)closedir(*dir);
	errno = saved;
}

/* Closes the descriptor, unless it is -1, and sets the variable to -1. */
static inline void close_fd(int *fd)
{
	cleanup_close(fd);
	*fd = -1;
}

/* Hands a descriptor over: the variable becomes -1, and the caller owns the returned descriptor. */
static inline int steal_fd(int *fd)
{
	int stolen = *fd;

	*fd = -1;
	return stolen;
}

static inline void *steal_pointer_(void *memory)
{
	void **slot = (void **)memory;
	void *stolen = *slot;

	*slot = NULL;
	return stolen;
}

/* Hands an owned pointer over: the variable becomes NULL, and the caller owns the returned pointer. */
#define steal_pointer(variable) ((__typeof__(*(variable)))steal_pointer_(variable))

#define _cleanup_close_ __attribute__((cleanup(cleanup_close)))
#define _cleanup_free_ __attribute__((cleanup(cleanup_free)))
#define _cleanup_fclose_ __attribute__((cleanup(cleanup_fclose)))
#define _cleanup_closedir_ __attribute__((cleanup(cleanup_closedir)))

#endif
