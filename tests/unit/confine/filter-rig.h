/* The filter of a run with some traits, in an interpreter, beside libseccomp's of the same table. */
#ifndef CALLGATE_TESTS_FILTER_RIG_H
#define CALLGATE_TESTS_FILTER_RIG_H

#include <check.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "confine/filter.h"
#include "syscalls/arch/arch.h"
#include "syscalls/table/table.h"
#include "tests/unit/row-named.h"
#include "tests/unit/unit.h"

#define NOTIFIED SECCOMP_RET_USER_NOTIF
#define NATIVELY SECCOMP_RET_ALLOW
#define HIGH (1ULL << 40)

/* The filter that was built last. */
struct filter_rig {
	unsigned traits;
	struct sock_fprog program;
};
extern struct filter_rig filter_rig;

/* Builds the filters of runs with these traits; frees them. */
void filter_rig_build(unsigned traits);
void filter_rig_drop(void);

/* What the filter says of a call, which libseccomp's must say as well. arg NULL: all are 0. */
uint32_t filter_rig_judge(uint32_t arch, uint32_t nr, const uint64_t arg[6]);

/* What the table says of it: a second implementation of its rules. */
uint32_t filter_rig_expect(uint32_t nr, const uint64_t arg[6]);

struct attempt {
	const char *name;
	uint64_t arg[6];
	bool native;
};

/* What is not native is notified. Calls that this architecture lacks are skipped. */
void filter_rig_try(const struct attempt *list, size_t count);

#endif
