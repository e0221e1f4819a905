/* The same filter made by libseccomp: the second opinion confine/filter.c is held against. */
#ifndef CALLGATE_TESTS_FILTER_ORACLE_H
#define CALLGATE_TESTS_FILTER_ORACLE_H

#include <errno.h>
#include <linux/filter.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "confine/filter.h"
#include "syscalls/table/handlers.h"

static void oracle_cleanup(scmp_filter_ctx *filter)
{
	if (*filter)
		seccomp_release(*filter);
}

static int oracle_add_term(scmp_filter_ctx filter, int nr, const struct row_term *term)
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

static int oracle_add_terms(scmp_filter_ctx filter, int nr, const struct row_term *term)
{
	int r = 0;

	for (; term->count && r == 0; term++)
		r = oracle_add_term(filter, nr, term);
	return r;
}

/* What a row lets pass besides, in a run with these options. */
static const struct row_term *oracle_more(const struct filter_options *options, const struct syscall_row *row, unsigned i)
{
	const struct {
		bool on;
		const char *name;
		const struct row_term *terms;
	} more[] = {
		{options->own_terminal, "ioctl", allow_ioctl_terminal},
		{options->fstat, "newfstatat", allow_newfstatat_fd},
		{options->fstat, "statx", allow_statx_fd},
		{options->inet, "socket", allow_socket_tcp},
		{options->inet_udp, "socket", allow_socket_udp},
		{options->inet, "getsockopt", allow_getsockopt_inet},
		{options->inet, "setsockopt", allow_setsockopt_inet},
		{options->judge_memory, "mmap", allow_mmap_sampled},
		{options->judge_memory && !options->judge_forks, "clone", allow_clone_sampled},
		{!options->judge_memory, "setsockopt", allow_setsockopt_buffers},
		{!options->judge_memory, "fcntl", allow_fcntl_pipes},
		{!options->judge_memory, "fcntl", allow_fcntl_locks},
		{!options->judge_memory, "prctl", allow_prctl_huge},
		{!options->judge_listeners, "setsockopt", allow_setsockopt_alone},
	};
	static const struct row_term none[] = {{0, {{0, 0, 0}}}};

	if (i == sizeof(more) / sizeof(more[0]))
		return NULL;
	return more[i].on && strcmp(row->name, more[i].name) == 0 ? more[i].terms : none;
}

/* What gets memory that no process shows. */
static bool oracle_memory(const struct syscall_row *row)
{
	static const char *const names[] = {"mmap", "memfd_create", "sendfile", "splice", "vmsplice"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(row->name, names[i]) == 0)
			return true;
	return false;
}

static bool oracle_native(const struct filter_options *options, const struct syscall_row *row)
{
	return row->class == ROW_NATIVE || (row->class == ROW_PRIVATE && options->private_ipc) ||
	       (!options->judge_memory && oracle_memory(row));
}

/* Whether its own terms do not count. */
static bool oracle_judged(const struct filter_options *options, const struct syscall_row *row)
{
	static const char *const masks[] = {"sched_getaffinity", "sched_setaffinity"};

	for (size_t i = 0; options->hand_off && i < sizeof(masks) / sizeof(masks[0]); i++)
		if (strcmp(row->name, masks[i]) == 0)
			return true;
	if (strcmp(row->name, "rt_sigreturn") == 0)
		return options->restart;
	if (strcmp(row->name, "shutdown") == 0)
		return options->judge_listeners;
	if (options->judge_memory && oracle_memory(row))
		return true;
	if (options->judge_memory && strcmp(row->name, "clone") == 0)
		return true;
	return options->judge_messages && (strcmp(row->name, "sendmsg") == 0 || strcmp(row->name, "sendmmsg") == 0);
}

/* What is notified needs no rule: it is the default. */
static int oracle_add_row(scmp_filter_ctx filter, const struct filter_options *options, const struct syscall_row *row)
{
	int r = 0;

	if (oracle_native(options, row))
		return seccomp_rule_add_exact_array(filter, SCMP_ACT_ALLOW, row->nr, 0, NULL);
	if (row->class == ROW_QUIET)
		return seccomp_rule_add_exact_array(filter, SCMP_ACT_ERRNO((uint32_t)row->error), row->nr, 0, NULL);
	if (row->class == ROW_FILTER && !oracle_judged(options, row))
		r = oracle_add_terms(filter, row->nr, row->allow);
	for (unsigned i = 0; r == 0 && oracle_more(options, row, i); i++)
		r = oracle_add_terms(filter, row->nr, oracle_more(options, row, i));
	return r;
}

static int oracle_add_rows(scmp_filter_ctx filter, const struct filter_options *options)
{
	size_t count;
	const struct syscall_row *rows = table_rows(&count);
	int r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_NOTIFY);

	for (size_t i = 0; i < count && r == 0; i++)
		if (rows[i].nr >= 0)
			r = oracle_add_row(filter, options, &rows[i]);
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

static int oracle_build(const struct filter_options *options, struct sock_fprog *ret_program)
{
	__attribute__((cleanup(oracle_cleanup))) scmp_filter_ctx filter = seccomp_init(SCMP_ACT_NOTIFY);
	int r;

	if (!filter)
		return -ENOMEM;
	r = oracle_add_rows(filter, options);
	return r < 0 ? r : oracle_export_program(filter, ret_program);
}

#endif
