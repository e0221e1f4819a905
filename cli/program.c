#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/program.h"
#include "cli/shim.h"

#include "base/banned.h"

#define SCRIPT_LINE_MAX 256 /* what the kernel reads of a "#!" line (BINPRM_BUF_SIZE) */

bool program_is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* The n-th candidate for a name in PATH; owned, NULL behind the last one. */
static char *candidate(const char *name, unsigned number)
{
	const char *path = getenv("PATH"), *end;
	size_t name_len = strlen(name);
	char tried[PATH_MAX];

	for (path = path ? path : "/usr/local/bin:/usr/bin:/bin"; *path; path = *end ? end + 1 : end) {
		const char *dir = *path == ':' ? "." : path;
		size_t len;

		end = strchrnul(path, ':');
		len = end == path ? 1 : (size_t)(end - path);
		if (len + name_len + 2 > sizeof(tried))
			continue; /* no file has such a name */
		memcpy(tried, dir, len);
		tried[len] = '/';
		memcpy(tried + len + 1, name, name_len + 1);
		if (program_is_file(tried) && number-- == 0)
			return strdup(tried);
	}
	return NULL;
}

char *program_find(const char *name)
{
	if (!*name)
		return NULL;
	if (strchr(name, '/'))
		return program_is_file(name) ? strdup(name) : NULL;
	for (unsigned i = 0;; i++) {
		_cleanup_free_ char *path = candidate(name, i);
		char *target;

		if (!path || !shim_is(path))
			return steal_pointer(&path);
		target = shim_target(path, name);
		if (target)
			return target;
		/* the manager says "system" or knows no version: what PATH has behind it */
	}
}

/* ---- "#!" lines ---- */

enum env_word {
	ENV_SKIP,     /* an option that is whole, or "NAME=VALUE" */
	ENV_ARGUMENT, /* an option whose argument is the next word */
	ENV_END,      /* "--" */
	ENV_PROGRAM,
	ENV_UNKNOWN, /* also what changes where the program is looked for */
};

/* An option of env(1), which are those of GNU's and of the BSDs' that a "#!" line can use. */
static enum env_word env_option(const char *word)
{
	static const char *const plain[] = {"-", "-i", "--ignore-environment", "-v", "--debug"};

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (strcmp(word, plain[i]) == 0)
			return ENV_SKIP;
	if (strcmp(word, "--") == 0)
		return ENV_END;
	if (strcmp(word, "-u") == 0 || strcmp(word, "--unset") == 0 || strcmp(word, "-C") == 0 ||
	    strcmp(word, "--chdir") == 0)
		return ENV_ARGUMENT;
	if (strncmp(word, "-C", 2) == 0 || strncmp(word, "--chdir=", 8) == 0)
		return ENV_SKIP;
	if (strncmp(word, "--unset=", 8) == 0)
		return strcmp(word + 8, "PATH") == 0 ? ENV_UNKNOWN : ENV_SKIP;
	if (strncmp(word, "-u", 2) == 0)
		return strcmp(word + 2, "PATH") == 0 ? ENV_UNKNOWN : ENV_SKIP;
	return word[0] == '-' ? ENV_UNKNOWN : ENV_PROGRAM;
}

static enum env_word env_word(const char *word, bool options)
{
	enum env_word kind = options ? env_option(word) : ENV_PROGRAM;

	if (kind == ENV_PROGRAM && strchr(word, '='))
		return strncmp(word, "PATH=", 5) == 0 ? ENV_UNKNOWN : ENV_SKIP;
	return kind;
}

/* A name for PATH or an absolute path: relative ones are the script's business, and -C may lead anywhere. */
static bool is_certain(const char *program)
{
	return program[0] == '/' || !strchr(program, '/');
}

/* The words of "env -S". NULL: not understood. Borrows. */
static const char *env_split(char *text)
{
	bool options = true;
	char *save = NULL;

	if (strpbrk(text, "\"'\\$#")) /* quotes, escapes, variables, comments */
		return NULL;
	for (char *word = strtok_r(text, " \t\r", &save); word; word = strtok_r(NULL, " \t\r", &save)) {
		enum env_word kind = env_word(word, options);

		if (kind == ENV_UNKNOWN || kind == ENV_PROGRAM)
			return kind == ENV_PROGRAM && is_certain(word) ? word : NULL;
		if (kind == ENV_ARGUMENT && (!(word = strtok_r(NULL, " \t\r", &save)) || strcmp(word, "PATH") == 0))
			return NULL;
		/* options end at "--" and at the first "NAME=VALUE" */
		options = options && kind != ENV_END && (word[0] == '-' || kind == ENV_ARGUMENT);
	}
	return NULL;
}

/* The kernel gives env all of the line as one argument: without -S that is the program's name, blanks and all. */
static const char *env_program(char *text)
{
	static const char split[] = "--split-string=";

	if (strncmp(text, "-S", 2) == 0)
		return env_split(text + 2);
	if (strncmp(text, split, sizeof(split) - 1) == 0)
		return env_split(text + sizeof(split) - 1);
	return text[strcspn(text, " \t=")] || !*text || *text == '-' ? NULL : text;
}

char *program_script_interpreter(const char *path, bool *ret_unknown)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char line[SCRIPT_LINE_MAX + 1], *word, *rest;
	const char *name, *slash;
	ssize_t len;

	if (fd < 0)
		return NULL;
	len = pread(fd, line, SCRIPT_LINE_MAX, 0);
	if (len < 3 || line[0] != '#' || line[1] != '!')
		return NULL;
	line[len] = '\0';
	line[strcspn(line, "\n")] = '\0';
	for (len = (ssize_t)strlen(line); len > 2 && strchr(" \t\r", line[len - 1]); len--)
		line[len - 1] = '\0';
	word = line + 2 + strspn(line + 2, " \t");
	rest = word + strcspn(word, " \t");
	if (*rest)
		*rest++ = '\0';
	rest += strspn(rest, " \t");
	slash = strrchr(word, '/');
	if (!slash || strcmp(slash, "/env") != 0)
		return program_find(word);
	name = env_program(rest);
	*ret_unknown = !name;
	return name ? program_find(name) : NULL;
}
