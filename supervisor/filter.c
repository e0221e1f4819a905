#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "supervisor/filter.h"
#include "syscalls/table.h"

#include "base/banned.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5) /* Linux 5.19 */
#endif

static void cleanup_filter(scmp_filter_ctx *filter)
{
	if (*filter)
		seccomp_release(*filter);
}

static int add_term(scmp_filter_ctx filter, int nr, const struct row_term *term)
{
	struct scmp_arg_cmp compare[ROW_COMPARES_MAX];

	for (unsigned i = 0; i < term->count; i++)
		compare[i] = (struct scmp_arg_cmp){
			.arg = term->compare[i].arg,
			.op = SCMP_CMP_MASKED_EQ,
			.datum_a = term->compare[i].mask,
			.datum_b = term->compare[i].value,
		};
	return seccomp_rule_add_exact_array(filter, SCMP_ACT_ALLOW, nr, term->count, compare);
}

/* What is notified needs no rule: it is the default. */
static int add_row(scmp_filter_ctx filter, const struct syscall_row *row)
{
	int r = 0;

	if (row->class == ROW_NATIVE)
		return seccomp_rule_add_exact_array(filter, SCMP_ACT_ALLOW, row->nr, 0, NULL);
	if (row->class == ROW_QUIET)
		return seccomp_rule_add_exact_array(filter, SCMP_ACT_ERRNO((uint32_t)row->error), row->nr, 0, NULL);
	if (row->class == ROW_FILTER)
		for (const struct row_term *term = row->allow; term->count && r == 0; term++)
			r = add_term(filter, row->nr, term);
	return r;
}

static int add_rows(scmp_filter_ctx filter)
{
	size_t count;
	const struct syscall_row *rows = table_rows(&count);
	/* A foreign call (i386, x32) is notified too: recorded and refused, instead of killing. */
	int r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_NOTIFY);

	/* A binary tree over the numbers: a native call passes 9 comparisons instead of up to 300. */
	if (r == 0)
		r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	for (size_t i = 0; i < count && r == 0; i++)
		if (rows[i].nr >= 0)
			r = add_row(filter, &rows[i]);
	return r;
}

static int export_program(scmp_filter_ctx filter, struct sock_fprog *ret_program)
{
	_cleanup_close_ int fd = memfd_create("callgate-filter", MFD_CLOEXEC);
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

int filter_build(struct sock_fprog *ret_program)
{
	__attribute__((cleanup(cleanup_filter))) scmp_filter_ctx filter = seccomp_init(SCMP_ACT_NOTIFY);
	int r;

	if (!filter)
		return -ENOMEM;
	r = add_rows(filter);
	return r < 0 ? r : export_program(filter, ret_program);
}

int filter_install(const struct sock_fprog *program)
{
	unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
	long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program);

	/* Before 5.19: a signal may interrupt a call that is being performed. */
	if (fd < 0 && errno == EINVAL)
		fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, program);
	return fd < 0 ? -errno : (int)fd;
}
