/* What is left of a process' memory when it was cleared. Each test looks in a child, which ends by _exit(2). */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ending.h"
#include "supervisor/session/scrub.h"
#include "tests/unit/unit.h"

#define SIZE 300000u

static char data[] = "of the executable", bss[100000];
static char *heap, *small, *anonymous, *shared, *kept;
static volatile char *on_stack;

/* The exit code is the number of the first thing that is wrong. */
static _Noreturn void look_around(void)
{
	const char *const private[] = {heap, small, anonymous};
	const size_t size[] = {SIZE, 64, SIZE};

	for (int i = 0; i < 3; i++)
		for (size_t at = 0; at < size[i]; at++)
			if (private[i][at])
				_exit(10 + i);
	for (size_t at = 0; at < 20000; at++)
		if (on_stack[at])
			_exit(20);
	if (strcmp(data, "of the executable") != 0 || bss[99999] != 'b')
		_exit(21);
	if (memchr(kept, '\0', SIZE))
		_exit(22);
	if (msync(shared, 1, MS_ASYNC) == 0 || errno != ENOMEM)
		_exit(23);
	if (open("/nonesuch/file", 0) >= 0 || errno != ENOENT) /* errno is a variable of the thread */
		_exit(24);
	_exit(0);
}

static _Noreturn void __attribute__((noinline)) clear_and_look_around(void)
{
	scrub_memory(kept + 1000);
	look_around();
}

static _Noreturn void __attribute__((noinline)) leave_room(void)
{
	char above[SCRUB_STACK_KEPT_BYTES];

	explicit_bzero(above, sizeof(above));
	clear_and_look_around();
}

static void __attribute__((noinline)) leave_on_stack(void)
{
	char text[20000];

	memset(text, 's', sizeof(text));
	on_stack = text;
	leave_room();
}

static char *map(int flags)
{
	char *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);

	ck_assert_ptr_ne(memory, MAP_FAILED);
	memset(memory, 'm', SIZE);
	return memory;
}

START_TEST(test_what_is_left)
{
	int status;
	pid_t pid;

	heap = malloc(SIZE);
	small = malloc(64);
	ck_assert(heap && small);
	memset(heap, 'h', SIZE);
	memset(small, 'h', 64);
	anonymous = map(MAP_PRIVATE);
	shared = map(MAP_SHARED);
	kept = map(MAP_SHARED);
	bss[99999] = 'b';
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		if (scrub_remember_mappings() < 0)
			_exit(9);
		leave_on_stack();
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
	ck_assert_int_eq(heap[0], 'h'); /* the parent's */
}
END_TEST

int main(void)
{
	Suite *suite;
	TCase *all;

	if (exit_runs_handlers) {
		(void)printf("SKIP: a build with sanitizers or coverage clears nothing\n");
		return 77;
	}
	suite = suite_create("scrub");
	all = tcase_create("all");
	tcase_add_test(all, test_what_is_left);
	suite_add_tcase(suite, all);
	return unit_run(suite);
}
