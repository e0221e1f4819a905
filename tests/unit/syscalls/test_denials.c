/* Refused attempts: counted once each, with the grant that would allow them. The calls are made up. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "syscalls/account/result/denials.h"
#include "syscalls/account/result/probes.h"
#include "syscalls/call/call.h"
#include "tests/unit/row-named.h"
#include "tests/unit/unit.h"

static struct mount tree, proc = {.flags = MOUNT_PROC};
static char slash_tmp[] = "/tmp";
static struct mount scratch = {.flags = MOUNT_REDIRECT | MOUNT_PRIVATE, .virt = slash_tmp, .virt_len = 4};
static struct mount host = {.flags = MOUNT_REDIRECT, .virt = slash_tmp, .virt_len = 4};
static char python[] = "/usr/bin/python3.11", git[] = "/usr/bin/git";
static struct task task = {.tid = 8, .tgid = 7, .exe = python};
static struct denials *denials;

static void set_up(void)
{
	denials = denials_create();
	ck_assert_ptr_nonnull(denials);
}

static void tear_down(void)
{
	denials_free(denials);
}

static struct call *refused(const char *name, int error, const char *reason)
{
	static struct sandbox sandbox; /* without a view every path exists */
	static struct call call;

	memset(&call, 0, sizeof(call));
	call.sandbox = &sandbox;
	call.row = row_named(name);
	call.task = &task;
	call.outcome_location.seq = 42;
	call.decision = (struct policy_decision){.verdict = VERDICT_DENY, .error = error, .reason = reason};
	call.outcome.kind = OUTCOME_ERROR;
	call.outcome.value = -error;
	return &call;
}

static void with_path(struct call *call, const struct mount *mount, const char *path)
{
	unsigned i = call->path_count++;

	call->path[i].len = (size_t)snprintf(call->path[i].text, sizeof(call->path[i].text), "%s", path);
	call->resolved_place[i].mount = mount;
	call->resolved_place[i].virt_len =
		(size_t)snprintf(call->resolved_place[i].virt, sizeof(call->resolved_place[i].virt), "%s", path);
}

static const struct denial *only(uint64_t count)
{
	const struct denial *list;
	uint64_t unlisted;
	size_t found;

	list = denials_get_list(denials, &found, &unlisted);
	ck_assert_uint_eq(found, 1);
	ck_assert_uint_eq(unlisted, 0);
	ck_assert_uint_eq(list->count, count);
	return list;
}

struct suggest_case {
	const char *name, *path;
	int error;
	const char *reason;
	int flags;
	const char *op, *suggest;
};

static const struct suggest_case suggests[] = {
	{"stat", "/etc/shadow", ENOENT, "not_granted", 0, "read", NULL},
	{"openat", "/etc/shadow", ENOENT, "not_granted", O_RDONLY, "read", NULL},
	{"openat", "/etc/motd", ENOENT, "not_granted", O_RDONLY, "read", "-r /etc/motd"},
	{"openat", "/etc/motd", EROFS, "read_only", O_WRONLY, "write", NULL},
	{"openat", "/srv/motd", EROFS, "read_only", O_WRONLY, "write", "-W /srv/motd"},
	{"stat", "/etc", ENOENT, "not_granted", 0, "read", NULL},
	{"stat", "/home/a", ENOENT, "not_granted", 0, "read", NULL},
	{"stat", "/home/a/data", ENOENT, "not_granted", 0, "read", "-r /home/a/data"},
	{"stat", "/home/a/.ssh/known_hosts", ENOENT, "not_granted", 0, "read", NULL},
	{"stat", "/run/docker.sock", ENOENT, "not_granted", 0, "read", NULL},
	{"stat", "/dev/sda", ENOENT, "not_granted", 0, "read", NULL},
	{"openat", "/srv/new/file", ENOENT, "not_granted", O_RDWR | O_CREAT, "write", "-W /srv/new"},
	{"unlink", "/srv/lib/x", EROFS, "read_only", 0, "write", "-W /srv/lib"},
	{"unlink", "/usr/lib/x", EROFS, "read_only", 0, "write", NULL},
	{"unlink", "/vmlinuz", ENOENT, "not_granted", 0, "write", NULL},
	{"renameat2", "/srv/lib/x", EROFS, "read_only", 0, "write", "-W /srv/lib"},
	{"setxattrat", "/srv/lib/x", EROFS, "read_only", 0, "write", "-W /srv/lib/x"},
	{"file_getattr", "/srv/x", ENOENT, "not_granted", 0, "read", "-r /srv/x"},
	{"chdir", "/srv", ENOENT, "not_granted", 0, "read", "-r /srv"},
	{"chmod", "/srv/lib/x", EROFS, "read_only", 0, "write", "-W /srv/lib/x"},
	{"execve", "/usr/bin/curl", EACCES, "not_executable", 0, "exec", "-x /usr/bin/curl"},
	{"stat", "/a b/it's", ENOENT, "not_granted", 0, "read", "-r '/a b/it'\\''s'"},
	{"stat", "/x\n", ENOENT, "not_granted", 0, "read", "-r '/x\n'"},
};

START_TEST(test_suggest)
{
	const struct suggest_case *c = &suggests[_i];
	struct call *call = refused(c->name, c->error, c->reason);
	const struct denial *denial;

	call->arg[2] = (uint64_t)c->flags;
	with_path(call, &tree, c->path);
	denials_add(denials, call);
	denial = only(1);
	ck_assert_str_eq(denial->op, c->op);
	if (c->suggest) {
		ck_assert_str_eq(denial->suggested_option, c->suggest);
		ck_assert_ptr_null(denial->suggestion_reason);
	} else {
		ck_assert_ptr_null(denial->suggested_option);
		ck_assert_ptr_nonnull(denial->suggestion_reason);
	}
	ck_assert_str_eq(denial->target, c->path);
	ck_assert_str_eq(denial->resolved_path, c->path);
	ck_assert_int_eq(denial->error, c->error);
	ck_assert_uint_eq(denial->seq, 42);
	ck_assert_int_eq(denial->pid, 7);
}
END_TEST

START_TEST(test_deny_rule)
{
	struct call *call = refused("stat", EACCES, "denied_by_rule");

	call->decision.rule = "p.json: filesystem.deny[0] **/.env";
	with_path(call, &tree, "/work/.env");
	denials_add(denials, call);
	ck_assert_str_eq(only(1)->suggested_option, "drop or narrow the rule \"p.json: filesystem.deny[0] **/.env\"");
}
END_TEST

/* On record like any refusal, which is call.c's to see to; but the program was not denied anything. */
START_TEST(test_expected)
{
	struct call *call = refused("openat", ENOENT, DENIAL_REASON_PROBE);
	uint64_t unlisted;
	size_t count;

	with_path(call, &tree, "/run/nscd/socket");
	denials_add(denials, call);
	(void)denials_get_list(denials, &count, &unlisted);
	ck_assert_uint_eq(count, 0);
	ck_assert_uint_eq(unlisted, 0);
}
END_TEST

struct probe_case {
	const char *name, *path, *rule;
	int flags;
	bool probe;
};

static const struct probe_case probe_cases[] = {
	{"openat", "/proc/self/coredump_filter", NULL, O_RDONLY, true},
	{"openat", "/proc/7/coredump_filter", NULL, O_RDONLY, true},
	{"openat", "/proc/7/task/coredump_filter", NULL, O_RDONLY, false},
	{"openat", "/proc/7/coredump_filter", NULL, O_WRONLY, false},
	{"openat", "/proc/7/oom_score_adj", NULL, O_WRONLY, true},
	{"openat", "/proc/7/mem", NULL, O_RDONLY, false},
	{"openat", "/proc/7/environ", NULL, O_RDONLY, false},
	{"openat", "/sys/fs/cgroup/memory.max", NULL, O_RDONLY, true},
	{"openat", "/sys/fs/cgroup/memory.max", NULL, O_WRONLY, false},
	{"openat", "/sys/fs/cgroup/../../../etc/shadow", NULL, O_RDONLY, false},
	{"openat", "/sys/fs/cgroup/a/b", "p.json: filesystem.deny[0] /sys", O_RDONLY, false},
	{"openat", "/sys/fs/cgroupx", NULL, O_RDONLY, false},
	{"mkdir", "/sys/fs/cgroup/a", NULL, 0, false},
	{"execve", "/sys/fs/cgroup/a", NULL, 0, false},
	{"openat", "/proc/sys/crypto/fips_enabled", NULL, O_RDONLY, true},
	{"pkey_alloc", NULL, NULL, 0, true},
	{"ptrace", NULL, NULL, 0, false},
};

/* A list of names, each for one kind of access, and never where a rule denies it. */
START_TEST(test_probe)
{
	const struct probe_case *c = &probe_cases[_i];
	struct call *call = refused(c->name, ENOENT, "not_granted");
	uint64_t unlisted;
	size_t count;

	call->decision.rule = c->rule;
	call->arg[2] = (uint64_t)c->flags;
	if (c->path)
		with_path(call, &tree, c->path);
	ck_assert_msg(probe_is_refused_call(call) == c->probe, "%s %s", c->name, c->path ? c->path : "");
	denials_add(denials, call);
	(void)denials_get_list(denials, &count, &unlisted);
	ck_assert_uint_eq(count, c->probe ? 0 : 1);
	call->decision.verdict = VERDICT_ALLOW;
	ck_assert(!probe_is_refused_call(call));
}
END_TEST

START_TEST(test_second_path)
{
	struct call *call = refused("rename", EROFS, "read_only");

	with_path(call, &tree, "/work/a");
	with_path(call, &tree, "/srv/b");
	denials_add(denials, call);
	ck_assert_str_eq(only(1)->target, "/srv/b");
	ck_assert_str_eq(only(1)->suggested_option, "-W /srv");
}
END_TEST

START_TEST(test_nothing_to_grant)
{
	struct call *call = refused("openat", ENOENT, "proc_not_listed");

	with_path(call, &proc, "/proc/kcore");
	denials_add(denials, call);
	ck_assert_ptr_null(only(1)->suggested_option);
}
END_TEST

/* A grant of the name below a redirect means the host's file of that name, or is refused by the compiler. */
START_TEST(test_redirects)
{
	const struct mount *mount = _i == 0 ? &scratch : &host;
	struct call *call = refused("execve", EACCES, "not_executable");

	with_path(call, mount, "/tmp/K");
	denials_add(denials, call);
	if (_i == 0)
		ck_assert_str_eq(only(1)->suggested_option, "-x /tmp");
	else
		ck_assert_ptr_null(only(1)->suggested_option);
}
END_TEST

START_TEST(test_without_path)
{
	struct call *call = refused(_i ? "socket" : "kill", EPERM, "not_permitted");

	call->arg[0] = _i ? 2 : 0xffffffff00000001u; /* an int's high half is noise */
	call->arg[1] = _i ? 0x80001 : 9;
	denials_add(denials, call);
	ck_assert_str_eq(only(1)->target, _i ? "domain=2 type=0x80001 protocol=0" : "pid=1 sig=9");
	ck_assert_str_eq(only(1)->op, _i ? "net" : "signal");
	ck_assert_ptr_null(only(1)->suggested_option);
}
END_TEST

START_TEST(test_repeated_and_too_many)
{
	const struct denial *list;
	uint64_t unlisted;
	size_t count;

	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < DENIALS_LISTED_MAX + 10; i++) {
			struct call *call = refused("stat", ENOENT, "not_granted");
			char path[32];

			(void)snprintf(path, sizeof(path), "/secret/%u", i);
			with_path(call, &tree, path);
			denials_add(denials, call);
		}
	}
	list = denials_get_list(denials, &count, &unlisted);
	ck_assert_uint_eq(count, DENIALS_LISTED_MAX);
	ck_assert_uint_eq(unlisted, 30);
	for (size_t i = 0; i < count; i++)
		ck_assert_uint_eq(list[i].count, 3);
}
END_TEST

START_TEST(test_another_program_is_another_denial)
{
	const struct denial *list;
	struct task other = task;
	struct call *call;
	uint64_t unlisted;
	size_t count;

	for (int i = 0; i < 2; i++) {
		call = refused("stat", ENOENT, "not_granted");
		with_path(call, &tree, "/x");
		if (i == 1) {
			other.exe = git;
			call->task = &other;
		}
		denials_add(denials, call);
		call->task = &task;
	}
	list = denials_get_list(denials, &count, &unlisted);
	ck_assert_uint_eq(count, 2);
	ck_assert_str_eq(list[1].exe, "/usr/bin/git");
}
END_TEST

/*
 * Events of the network: the same one twice is one with a count, another reason is another, and none is a system call.
 */
START_TEST(test_events)
{
	static char target[] = "GET api.test:443/x", no_rule[] = "no_rule", capped[] = "cap_rate";
	struct denial event = {
		.seq = 3, .event = "request", .op = "net", .target = target, .reason = no_rule, .exe = git, .count = 2};
	const struct denial *list;
	uint64_t unlisted;
	size_t count;

	denials_add_event(denials, &event);
	denials_add_event(denials, &event);
	list = only(4);
	ck_assert_ptr_null(list->syscall_name);
	ck_assert_str_eq(list->event, "request");
	ck_assert_ptr_ne(list->target, target);
	ck_assert_str_eq(list->target, target);
	event.reason = capped;
	denials_add_event(denials, &event);
	denials_add(denials, refused("socket", EACCES, "network_not_granted"));
	list = denials_get_list(denials, &count, &unlisted);
	ck_assert_uint_eq(count, 3);
	ck_assert_str_eq(list[1].reason, "cap_rate");
	ck_assert_ptr_null(list[2].event);
	ck_assert_str_eq(list[2].syscall_name, "socket");
}
END_TEST

/* Past the cap each counts for as many as it stands for. */
START_TEST(test_many_events)
{
	static char reason[] = "no_rule";
	uint64_t unlisted;
	size_t count;

	for (int i = 0; i < DENIALS_LISTED_MAX + 10; i++) {
		char target[32];
		struct denial event = {
			.event = "dns", .op = "net", .target = target, .reason = reason, .exe = git, .count = 5};

		(void)snprintf(target, sizeof(target), "n%d.test", i);
		denials_add_event(denials, &event);
	}
	(void)denials_get_list(denials, &count, &unlisted);
	ck_assert_uint_eq(count, DENIALS_LISTED_MAX);
	ck_assert_uint_eq(unlisted, 50);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("denials");
	TCase *tests = tcase_create("denials");

	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_loop_test(tests, test_suggest, 0, sizeof(suggests) / sizeof(*suggests));
	tcase_add_test(tests, test_deny_rule);
	tcase_add_test(tests, test_expected);
	tcase_add_loop_test(tests, test_probe, 0, sizeof(probe_cases) / sizeof(*probe_cases));
	tcase_add_test(tests, test_second_path);
	tcase_add_test(tests, test_nothing_to_grant);
	tcase_add_loop_test(tests, test_redirects, 0, 2);
	tcase_add_loop_test(tests, test_without_path, 0, 2);
	tcase_add_test(tests, test_repeated_and_too_many);
	tcase_add_test(tests, test_another_program_is_another_denial);
	tcase_add_test(tests, test_events);
	tcase_add_test(tests, test_many_events);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
