/*
 * The differential test: thousands of small, numbered system calls whose outcome (value, errno, what changed in the
 * tree) is one line each. It runs natively and inside callgate; the two outputs must be the same, byte for byte.
 */
#ifndef CALLGATE_TESTS_CASES_DIFF_H
#define CALLGATE_TESTS_CASES_DIFF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* __SNR_NAME: below 0 where the architecture lacks the call; then the case is skipped. */
#include "syscalls/table/numbers.h"

/* ---- running and reporting (diff-main.c) ---- */

/*
 * Whether the case at this place of a group that tries everything with everything is to be run: sum is the sum of its
 * indices, so that every part (--part K/N) has each row and each column.
 */
bool diff_in_part(size_t sum);
/* Starts a case: its name, the fixture fresh and the cwd in it. */
void diff_begin(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Adds text to the line of the case that runs. */
void diff_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Adds the value or the errno's name. */
void diff_ret(long ret);
/* Adds what a descriptor is (number, flags, type, mode, first bytes), and closes it; the errno when fd < 0. */
void diff_fd(long fd);
/* Ends the case: what changed in the fixture (only looked for when `mutates`), end of line. */
void diff_end(bool mutates);
/* Closes what a case left open, whatever number it got. */
void diff_close_all(void);
/* The test itself cannot go on: says why and exits with 99. */
void diff_die(const char *what) __attribute__((noreturn));

/* The raw system call: value or -errno. */
long diff_sys(long nr, const long arg[6]);
#define RAW(nr, ...) diff_sys((nr), (const long[6]){__VA_ARGS__})
/* A pointer as a system call argument. */
#define P(pointer) ((long)(uintptr_t)(pointer))

/* ---- the fixture (diff-fixture.c) ---- */

/* The directory all cases work in: absolute, without a slash at its end. */
extern const char *diff_base;

void diff_fixture_make(void);
void diff_fixture_remove(void);
/* Appends "-old +new" for every entry that differs from the fresh fixture; true when there is any. */
bool diff_fixture_changes(char *out, size_t cap);
/* Permission bits of everything opened again, then removed. */
void diff_remove_tree(const char *path);

/* ---- the helper outside (diff-outside.c) ---- */

#define DIFF_FILES 256 /* the limit of open files, below which the helper's pipes are */
#define DIFF_ANSWER_FD (DIFF_FILES - 1)
#define DIFF_ASK_FD (DIFF_FILES - 2)

/* Finds the helper's pipes; without them everything is looked at from inside. */
void diff_outside_begin(void);
/* The fixture is new. */
void diff_outside_fresh(void);
/* False when the helper says that no process has touched the fixture since it was asked last. */
bool diff_outside_touched(void);
/* The helper itself. Its exit status. */
int diff_outside_serve(void);

/* ---- hostile memory (diff-mem.c) ---- */

void diff_mem_init(void);
char *diff_mem_unmapped(void);
char *diff_mem_none(void);                       /* PROT_NONE */
char *diff_mem_readonly(void);                   /* PROT_READ, a page of 'r' */
char *diff_mem_straddle(const char *text);       /* crosses a page border, ends well */
char *diff_mem_at_end(const char *text);         /* its NUL is the last mapped byte */
char *diff_mem_unterminated(const char *text);   /* its last byte is the last mapped one */
char *diff_mem_tail(size_t len);                 /* `len` writable bytes, then nothing */

/* A path argument of some shape. */
struct diff_shape {
	const char *name;
	enum {
		SHAPE_TEXT,
		SHAPE_ABS, /* text below the fixture, written absolutely */
		SHAPE_NULL,
		SHAPE_UNMAPPED,
		SHAPE_NONE,
		SHAPE_KERNEL,
		SHAPE_STRADDLE,
		SHAPE_AT_END,
		SHAPE_UNTERMINATED,
		SHAPE_NAME, /* one component of `len` bytes */
		SHAPE_PATH, /* "./" repeated, ending in text, `len` bytes in all */
		SHAPE_JUNK, /* `len` bytes 'a/' */
	} kind;
	const char *text;
	size_t len;
};

extern const struct diff_shape diff_shapes[];
extern const size_t diff_shapes_count;
/* The pointer to hand to the kernel; lives until the next call with the same slot (0 or 1). */
const char *diff_shape_pointer(const struct diff_shape *shape, unsigned slot);

/* ---- the groups ---- */

void diff_group_path(void);
void diff_group_pointers(void); /* of path those with odd pointers and lengths alone */
void diff_group_dirfd(void);
void diff_group_pair(void);
void diff_group_out(void);
void diff_group_open(void);
void diff_group_openat2(void);
void diff_group_meta(void);
void diff_group_proc(void);
void diff_group_fifo(void);
void diff_group_task(void);
void diff_group_watch(void);
void diff_group_race(void);
void diff_group_sock(void);
void diff_group_deviate(void);

#endif
