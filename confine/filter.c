#include <errno.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confine/bpf.h"
#include "confine/filter.h"
#include "syscalls/table/handlers.h"
#include "syscalls/table/table.h"

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

/* What gets memory that no process shows. Native in a run without judge_memory, so that Linux caches it. */
static bool is_memory(const struct syscall_row *row)
{
	return row->allow == allow_mmap || row->allow == allow_memfd_create || row->allow == allow_sendfile ||
	       row->allow == allow_splice || row->allow == allow_vmsplice;
}

/* Rows whose terms this run does not go by, because their handlers count, or somebody has to know of the call. */
static bool is_counted(const struct filter_options *options, const struct syscall_row *row)
{
	if (row->allow == allow_clone || row->allow == allow_fork || row->allow == allow_vfork)
		return options->judge_forks || (row->allow == allow_clone && options->judge_memory);
	if (row->allow == allow_sched_getaffinity || row->allow == allow_sched_setaffinity)
		return options->hand_off;
	if (row->allow == allow_rt_sigreturn)
		return options->restart;
	if (row->allow == allow_fallocate)
		return options->judge_disk;
	if (row->allow == allow_sendmsg || row->allow == allow_sendmmsg) /* an address may be in them */
		return options->judge_messages;
	if (row->allow == allow_shutdown)
		return options->judge_listeners;
	return is_memory(row) && options->judge_memory;
}

static bool is_native(const struct filter_options *options, const struct syscall_row *row)
{
	return row && (row->class == ROW_NATIVE || (row->class == ROW_PRIVATE && options->private_ipc) ||
		       (row->class == ROW_FILTER && is_memory(row) && !options->judge_memory));
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
	add(&leaf, terms == allow_clone && options->judge_memory && !options->judge_forks, allow_clone_sampled);
	add(&leaf, terms == allow_setsockopt && options->inet, allow_setsockopt_inet);
	add(&leaf, terms == allow_mmap && options->judge_memory, allow_mmap_sampled);
	add(&leaf, terms == allow_setsockopt && !options->judge_memory, allow_setsockopt_buffers);
	add(&leaf, terms == allow_fcntl && !options->judge_memory, allow_fcntl_pipes);
	add(&leaf, terms == allow_fcntl && !options->judge_memory, allow_fcntl_locks);
	add(&leaf, terms == allow_prctl && !options->judge_memory, allow_prctl_huge);
	add(&leaf, terms == allow_setsockopt && !options->judge_listeners, allow_setsockopt_alone);
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

bool filter_may_notify(const struct filter_options *options, int nr)
{
	return !filter_is_open() && (nr < 0 || nr >= BPF_NR_END || leaf(options, nr).action == SECCOMP_RET_USER_NOTIF);
}

bool filter_notifies(const struct filter_options *options, int nr, const uint64_t arg[6])
{
	struct bpf_leaf verdict;

	if (!filter_may_notify(options, nr))
		return false;
	if (nr < 0 || nr >= BPF_NR_END)
		return true;
	verdict = leaf(options, nr);
	for (unsigned i = 0; i < verdict.lists; i++)
		if (table_match(verdict.terms[i], arg))
			return false;
	return true;
}

bool filter_can_wait(void)
{
	unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;

	/* Unknown flags are EINVAL before the program is looked at, which is not there. */
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, NULL) < 0 && errno == EFAULT;
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
