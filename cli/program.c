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

char *program_script_interpreter(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char line[SCRIPT_LINE_MAX + 1], *word, *rest, *save = NULL;
	ssize_t len;

	if (fd < 0)
		return NULL;
	len = pread(fd, line, SCRIPT_LINE_MAX, 0);
	if (len < 3 || line[0] != '#' || line[1] != '!')
		return NULL;
	line[len] = '\0';
	line[strcspn(line, "\n")] = '\0';
	word = strtok_r(line + 2, " \t\r", &save);
	if (!word)
		return NULL;
	rest = strrchr(word, '/');
	if (!rest || strcmp(rest, "/env") != 0)
		return program_find(word);
	do
		word = strtok_r(NULL, " \t\r", &save);
	while (word && (word[0] == '-' || strchr(word, '='))); /* env -S, env VAR=value */
	return word ? program_find(word) : NULL;
}
