/* A call that is kept is what it was, but failed with EINTR, and takes little memory: each thread of a run may wait. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "syscalls/call/kept.h"
#include "tests/unit/unit.h"

#define KEPT_BYTES_MAX 4096

static struct call judged, restored;

static void put_path(unsigned i, const char *text)
{
	judged.path[i].len = strlen(text);
	(void)memcpy(judged.path[i].text, text, strlen(text) + 1);
}

static void put_place(unsigned i, const struct mount *mount, const char *virt)
{
	struct place *place = &judged.resolved_place[i];

	place->mount = mount;
	place->virt_len = strlen(virt);
	(void)memcpy(place->virt, virt, strlen(virt) + 1);
}

START_TEST(keeps_what_the_log_tells)
{
	static const char virtual[] = "/w/dir/name";
	char exe[] = "/usr/bin/mv";
	struct task task = {.tid = 5, .tgid = 4, .exe = exe, .pidfd = 7};
	struct call_answer answer = {.answer_word = "once"};
	struct call_effect_check check = {.is_without_effect = true};
	const struct mount *const mount = (const struct mount *)(const void *)virtual; /* only compared */
	struct kept_call *kept;

	judged.task = &task;
	judged.answer = &answer;
	judged.effect_check = &check;
	judged.path_count = 2;
	judged.decision.verdict = VERDICT_ALLOW;
	judged.outcome.kind = OUTCOME_COPY_FIRST;
	put_path(0, "name");
	put_path(1, "to/other");
	judged.path[1].dirfd = 9;
	put_place(0, mount, virtual);
	judged.resolved_place[0].path_below_mount_fd = judged.resolved_place[0].virt + strlen("/w/");
	put_place(1, mount, "/w/to/other");
	judged.resolved_place[1].path_below_mount_fd = virtual;
	judged.text_arg_len = 6;
	(void)memcpy(judged.text_arg, "user.a", 7);

	kept = kept_call_create(&judged);
	ck_assert_ptr_nonnull(kept);
	ck_assert_uint_lt(malloc_usable_size(kept), KEPT_BYTES_MAX);
	(void)memset(&judged, 'x', sizeof(judged)); /* another call is judged meanwhile, and its task may be dead */
	(void)memset(exe, 'x', sizeof(exe) - 1);
	(void)memset(&restored, 'y', sizeof(restored));
	kept_call_restore(kept, &restored);

	ck_assert(restored.task->tid == 5 && restored.task->pidfd == -1 &&
		  strcmp(restored.task->exe, "/usr/bin/mv") == 0);
	ck_assert(restored.answer != &answer && strcmp(restored.answer->answer_word, "once") == 0);
	ck_assert(!restored.effect_check);
	ck_assert(restored.outcome.kind == OUTCOME_ERROR && restored.outcome.value == -EINTR);
	ck_assert(strcmp(restored.path[0].text, "name") == 0 && restored.path[0].len == 4);
	ck_assert(strcmp(restored.path[1].text, "to/other") == 0 && restored.path[1].dirfd == 9);
	ck_assert(strcmp(restored.resolved_place[0].virt, virtual) == 0 && restored.resolved_place[0].mount == mount);
	ck_assert(restored.resolved_place[0].path_below_mount_fd == restored.resolved_place[0].virt + strlen("/w/"));
	ck_assert(strcmp(restored.resolved_place[1].virt, "/w/to/other") == 0);
	ck_assert(restored.resolved_place[1].path_below_mount_fd == virtual);
	ck_assert(strcmp(restored.text_arg, "user.a") == 0);
	free(kept);
}
END_TEST

START_TEST(a_denied_call_keeps_its_errno)
{
	static char exe[] = "/usr/bin/sh";
	struct task task = {.exe = exe};
	struct kept_call *kept;

	(void)memset(&judged, 0, sizeof(judged));
	judged.task = &task;
	judged.decision.verdict = VERDICT_DENY;
	judged.outcome = (struct outcome){.kind = OUTCOME_COPY_FIRST, .value = -EACCES, .fd = -1};
	kept = kept_call_create(&judged);
	ck_assert_ptr_nonnull(kept);
	kept_call_restore(kept, &restored);
	ck_assert(restored.outcome.kind == OUTCOME_ERROR && restored.outcome.value == -EACCES);
	free(kept);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("kept");
	TCase *tcase = tcase_create("kept");

	tcase_add_test(tcase, keeps_what_the_log_tells);
	tcase_add_test(tcase, a_denied_call_keeps_its_errno);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
