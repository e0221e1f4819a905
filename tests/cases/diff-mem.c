/* Memory that a hostile program may pass: mapping borders, gaps, pages without rights; and paths of every shape. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/cases/diff.h"

#define PAGE 4096

/* Two arenas, so that calls with two paths get different memory: [rw][rw][none][hole] each. */
static char *arena[2];
static char *readonly;
static unsigned slot_now;

static char *map(size_t len, int prot)
{
	char *p = mmap(NULL, len, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		diff_die("mmap");
	return p;
}

void diff_mem_init(void)
{
	for (int i = 0; i < 2; i++) {
		arena[i] = map(5 * PAGE, PROT_READ | PROT_WRITE);
		if (mprotect(arena[i] + 2 * PAGE, PAGE, PROT_NONE) < 0)
			diff_die("mprotect");
		if (munmap(arena[i] + 3 * PAGE, 2 * PAGE) < 0)
			diff_die("munmap");
	}
	readonly = map(PAGE, PROT_READ | PROT_WRITE);
	memset(readonly, 'r', PAGE);
	if (mprotect(readonly, PAGE, PROT_READ) < 0)
		diff_die("mprotect");
}

char *diff_mem_unmapped(void)
{
	return arena[slot_now] + 3 * PAGE + 64;
}

char *diff_mem_none(void)
{
	return arena[slot_now] + 2 * PAGE + 64;
}

char *diff_mem_readonly(void)
{
	return readonly;
}

char *diff_mem_straddle(const char *text)
{
	size_t len = strlen(text);
	char *p = arena[slot_now] + PAGE - len / 2;

	memcpy(p, text, len + 1);
	return p;
}

char *diff_mem_at_end(const char *text)
{
	size_t len = strlen(text) + 1;
	char *p = arena[slot_now] + 2 * PAGE - len;

	memcpy(p, text, len);
	return p;
}

char *diff_mem_unterminated(const char *text)
{
	size_t len = strlen(text);
	char *p = arena[slot_now] + 2 * PAGE - len;

	memcpy(p, text, len);
	return p;
}

char *diff_mem_tail(size_t len)
{
	char *p = arena[slot_now] + 2 * PAGE - len;

	memset(p, '.', len);
	return p;
}

const struct diff_shape diff_shapes[] = {
	{"file", SHAPE_TEXT, "file", 0},
	{"missing", SHAPE_TEXT, "missing", 0},
	{"dir", SHAPE_TEXT, "dir", 0},
	{"emptydir", SHAPE_TEXT, "emptydir", 0},
	{"dir-slash", SHAPE_TEXT, "dir/", 0},
	{"dir-slashes", SHAPE_TEXT, "dir///", 0},
	{"file-slash", SHAPE_TEXT, "file/", 0},
	{"missing-slash", SHAPE_TEXT, "missing/", 0},
	{"file-slash-dot", SHAPE_TEXT, "file/.", 0},
	{"file-slash-x", SHAPE_TEXT, "file/x", 0},
	{"file-dotdot", SHAPE_TEXT, "file/../file", 0},
	{"missing-x", SHAPE_TEXT, "missing/x", 0},
	{"missing-dotdot", SHAPE_TEXT, "missing/../file", 0},
	{"dir-sub", SHAPE_TEXT, "dir/sub", 0},
	{"dir-missing", SHAPE_TEXT, "dir/missing", 0},
	{"dir-dot", SHAPE_TEXT, "dir/.", 0},
	{"dir-dotdot", SHAPE_TEXT, "dir/..", 0},
	{"dir-dotdot-file", SHAPE_TEXT, "dir/../file", 0},
	{"dot", SHAPE_TEXT, ".", 0},
	{"dot-slash-file", SHAPE_TEXT, "./file", 0},
	{"doubled", SHAPE_TEXT, "dir//.//sub", 0},
	{"link-file", SHAPE_TEXT, "lfile", 0},
	{"link-file-slash", SHAPE_TEXT, "lfile/", 0},
	{"link-dir", SHAPE_TEXT, "ldir", 0},
	{"link-dir-slash", SHAPE_TEXT, "ldir/", 0},
	{"link-dir-sub", SHAPE_TEXT, "ldir/sub", 0},
	{"link-dir-missing", SHAPE_TEXT, "ldir/missing", 0},
	{"link-deep-dotdot", SHAPE_TEXT, "ltarget/../file", 0},
	{"link-deep-dotdot-missing", SHAPE_TEXT, "ltarget/../missing", 0},
	{"link-absolute", SHAPE_TEXT, "labs", 0},
	{"link-chain", SHAPE_TEXT, "lchain", 0},
	{"dangling", SHAPE_TEXT, "dangling", 0},
	{"dangling-slash", SHAPE_TEXT, "dangling/", 0},
	{"dangling-nodir", SHAPE_TEXT, "dangling2", 0},
	{"loop", SHAPE_TEXT, "loop", 0},
	{"loop-slash", SHAPE_TEXT, "loop/", 0},
	{"loop-x", SHAPE_TEXT, "loopa/x", 0},
	{"links-41", SHAPE_TEXT, "l40", 0},
	{"links-20", SHAPE_TEXT, "l19", 0},
	{"fifo", SHAPE_TEXT, "fifo", 0},
	{"sock", SHAPE_TEXT, "sock", 0},
	{"readonly-file", SHAPE_TEXT, "ro", 0},
	{"noaccess-file", SHAPE_TEXT, "noacc", 0},
	{"noaccess-dir-x", SHAPE_TEXT, "nodir/x", 0},
	{"readonly-dir-x", SHAPE_TEXT, "rodir/x", 0},
	{"readonly-dir-missing", SHAPE_TEXT, "rodir/missing", 0},
	{"newline", SHAPE_TEXT, "new\nline", 0},
	{"invalid-utf8", SHAPE_TEXT, "\xff\xfe", 0},
	{"trailing-space", SHAPE_TEXT, "file ", 0},
	{"absolute", SHAPE_ABS, "file", 0},
	{"absolute-missing", SHAPE_ABS, "missing", 0},
	{"absolute-dotdot", SHAPE_ABS, "dir/../file", 0},
	{"absolute-slash", SHAPE_ABS, "dir/", 0},
	{"empty", SHAPE_TEXT, "", 0},
	{"null", SHAPE_NULL, NULL, 0},
	{"unmapped", SHAPE_UNMAPPED, NULL, 0},
	{"prot-none", SHAPE_NONE, NULL, 0},
	{"kernel-address", SHAPE_KERNEL, NULL, 0},
	{"straddle", SHAPE_STRADDLE, "dir/sub", 0},
	{"at-end", SHAPE_AT_END, "file", 0},
	{"unterminated", SHAPE_UNTERMINATED, "file", 0},
	{"name-255", SHAPE_NAME, NULL, 255},
	{"name-256", SHAPE_NAME, NULL, 256},
	{"name-300", SHAPE_NAME, NULL, 300},
	{"path-4095", SHAPE_PATH, "file", 4095},
	{"path-4096", SHAPE_PATH, "file", 4096},
	{"path-5000", SHAPE_PATH, "file", 5000},
	{"junk-3801", SHAPE_JUNK, NULL, 3801},
};
const size_t diff_shapes_count = sizeof(diff_shapes) / sizeof(diff_shapes[0]);

static const char *long_path(char *out, const struct diff_shape *shape)
{
	size_t text = shape->text ? strlen(shape->text) : 0;
	size_t lead = shape->len - text;

	for (size_t i = 0; i < lead; i++) {
		bool last = shape->kind == SHAPE_PATH && i + 1 == lead;

		if (shape->kind == SHAPE_NAME)
			out[i] = 'n';
		else if (last || i % 2 == 1)
			out[i] = '/';
		else
			out[i] = shape->kind == SHAPE_PATH ? '.' : 'a';
	}
	/* an odd lead would read "./…./" + "/": the byte before the last slash may be a slash, which is harmless */
	memcpy(out + lead, shape->text ? shape->text : "", text + 1);
	return out;
}

const char *diff_shape_pointer(const struct diff_shape *shape, unsigned slot)
{
	static char text[2][8192];

	slot_now = slot;
	switch (shape->kind) {
	case SHAPE_TEXT:
		return shape->text;
	case SHAPE_ABS:
		snprintf(text[slot], sizeof(text[slot]), "%s/c/%s", diff_base, shape->text);
		return text[slot];
	case SHAPE_NULL:
		return NULL;
	case SHAPE_UNMAPPED:
		return diff_mem_unmapped();
	case SHAPE_NONE:
		return diff_mem_none();
	case SHAPE_KERNEL:
		return (const char *)(uintptr_t)0xffff800000001000;
	case SHAPE_STRADDLE:
		return diff_mem_straddle(shape->text);
	case SHAPE_AT_END:
		return diff_mem_at_end(shape->text);
	case SHAPE_UNTERMINATED:
		return diff_mem_unterminated(shape->text);
	case SHAPE_NAME:
	case SHAPE_PATH:
	case SHAPE_JUNK:
		return long_path(text[slot], shape);
	}
	diff_die("shape");
}
