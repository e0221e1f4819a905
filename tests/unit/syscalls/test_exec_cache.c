/* What is remembered of executable files, and when it is not. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/elf-machine.h"
#include "syscalls/exec/cache.h"
#include "tests/unit/policy/policy-rig.h"
#include "tests/unit/unit.h"

#define LOADER "/lib64/ld-test.so.1"

static const char *const own_loaders[] = ELF_LOADERS;
static struct policy *policy;
static struct sandbox sandbox;
static struct call *call;
static struct mount mount;
static struct place place;
static struct stat st;
static struct elf_facts facts;
static struct exec_program program;
static struct exec_loader loader;

static void be_at(const char *virt)
{
	place = (struct place){.mount = &mount};
	(void)snprintf(place.virt, sizeof(place.virt), "%s", virt);
	place.virt_len = strlen(virt);
}

static void setup(void)
{
	static const char text[] =
		"{\"version\": 1, \"name\": \"t\", \"filesystem\": {\"read\": [\"/ro\"], \"exec\": [\"/ro\", \"/rw\"],"
		" \"write\": [\"/rw\"]}}";
	static ino_t ino = 1000;

	policy = rig_load_good(text);
	sandbox = (struct sandbox){.policy = policy};
	call = calloc(1, sizeof(*call));
	ck_assert_ptr_nonnull(call);
	call->sandbox = &sandbox;
	mount = (struct mount){.flags = 0};
	be_at("/ro/program");
	st = (struct stat){
		.st_dev = 5, .st_ino = ino++, .st_mode = 0100755, .st_size = 77, .st_mtim = {1, 2}, .st_ctim = {3, 4}};
	facts = (struct elf_facts){.is_dynamic = true, .interp = LOADER};
}

static void teardown(void)
{
	free(call);
	policy_free(policy);
}

static bool kept(void)
{
	exec_cache_add_program(call, &place, &st, &facts);
	return exec_cache_find_program(&place, &st, &program);
}

START_TEST(remembers)
{
	ck_assert(!exec_cache_find_program(&place, &st, &program));
	ck_assert(kept());
	ck_assert(program.is_dynamic);
	ck_assert_str_eq(program.interp, LOADER);
	facts = (struct elf_facts){.is_dynamic = false};
	st.st_ino += 64; /* takes the other's place */
	ck_assert(kept());
	ck_assert(!program.is_dynamic);
	st.st_ino -= 64;
	ck_assert(!exec_cache_find_program(&place, &st, &program));
}
END_TEST

START_TEST(forgets_what_changed)
{
	const struct stat before = st;
	struct stat after[] = {before, before, before, before, before, before, before, before};

	ck_assert(kept());
	after[0].st_dev++;
	after[1].st_ino++;
	after[2].st_mode ^= 0111;
	after[3].st_size++;
	after[4].st_mtim.tv_sec++;
	after[5].st_mtim.tv_nsec++;
	after[6].st_ctim.tv_sec++;
	after[7].st_ctim.tv_nsec++;
	for (size_t i = 0; i < sizeof(after) / sizeof(after[0]); i++)
		ck_assert(!exec_cache_find_program(&place, &after[i], &program));
	ck_assert(exec_cache_find_program(&place, &before, &program));
}
END_TEST

/* By another mount it may be not executable, and may have another name. */
START_TEST(knows_its_mount)
{
	static const struct mount other = {.flags = 0};

	ck_assert(kept());
	place.mount = &other;
	ck_assert(!exec_cache_find_program(&place, &st, &program));
}
END_TEST

START_TEST(keeps_nothing_writable)
{
	be_at("/rw/program");
	ck_assert(!kept());
	be_at("/ro/program");
	mount.flags = MOUNT_PROC;
	ck_assert(!kept());
	mount.flags = MOUNT_DEVICE;
	ck_assert(!kept());
	mount.flags = 0;
	place.is_magic_link = true;
	ck_assert(!kept());
	place.is_magic_link = false;
	ck_assert(kept());
}
END_TEST

/* Coarse clocks give a second change the same time. */
START_TEST(keeps_nothing_fresh)
{
	struct timespec now;

	ck_assert_int_eq(clock_gettime(CLOCK_REALTIME, &now), 0);
	st.st_ctim = now;
	ck_assert(!kept());
	st.st_ctim.tv_sec += 100;
	ck_assert(!kept());
	st.st_ctim.tv_sec = now.tv_sec - 10;
	ck_assert(kept());
}
END_TEST

START_TEST(keeps_no_long_names)
{
	memset(facts.interp, 'x', EXEC_INTERP_BYTES_MAX - 1);
	facts.interp[EXEC_INTERP_BYTES_MAX - 1] = '\0';
	ck_assert(kept());
	ck_assert_str_eq(program.interp, facts.interp);
	st.st_ino++;
	facts.interp[EXEC_INTERP_BYTES_MAX - 1] = 'x';
	facts.interp[EXEC_INTERP_BYTES_MAX] = '\0';
	ck_assert(!kept());
}
END_TEST

static const char *installed_loader(void)
{
	for (size_t i = 0; i < sizeof(own_loaders) / sizeof(own_loaders[0]); i++)
		if (stat(own_loaders[i], &st) == 0)
			return own_loaders[i];
	return NULL;
}

START_TEST(remembers_loaders)
{
	const struct exec_loader known = {.image = {.dev = 1, .ino = 2, .maps_ino = 3}, .first_page_offset = 0x4000};
	const char *text = installed_loader();

	if (!text)
		return;
	ck_assert(!exec_cache_find_loader(text, &loader));
	be_at("/rw/loader");
	exec_cache_add_loader(call, &place, text, &st, &known);
	ck_assert(!exec_cache_find_loader(text, &loader));
	be_at("/ro/loader");
	exec_cache_add_loader(call, &place, text, &st, &known);
	ck_assert(exec_cache_find_loader(text, &loader));
	ck_assert_uint_eq(loader.first_page_offset, known.first_page_offset);
	ck_assert_uint_eq(loader.image.maps_ino, 3);
	/* as if the file had been replaced since */
	st.st_ino++;
	exec_cache_add_loader(call, &place, text, &st, &known);
	ck_assert(!exec_cache_find_loader(text, &loader));
	/* not one of the system's: not kept, whatever it is */
	ck_assert_int_eq(stat("/proc/self/exe", &st), 0);
	exec_cache_add_loader(call, &place, "/proc/self/exe", &st, &known);
	ck_assert(!exec_cache_find_loader("/proc/self/exe", &loader));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("exec_cache");
	TCase *tcase = tcase_create("exec_cache");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, remembers);
	tcase_add_test(tcase, forgets_what_changed);
	tcase_add_test(tcase, knows_its_mount);
	tcase_add_test(tcase, keeps_nothing_writable);
	tcase_add_test(tcase, keeps_nothing_fresh);
	tcase_add_test(tcase, keeps_no_long_names);
	tcase_add_test(tcase, remembers_loaders);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
