#include <errno.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "supervisor/bpf.h"
#include "supervisor/filter.h"
#include "syscalls/handlers.h"
#include "syscalls/table.h"

#include "base/banned.h"

/*
 * Made by hand because libseccomp takes 1.2 ms for these rules, more than the exec that follows, and this 20 µs.
 * tests/unit/test_filter.c holds it against libseccomp's filter of the same table.
 *
 *   arch != ours, nr >= BPF_NR_END -> notify; a binary search over runs of numbers with the same verdict; at its leaves
 *   allow, errno, notify, or a row's terms one after the other, allow at the first that holds, notify after the last.
 *
 * Numbers that are always allowed cost nothing: Linux caches them (5.11, seccomp_cache_prepare).
 */

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5) /* Linux 5.19 */
#endif

/* configure --enable-open-filter, and the one object of tests/cases/callgate-open: to see what the second lock holds. */
#ifdef CALLGATE_OPEN_FILTER
static const bool is_open = true;
#else
static const bool is_open = false;
#endif

/* Rows whose terms this run does not go by, because their handlers count, or somebody has to know of the call. */
static bool is_counted(const struct filter_options *options, const struct syscall_row *row)
{
	if (row->allow == allow_clone || row->allow == allow_fork || row->allow == allow_vfork)
		return options->judge_forks;
	if (row->allow == allow_sched_getaffinity || row->allow == allow_sched_setaffinity)
		return options->hand_off;
	if (row->allow == allow_fallocate || row->allow == allow_landlock_add_rule)
		return options->judge_disk;
	if (row->allow == allow_sendmsg || row->allow == allow_sendmmsg) /* an address may be in them */
		return options->judge_messages;
	if (row->allow == allow_shutdown)
		return options->judge_listeners;
	return row->allow == allow_memfd_create && options->judge_memfds;
}

static bool is_native(const struct filter_options *options, const struct syscall_row *row)
{
	return row && (row->class == ROW_NATIVE || (row->class == ROW_PRIVATE && options->private_ipc));
}

static void leaf(const void *ctx, struct bpf *bpf, int nr)
{
	const struct filter_options *options = ctx;
	const struct syscall_row *row = table_find(nr);

	if (is_native(options, row))
		bpf_return(bpf, SECCOMP_RET_ALLOW);
	else if (row && row->class == ROW_QUIET)
		bpf_return(bpf, SECCOMP_RET_ERRNO | ((uint32_t)row->error & SECCOMP_RET_DATA));
	else if (row && row->class == ROW_FILTER && !is_counted(options, row))
		bpf_terms(bpf, row->allow);
	if (row && row->allow == allow_newfstatat && options->fstat)
		bpf_terms(bpf, allow_newfstatat_fd);
	if (row && row->allow == allow_statx && options->fstat)
		bpf_terms(bpf, allow_statx_fd);
	if (row && row->allow == allow_socket && options->inet)
		bpf_terms(bpf, allow_socket_tcp);
	if (row && row->allow == allow_socket && options->inet_udp)
		bpf_terms(bpf, allow_socket_udp);
	if (row && row->allow == allow_getsockopt && options->inet)
		bpf_terms(bpf, allow_getsockopt_inet);
	if (row && row->allow == allow_setsockopt && options->inet)
		bpf_terms(bpf, allow_setsockopt_inet);
	if (row && row->allow == allow_ioctl && options->own_terminal)
		bpf_terms(bpf, allow_ioctl_terminal);
	/* Everything else, refusals included, so that it is on record. */
	if (!is_native(options, row) && !(row && row->class == ROW_QUIET))
		bpf_return(bpf, SECCOMP_RET_USER_NOTIF);
}

static bool same(const void *ctx, int nr_a, int nr_b)
{
	const struct filter_options *options = ctx;
	const struct syscall_row *a = table_find(nr_a), *b = table_find(nr_b);
	enum row_class class_a = a ? a->class : ROW_REFUSE;
	enum row_class class_b = b ? b->class : ROW_REFUSE;

	if (class_a == ROW_FILTER || class_a == ROW_QUIET || class_b == ROW_FILTER || class_b == ROW_QUIET)
		return false;
	return is_native(options, a) == is_native(options, b);
}

bool filter_is_open(void)
{
	return is_open;
}

/* One that allows everything. */
static int build_open(struct sock_fprog *ret_program)
{
	struct bpf bpf = {.code = calloc(1, sizeof(*bpf.code))};

	if (!bpf.code)
		return -ENOMEM;
	bpf_return(&bpf, SECCOMP_RET_ALLOW);
	*ret_program = (struct sock_fprog){.len = 1, .filter = bpf.code};
	return 0;
}

int filter_build(const struct filter_options *options, struct sock_fprog *ret_program)
{
	const struct bpf_tree tree = {.ctx = options, .same = same, .leaf = leaf, .foreign = SECCOMP_RET_USER_NOTIF};

	return filter_is_open() ? build_open(ret_program) : bpf_build(&tree, ret_program);
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
