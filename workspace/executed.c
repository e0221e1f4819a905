#include "workspace/executed.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"

/* Patterns of paths in lower case, at any depth, with all below a match. */
static const struct {
	const char *pattern, *reason;
} executed_rows[] = {
#define GIT "git runs or obeys it"
	{".git/hooks", GIT},
	{".git/config*", GIT},
	{".git/modules", GIT},
	{".git/worktrees", GIT},
	{".git/info/attributes", GIT},
	{".git/commondir", GIT},
	{".git/rebase*", GIT},
	{".git/sequencer", GIT},
	{".gitmodules", GIT},
	{".gitattributes", GIT},
	{".gitconfig", GIT},
	{".githooks", GIT},
	{".husky*", GIT},
	{"*lefthook*.y*ml", GIT},
	{".pre-commit-config.y*ml", GIT},
#define HG "Mercurial obeys it"
	{".hg/hgrc", HG},
	{".hgrc", HG},
#define BUILD "a build tool or package manager runs or obeys it"
	{"package.json", BUILD},
	{".npmrc", BUILD},
	{".yarnrc*", BUILD},
	{".yarn", BUILD},
	{".pnp.*", BUILD},
	{".pnpmfile.*", BUILD},
	{"package-lock.json", BUILD},
	{"npm-shrinkwrap.json", BUILD},
	{"yarn.lock", BUILD},
	{"pnpm-*.yaml", BUILD},
	{"bun.lock*", BUILD},
	{"bunfig.toml", BUILD},
	{"deno.json*", BUILD},
	{"*.config.*js", BUILD},
	{"*.config.*ts", BUILD},
	{"node_modules", BUILD},
	{"makefile*", BUILD},
	{"gnumakefile", BUILD},
	{"bsdmakefile", BUILD},
	{"*.mk", BUILD},
	{"*.mak", BUILD},
	{"cmakelists.txt", BUILD},
	{"*.cmake", BUILD},
	{"meson.build", BUILD},
	{"configure*", BUILD},
	{"*.gradle*", BUILD},
	{"gradlew*", BUILD},
	{"mvnw*", BUILD},
	{".mvn", BUILD},
	{"pom.xml", BUILD},
	{"build.rs", BUILD},
	{"build.xml", BUILD},
	{"cargo.toml", BUILD},
	{".cargo", BUILD},
	{"rust-toolchain*", BUILD},
	{"go.mod", BUILD},
	{"go.work", BUILD},
	{".bazel*", BUILD},
	{"*.bazel", BUILD},
	{"tools/bazel", BUILD},
	{"build.sbt", BUILD},
	{"*.nix", BUILD},
	{"sconstruct", BUILD},
	{"wscript", BUILD},
	{".bundle", BUILD},
	{"*.gemspec", BUILD},
	{"rakefile", BUILD},
	{"gemfile", BUILD},
	{"justfile", BUILD},
	{"taskfile.y*ml", BUILD},
	{"dockerfile*", BUILD},
	{"*compose*.y*ml", BUILD},
	{"vagrantfile", BUILD},
	{"composer.json", BUILD},
	{"gulpfile.*", BUILD},
	{"gruntfile.*", BUILD},
	{"jakefile*", BUILD},
	{"cakefile", BUILD},
	{"karma.conf.*", BUILD},
	{"kbuild", BUILD},
	{"build.zig*", BUILD},
	{"*.ninja", BUILD},
	{"tupfile", BUILD},
	{"premake*.lua", BUILD},
	{"xmake.lua", BUILD},
	{"cmakepresets.json", BUILD},
	{"cmakeuserpresets.json", BUILD},
	{"aclocal.m4", BUILD},
	{"autogen.sh", BUILD},
	{"build.pl", BUILD},
	{"setup.hs", BUILD},
	{"project.clj", BUILD},
	{"mix.exs", BUILD},
	{"rebar.config", BUILD},
	{"podfile", BUILD},
	{"*.podspec", BUILD},
	{"*.csproj", BUILD},
	{"*.fsproj", BUILD},
	{"*.vbproj", BUILD},
	{"directory.build.*", BUILD},
	{"snakefile", BUILD},
	{"sconscript*", BUILD},
	{"earthfile", BUILD},
	{"brewfile", BUILD},
	{"procfile", BUILD},
	{"tiltfile", BUILD},
	{"fastfile", BUILD},
	{"berksfile", BUILD},
	{"capfile", BUILD},
	{"guardfile", BUILD},
	{"thorfile", BUILD},
	{"containerfile*", BUILD},
	{"config.ru", BUILD},
	{"phpunit.xml*", BUILD},
#define PYTHON "Python or its tools run or obey it"
	{"setup.py", PYTHON},
	{"setup.cfg", PYTHON},
	{"pyproject.toml", PYTHON},
	{"tox.ini", PYTHON},
	{"noxfile.py", PYTHON},
	{"tasks.py", PYTHON},
	{"dodo.py", PYTHON},
	{"fabfile.py", PYTHON},
	{"conanfile.py", PYTHON},
	{"hatch_build.py", PYTHON},
	{"hatch.toml", PYTHON},
	{".coveragerc", PYTHON},
	{".jupyter", PYTHON},
	{".ipython", PYTHON},
	{"requirements*.txt", PYTHON},
	{"pipfile*", PYTHON},
	{"poetry.*", PYTHON},
	{"uv.lock", PYTHON},
	{".pdbrc*", PYTHON},
	{"conftest.py", PYTHON},
	{"pytest.ini", PYTHON},
	{"sitecustomize*", PYTHON},
	{"usercustomize*", PYTHON},
	{"*.pth", PYTHON},
	{"*.pyc", PYTHON},
	{"__pycache__", PYTHON},
	{"pyvenv.cfg", PYTHON},
	{".venv", PYTHON},
	{"venv", PYTHON},
	{"site-packages", PYTHON},
#define SHELL "a shell or the session runs it when it starts"
	{".envrc", SHELL},
	{".env", SHELL},
	{".tool-versions", SHELL},
	{"*mise.toml", SHELL},
	{".profile", SHELL},
	{".bash*", SHELL},
	{".zsh*", SHELL},
	{".zprofile", SHELL},
	{".zlog*", SHELL},
	{".kshrc", SHELL},
	{".cshrc", SHELL},
	{".tcshrc", SHELL},
	{".login", SHELL},
	{".inputrc", SHELL},
	{".pam_environment", SHELL},
	{".rprofile", SHELL},
	{".renviron", SHELL},
	{".irbrc", SHELL},
	{".pryrc", SHELL},
	{".tmux.conf", SHELL},
	{".gnupg", SHELL},
	{"*.desktop", SHELL},
	{".xsession*", SHELL},
	{".xprofile", SHELL},
	{".config", SHELL},
	{".local/bin", SHELL},
	{".local/share", SHELL},
	{".ssh", SHELL},
	{".xinitrc", SHELL},
	{".direnvrc", SHELL},
	{".wgetrc", SHELL},
	{".curlrc", SHELL},
	{".psqlrc", SHELL},
	{".sqliterc", SHELL},
	{".my.cnf", SHELL},
	{".ghci", SHELL},
	{".octaverc", SHELL},
	{".perldb", SHELL},
	{".ocamlinit", SHELL},
	{".julia", SHELL},
#define EDITOR "an editor, debugger or agent runs or obeys it"
	{".vscode", EDITOR},
	{".idea", EDITOR},
	{".devcontainer*", EDITOR},
	{"*.code-workspace", EDITOR},
	{"*vimrc", EDITOR},
	{".vim", EDITOR},
	{".gitpod.y*ml", EDITOR},
	{"*.sublime-project", EDITOR},
	{".eslintrc*", EDITOR},
	{".prettierrc*", EDITOR},
	{".babelrc*", EDITOR},
	{"*-gdb.py", EDITOR},
	{"*-gdb.gdb", EDITOR},
	{".nvim*", EDITOR},
	{".exrc", EDITOR},
	{".emacs*", EDITOR},
	{".dir-locals*", EDITOR},
	{".gdbinit", EDITOR},
	{".lldbinit", EDITOR},
	{".claude*", EDITOR},
	{".cursor*", EDITOR},
	{".mcp.json", EDITOR},
	{"claude.md", EDITOR},
	{"agents.md", EDITOR},
	{"gemini.md", EDITOR},
	{".gemini", EDITOR},
	{".codex", EDITOR},
	{".opencode", EDITOR},
	{".windsurf*", EDITOR},
	{".zed", EDITOR},
	{".run", EDITOR},
	{".fleet", EDITOR},
	{".theia", EDITOR},
	{".helix", EDITOR},
	{".aider*", EDITOR},
	{".replit", EDITOR},
	{".mocharc*", EDITOR},
	{"*pylintrc", EDITOR},
	{"mypy.ini", EDITOR},
	{".stylelintrc*", EDITOR},
	{".lintstagedrc*", EDITOR},
	{".nodemonrc", EDITOR},
	{"nodemon.json", EDITOR},
#define CI "continuous integration runs it"
	{".github", CI},
	{".gitlab-ci*", CI},
	{".travis.yml", CI},
	{".circleci", CI},
	{".buildkite", CI},
	{".woodpecker*", CI},
	{".drone.y*ml", CI},
	{".build.yml", CI},
	{".builds", CI},
	{".cirrus*", CI},
	{"*appveyor.y*ml", CI},
	{"bitbucket-pipelines*", CI},
	{".forgejo", CI},
	{".gitea", CI},
	{"jenkinsfile*", CI},
	{"azure-pipelines*", CI},
	{".azure-pipelines", CI},
	{".gitlab", CI},
	{".teamcity", CI},
	{".jenkins*", CI},
	{".semaphore", CI},
	{".tekton", CI},
	{"cloudbuild.y*ml", CI},
	{"buildspec.y*ml", CI},
	{"action.y*ml", CI},
	{"codeship-*", CI},
	{"wercker.yml", CI},
	{"skaffold.y*ml", CI},
};
#define EXECUTED_ROWS (sizeof(executed_rows) / sizeof(executed_rows[0]))

int executed_init(struct executed *executed)
{
	executed->glob = arena_alloc(&executed->arena, EXECUTED_ROWS * sizeof(*executed->glob));
	if (!executed->glob)
		return -ENOMEM;
	for (size_t i = 0; i < EXECUTED_ROWS; i++) {
		const char *pattern = arena_printf(&executed->arena, "**/%s", executed_rows[i].pattern);

		if (!pattern || glob_compile(&executed->arena, pattern, true, &executed->glob[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

void executed_release(struct executed *executed)
{
	arena_release(&executed->arena);
}

/* True when a path ends with these names. */
static bool executed_ends_with(const char *path, const char *names)
{
	const size_t len = strlen(path), names_len = strlen(names);

	return len >= names_len && strcmp(path + len - names_len, names) == 0 &&
	       (len == names_len || path[len - names_len - 1] == '/');
}

/* Why a path is one that a tool runs by itself; NULL: it is none. A file system may take .GIT for .git. */
static const char *executed_find_name(const struct executed *executed, const char *path)
{
	char lower[PATH_MAX];
	size_t len = strlen(path);

	if (len >= sizeof(lower))
		return "its path is too long";
	for (size_t i = 0; i <= len; i++)
		lower[i] = (char)tolower((unsigned char)path[i]);
	for (size_t i = 0; i < EXECUTED_ROWS; i++)
		if (glob_matches(&executed->glob[i], lower, len))
			return executed_rows[i].reason;
	if (executed_ends_with(lower, ".git"))
		return GIT; /* also a file or link that names another repository */
	if (executed_ends_with(lower, "head") && !executed_ends_with(lower, ".git/head"))
		return GIT; /* makes its directory a bare repository, with a "config" beside it that git obeys */
	return NULL;
}

/* True when a link may lead out of the directory. Only leading ".." are counted: another one may follow a link. */
static bool executed_leads_out(const char *path, const char *target)
{
	long depth = 0;

	if (target[0] == '/')
		return true;
	for (; *path; path++)
		depth += *path == '/';
	while (strncmp(target, "../", 3) == 0 || strcmp(target, "..") == 0) {
		if (--depth < 0)
			return true;
		target += target[2] ? 3 : 2;
		target += strspn(target, "/");
	}
	for (const char *at = target; (at = strstr(at, "..")); at += 2)
		if ((at == target || at[-1] == '/') && (at[2] == '/' || at[2] == '\0'))
			return true;
	return false;
}

static const char *executed_judge_link(const struct workspace_layer *layer, const char *path)
{
	_cleanup_close_ int fd = workspace_open_entry(layer->upper_fd, path);
	char target[PATH_MAX];
	const ssize_t len = fd < 0 ? -1 : readlinkat(fd, "", target, sizeof(target) - 1);

	if (len < 0)
		return "it cannot be read";
	target[len] = '\0';
	return executed_leads_out(path, target) ? "it is a link that may lead out of the directory" : NULL;
}

/* Whether a file gives rights to whoever executes it. */
static const char *executed_judge_file(const struct workspace_layer *layer, const struct workspace_change *change)
{
	_cleanup_close_ int fd = -1;

	if (change->upper.mode & (S_ISUID | S_ISGID))
		return "it has a set-id bit";
	fd = workspace_open_entry(layer->upper_fd, change->path);
	if (fd < 0)
		return "it cannot be read";
	return getxattr(io_proc_fd_path(fd).path, "security.capability", NULL, 0) >= 0 ? "it has capabilities" : NULL;
}

const char *executed_find_reason(const struct executed *executed, const struct workspace_layer *layer,
				 const struct workspace_change *change)
{
	const char *reason;

	if (!change->upper.exists || !*change->path)
		return NULL;
	reason = S_ISDIR(change->upper.mode) ? NULL : executed_find_name(executed, change->path);
	if (reason)
		return reason;
	if (S_ISLNK(change->upper.mode))
		return executed_judge_link(layer, change->path);
	return S_ISREG(change->upper.mode) ? executed_judge_file(layer, change) : NULL;
}

const char *executed_find_reason_of_dir(const struct executed *executed, const char *dir)
{
	static const char *const system_dirs[] = {
		"/usr",    "/etc",  "/bin", "/sbin",           "/lib",         "/lib32", "/lib64",
		"/libx32", "/boot", "/opt", "/var/spool/cron", "/var/lib/dpkg"};
	char lower[PATH_MAX];
	size_t len = strlen(dir);

	for (size_t i = 0; i < sizeof(system_dirs) / sizeof(system_dirs[0]); i++)
		if (path_is_below(dir, system_dirs[i]) || path_is_below(system_dirs[i], dir))
			return "the system runs or obeys what is there";
	if (len >= sizeof(lower))
		return "its path is too long";
	for (size_t i = 0; i <= len; i++)
		lower[i] = (char)tolower((unsigned char)dir[i]);
	/* Patterns of directories have no "*": one such as configure* is also of what a project may be called. */
	for (size_t i = 0; i < EXECUTED_ROWS; i++)
		if (!strchr(executed_rows[i].pattern, '*') && glob_matches(&executed->glob[i], lower, len))
			return executed_rows[i].reason;
	return NULL;
}
