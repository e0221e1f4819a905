/*
 * What a judged call asks of the kernel, without the C library: each function there lies on a page of its own and errno on another,
 * which are out of the caches between two calls of the program's.
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
