/*
 * How tables of terms (struct row_term) are written. An int or unsigned is compared in its low word, as the kernel takes it: a
 * 64-bit comparison is passed by with a high bit set (CVE-2019-7303, CVE-2019-10063). A pointer or long is compared whole.
 */
#ifndef CALLGATE_SYSCALLS_TABLE_TERMS_H
#define CALLGATE_SYSCALLS_TABLE_TERMS_H

#include <stdint.h>

#include "syscalls/table/table.h"

#define LOW 0xffffffffULL

/* On register n: the low word is v; the whole register is v; none of these bits; all of these bits. */
#define IS(n, v) {(n), LOW, (uint32_t)(v)}
#define WHOLE(n, v) {(n), UINT64_MAX, (uint64_t)(v)}
#define NONE(n, bits) {(n), (uint32_t)(bits), 0}
#define HAS(n, bits) {(n), (uint32_t)(bits), (uint32_t)(bits)}
#define MASKED(n, mask, v) {(n), (mask), (v)}

#define ONE(a) {1, {a}}
#define BOTH(a, b) {2, {a, b}}
#define THREE(a, b, c) {3, {a, b, c}}
#define END {0, {{0, 0, 0}}}

#endif
