/* The same filter made by libseccomp, for comparison with confine/filter.c. */
#ifndef CALLGATE_TESTS_FILTER_ORACLE_H
#define CALLGATE_TESTS_FILTER_ORACLE_H

#include <errno.h>
#include <linux/filter.h>
#include <seccomp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "confine/filter.h"
#include "syscalls/table/table.h"

static void oracle_cleanup(scmp_filter_ctx *filter)
{
	if (*filter)
		seccomp_release(*filter);
}

static int oracle_add_term(scmp_filter_ctx filter, int nr, const struct row_term *term)
{
	struct scmp_arg_cmp compare[ROW_COMPARES_MAX];

	for (unsigned i = 0; i < term->compare_count; i++)
		compare[i] = (struct scmp_arg_cmp){
			.arg = term->compare[i].arg,
			.op = SCMP_CMP_MASKED_EQ,
			.datum_a = term->compare[i].mask,
			.datum_b = term->compare[i].value,
		};
	return seccomp_rule_add_exact_array(filter, SCMP_ACT_ALLOW, nr, term->compare_count, compare);
}

static int oracle_add_terms(scmp_filter_ctx filter, int nr, const struct row_term *term)
{
	int r = 0;

	for (; term->compare_count && r == 0; term++)
		r = oracle_add_term(filter, nr, term);
	return r;
}

/* True when the row's own terms apply to runs with these traits. */
static bool oracle_own(unsigned traits, const struct syscall_row *row)
{
	return row->class == ROW_FILTER && (row->judged_with_run_traits & traits) == 0;
}

/* The same for terms of the row's `more`. */
static bool oracle_also(unsigned traits, const struct row_more_terms *more)
{
	return (more->required_run_traits & ~traits) == 0 && (more->excluded_run_traits & traits) == 0;
}

static bool oracle_native(unsigned traits, const struct syscall_row *row)
{
	for (const struct row_more_terms *more = row->more_terms; more && more->terms; more++)
		if (oracle_also(traits, more) && more->terms->compare[0].mask == 0)
			return true;
	return row->class == ROW_NATIVE || (row->class == ROW_NATIVE_IN_OWN_IPC && traits & RUN_OWN_IPC) ||
	       (oracle_own(traits, row) && row->allowed_if->compare[0].mask == 0);
}

/* Notify is the default action: no rule. */
static int oracle_add_row(scmp_filter_ctx filter, unsigned traits, const struct syscall_row *row)
{
	int r = 0;

	if (oracle_native(traits, row))
		return seccomp_rule_add_exact_array(filter, SCMP_ACT_ALLOW, row->nr, 0, NULL);
	if (row->class == ROW_REFUSE_UNRECORDED)
		return seccomp_rule_add_exact_array(filter, SCMP_ACT_ERRNO((uint32_t)row->error), row->nr, 0, NULL);
	if (oracle_own(traits, row))
		r = oracle_add_terms(filter, row->nr, row->allowed_if);
	for (const struct row_more_terms *more = row->more_terms; r == 0 && more && more->terms; more++)
		if (oracle_also(traits, more))
			r = oracle_add_terms(filter, row->nr, more->terms);
	return r;
}

static int oracle_add_rows(scmp_filter_ctx filter, unsigned traits)
{
	size_t count;
	const struct syscall_row *rows = table_get_rows(&count);
	int r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_NOTIFY);

	for (size_t i = 0; i < count && r == 0; i++)
		if (rows[i].nr >= 0)
			r = oracle_add_row(filter, traits, &rows[i]);
	return r;
}

static int oracle_export_program(scmp_filter_ctx filter, struct sock_fprog *ret_program)
{
	_cleanup_close_ int fd = memfd_create("filter-oracle", MFD_CLOEXEC);
	_cleanup_free_ struct sock_filter *code = NULL;
	struct stat st;
	int r;

	if (fd < 0)
		return -errno;
	r = seccomp_export_bpf(filter, fd);
	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size == 0 || st.st_size % (off_t)sizeof(*code) || st.st_size / (off_t)sizeof(*code) > BPF_MAXINSNS)
		return -E2BIG;
	code = malloc((size_t)st.st_size);
	if (!code)
		return -ENOMEM;
	if (pread(fd, code, (size_t)st.st_size, 0) != st.st_size)
		return -EIO;
	ret_program->len = (unsigned short)((size_t)st.st_size / sizeof(*code));
	ret_program->filter = steal_pointer(&code);
	return 0;
}

static int oracle_build(unsigned traits, struct sock_fprog *ret_program)
{
	__attribute__((cleanup(oracle_cleanup))) scmp_filter_ctx filter = seccomp_init(SCMP_ACT_NOTIFY);
	int r;

	if (!filter)
		return -ENOMEM;
	r = oracle_add_rows(filter, traits);
	return r < 0 ? r : oracle_export_program(filter, ret_program);
}

#endif
