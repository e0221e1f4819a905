/*
 * Finds what a program needs from its file alone, without running it: the interpreters that its "#!" lines name, and
 * the libraries that elf.h finds.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/host/program.h"
#include "cli/learn/elf.h"
#include "cli/learn/learn.h"

#define STATIC_SCRIPT_CHAIN_LEN_MAX 5 /* most "#!" interpreters that are scripts themselves */

/* A file and the name that leads to it. Both owned. */
struct found_file {
	char *path; /* canonical */
	char *written; /* the name that leads to the file */
};

static void found_file_release(struct found_file *name)
{
	free(name->path);
	free(name->written);
	*name = (struct found_file){0};
}

/* Resolves the path written_taken, and frees that text. False: no such file, or no memory; *ret_name is empty then. */
static bool static_resolve_path(char *written_taken, struct found_file *ret_name)
{
	*ret_name = (struct found_file){.path = written_taken ? realpath(written_taken, NULL) : NULL,
				      .written = written_taken};
	if (!ret_name->path)
		found_file_release(ret_name);
	return ret_name->path;
}

/* Finds the file that a shell would start for this name. */
static bool static_find_program(const char *name, struct found_file *ret_name)
{
	const char *path = getenv("PATH");

	if (strchr(name, '/'))
		return static_resolve_path(strdup(name), ret_name);
	for (const char *at = path ? path : "/usr/bin:/bin"; *at; at += *at == ':') {
		size_t len = strcspn(at, ":");
		char *file = text_format("%.*s/%s", (int)len, at, name);

		if (file && access(file, X_OK) == 0)
			return static_resolve_path(file, ret_name);
		free(file);
		at += len;
	}
	return false;
}

/* Returns the program that env(1) starts: the first word that is neither an option nor sets a variable. NULL: none. */
static char *static_get_word_for_env(char *text)
{
	char *rest = NULL;

	for (char *word = strtok_r(text, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest))
		if (*word != '-' && !strchr(word, '='))
			return word;
	return NULL;
}

/*
 * Replaces `name` by the interpreter of the script `name`. *because: why the interpreter is needed, owned by the
 * caller. 1; 0: the file is not a script; or -errno.
 */
static int static_follow_script(struct elf_search *search, struct found_file *name, char **because)
{
	char line[SCRIPT_FIRST_LINE_BYTES_MAX + 1], *rest = NULL, *word;
	struct found_file next = {0}, program = {0};
	int r = needs_add_path(search->needs, name->path, name->written, POLICY_EXEC, *because);

	if (r == 0)
		r = program_read_script_line(name->path, line);
	if (r <= 0)
		return r;
	word = strtok_r(line + 2, " \t", &rest);
	if (!word || *word != '/' || !static_resolve_path(strdup(word), &next))
		return -ENOEXEC;
	free(*because);
	*because = text_format("the interpreter of %s", name->path);
	found_file_release(name);
	*name = next;
	word = strcmp(strrchr(word, '/'), "/env") == 0 ? static_get_word_for_env(rest) : NULL;
	if (!*because || !word || !static_find_program(word, &program))
		return *because ? 1 : -ENOMEM;
	r = elf_search_add_file(search, name->path, name->written, POLICY_EXEC, steal_pointer(because));
	*because = text_format("started by %s", name->written);
	found_file_release(name);
	*name = program;
	return r < 0 ? r : *because ? 1 : -ENOMEM;
}

/* Adds the program and the interpreters that its "#!" lines lead to. 0 or -errno. */
static int static_follow_scripts(struct elf_search *search, const char *program)
{
	_cleanup_free_ char *because = strdup("the program");
	struct found_file name = {0};
	int r = !because ? -ENOMEM : static_find_program(program, &name) ? 1 : -ENOENT;

	for (int depth = 0; r > 0; depth++)
		r = depth > STATIC_SCRIPT_CHAIN_LEN_MAX ? -ELOOP : static_follow_script(search, &name, &because);
	if (r == 0)
		r = elf_search_add_file(search, name.path, name.written, POLICY_EXEC, steal_pointer(&because));
	found_file_release(&name);
	return r;
}

int learn_inspect_program(struct needs *needs, const char *program)
{
	struct elf_search search;
	int r = elf_search_init(&search, needs);

	if (r == 0)
		r = static_follow_scripts(&search, program);
	if (r == 0)
		r = elf_search_inspect_files(&search);
	if (r == -ENOENT)
		cli_print_error("learn", "--static %s: no such program; name its file", program);
	else if (r == -ENOEXEC)
		cli_print_error("learn", "--static %s: neither an ELF file nor a script with #!", program);
	else if (r < 0)
		cli_print_error("learn", "--static %s: %s", program, strerror(-r));
	elf_search_release(&search);
	return r;
}
