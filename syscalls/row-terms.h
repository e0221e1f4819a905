/* How terms of the filters are written: table.h has what they mean. */
#ifndef CALLGATE_SYSCALLS_ROW_TERMS_H
#define CALLGATE_SYSCALLS_ROW_TERMS_H

#include "syscalls/table.h"

#define LOW 0xffffffffULL

/* On register n: the low word is v; the whole register is v; none of these bits; all of these bits. */
#define IS(n, v) {(n), LOW, (uint32_t)(v)}
#define WHOLE(n, v) {(n), UINT64_MAX, (uint64_t)(v)}
#define NONE(n, bits) {(n), (uint32_t)(bits), 0}
#define HAS(n, bits) {(n), (uint32_t)(bits), (uint32_t)(bits)}
#define MASKED(n, mask, v) {(n), (mask), (v)}

#define ONE(a) {1, {a}, false}
#define BOTH(a, b) {2, {a, b}, false}
#define THREE(a, b, c) {3, {a, b, c}, false}
#define UNLESS(a) {1, {a}, true}
#define END {0, {{0, 0, 0}}, false}

#endif
