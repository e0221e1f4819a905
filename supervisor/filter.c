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
 *   arch != ours, nr >= BPF_NR_END -> notify; a binary search over groups of numbers with the same verdict, but for a
 *   few; at its leaves allow, errno, notify, or a row's terms one after the other, allow at the first that holds, notify
 *   after the last.
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

static void add(struct bpf_leaf *leaf, bool wanted, const struct row_term *terms)
{
	if (wanted)
		leaf->terms[leaf->lists++] = terms;
}

/* What is not allowed is notified, refusals included, so that it is on record. */
static struct bpf_leaf leaf_by_terms(const struct filter_options *options, const struct syscall_row *row)
{
	const struct row_term *terms = row->allow;
	struct bpf_leaf leaf = {.action = SECCOMP_RET_USER_NOTIF};

	add(&leaf, row->class == ROW_FILTER && !is_counted(options, row), terms);
	add(&leaf, terms == allow_newfstatat && options->fstat, allow_newfstatat_fd);
	add(&leaf, terms == allow_statx && options->fstat, allow_statx_fd);
	add(&leaf, terms == allow_socket && options->inet, allow_socket_tcp);
	add(&leaf, terms == allow_socket && options->inet_udp, allow_socket_udp);
	add(&leaf, terms == allow_getsockopt && options->inet, allow_getsockopt_inet);
	add(&leaf, terms == allow_setsockopt && options->inet, allow_setsockopt_inet);
	add(&leaf, terms == allow_ioctl && options->own_terminal, allow_ioctl_terminal);
	return leaf;
}

static struct bpf_leaf leaf(const void *ctx, int nr)
{
	const struct filter_options *options = ctx;
	const struct syscall_row *row = table_find(nr);

	if (is_native(options, row))
		return (struct bpf_leaf){.action = SECCOMP_RET_ALLOW};
	if (row && row->class == ROW_QUIET)
		return (struct bpf_leaf){.action = SECCOMP_RET_ERRNO | ((uint32_t)row->error & SECCOMP_RET_DATA)};
	return row ? leaf_by_terms(options, row) : (struct bpf_leaf){.action = SECCOMP_RET_USER_NOTIF};
}

bool filter_is_open(void)
{
	return is_open;
}

/* One that allows everything. */
static int build_open(struct sock_fprog *ret_program)
{
	struct sock_filter *code = calloc(1, sizeof(*code));

	if (!code)
		return -ENOMEM;
	*code = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	*ret_program = (struct sock_fprog){.len = 1, .filter = code};
	return 0;
}

int filter_build(const struct filter_options *options, struct sock_fprog *ret_program)
{
	const struct bpf_tree tree = {.ctx = options, .leaf = leaf, .foreign = SECCOMP_RET_USER_NOTIF};

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
