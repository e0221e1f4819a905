/* Makes a system call fail. Each test has a process of its own, in which the call fails from then on. */
#ifndef CALLGATE_TESTS_REFUSE_CALL_H
#define CALLGATE_TESTS_REFUSE_CALL_H

#include <check.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

/* Takes the filter for this process, in addition to what it has. */
static inline void install_filter(struct sock_filter *code, size_t count)
{
	struct sock_fprog program = {.len = (unsigned short)count, .filter = code};

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

/* error: the errno with which the call of this number fails. */
static inline void refuse_call(unsigned number, unsigned error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	install_filter(code, sizeof(code) / sizeof(code[0]));
}

#endif
