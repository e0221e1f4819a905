/* How callgate inspect reads command lines: of interpreters, of programs that start others, and of shells. */
#include <check.h>
#include <errno.h>
#include <stdint.h>

#include "cli/inspect/command-add.h"
#include "cli/inspect/command.h"
#include "cli/inspect/startup.h"
#include "cli/inspect/words.h"
#include "tests/unit/unit.h"

/* The innermost command line: that of what env, timeout and others start. */
static struct inspect_command read_innermost(const char *const *argv)
{
	struct inspect_command command = inspect_read_command(NULL, (char *const *)(uintptr_t)argv);

	while (command.inner && *command.inner && !command.inner_text)
		command = inspect_read_command(NULL, command.inner);
	return command;
}

static const struct {
	const char *argv[10], *program, *script, *code;
	enum inspect_type type;
} commands[] = {
	{{"ls", "-l"}, "ls", NULL, NULL, INSPECT_TYPE_TEXT},
	{{"/usr/bin/python3.11", "-I", "-X", "dev", "x.py", "-c"},
	 "/usr/bin/python3.11",
	 "x.py",
	 NULL,
	 INSPECT_TYPE_PYTHON},
	{{"python3", "-Ic", "print(1)", "x.py"}, "python3", NULL, "print(1)", INSPECT_TYPE_PYTHON},
	{{"python3", "-m", "x"}, "python3", NULL, NULL, INSPECT_TYPE_PYTHON},
	{{"python3", "-c"}, "python3", NULL, NULL, INSPECT_TYPE_PYTHON},
	{{"python3", "-", "x"}, "python3", NULL, NULL, INSPECT_TYPE_PYTHON},
	{{"python3", "--", "x"}, "python3", "x", NULL, INSPECT_TYPE_PYTHON},
	{{"env", "-i", "A=b", "sh", "-o", "errexit", "s"}, "sh", "s", NULL, INSPECT_TYPE_SHELL},
	{{"bash", "-lc", "id"}, "bash", NULL, "id", INSPECT_TYPE_SHELL},
	{{"node", "-r", "x", "--eval=1"}, "node", NULL, "1", INSPECT_TYPE_JAVASCRIPT},
	{{"node", "-pe", "1"}, "node", NULL, "1", INSPECT_TYPE_JAVASCRIPT},
	{{"node", "-p", "-e", "1"}, "node", NULL, "1", INSPECT_TYPE_JAVASCRIPT},
	{{"node", "--title", "t", "-C", "c", "x.js", "-e", "1"}, "node", "x.js", NULL, INSPECT_TYPE_JAVASCRIPT},
	{{"env", "-i"}, "env", NULL, NULL, INSPECT_TYPE_MAX},
	{{"python3", "-cprint(2)", "x.py"}, "python3", NULL, "print(2)", INSPECT_TYPE_PYTHON},
	{{"python3", "-Xdev", "-Wignore", "-IW", "error", "x.py"}, "python3", "x.py", NULL, INSPECT_TYPE_PYTHON},
	{{"bash", "-ce", "id", "s"}, "bash", NULL, "id", INSPECT_TYPE_SHELL},
	{{"bash", "-c", "-o", "pipefail", "+x", "id"}, "bash", NULL, "id", INSPECT_TYPE_SHELL},
	{{"bash", "+e", "-eo", "pipefail", "s"}, "bash", "s", NULL, INSPECT_TYPE_SHELL},
	{{"sh", "-", "s"}, "sh", "s", NULL, INSPECT_TYPE_SHELL},
	{{"env", "-u", "A", "-C", "/", "sh", "s"}, "sh", "s", NULL, INSPECT_TYPE_SHELL},
	/* programs that start another one */
	{{"timeout", "-k", "1", "--sig", "KILL", "5s", "sh", "s"}, "sh", "s", NULL, INSPECT_TYPE_SHELL},
	{{"timeout", "-sKILL", "--", "5", "env", "-", "A=1", "sh", "s"}, "sh", "s", NULL, INSPECT_TYPE_SHELL},
	{{"nice", "-n", "5", "nohup", "setsid", "-w", "stdbuf", "-oL", "sh", "s"}, "sh", "s", NULL, INSPECT_TYPE_SHELL},
	{{"nice", "-5", "ionice", "-c", "3", "taskset", "1", "sh", "s"}, "sh", "s", NULL, INSPECT_TYPE_SHELL},
	{{"xargs", "-I{}", "-n", "1", "sh", "-c", "id"}, "sh", NULL, "id", INSPECT_TYPE_SHELL},
	{{"find", ".", "-name", "x", "-exec", "sh", "s", "{}", "+"}, "sh", "s", NULL, INSPECT_TYPE_SHELL},
	{{"find", ".", "-name", "sh"}, "find", NULL, NULL, INSPECT_TYPE_MAX},
	{{"flock", "-w", "1", "lock", "-c", "id"}, "flock", NULL, "id", INSPECT_TYPE_SHELL},
	{{"/lib64/ld-linux-x86-64.so.2", "--argv0", "x", "/bin/sh", "s"}, "/bin/sh", "s", NULL, INSPECT_TYPE_SHELL},
	{{"busybox", "timeout", "5", "sh", "s"}, "sh", "s", NULL, INSPECT_TYPE_SHELL},
	{{"command", "-v", "sh"}, "command", NULL, NULL, INSPECT_TYPE_MAX},
	{{"timeout"}, "timeout", NULL, NULL, INSPECT_TYPE_MAX},
	{{"timeout", "-s"}, "timeout", NULL, NULL, INSPECT_TYPE_MAX},
	/* interpreters without a parser */
	{{"perl", "-w", "-Ilib", "-MFile::Spec", "x.pl", "-e"}, "perl", "x.pl", NULL, INSPECT_TYPE_TEXT},
	{{"perl", "-i.bak", "-ne", "print"}, "perl", NULL, "print", INSPECT_TYPE_TEXT},
	{{"gawk", "-F", ":", "{print}", "x"}, "gawk", NULL, "{print}", INSPECT_TYPE_TEXT},
	{{"awk", "-f", "x.awk", "y"}, "awk", "x.awk", NULL, INSPECT_TYPE_TEXT},
	{{"expect", "-c", "spawn ls", "x.exp"}, "expect", "x.exp", "spawn ls", INSPECT_TYPE_TEXT},
	{{"expect", "-D", "0", "-f", "x.exp"}, "expect", "x.exp", NULL, INSPECT_TYPE_TEXT},
	/* git, of which settings are commands */
	{{"git", "log"}, "git", NULL, NULL, INSPECT_TYPE_TEXT},
	{{"git", "-c", "user.name=sh", "-C", "x", "commit"}, "git", NULL, NULL, INSPECT_TYPE_TEXT},
	{{"git", "-C", "x", "-c", "Core.Pager=id", "log"}, "git", NULL, "id", INSPECT_TYPE_SHELL},
	{{"git", "-calias.x=!id", "x"}, "git", NULL, "id", INSPECT_TYPE_SHELL},
};

START_TEST(test_commands)
{
	struct inspect_command command = read_innermost(commands[_i].argv);

	ck_assert_pstr_eq(command.program, commands[_i].program);
	ck_assert_pstr_eq(command.script, commands[_i].script);
	ck_assert_pstr_eq(command.code[0], commands[_i].code);
	ck_assert_int_eq(command.type, commands[_i].type);
}
END_TEST

/* Options that come more than once: all codes, and the scripts, of which only the first is not a loaded one. */
START_TEST(test_commands_with_several)
{
	static const struct {
		const char *argv[10], *codes[3], *script, *loaded[2], *inners[3];
	} several[] = {
		{{"git", "-c", "core.pager=a", "-calias.x=!b", "-c", "core.editor=c"},
		 {"a", "b", "c"},
		 NULL,
		 {NULL},
		 {NULL}},
		{{"perl", "-e", "a", "-neb", "-Mc;d", "x"}, {"a", "b", "c;d"}, NULL, {NULL}, {NULL}},
		{{"perl", "-Mstrict", "-e", "a", "x", "-e", "b"}, {"a"}, NULL, {NULL}, {NULL}},
		{{"ruby", "-r./a", "-r", "./b", "-e", "c", "-ed"}, {"c", "d"}, NULL, {"./a", "./b"}, {NULL}},
		{{"php", "-B", "a", "-R", "b", "--process-end=c"}, {"a", "b", "c"}, NULL, {NULL}, {NULL}},
		{{"lua", "-e", "a", "-eb", "x.lua", "-e", "c"}, {"a", "b"}, "x.lua", {NULL}, {NULL}},
		{{"expect", "-c", "a", "-c", "b", "x.exp"}, {"a", "b"}, "x.exp", {NULL}, {NULL}},
		{{"Rscript", "-e", "a", "-e", "b"}, {"a", "b"}, NULL, {NULL}, {NULL}},
		{{"awk", "-f", "a", "-v", "x=1", "-fb", "c"}, {NULL}, "a", {"b"}, {NULL}},
		{{"gawk", "-e", "a", "--sou=b", "-i", "c", "--file", "d"}, {"a", "b"}, "d", {"c"}, {NULL}},
		{{"node", "-e", "1", "--eval", "2", "-r", "./a", "--import=./b"},
		 {"1", "2"},
		 NULL,
		 {"./a", "./b"},
		 {NULL}},
		{{"find", "-exec", "a", ";", "-o", "-ok", "b", ";", "-execdir", "c"},
		 {NULL},
		 NULL,
		 {NULL},
		 {"a", "b", "c"}},
	};

	for (size_t i = 0; i < sizeof(several) / sizeof(several[0]); i++) {
		struct inspect_command command = inspect_read_command(NULL, (char *const *)(uintptr_t)several[i].argv);
		char *const *inner = command.inner;

		for (size_t k = 0; k < 3; k++) {
			ck_assert_pstr_eq(command.code[k], several[i].codes[k]);
			ck_assert_pstr_eq(inner ? *inner : NULL, several[i].inners[k]);
			inner = inner ? inspect_command_get_next_inner(&command, inner) : NULL;
		}
		ck_assert_pstr_eq(command.script, several[i].script);
		ck_assert_pstr_eq(command.loaded[0], several[i].loaded[0]);
		ck_assert_pstr_eq(command.loaded[1], several[i].loaded[1]);
		ck_assert_ptr_null(command.unseen);
	}
}
END_TEST

/* What finds no room is told. */
START_TEST(test_commands_with_many)
{
	const char *argv[2 * COMMAND_CODES_MAX + 4] = {"perl"};
	struct inspect_command command;

	for (size_t i = 0; i < COMMAND_CODES_MAX + 1; i++) {
		argv[2 * i + 1] = "-e";
		argv[2 * i + 2] = "1";
	}
	command = inspect_read_command(NULL, (char *const *)(uintptr_t)argv);
	ck_assert_pstr_eq(command.unseen, "perl");
}
END_TEST

START_TEST(test_commands_without_file)
{
	static const struct {
		const char *argv[6], *module;
		bool comes_on_stdin;
	} without_file[] = {
		{{"python3", "-m", "a.b", "-x"}, "a.b", false},
		{{"python3", "-Im", "a"}, "a", false},
		{{"python3", "-Ima", "b"}, "a", false},
		{{"python3", "-m"}, NULL, false},
		{{"python3", "-", "x"}, NULL, true},
		{{"env", "A=1", "node"}, NULL, true},
		{{"sh", "-s", "x"}, NULL, true},
		{{"bash", "-eus", "x"}, NULL, true},
		{{"sh", "-e", "x"}, NULL, false},
		{{"sh", "-c", "id"}, NULL, false},
		{{"cat"}, NULL, false},
	};

	for (size_t i = 0; i < sizeof(without_file) / sizeof(without_file[0]); i++) {
		struct inspect_command command = read_innermost(without_file[i].argv);

		ck_assert_pstr_eq(command.module, without_file[i].module);
		ck_assert_int_eq(command.comes_on_stdin, without_file[i].comes_on_stdin);
	}
}
END_TEST

/* What runs before the program, and what cannot be known. */
START_TEST(test_commands_with_more)
{
	static const struct {
		const char *argv[7], *loaded, *unseen, *text;
		bool adds_arguments;
	} more[] = {
		{{"node", "-r", "./a.js", "x.js"}, "./a.js", NULL, NULL, false},
		{{"node", "--require=./a.js", "x.js"}, "./a.js", NULL, NULL, false},
		{{"node", "-e", "1", "--import", "./a.js"}, "./a.js", NULL, NULL, false},
		{{"node", "--test"}, NULL, "--test", NULL, false},
		{{"bash", "--rcfile", "rc", "-i"}, "rc", NULL, NULL, false},
		{{"env", "LD_PRELOAD=./x.so", "ls"}, "./x.so", NULL, NULL, false},
		{{"env", "LD_PRELOAD=a.so:b.so", "ls"}, NULL, "LD_PRELOAD", NULL, false},
		{{"env", "A=1", "NODE_OPTIONS=-r x", "ls"}, NULL, "NODE_OPTIONS", NULL, false},
		{{"env", "BASH_ENV=rc", "ls"}, "rc", NULL, NULL, false},
		{{"env", "BASH_ENV=`x`", "ls"}, NULL, "BASH_ENV", NULL, false},
		{{"env", "LD_PRELOAD=", "PATHS=x", "ls"}, NULL, NULL, NULL, false},
		{{"env", "BASH_FUNC_ls%%=() { id; }", "bash"}, NULL, "BASH_FUNC_*", NULL, false},
		{{"PS4=$(id)", "bash", "-x", "s"}, NULL, "PS4", NULL, false},
		{{"PATH+=:/tmp", "ls"}, NULL, "PATH", NULL, false},
		{{"A=1", "BASH_ENV=rc"}, "rc", NULL, NULL, false},
		{{"env", "PAGER=cat", "HOME=/x", "PATH=/bin", "IFS=", "git"}, NULL, NULL, NULL, false},
		{{"/lib/ld-linux.so.2", "--preload", "./x.so", "ls"}, "./x.so", NULL, NULL, false},
		{{"env", "-i", "-S", "sh s", "x"}, NULL, NULL, "sh s", false},
		{{"env", "-iSsh s"}, NULL, NULL, "sh s", false},
		{{"env", "--split=sh s"}, NULL, NULL, "sh s", false},
		{{"xargs", "sh"}, NULL, NULL, NULL, true},
		{{"make", "-f", "x"}, NULL, "make", NULL, false},
		{{"git", "-c", "alias.x=log"}, NULL, "git", NULL, false},
		{{"git", "-c", "gpg.program=x"}, NULL, "git", NULL, false},
		{{"git", "-c", "core.pager"}, NULL, "git", NULL, false},
		{{"git", "--config-env=core.pager=X"}, NULL, "git", NULL, false},
		{{"git", "-c", "gc.recentObjectsHook=x", "gc"}, NULL, "git", NULL, false},
		{{"git", "-c", "gc.auto=0", "gc"}, NULL, NULL, NULL, false},
		{{"git", "--exec-path=./e", "x"}, NULL, "git", NULL, false},
		{{"git", "--exec-path"}, NULL, NULL, NULL, false},
		{{"git", "-C", "x", "bisect", "run", "./x"}, NULL, "git", NULL, false},
		{{"git", "rebase", "--exe=make", "x"}, NULL, "git", NULL, false},
		{{"git", "clone", "-ccore.sshCommand=x", "y"}, NULL, "git", NULL, false},
		{{"git", "rebase", "main", "push"}, NULL, NULL, NULL, false},
		{{"enable", "-f", "./x.so", "n"}, NULL, "enable", NULL, false},
		{{"enable", "-nf./x.so", "n"}, NULL, "enable", NULL, false},
		{{"enable", "-n", "test"}, NULL, NULL, NULL, false},
		{{"git", "-c", "color.ui=never", "-c", "log.date=iso"}, NULL, NULL, NULL, false},
		{{"find", "-exec", "ls", ";", "-ok", "sh"}, NULL, NULL, NULL, true},
		{{"node", "-r", "x", "a.js"}, NULL, "x", NULL, false},
		{{"node", "--snapshot-blob", "x", "a.js"}, NULL, "--snapshot-blob", NULL, false},
		{{"python3", "-Xpycache_prefix=x", "a.py"}, NULL, "pycache_prefix=x", NULL, false},
		{{"ruby", "-rjson", "-r./a", "x.rb"}, "./a", "json", NULL, false},
		{{"php", "-d", "auto_prepend_file=a", "x.php"}, NULL, "auto_prepend_file=a", NULL, false},
		{{"php", "-dmemory_limit=1G", "x.php"}, NULL, NULL, NULL, false},
		{{"lua", "-lx", "a.lua"}, NULL, "-lx", NULL, false},
		{{"gawk", "-ia", "--load", "b", "x"}, "a", "--load", NULL, false},
	};

	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
		struct inspect_command command = inspect_read_command(NULL, (char *const *)(uintptr_t)more[i].argv);

		ck_assert_pstr_eq(command.loaded[0], more[i].loaded);
		ck_assert_pstr_eq(command.unseen, more[i].unseen);
		ck_assert_pstr_eq(command.inner_text, more[i].text);
		ck_assert_int_eq(command.adds_arguments, more[i].adds_arguments);
	}
}
END_TEST

/* Which files of the home directory shells run first: the first name of each list. */
START_TEST(test_startup_files)
{
	static const struct {
		const char *argv[6], *files[4];
	} shells[] = {
		{{"bash", "-c", "id"}, {NULL}},
		{{"bash", "-lc", "id"}, {".bash_profile"}},
		{{"bash", "--login", "-i"}, {".bash_profile"}},
		{{"bash", "-ic", "id"}, {".bashrc"}},
		{{"bash", "-x", "s", "-il"}, {NULL}},
		{{"bash", "-c", "id", "-l"}, {NULL}},
		{{"bash", "--norc", "-i"}, {NULL}},
		{{"bash", "--rcfile", "x", "-i"}, {NULL}},
		{{"bash", "--noprofile", "-l"}, {NULL}},
		{{"sh", "-l"}, {".profile"}},
		{{"dash", "-il"}, {".profile"}},
		{{"ksh", "-i"}, {".kshrc"}},
		{{"mksh", "-l"}, {".profile"}},
		{{"mksh", "-i"}, {".mkshrc"}},
		{{"yash", "-il"}, {".yash_profile", ".yashrc"}},
		{{"rbash", "-i"}, {".bashrc"}},
		{{"zsh", "s"}, {".zshenv"}},
		{{"zsh", "-il"}, {".zshenv", ".zprofile", ".zshrc", ".zlogin"}},
		{{"zsh", "-fi"}, {NULL}},
		{{"python3", "-i"}, {NULL}},
		{{"ls", "-il"}, {NULL}},
	};

	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
		struct inspect_command command = inspect_read_command(NULL, (char *const *)(uintptr_t)shells[i].argv);

		for (size_t k = 0; k < 4; k++) {
			const char *const *files = inspect_get_startup_files(&command, k);

			ck_assert_pstr_eq(files ? *files : NULL, shells[i].files[k]);
		}
	}
}
END_TEST

/* Shells that are login shells by their name, and HOME when it is taken from them. */
START_TEST(test_login_by_name)
{
	static const struct {
		const char *argv[7];
		bool makes_login;
		const char *home;
	} commands_before[] = {
		{{"exec", "-l", "bash"}, true, NULL},
		{{"exec", "-cl", "bash"}, true, "$HOME"},
		{{"exec", "-a", "-bash", "bash"}, true, NULL},
		{{"exec", "-abash", "bash"}, false, NULL},
		{{"env", "--argv0=-bash", "bash"}, true, NULL},
		{{"ld.so", "--argv0", "-bash", "/bin/bash"}, true, NULL},
		{{"env", "-i", "bash", "-l"}, false, "$HOME"},
		{{"env", "-", "bash", "-l"}, false, "$HOME"},
		{{"env", "--ignore", "bash", "-l"}, false, "$HOME"},
		{{"env", "-uHOME", "bash", "-l"}, false, "$HOME"},
		{{"env", "--unset", "HOME", "bash", "-l"}, false, "$HOME"},
		{{"env", "-i", "HOME=/x", "bash", "-l"}, false, "/x"},
		{{"env", "-uA", "bash", "-l"}, false, NULL},
		{{"nice", "bash", "-l"}, false, NULL},
	};

	for (size_t i = 0; i < sizeof(commands_before) / sizeof(commands_before[0]); i++) {
		struct inspect_command command =
			inspect_read_command(NULL, (char *const *)(uintptr_t)commands_before[i].argv);

		ck_assert_int_eq(command.makes_login, commands_before[i].makes_login);
		ck_assert_pstr_eq(command.home, commands_before[i].home);
	}
}
END_TEST

START_TEST(test_words)
{
	char *const rest[] = {"more", NULL};
	char first[] = "\t/bin/sh  -e x \t", empty[] = "  ";
	struct cli_list words = {0};

	ck_assert_int_eq(inspect_make_split_words("env", " A=1\tpython3 'a  b'c\"'\" \"\" ", rest, &words), 0);
	ck_assert_uint_eq(words.count, 6);
	ck_assert_str_eq(words.item[0], "env");
	ck_assert_str_eq(words.item[1], "A=1");
	ck_assert_str_eq(words.item[3], "a  bc'");
	ck_assert_str_eq(words.item[4], "");
	ck_assert_str_eq(words.item[5], "more");
	ck_assert_int_eq(inspect_make_split_words("env", "python3 'a", NULL, &words), -EINVAL);
	ck_assert_int_eq(inspect_make_split_words("env", "python3 ${X}", NULL, &words), -EINVAL);
	cli_list_release(&words);
	ck_assert_int_eq(inspect_make_script_words(first, "/x", rest, &words), 0);
	ck_assert_uint_eq(words.count, 4);
	ck_assert_str_eq(words.item[0], "/bin/sh");
	ck_assert_str_eq(words.item[1], "-e x");
	ck_assert_str_eq(words.item[2], "/x");
	ck_assert_str_eq(words.item[3], "more");
	cli_list_release(&words);
	ck_assert_int_eq(inspect_make_script_words(empty, "/x", rest, &words), 0);
	ck_assert_uint_eq(words.count, 0);
	cli_list_release(&words);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("inspect-command");
	TCase *tcase = tcase_create("commands");

	tcase_add_loop_test(tcase, test_commands, 0, (int)(sizeof(commands) / sizeof(commands[0])));
	tcase_add_test(tcase, test_commands_with_several);
	tcase_add_test(tcase, test_commands_with_many);
	tcase_add_test(tcase, test_commands_without_file);
	tcase_add_test(tcase, test_commands_with_more);
	tcase_add_test(tcase, test_startup_files);
	tcase_add_test(tcase, test_login_by_name);
	tcase_add_test(tcase, test_words);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
