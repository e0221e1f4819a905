/* Starting a worker thread. */
#ifndef CALLGATE_SUPERVISOR_WORKERS_THREAD_H
#define CALLGATE_SUPERVISOR_WORKERS_THREAD_H

#include <errno.h>
#include <pthread.h>
#include <stddef.h>

/* Starts a thread with a stack of this size, to be joined by the caller. 0 or -errno. */
static inline int thread_start(pthread_t *ret_thread, size_t stack_bytes, void *(*run)(void *argument), void *argument)
{
	pthread_attr_t attributes;
	int r;

	if (pthread_attr_init(&attributes) != 0)
		return -ENOMEM;
	(void)pthread_attr_setstacksize(&attributes, stack_bytes);
	r = pthread_create(ret_thread, &attributes, run, argument);
	(void)pthread_attr_destroy(&attributes);
	return -r;
}

#endif
