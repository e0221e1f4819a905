/*
 * System calls of a judged call, without the C library: each of its functions lies on a page of its own and leaves the error in another,
 * and between two calls of the program's they are out of the caches.
 */
#ifndef CALLGATE_BASE_KERNEL_H
#define CALLGATE_BASE_KERNEL_H

#include <stdint.h>

/* The kernel's answer: -errno on failure; errno stays as it is. */
long kernel_call(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f);

static inline uint64_t kernel_pointer(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer;
}

static inline uint64_t kernel_int(int value)
{
	return (uint64_t)(int64_t)value;
}

#endif
