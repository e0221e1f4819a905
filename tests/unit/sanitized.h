/*
 * Defines SANITIZED: whether the test runs under AddressSanitizer. Tests of many random cases, or of a race tried many
 * times, then run fewer of them: a tenth reaches the same code. few_of: how many of N a run without sanitizers does,
 * a quarter, or with CHECK_LONG in the environment all.
 */
#ifndef CALLGATE_TESTS_UNIT_SANITIZED_H
#define CALLGATE_TESTS_UNIT_SANITIZED_H

#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature) /* clang's way of saying it */
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

static inline int few_of(int all)
{
	return getenv("CHECK_LONG") ? all : all / 4;
}

#endif
