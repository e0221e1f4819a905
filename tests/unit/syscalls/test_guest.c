/* Guest memory: our own process plays the program. A buffer ends at an unmapped page. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "syscalls/call/memory.h"
#include "tests/unit/unit.h"

#define PAGE 4096u

/* Two pages with the given protection, then nothing. */
static char *map_two(int protection)
{
	char *memory = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(memory, MAP_FAILED);
	memset(memory, 'x', 3 * PAGE);
	ck_assert_int_eq(mprotect(memory, 2 * PAGE, protection), 0);
	ck_assert_int_eq(munmap(memory + 2 * PAGE, PAGE), 0);
	return memory;
}

static ssize_t string_at(const char *address, char *out, size_t cap)
{
	return memory_copy_string(&memory_of_process, getpid(), (uint64_t)(uintptr_t)address, out, cap, -ENAMETOOLONG);
}

START_TEST(string_up_to_the_last_byte)
{
	char *memory = map_two(PROT_READ | PROT_WRITE);
	char out[PAGE];

	memcpy(memory + 2 * PAGE - 4, "abc", 4);
	ck_assert_int_eq(string_at(memory + 2 * PAGE - 4, out, sizeof(out)), 3);
	ck_assert_str_eq(out, "abc");
	ck_assert_int_eq(string_at(memory + 2 * PAGE - 1, out, sizeof(out)), 0);
}
END_TEST

START_TEST(string_without_end)
{
	char *memory = map_two(PROT_READ | PROT_WRITE);
	char out[PAGE];

	ck_assert_int_eq(string_at(memory + 2 * PAGE - 10, out, sizeof(out)), -EFAULT);
	ck_assert_int_eq(string_at(memory + 2 * PAGE, out, sizeof(out)), -EFAULT);
	ck_assert_int_eq(string_at(NULL, out, sizeof(out)), -EFAULT);
	ck_assert_int_eq(string_at(memory, out, sizeof(out)), -ENAMETOOLONG);
}
END_TEST

START_TEST(string_over_pages)
{
	char *memory = map_two(PROT_READ | PROT_WRITE);
	char out[PAGE];

	memory[PAGE + 300] = '\0';
	ck_assert_int_eq(string_at(memory + PAGE - 5, out, sizeof(out)), 305);
	memory[PAGE - 5 + PAGE - 1] = '\0';
	memset(memory + PAGE + 300, 'x', 1);
	ck_assert_int_eq(string_at(memory + PAGE - 5, out, sizeof(out)), PAGE - 1);
}
END_TEST

START_TEST(protections_hold)
{
	char *none = map_two(PROT_NONE);
	char *read_only = map_two(PROT_READ);
	char out[16] = {0};

	ck_assert_int_eq(string_at(none, out, sizeof(out)), -EFAULT);
	ck_assert_int_eq(memory_copy_in(&memory_of_process, getpid(), (uint64_t)(uintptr_t)read_only, out, sizeof(out)),
			 0);
	ck_assert_int_eq(memory_copy_out(&memory_of_process, getpid(), (uint64_t)(uintptr_t)read_only, out,
					 sizeof(out)),
			 -EFAULT);
}
END_TEST

START_TEST(partial_is_a_fault)
{
	char *memory = map_two(PROT_READ | PROT_WRITE);
	uint64_t address = (uint64_t)(uintptr_t)memory + 2 * PAGE - 8;
	char out[16] = {0};

	ck_assert_int_eq(memory_copy_in(&memory_of_process, getpid(), address, out, 8), 0);
	ck_assert_int_eq(memory_copy_in(&memory_of_process, getpid(), address, out, 9), -EFAULT);
	ck_assert_int_eq(memory_copy_out(&memory_of_process, getpid(), address, out, 9), -EFAULT);
	ck_assert_int_eq(memory_copy_in(&memory_of_process, getpid(), 0, out, 0), 0);
}
END_TEST

START_TEST(dead_task)
{
	char out[16];

	ck_assert_int_eq(memory_copy_in(&memory_of_process, 0x3fffffff, 4096, out, sizeof(out)), -ESRCH);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("guest");
	TCase *tests = tcase_create("memory");

	tcase_add_test(tests, string_up_to_the_last_byte);
	tcase_add_test(tests, string_without_end);
	tcase_add_test(tests, string_over_pages);
	tcase_add_test(tests, protections_hold);
	tcase_add_test(tests, partial_is_a_fault);
	tcase_add_test(tests, dead_task);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
