/*
 * Judges the files that a secret's command names. A shell runs the command outside of the sandbox, in the root
 * directory. The command is split into words twice: by the shell's quoting rules, and at every character that could end
 * a word of a command inside quotes ("sh -c '. /x/y'"). Judging words that the shell would not see does no harm.
 */
#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/host/places.h"
#include "cli/host/program.h"

#define BLANK_CHARACTERS " \t\r\n"

/* The characters that end a word that is not quoted. */
#define COMMAND_UNQUOTED_WORD_ENDS BLANK_CHARACTERS ";|&()<>`=,"

/*
 * The characters that end a word of a command inside quotes, or a directory of "PATH=/a:/b". Variables have been
 * expanded before.
 */
#define QUOTED_WORD_ENDS COMMAND_UNQUOTED_WORD_ENDS ":{}\"'$\\"

/* maximum number of "#!" lines that are followed, from script to script; the kernel follows five */
#define SCRIPT_INTERPRETER_CHAIN_LEN_MAX 4

/* A command of the policy that is being judged: whether the program could change what it executes. */
struct command {
	const struct writable_places *places;
	struct places_refusal *why; /* receives the reason of a refusal */
	unsigned script_depth;      /* how many "#!" lines led from the command to the file being judged */
};

static int command_fail_no_memory(const struct command *command)
{
	return places_refuse(command->why, "cannot be judged: %s", strerror(ENOMEM));
}

static int command_judge_word(const struct command *command, const char *word);

/* Judges each word of a script's "#!" line, because env(1) can execute or read any of them. */
static int command_judge_script(const struct command *command, const char *path)
{
	char line[SCRIPT_FIRST_LINE_BYTES_MAX + 1], *save = NULL;
	struct command inner = {command->places, command->why, command->script_depth + 1};
	int ret = 0;

	if (command->script_depth == SCRIPT_INTERPRETER_CHAIN_LEN_MAX || program_read_script_line(path, line) <= 0)
		return 0;
	for (char *word = strtok_r(line + 2, BLANK_CHARACTERS "'\"=", &save); word && ret == 0;
	     word = strtok_r(NULL, BLANK_CHARACTERS "'\"=", &save))
		ret = command_judge_word(&inner, word);
	return ret;
}

/*
 * Refuses a file that the run's program could change and, for a script, such an interpreter. 0, or -EPERM with the
 * reason set.
 */
static int command_judge_file(const struct command *command, const char *path)
{
	struct places_refusal why = {""};
	struct stat st;

	if (places_judge_path(command->places, PLACES_PATH_MUST_BE_TRUSTED, path, NULL, &why) < 0)
		return places_refuse(command->why, "%.400s %.500s", path, why.text);
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? command_judge_script(command, path) : 0;
}

/*
 * Returns the n-th directory of PATH. A relative one is taken as below the root directory. Owned; NULL: no more, or no
 * memory.
 */
static char *command_get_path_dir(unsigned number)
{
	_cleanup_free_ char *dir = program_get_nth_path_dir(number);

	return dir ? text_format("%s%s", *dir == '/' ? "" : "/", dir) : NULL;
}

/*
 * Judges the first file of this name in the directories of PATH. 0, also if there is none, or -EPERM with the reason
 * set.
 */
static int command_judge_name_in_path_dirs(const struct command *command, const char *name)
{
	for (unsigned i = 0;; i++) {
		_cleanup_free_ char *dir = command_get_path_dir(i),
				    *file = dir ? text_format("%s/%s", dir, name) : NULL;
		struct stat st;

		if (!dir)
			return 0;
		if (!file)
			return command_fail_no_memory(command);
		if (stat(file, &st) == 0 && S_ISREG(st.st_mode))
			return command_judge_file(command, file);
	}
}

/* Judges each file that matches the shell pattern. 0, also if none does, or -EPERM with the reason set. */
static int command_judge_pattern(const struct command *command, const char *pattern)
{
	glob_t found;
	int ret = 0;

	if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
		return 0; /* no file matches */
	for (size_t i = 0; i < found.gl_pathc && ret == 0; i++)
		ret = command_judge_file(command, found.gl_pathv[i]);
	globfree(&found);
	return ret;
}

/*
 * Judges a word of a command as a path, as a pattern, and as a program's name in PATH. 0, or -EPERM with the reason
 * set.
 */
static int command_judge_word(const struct command *command, const char *word)
{
	_cleanup_free_ char *path = NULL;
	const char *home = getenv("HOME");
	bool in_home = home && word[0] == '~' && (!word[1] || word[1] == '/');
	int ret = 0;

	if (!*word)
		return 0;
	path = text_format("%s%s", in_home ? home : *word == '/' ? "" : "/", word + in_home);
	if (!path)
		return command_fail_no_memory(command);
	ret = command_judge_file(command, path);
	if (ret == 0 && strpbrk(path, "*?["))
		ret = command_judge_pattern(command, path);
	return ret < 0 || strchr(word, '/') ? ret : command_judge_name_in_path_dirs(command, word);
}

/* Replaces "$NAME" and "${NAME}" by the environment's value. Owned; NULL: no memory. */
static char *command_expand_variables(const char *command)
{
	_cleanup_buf_ struct buf text = {0};

	while (*command) {
		bool braced = command[0] == '$' && command[1] == '{';
		const char *name = command + 1 + braced;
		size_t len = 0;

		while (*command == '$' && (isalnum((unsigned char)name[len]) || name[len] == '_'))
			len++;
		if (len && !isdigit((unsigned char)name[0]) && (!braced || name[len] == '}')) {
			_cleanup_free_ char *variable = strndup(name, len);
			const char *value = variable ? getenv(variable) : NULL;

			if (!variable)
				return NULL;
			buf_puts(&text, value ? value : "");
			command = name + len + braced;
		} else {
			buf_printf(&text, "%c", *command++);
		}
	}
	return buf_take_text(&text);
}

/* Moves the next word from the front of *rest to `word`, without quotes, as the shell reads it. */
static void command_unquote_word(const char **rest, char *word)
{
	char quote = '\0';
	const char *at = *rest;

	for (; *at && (quote || !strchr(COMMAND_UNQUOTED_WORD_ENDS, *at)); at++) {
		if (quote ? *at == quote : *at == '\'' || *at == '"')
			quote = quote ? '\0' : *at;
		else if (*at == '\\' && quote != '\'' && at[1])
			*word++ = *++at;
		else
			*word++ = *at;
	}
	*word = '\0';
	*rest = *at ? at + 1 : at;
}

/*
 * Judges each word of a command, split by the shell's quoting and also inside quotes. 0, or -EPERM with the reason set.
 */
static int command_judge_words(const struct command *command, const char *text)
{
	_cleanup_free_ char *word = malloc(strlen(text) + 1), *pieces = strdup(text);
	char *save = NULL;
	int ret = 0;

	if (!word || !pieces)
		return command_fail_no_memory(command);
	for (const char *rest = text; *rest && ret == 0;) {
		command_unquote_word(&rest, word);
		ret = command_judge_word(command, word);
	}
	for (char *piece = strtok_r(pieces, QUOTED_WORD_ENDS, &save); piece && ret == 0;
	     piece = strtok_r(NULL, QUOTED_WORD_ENDS, &save))
		ret = command_judge_word(command, piece);
	return ret;
}

int places_judge_command(const struct writable_places *places, const char *text, struct places_refusal *ret_why)
{
	const struct command command = {.places = places, .why = ret_why};
	_cleanup_free_ char *expanded = command_expand_variables(text);

	if (!expanded)
		return command_fail_no_memory(&command);
	for (unsigned i = 0;; i++) {
		_cleanup_free_ char *dir = command_get_path_dir(i);
		struct places_refusal why = {""};

		if (!dir)
			return command_judge_words(&command, expanded);
		if (places_judge_path(places, PLACES_PATH_MUST_BE_TRUSTED, dir, NULL, &why) < 0)
			return places_refuse(ret_why, "PATH has %.400s, which %.500s", dir, why.text);
	}
}
