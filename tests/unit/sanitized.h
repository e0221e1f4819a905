/* Defines SANITIZED: whether the test runs under AddressSanitizer. */
#ifndef CALLGATE_TESTS_UNIT_SANITIZED_H
#define CALLGATE_TESTS_UNIT_SANITIZED_H

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

#endif
