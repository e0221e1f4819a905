#include "cli/inspect/subject.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

#define SUBJECT_START_BYTES 4096 /* of a file, from which its type is told */

static const char *const type_names[INSPECT_TYPE_MAX] = {
	[INSPECT_TYPE_ELF] = "elf",     [INSPECT_TYPE_PYTHON] = "python",     [INSPECT_TYPE_JAVASCRIPT] = "javascript",
	[INSPECT_TYPE_SHELL] = "shell", [INSPECT_TYPE_NOTEBOOK] = "notebook", [INSPECT_TYPE_PACKAGE] = "package",
	[INSPECT_TYPE_TEXT] = "text",   [INSPECT_TYPE_DATA] = "data",
};

/* Interpreters of "#!" lines, by how their names begin. What follows may be a version. */
static const struct {
	const char *name;
	enum inspect_type type;
} interpreters[] = {
	{"python", INSPECT_TYPE_PYTHON},     {"pypy", INSPECT_TYPE_PYTHON},    {"node", INSPECT_TYPE_JAVASCRIPT},
	{"nodejs", INSPECT_TYPE_JAVASCRIPT}, {"bun", INSPECT_TYPE_JAVASCRIPT}, {"sh", INSPECT_TYPE_SHELL},
	{"bash", INSPECT_TYPE_SHELL},        {"dash", INSPECT_TYPE_SHELL},     {"ksh", INSPECT_TYPE_SHELL},
	{"zsh", INSPECT_TYPE_SHELL},         {"ash", INSPECT_TYPE_SHELL},      {"mksh", INSPECT_TYPE_SHELL},
	{"yash", INSPECT_TYPE_SHELL},        {"rbash", INSPECT_TYPE_SHELL},
};

static const struct {
	const char *suffix;
	enum inspect_type type;
} suffixes[] = {
	{".py", INSPECT_TYPE_PYTHON},      {".pyw", INSPECT_TYPE_PYTHON},
	{".pyi", INSPECT_TYPE_PYTHON},     {".js", INSPECT_TYPE_JAVASCRIPT},
	{".mjs", INSPECT_TYPE_JAVASCRIPT}, {".cjs", INSPECT_TYPE_JAVASCRIPT},
	{".sh", INSPECT_TYPE_SHELL},       {".bash", INSPECT_TYPE_SHELL},
	{".ipynb", INSPECT_TYPE_NOTEBOOK}, {"/package.json", INSPECT_TYPE_PACKAGE},
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

const char *inspect_type_get_name(enum inspect_type type)
{
	return type_names[type];
}

bool inspect_type_find(const char *name, enum inspect_type *ret_type)
{
	for (enum inspect_type type = 0; type < INSPECT_TYPE_MAX; type++)
		if (strcmp(type_names[type], name) == 0) {
			*ret_type = type;
			return true;
		}
	return false;
}

enum inspect_type inspect_find_interpreter(const char *name)
{
	for (size_t i = 0; i < COUNT(interpreters); i++) {
		size_t len = strlen(interpreters[i].name);

		if (strncmp(name, interpreters[i].name, len) == 0 &&
		    name[len + strspn(name + len, "0123456789.")] == '\0')
			return interpreters[i].type;
	}
	return INSPECT_TYPE_TEXT;
}

/* The type by a "#!" line: "#!/usr/bin/python3 -I", "#!/usr/bin/env -S VAR=1 node --x". */
static enum inspect_type subject_find_by_line(char *line)
{
	char *rest = NULL;

	for (char *word = strtok_r(line, " \t\r", &rest); word; word = strtok_r(NULL, " \t\r", &rest)) {
		const char *slash = strrchr(word, '/'), *name = slash ? slash + 1 : word;

		if (strcmp(name, "env") != 0 && *word != '-' && !strchr(word, '='))
			return inspect_find_interpreter(name);
	}
	return INSPECT_TYPE_TEXT;
}

enum inspect_type inspect_find_type(const char *path, const char *start, size_t len)
{
	char line[256];
	size_t path_len = strlen(path);

	if (len >= SELFMAG && memcmp(start, ELFMAG, SELFMAG) == 0)
		return INSPECT_TYPE_ELF;
	if (len > 2 && start[0] == '#' && start[1] == '!') {
		size_t line_len = len - 2 < sizeof(line) ? len - 2 : sizeof(line) - 1;

		memcpy(line, start + 2, line_len);
		line[line_len] = '\0';
		line[strcspn(line, "\n")] = '\0';
		return subject_find_by_line(line);
	}
	/* also with NULs in it: interpreters run such files, as far as they can */
	for (size_t i = 0; i < COUNT(suffixes); i++) {
		size_t own = strlen(suffixes[i].suffix);

		if (path_len > own && strcmp(path + path_len - own, suffixes[i].suffix) == 0)
			return suffixes[i].type;
	}
	if (strcmp(path, "package.json") == 0)
		return INSPECT_TYPE_PACKAGE;
	return memchr(start, '\0', len) ? INSPECT_TYPE_DATA : INSPECT_TYPE_TEXT;
}

/* At least how many lines any of the parsers counts: JavaScript ends them with U+2028 (e2 80 a8) as well. */
static uint32_t subject_count_lines(const char *text, size_t len)
{
	uint32_t lines = 2; /* bash complains of the line behind the last one; texts are smaller than 4 GiB */

	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n' || text[i] == '\r' || text[i] == '\f' || text[i] == '\xe2';
	return lines;
}

static int subject_read(struct inspect_subject *subject, enum inspect_type type)
{
	char start[SUBJECT_START_BYTES];
	ssize_t got = pread(subject->fd, start, sizeof(start), 0);
	int r;

	if (got < 0)
		return -errno;
	subject->type = type == INSPECT_TYPE_MAX ? inspect_find_type(subject->path, start, (size_t)got) : type;
	if (subject->type == INSPECT_TYPE_ELF || subject->type == INSPECT_TYPE_DATA ||
	    subject->size > INSPECT_TEXT_BYTES_MAX)
		return 0;
	r = io_read_fd(subject->fd, INSPECT_TEXT_BYTES_MAX, &subject->text, &subject->text_len);
	if (r == 0)
		subject->lines = subject_count_lines(subject->text, subject->text_len);
	return r == 0 && lseek(subject->fd, 0, SEEK_SET) < 0 ? -errno : r;
}

int inspect_subject_open(const char *path, enum inspect_type type, struct inspect_subject *ret_subject)
{
	struct inspect_subject subject = {.path = path, .fd = io_open_regular(path)};
	struct stat status = {0};
	int r = subject.fd < 0 ? subject.fd : fstat(subject.fd, &status) < 0 ? -errno : 0;

	if (r == 0) {
		subject.mode = status.st_mode;
		subject.size = (uint64_t)status.st_size;
		r = subject_read(&subject, type);
	}
	if (r < 0)
		inspect_subject_release(&subject);
	else
		*ret_subject = subject;
	return r;
}

void inspect_subject_release(struct inspect_subject *subject)
{
	free(subject->text);
	subject->text = NULL;
	close_fd(&subject->fd);
}
