/* What each harness has: libFuzzer calls it with --enable-fuzz, replay.c does without. */
#ifndef CALLGATE_TESTS_FUZZ_FUZZ_H
#define CALLGATE_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A broken promise ends the process, so that either runner keeps the input that broke it. */
#define promise(holds)                                                                              \
	do {                                                                                        \
		if (!(holds)) {                                                                     \
			(void)fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #holds); \
			abort();                                                                    \
		}                                                                                   \
	} while (0)

#endif
