#include "policy/variables.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

#define PIECE_BYTES_MAX 64u /* a longer part of a value is no usual one */

#define EDITORS "vi vim nvim nano emacs ed ex true false : /bin/true /bin/false /usr/bin/vi /usr/bin/vim /usr/bin/nano"
#define PAGERS "cat less more most /bin/cat /bin/less /bin/more /usr/bin/cat /usr/bin/less /usr/bin/more -R -F -X -FRX"
#define COMPILERS "cc gcc clang c++ g++ clang++ cpp ld ar /usr/bin/cc /usr/bin/gcc /usr/bin/clang /usr/bin/g++"
#define HEAPS "-Xmx[0-9]* -Xms[0-9]* -Xss[0-9]*"

/* The first row that matches a name is the variable's. Prefixes stand behind the names that they include. */
static const struct variable variables[] = {
	/* the C library and its loader */
	{"LD_PRELOAD", VARIABLE_LIBRARY, NULL},
	{"LD_AUDIT", VARIABLE_LIBRARY, NULL},
	{"LD_LIBRARY_PATH", VARIABLE_LOADS, NULL},
	{"LD_*", VARIABLE_SETTINGS, NULL},
	{"GLIBC_TUNABLES", VARIABLE_SETTINGS, NULL},
	{"GCONV_PATH", VARIABLE_LOADS, NULL},
	{"PATH", VARIABLE_LOADS,
	 "/bin /sbin /usr/bin /usr/sbin /usr/local/bin /usr/local/sbin /usr/games /usr/local/games"},
	/* shells */
	{"BASH_ENV", VARIABLE_SCRIPT, "/dev/null"},
	{"ENV", VARIABLE_LOADS, "/dev/null"},
	{"ZDOTDIR", VARIABLE_LOADS, NULL},
	{"FPATH", VARIABLE_LOADS, NULL},
	{"BASH_LOADABLES_PATH", VARIABLE_LOADS, NULL},
	{"BASH_FUNC_*", VARIABLE_COMMAND, NULL},
	{"PROMPT_COMMAND", VARIABLE_COMMAND, NULL},
	{"PS0", VARIABLE_COMMAND, NULL},
	{"PS1", VARIABLE_COMMAND, "$ # % >"},
	{"PS2", VARIABLE_COMMAND, ">"},
	{"PS4", VARIABLE_COMMAND, "+ ++"},
	{"MAILPATH", VARIABLE_COMMAND, NULL},
	{"FCEDIT", VARIABLE_COMMAND, EDITORS},
	{"SHELL", VARIABLE_COMMAND, "/bin/sh /bin/bash /bin/dash /usr/bin/bash /usr/bin/sh /bin/false sh bash"},
	{"SHELLOPTS", VARIABLE_OPTIONS, NULL},
	{"BASHOPTS", VARIABLE_OPTIONS, NULL},
	{"CDPATH", VARIABLE_SETTINGS, NULL},
	{"INPUTRC", VARIABLE_SETTINGS, NULL},
	{"IFS", VARIABLE_SPLITS, NULL},
	/* Python */
	{"PYTHONPATH", VARIABLE_LOADS, NULL},
	{"PYTHONHOME", VARIABLE_LOADS, NULL},
	{"PYTHONSTARTUP", VARIABLE_LOADS, NULL},
	{"PYTHONUSERBASE", VARIABLE_LOADS, NULL},
	{"PYTHONPYCACHEPREFIX", VARIABLE_LOADS, NULL},
	{"PYTHONPLATLIBDIR", VARIABLE_LOADS, NULL},
	{"PYTHONEXECUTABLE", VARIABLE_LOADS, NULL},
	{"PYTHON_PRESITE", VARIABLE_LOADS, NULL},
	{"PYTHONBREAKPOINT", VARIABLE_COMMAND, "0"},
	{"PYTHONWARNINGS", VARIABLE_OPTIONS, "ignore default error always once all module"},
	{"PYTHON", VARIABLE_COMMAND, "python python3 /usr/bin/python3"},
	{"PYTHON*", VARIABLE_SETTINGS, NULL},
	{"PYTEST_PLUGINS", VARIABLE_LOADS, NULL},
	{"PYTEST_ADDOPTS", VARIABLE_OPTIONS, NULL},
	{"IPYTHONDIR", VARIABLE_LOADS, NULL},
	{"JUPYTER_*", VARIABLE_SETTINGS, NULL},
	{"VIRTUAL_ENV", VARIABLE_SETTINGS, NULL},
	{"PIP_INDEX_URL", VARIABLE_LOADS, NULL},
	{"PIP_EXTRA_INDEX_URL", VARIABLE_LOADS, NULL},
	{"PIP_FIND_LINKS", VARIABLE_LOADS, NULL},
	{"PIP_CONFIG_FILE", VARIABLE_OPTIONS, "/dev/null"},
	{"PIP_*", VARIABLE_SETTINGS, NULL},
	{"UV_INDEX*", VARIABLE_LOADS, NULL},
	{"UV_DEFAULT_INDEX", VARIABLE_LOADS, NULL},
	{"UV_*", VARIABLE_SETTINGS, NULL},
	/* Perl, Ruby */
	{"PERL5OPT", VARIABLE_OPTIONS, NULL},
	{"PERL5DB", VARIABLE_COMMAND, NULL},
	{"PERL5SHELL", VARIABLE_COMMAND, NULL},
	{"PERL5LIB", VARIABLE_LOADS, NULL},
	{"PERLLIB", VARIABLE_LOADS, NULL},
	{"PERL5*", VARIABLE_SETTINGS, NULL},
	{"PERL_MM_OPT", VARIABLE_OPTIONS, NULL},
	{"PERL_MB_OPT", VARIABLE_OPTIONS, NULL},
	{"RUBYOPT", VARIABLE_OPTIONS, "-w -W0 -W1 -W2"},
	{"RUBYLIB", VARIABLE_LOADS, NULL},
	{"RUBYPATH", VARIABLE_LOADS, NULL},
	{"RUBYSHELL", VARIABLE_COMMAND, NULL},
	{"GEM_HOME", VARIABLE_LOADS, NULL},
	{"GEM_PATH", VARIABLE_LOADS, NULL},
	{"IRBRC", VARIABLE_LOADS, NULL},
	{"BUNDLE_GEMFILE", VARIABLE_LOADS, NULL},
	{"BUNDLE_*", VARIABLE_SETTINGS, NULL},
	/* JavaScript */
	{"NODE_OPTIONS", VARIABLE_OPTIONS,
	 "--max-old-space-size=[0-9]* --max_old_space_size=[0-9]* --no-warnings --no-deprecation --trace-warnings"},
	{"NODE_PATH", VARIABLE_LOADS, NULL},
	{"NODE_REPL_EXTERNAL_MODULE", VARIABLE_LOADS, NULL},
	{"BUN_OPTIONS", VARIABLE_OPTIONS, NULL},
	{"npm_config_script_shell", VARIABLE_COMMAND, NULL},
	{"npm_config_node_options", VARIABLE_OPTIONS, NULL},
	{"npm_config_*", VARIABLE_SETTINGS, NULL},
	{"NPM_CONFIG_SCRIPT_SHELL", VARIABLE_COMMAND, NULL},
	{"NPM_CONFIG_NODE_OPTIONS", VARIABLE_OPTIONS, NULL},
	{"NPM_CONFIG_*", VARIABLE_SETTINGS, NULL},
	{"YARN_YARN_PATH", VARIABLE_LOADS, NULL},
	{"YARN_PLUGINS", VARIABLE_LOADS, NULL},
	{"YARN_RC_FILENAME", VARIABLE_OPTIONS, NULL},
	{"YARN_*", VARIABLE_SETTINGS, NULL},
	/* Java and .NET */
	{"JAVA_TOOL_OPTIONS", VARIABLE_OPTIONS, HEAPS},
	{"JDK_JAVA_OPTIONS", VARIABLE_OPTIONS, HEAPS},
	{"_JAVA_OPTIONS", VARIABLE_OPTIONS, HEAPS},
	{"JAVA_OPTS", VARIABLE_OPTIONS, HEAPS},
	{"MAVEN_OPTS", VARIABLE_OPTIONS, HEAPS},
	{"MAVEN_ARGS", VARIABLE_OPTIONS, NULL},
	{"GRADLE_OPTS", VARIABLE_OPTIONS, HEAPS},
	{"ANT_OPTS", VARIABLE_OPTIONS, HEAPS},
	{"SBT_OPTS", VARIABLE_OPTIONS, HEAPS},
	{"JAVACMD", VARIABLE_COMMAND, "java /usr/bin/java"},
	{"JAVA_HOME", VARIABLE_LOADS, NULL},
	{"CLASSPATH", VARIABLE_LOADS, NULL},
	{"DOTNET_STARTUP_HOOKS", VARIABLE_LOADS, NULL},
	{"DOTNET_ADDITIONAL_DEPS", VARIABLE_LOADS, NULL},
	{"CORECLR_PROFILER_PATH*", VARIABLE_LOADS, NULL},
	{"MONO_PATH", VARIABLE_LOADS, NULL},
	/* other languages */
	{"LUA_INIT*", VARIABLE_COMMAND, NULL},
	{"LUA_PATH*", VARIABLE_LOADS, NULL},
	{"LUA_CPATH*", VARIABLE_LOADS, NULL},
	{"PHPRC", VARIABLE_LOADS, NULL},
	{"PHP_INI_SCAN_DIR", VARIABLE_LOADS, NULL},
	{"R_PROFILE*", VARIABLE_LOADS, NULL},
	{"R_LIBS*", VARIABLE_LOADS, NULL},
	{"R_HOME", VARIABLE_LOADS, NULL},
	{"R_DEFAULT_PACKAGES", VARIABLE_LOADS, NULL},
	{"R_ENVIRON*", VARIABLE_SETTINGS, NULL},
	{"TCLLIBPATH", VARIABLE_LOADS, NULL},
	{"GUILE_LOAD_*", VARIABLE_LOADS, NULL},
	{"JULIA_LOAD_PATH", VARIABLE_LOADS, NULL},
	{"JULIA_DEPOT_PATH", VARIABLE_LOADS, NULL},
	{"JULIA_PROJECT", VARIABLE_LOADS, NULL},
	{"CAML_LD_LIBRARY_PATH", VARIABLE_LOADS, NULL},
	{"ERL_LIBS", VARIABLE_LOADS, NULL},
	{"ERL_FLAGS", VARIABLE_OPTIONS, NULL},
	{"ERL_AFLAGS", VARIABLE_OPTIONS, NULL},
	{"ERL_ZFLAGS", VARIABLE_OPTIONS, NULL},
	{"ELIXIR_ERL_OPTIONS", VARIABLE_OPTIONS, NULL},
	{"GHCRTS", VARIABLE_OPTIONS, NULL},
	{"AWKPATH", VARIABLE_LOADS, NULL},
	{"AWKLIBPATH", VARIABLE_LOADS, NULL},
	/* where tools find their settings, which may name commands */
	{"HOME", VARIABLE_SETTINGS, NULL},
	{"XDG_CONFIG_*", VARIABLE_SETTINGS, NULL},
	{"XDG_DATA_*", VARIABLE_SETTINGS, NULL},
	/* git */
	{"GIT_SSH", VARIABLE_COMMAND, "ssh /usr/bin/ssh"},
	{"GIT_SSH_COMMAND", VARIABLE_COMMAND, "ssh /usr/bin/ssh"},
	{"GIT_EDITOR", VARIABLE_COMMAND, EDITORS},
	{"GIT_SEQUENCE_EDITOR", VARIABLE_COMMAND, EDITORS},
	{"GIT_PAGER", VARIABLE_COMMAND, PAGERS},
	{"GIT_EXTERNAL_DIFF", VARIABLE_COMMAND, NULL},
	{"GIT_ASKPASS", VARIABLE_COMMAND, "true false : echo /bin/true /bin/false /bin/echo"},
	{"GIT_PROXY_COMMAND", VARIABLE_COMMAND, NULL},
	{"GIT_CONFIG_COUNT", VARIABLE_OPTIONS, "0 1"},
	{"GIT_CONFIG_NOSYSTEM", VARIABLE_OPTIONS, "0 1 true false"},
	{"GIT_CONFIG_VALUE_*", VARIABLE_OPTIONS, "0 1 true false"},
	{"GIT_CONFIG*", VARIABLE_OPTIONS, "/dev/null"}, /* files, and names of settings */
	{"GIT_ALLOW_PROTOCOL", VARIABLE_OPTIONS, "file git http https ssh"},
	{"GIT_EXEC_PATH", VARIABLE_LOADS, NULL},
	{"GIT_TEMPLATE_DIR", VARIABLE_LOADS, NULL},
	{"GIT_*", VARIABLE_SETTINGS, NULL},
	/* pagers, editors, and programs that start them */
	{"PAGER", VARIABLE_COMMAND, PAGERS},
	{"MANPAGER", VARIABLE_COMMAND, PAGERS},
	{"MANOPT", VARIABLE_OPTIONS, NULL},
	{"SYSTEMD_PAGER", VARIABLE_COMMAND, PAGERS},
	{"BAT_PAGER", VARIABLE_COMMAND, PAGERS},
	{"DELTA_PAGER", VARIABLE_COMMAND, PAGERS},
	{"AWS_PAGER", VARIABLE_COMMAND, PAGERS},
	{"GH_PAGER", VARIABLE_COMMAND, PAGERS},
	{"PSQL_PAGER", VARIABLE_COMMAND, PAGERS},
	{"EDITOR", VARIABLE_COMMAND, EDITORS},
	{"VISUAL", VARIABLE_COMMAND, EDITORS},
	{"SYSTEMD_EDITOR", VARIABLE_COMMAND, EDITORS},
	{"SUDO_EDITOR", VARIABLE_COMMAND, EDITORS},
	{"PSQL_EDITOR", VARIABLE_COMMAND, EDITORS},
	{"HGEDITOR", VARIABLE_COMMAND, EDITORS},
	{"SVN_EDITOR", VARIABLE_COMMAND, EDITORS},
	{"GH_EDITOR", VARIABLE_COMMAND, EDITORS},
	{"LESSEDIT", VARIABLE_COMMAND, NULL},
	{"LESSOPEN", VARIABLE_COMMAND, NULL},
	{"LESSCLOSE", VARIABLE_COMMAND, NULL},
	{"LESSKEY*", VARIABLE_LOADS, NULL},
	{"LESS", VARIABLE_OPTIONS, "-R -F -X -S -M -i -FRX -FRSX -FX R FRX FRSX"},
	{"BROWSER", VARIABLE_COMMAND, "true false : echo /bin/true /bin/false none"},
	{"VIMINIT", VARIABLE_COMMAND, NULL},
	{"GVIMINIT", VARIABLE_COMMAND, NULL},
	{"EXINIT", VARIABLE_COMMAND, NULL},
	{"VIMRUNTIME", VARIABLE_LOADS, NULL},
	{"EMACSLOADPATH", VARIABLE_LOADS, NULL},
	{"SCREENRC", VARIABLE_LOADS, NULL},
	{"FZF_DEFAULT_COMMAND", VARIABLE_COMMAND, NULL},
	{"FZF_DEFAULT_OPTS", VARIABLE_OPTIONS, NULL},
	{"GROFF_COMMAND_PREFIX", VARIABLE_LOADS, NULL},
	{"MANROFFOPT", VARIABLE_OPTIONS, "-c"},
	{"MAILCAPS", VARIABLE_SETTINGS, NULL},
	/* what connects, copies and packs */
	{"SSH_ASKPASS", VARIABLE_COMMAND, "true false : echo /bin/true /bin/false /bin/echo"},
	{"SUDO_ASKPASS", VARIABLE_COMMAND, NULL},
	{"SVN_SSH", VARIABLE_COMMAND, "ssh /usr/bin/ssh"},
	{"CVS_RSH", VARIABLE_COMMAND, "ssh /usr/bin/ssh"},
	{"RSYNC_RSH", VARIABLE_COMMAND, "ssh /usr/bin/ssh"},
	{"RSYNC_CONNECT_PROG", VARIABLE_COMMAND, NULL},
	{"TAR_OPTIONS", VARIABLE_OPTIONS, NULL},
	{"ZIPOPT", VARIABLE_OPTIONS, NULL},
	{"RIPGREP_CONFIG_PATH", VARIABLE_OPTIONS, NULL},
	{"APT_CONFIG", VARIABLE_OPTIONS, "/dev/null"},
	{"BC_ENV_ARGS", VARIABLE_OPTIONS, NULL},
	{"WGETRC", VARIABLE_SETTINGS, NULL},
	{"PSQLRC", VARIABLE_SETTINGS, NULL},
	{"CURL_HOME", VARIABLE_SETTINGS, NULL},
	{"KUBECONFIG", VARIABLE_SETTINGS, NULL},
	{"DOCKER_CONFIG", VARIABLE_SETTINGS, NULL},
	{"AWS_CONFIG_FILE", VARIABLE_SETTINGS, NULL},
	{"GNUPGHOME", VARIABLE_SETTINGS, NULL},
	{"DBUS_SESSION_BUS_ADDRESS", VARIABLE_SETTINGS, NULL},
	{"ANSIBLE_*", VARIABLE_SETTINGS, NULL},
	{"TF_CLI_ARGS*", VARIABLE_OPTIONS, NULL},
	{"TF_CLI_CONFIG_FILE", VARIABLE_SETTINGS, NULL},
	/* libraries with modules */
	{"OPENSSL_CONF", VARIABLE_LOADS, "/dev/null /etc/ssl/openssl.cnf"},
	{"OPENSSL_MODULES", VARIABLE_LOADS, NULL},
	{"OPENSSL_ENGINES", VARIABLE_LOADS, NULL},
	{"KRB5_CONFIG", VARIABLE_LOADS, NULL},
	{"SASL_PATH", VARIABLE_LOADS, NULL},
	{"GTK_MODULES", VARIABLE_LOADS, NULL},
	{"GTK_PATH", VARIABLE_LOADS, NULL},
	{"GIO_EXTRA_MODULES", VARIABLE_LOADS, NULL},
	{"GIO_MODULE_DIR", VARIABLE_LOADS, NULL},
	{"GI_TYPELIB_PATH", VARIABLE_LOADS, NULL},
	{"GST_PLUGIN_*", VARIABLE_LOADS, NULL},
	{"QT_PLUGIN_PATH", VARIABLE_LOADS, NULL},
	{"QT_QPA_PLATFORM_PLUGIN_PATH", VARIABLE_LOADS, NULL},
	{"QML_IMPORT_PATH", VARIABLE_LOADS, NULL},
	{"QML2_IMPORT_PATH", VARIABLE_LOADS, NULL},
	{"LIBGL_DRIVERS_PATH", VARIABLE_LOADS, NULL},
	{"LIBVA_DRIVERS_PATH", VARIABLE_LOADS, NULL},
	{"VK_*", VARIABLE_LOADS, NULL},
	{"OMP_TOOL_LIBRARIES", VARIABLE_LOADS, NULL},
	{"HDF5_PLUGIN_PATH", VARIABLE_LOADS, NULL},
	{"GDAL_DRIVER_PATH", VARIABLE_LOADS, NULL},
	{"MAGICK_*", VARIABLE_LOADS, NULL},
	{"ASAN_SYMBOLIZER_PATH", VARIABLE_COMMAND, NULL},
	{"ASAN_OPTIONS", VARIABLE_OPTIONS, NULL},
	{"VALGRIND_LIB", VARIABLE_LOADS, NULL},
	{"VALGRIND_OPTS", VARIABLE_OPTIONS, NULL},
	/* what builds programs */
	{"MAKEFLAGS", VARIABLE_OPTIONS, "-j -j[0-9] -j[0-9][0-9] -s -k --no-print-directory"},
	{"GNUMAKEFLAGS", VARIABLE_OPTIONS, "-j -j[0-9] -j[0-9][0-9] -s -k --no-print-directory"},
	{"MFLAGS", VARIABLE_OPTIONS, "-j -j[0-9] -j[0-9][0-9] -s -k --no-print-directory"},
	{"MAKEFILES", VARIABLE_LOADS, NULL},
	{"MAKE", VARIABLE_COMMAND, "make gmake /usr/bin/make"},
	{"CC", VARIABLE_COMMAND, COMPILERS},
	{"CXX", VARIABLE_COMMAND, COMPILERS},
	{"CPP", VARIABLE_COMMAND, COMPILERS},
	{"LD", VARIABLE_COMMAND, COMPILERS},
	{"AR", VARIABLE_COMMAND, COMPILERS},
	{"GCC_EXEC_PREFIX", VARIABLE_LOADS, NULL},
	{"COMPILER_PATH", VARIABLE_LOADS, NULL},
	{"LIBRARY_PATH", VARIABLE_LOADS, NULL},
	{"CPATH", VARIABLE_LOADS, NULL},
	{"C_INCLUDE_PATH", VARIABLE_LOADS, NULL},
	{"CPLUS_INCLUDE_PATH", VARIABLE_LOADS, NULL},
	{"CCACHE_PREFIX*", VARIABLE_COMMAND, NULL},
	{"CCACHE_COMPILER", VARIABLE_COMMAND, COMPILERS},
	{"CONFIG_SITE", VARIABLE_LOADS, "/dev/null"},
	{"CMAKE_TOOLCHAIN_FILE", VARIABLE_LOADS, NULL},
	{"PKG_CONFIG", VARIABLE_COMMAND, "pkg-config pkgconf /usr/bin/pkg-config"},
	{"PKG_CONFIG_*", VARIABLE_SETTINGS, NULL},
	{"ACLOCAL_PATH", VARIABLE_LOADS, NULL},
	{"M4PATH", VARIABLE_LOADS, NULL},
	{"TEXINPUTS", VARIABLE_LOADS, NULL},
	{"GOFLAGS", VARIABLE_OPTIONS, "-mod=vendor -mod=mod -mod=readonly -trimpath -v"},
	{"GOPROXY", VARIABLE_LOADS, "off"},
	{"GOROOT", VARIABLE_LOADS, NULL},
	{"GOENV", VARIABLE_OPTIONS, "off"},
	{"GOPATH", VARIABLE_SETTINGS, NULL},
	{"CARGO_BUILD_RUSTC*", VARIABLE_COMMAND, NULL},
	{"CARGO_TARGET_*", VARIABLE_COMMAND, NULL},
	{"CARGO_*", VARIABLE_SETTINGS, NULL},
	{"RUSTC", VARIABLE_COMMAND, "rustc"},
	{"RUSTC_WRAPPER", VARIABLE_COMMAND, "sccache"},
	{"RUSTC_WORKSPACE_WRAPPER", VARIABLE_COMMAND, NULL},
	{"RUSTDOC", VARIABLE_COMMAND, "rustdoc"},
	{"RUSTFLAGS", VARIABLE_OPTIONS, NULL},
	{"NIX_PATH", VARIABLE_LOADS, NULL},
};

/* The length of the name in an assignment. */
static size_t variable_get_name_len(const char *assignment)
{
	const char *end = strchr(assignment, '=');

	if (!end)
		return strlen(assignment);
	return (size_t)(end - assignment) - (end > assignment && end[-1] == '+');
}

/* Whether a row is for the variable of this name. */
static bool variable_has_name(const struct variable *variable, const char *name, size_t len)
{
	const size_t own_len = strcspn(variable->name, "*");
	const bool is_prefix = variable->name[own_len] == '*';

	return (is_prefix ? len >= own_len : len == own_len) && memcmp(name, variable->name, own_len) == 0;
}

const struct variable *variable_find(const char *assignment)
{
	const size_t len = variable_get_name_len(assignment);

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		if (variable_has_name(&variables[i], assignment, len))
			return &variables[i];
	return NULL;
}

/*
 * Whether a part of a value matches one of these patterns, which have blanks between them. What has control characters
 * does not: programs differ in which of these divide a value.
 */
static bool variable_piece_is_usual(const char *piece, size_t len, const char *patterns)
{
	char text[PIECE_BYTES_MAX] = "", pattern[PIECE_BYTES_MAX];

	if (len >= sizeof(text))
		return false;
	for (size_t i = 0; i < len; i++)
		if (iscntrl((unsigned char)piece[i]))
			return false;
	memcpy(text, piece, len);
	for (; *patterns; patterns += strspn(patterns, " ")) {
		const size_t pattern_len = strcspn(patterns, " ");

		if (pattern_len < sizeof(pattern)) {
			memcpy(pattern, patterns, pattern_len);
			pattern[pattern_len] = '\0';
			if (fnmatch(pattern, text, FNM_NOESCAPE) == 0)
				return true;
		}
		patterns += pattern_len;
	}
	return false;
}

/*
 * Whether a part of a value in a shell's text is the variable's value before: "$NAME", "${NAME}", or "${NAME:-VALUE}"
 * with a usual value.
 */
static bool variable_piece_is_itself(const struct variable *variable, const char *piece, size_t len)
{
	const size_t name_len = strlen(variable->name), start = len > 1 && piece[1] == '{' ? 2 : 1;
	const char *rest = piece + start + name_len;

	if (strchr(variable->name, '*'))
		return false; /* the name of many variables */
	if (len < start + name_len || *piece != '$' || memcmp(piece + start, variable->name, name_len) != 0)
		return false;
	len -= start + name_len;
	if (start == 1 || (len == 1 && *rest == '}'))
		return len == start - 1;
	return len > 3 && memcmp(rest, ":-", 2) == 0 && rest[len - 1] == '}' &&
	       variable_piece_is_usual(rest + 2, len - 3, variable->usual);
}

/* Of a list of places each part counts, also an empty one: of PATH it is the working directory. */
static bool variable_is_usual(const struct variable *variable, const char *value, bool is_of_shell)
{
	const bool is_list = variable->meaning == VARIABLE_LOADS;
	const char *const between = is_list ? ":" : " \t\n";

	if (!variable->usual || (!*value && strcmp(variable->name, "PATH") != 0))
		return !*value;
	for (;;) {
		const size_t len = strcspn(value, between);

		if ((len > 0 || is_list) && !variable_piece_is_usual(value, len, variable->usual) &&
		    !(is_of_shell && variable_piece_is_itself(variable, value, len)))
			return false;
		if (!value[len])
			return true;
		value += len + 1;
	}
}

static bool variable_may_bring_code(const struct variable *variable, const char *assignment, bool is_of_shell)
{
	const char *after_name = assignment + variable_get_name_len(assignment);

	if (variable->meaning == VARIABLE_SETTINGS || variable->meaning == VARIABLE_SPLITS)
		return false;
	/* what is added to a value, and a name that is cut off, is not known as a whole */
	return *after_name != '=' || !variable_is_usual(variable, after_name + 1, is_of_shell);
}

bool variable_brings_code(const struct variable *variable, const char *assignment)
{
	return variable_may_bring_code(variable, assignment, false);
}

bool variable_brings_code_in_shell(const struct variable *variable, const char *assignment)
{
	return variable_may_bring_code(variable, assignment, true);
}

const char *variable_describe(const struct variable *variable)
{
	static const char *const words[VARIABLE_MEANING_MAX] = {
		[VARIABLE_LIBRARY] = "loads code",      [VARIABLE_SCRIPT] = "runs a script",
		[VARIABLE_LOADS] = "loads code",        [VARIABLE_COMMAND] = "is a command",
		[VARIABLE_OPTIONS] = "sets options",    [VARIABLE_SETTINGS] = "changes settings",
		[VARIABLE_SPLITS] = "changes settings",
	};

	return words[variable->meaning];
}
