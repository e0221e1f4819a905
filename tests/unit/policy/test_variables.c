/* Environment variables that bring code: which are known, what they mean, and which values are harmless. */
#include <check.h>
#include <string.h>

#include "policy/variables.h"
#include "tests/unit/unit.h"

/* Each row: whether code may come by it. */
static const struct {
	const char *assignment;
	enum variable_meaning meaning;
	bool brings_code;
} rows[] = {
	{"LD_PRELOAD=./x.so", VARIABLE_LIBRARY, true},
	{"LD_PRELOAD=", VARIABLE_LIBRARY, false},
	{"LD_BIND_NOW=1", VARIABLE_SETTINGS, false},
	{"GCONV_PATH=.", VARIABLE_LOADS, true},
	{"BASH_FUNC_ls%%=() { id; }", VARIABLE_COMMAND, true},
	{"BASH_ENV=rc", VARIABLE_SCRIPT, true},
	{"BASH_ENV=/dev/null", VARIABLE_SCRIPT, false},
	{"ENV=./rc", VARIABLE_LOADS, true},
	{"ENV=$(id)", VARIABLE_LOADS, true},
	{"ENV=production", VARIABLE_LOADS, true},
	{"ENV=/dev/null", VARIABLE_LOADS, false},
	{"ENV=", VARIABLE_LOADS, false},
	{"PS4=$(id)", VARIABLE_COMMAND, true},
	{"PS4=+ ", VARIABLE_COMMAND, false},
	{"PROMPT_COMMAND=id", VARIABLE_COMMAND, true},
	{"SHELLOPTS=xtrace", VARIABLE_OPTIONS, true},
	{"BASHOPTS=x", VARIABLE_OPTIONS, true},
	{"IFS=:", VARIABLE_SPLITS, false},
	{"LUA_INIT_5_4=@x", VARIABLE_COMMAND, true},
	{"GIT_SSH=./x", VARIABLE_COMMAND, true},
	{"GIT_SSH_COMMAND=ssh -o ProxyCommand=x", VARIABLE_COMMAND, true},
	{"GIT_SSH_COMMAND=ssh", VARIABLE_COMMAND, false},
	{"GIT_EDITOR=:", VARIABLE_COMMAND, false},
	{"GIT_EDITOR=:;id", VARIABLE_COMMAND, true},
	{"GIT_EXTERNAL_DIFF=x", VARIABLE_COMMAND, true},
	{"GIT_ASKPASS=x", VARIABLE_COMMAND, true},
	{"GIT_PROXY_COMMAND=x", VARIABLE_COMMAND, true},
	{"GIT_CONFIG_COUNT=2", VARIABLE_OPTIONS, true},
	{"GIT_CONFIG_GLOBAL=/dev/null", VARIABLE_OPTIONS, false},
	{"GIT_CONFIG_GLOBAL=1", VARIABLE_OPTIONS, true},
	{"GIT_CONFIG_SYSTEM=true", VARIABLE_OPTIONS, true},
	{"GIT_CONFIG_NOSYSTEM=1", VARIABLE_OPTIONS, false},
	{"GIT_CONFIG_KEY_0=1", VARIABLE_OPTIONS, true},
	{"GIT_AUTHOR_NAME=x", VARIABLE_SETTINGS, false},
	{"JAVA_TOOL_OPTIONS=-javaagent:x.jar", VARIABLE_OPTIONS, true},
	{"_JAVA_OPTIONS=-Xmx1g -javaagent:x.jar", VARIABLE_OPTIONS, true},
	{"JDK_JAVA_OPTIONS=-Xmx1g -Xms64m", VARIABLE_OPTIONS, false},
	{"JAVA_TOOL_OPTIONS=-Xmx1g\f-javaagent:x.jar", VARIABLE_OPTIONS, true},
	{"JAVA_TOOL_OPTIONS=-Xmx1g\v-javaagent:x.jar", VARIABLE_OPTIONS, true},
	{"JAVA_TOOL_OPTIONS=-Xmx1g\r-javaagent:x.jar", VARIABLE_OPTIONS, true},
	{"JAVACMD=./java", VARIABLE_COMMAND, true},
	{"MANOPT=-P x", VARIABLE_OPTIONS, true},
	{"YARN_YARN_PATH=./y.js", VARIABLE_LOADS, true},
	{"YARN_CACHE_FOLDER=x", VARIABLE_SETTINGS, false},
	{"NODE_OPTIONS=--max-old-space-size=4096", VARIABLE_OPTIONS, false},
	{"NODE_OPTIONS=--max-old-space-size=1 -r ./x", VARIABLE_OPTIONS, true},
	{"NODE_OPTIONS=--max-old-space-size=1\n-r=./x", VARIABLE_OPTIONS, true},
	{"PYTHONPATH=x", VARIABLE_LOADS, true},
	{"PYTHONWARNINGS=all:0:x.y:0:0", VARIABLE_OPTIONS, true},
	{"PYTHONUNBUFFERED=1", VARIABLE_SETTINGS, false},
	{"PERL5OPT=-Mx", VARIABLE_OPTIONS, true},
	{"PERL5LIB=x", VARIABLE_LOADS, true},
	{"PERL5DB=BEGIN { x }", VARIABLE_COMMAND, true},
	{"RUBYOPT=-rx", VARIABLE_OPTIONS, true},
	{"RUBYLIB=x", VARIABLE_LOADS, true},
	{"PAGER=cat", VARIABLE_COMMAND, false},
	{"PAGER=", VARIABLE_COMMAND, false},
	{"PAGER=less -R", VARIABLE_COMMAND, false},
	{"PAGER=cat;id", VARIABLE_COMMAND, true},
	{"PAGER=cat $(id)", VARIABLE_COMMAND, true},
	{"PAGER+=cat", VARIABLE_COMMAND, true},
	{"PAGER", VARIABLE_COMMAND, true},
	{"VISUAL=x", VARIABLE_COMMAND, true},
	{"LESSOPEN=|x %s", VARIABLE_COMMAND, true},
	{"MAKEFLAGS=-j8", VARIABLE_OPTIONS, false},
	{"MAKEFLAGS=-j8 --eval=x", VARIABLE_OPTIONS, true},
	{"PATH=/usr/bin:/bin:$PATH", VARIABLE_LOADS, true}, /* a directory of this name */
	{"PATH=/usr/bin:/bin", VARIABLE_LOADS, false},
	{"PATH=/usr/bin:", VARIABLE_LOADS, true},
	{"PATH=", VARIABLE_LOADS, true},
	{"PATH=/usr/bin:/tmp/x", VARIABLE_LOADS, true},
	{"PATH+=:/tmp/x", VARIABLE_LOADS, true},
	{"HOME=/tmp", VARIABLE_SETTINGS, false},
};

START_TEST(known)
{
	const struct variable *variable = variable_find(rows[_i].assignment);

	ck_assert_msg(variable, "%s: not found", rows[_i].assignment);
	ck_assert_msg(variable->meaning == rows[_i].meaning, "%s: is %s", rows[_i].assignment,
		      variable_describe(variable));
	ck_assert_msg(variable_brings_code(variable, rows[_i].assignment) == rows[_i].brings_code, "%s",
		      rows[_i].assignment);
}
END_TEST

/* In a shell's text, a variable in its own value is what it was before. */
START_TEST(in_shell)
{
	static const char *const harmless[] = {"PATH=/bin:$PATH", "PATH=${PATH}:/usr/bin", "PAGER=$PAGER",
					       "PYTHON=${PYTHON:-python3}"};
	static const char *const others[] = {"PATH=$PATHS",         "PATH=$HOME:$PATH", "PATH=${PATH:-.}",
					     "PATH=$PATH:",         "PATH=$PATH/x",     "PATH=$",
					     "PYTHON=${PYTHON:-x}", "PYTHON=${PYTHON",  "PATH=${PATH}}"};

	for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
		ck_assert_msg(!variable_brings_code_in_shell(variable_find(harmless[i]), harmless[i]), "%s",
			      harmless[i]);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		ck_assert_msg(variable_brings_code_in_shell(variable_find(others[i]), others[i]), "%s", others[i]);
}
END_TEST

START_TEST(unknown)
{
	static const char *const others[] = {"",   "=", "A=PATH=x", "PATHS=/", "XLD_PRELOAD=x", "PAT=x", "ld_preload=x",
					     "+=x"};
	char text[4096] = "PAGER=cat";

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		ck_assert_msg(!variable_find(others[i]), "%s", others[i]);
	memset(text + 9, 't', sizeof(text) - 10);
	ck_assert(variable_brings_code(variable_find(text), text));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("variables");
	TCase *all = tcase_create("all");

	tcase_add_loop_test(all, known, 0, sizeof(rows) / sizeof(rows[0]));
	tcase_add_test(all, in_shell);
	tcase_add_test(all, unknown);
	suite_add_tcase(suite, all);
	return unit_run(suite);
}
