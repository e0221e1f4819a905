#include "tests/unit/confine/filter-rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/confine/bpf-run.h"
#include "tests/unit/confine/filter-oracle.h"

struct filter_rig filter_rig;
static struct sock_fprog oracle;

void filter_rig_build(unsigned traits)
{
	filter_rig.traits = traits;
	ck_assert_int_eq(filter_build_program(traits, &filter_rig.program), 0);
	ck_assert_int_eq(oracle_build(traits, &oracle), 0);
}

void filter_rig_drop(void)
{
	free(filter_rig.program.filter);
	free(oracle.filter);
}

uint32_t filter_rig_judge(uint32_t arch, uint32_t nr, const uint64_t arg[6])
{
	struct seccomp_data data = {.arch = arch, .nr = (int)nr};
	unsigned steps;
	uint32_t result;

	if (arg)
		memcpy(data.args, arg, sizeof(data.args));
	result = bpf_run(&filter_rig.program, &data, &steps);
	/* No ck_assert here: it writes a file each time. */
	if (result == BPF_RUN_BAD || result != bpf_run(&oracle, &data, &steps))
		ck_abort_msg("%u: %#x, but libseccomp's: %#x", nr, result, bpf_run(&oracle, &data, &steps));
	if (arch == arch_get_audit_arch() && arg &&
	    filter_notifies_call(filter_rig.traits, (int)nr, arg) != (result == NOTIFIED))
		ck_abort_msg("%u: %#x, but filter_notifies_call does not say so", nr, result);
	if (arch == arch_get_audit_arch() && result == NOTIFIED && !filter_may_notify(filter_rig.traits, (int)nr))
		ck_abort_msg("%u: %#x, but filter_may_notify does not say so", nr, result);
	return result;
}

/* A second implementation of the table's rules, for comparison. */
static bool term_holds(const struct row_term *term, const uint64_t arg[6])
{
	for (unsigned i = 0; i < term->compare_count; i++)
		if ((arg[term->compare[i].arg] & term->compare[i].mask) != term->compare[i].value)
			return false;
	return true;
}

static bool any_holds(const struct row_term *term, const uint64_t arg[6])
{
	for (; term->compare_count; term++)
		if (term_holds(term, arg))
			return true;
	return false;
}

uint32_t filter_rig_expect(uint32_t nr, const uint64_t arg[6])
{
	const struct syscall_row *row = table_find_row((int)nr);

	if (!row)
		return NOTIFIED;
	if (oracle_native(filter_rig.traits, row))
		return NATIVELY;
	if (row->class == ROW_REFUSE_UNRECORDED)
		return SECCOMP_RET_ERRNO | (uint32_t)row->error;
	if (oracle_own(filter_rig.traits, row) && any_holds(row->allowed_if, arg))
		return NATIVELY;
	for (const struct row_more_terms *more = row->more_terms; more && more->terms; more++)
		if (oracle_also(filter_rig.traits, more) && any_holds(more->terms, arg))
			return NATIVELY;
	return NOTIFIED;
}

void filter_rig_try(const struct attempt *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct attempt *attempt = &list[i];
		const struct syscall_row *row = row_named(attempt->name);

		ck_assert_msg(row != NULL, "%s", attempt->name);
		if (row->nr >= 0)
			ck_assert_msg(filter_rig_judge(arch_get_audit_arch(), (uint32_t)row->nr, attempt->arg) ==
					      (attempt->native ? NATIVELY : NOTIFIED),
				      "%s(%#llx, %#llx, %#llx, %#llx)", attempt->name,
				      (unsigned long long)attempt->arg[0], (unsigned long long)attempt->arg[1],
				      (unsigned long long)attempt->arg[2], (unsigned long long)attempt->arg[3]);
	}
}
