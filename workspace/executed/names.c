#include "workspace/executed/names.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "policy/paths/glob.h"

/*
 * Patterns of paths in lower case, at any depth. A match of a name for files is the file itself; of others it is all
 * below as well.
 */
static const struct {
	const char *reason;
	bool is_file;
	const char *const *patterns; /* NULL-ended */
} executed_groups[] = {
#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define GIT EXECUTED_GIT_REASON
#define BUILD "a build tool or package manager runs or obeys it"
	{GIT, false,
	 NAMES("*lefthook*.json", "*lefthook*.toml", "*lefthook*.y*ml", ".git-hooks", ".git/commondir", ".git/config*",
	       ".git/hooks", ".git/info/attributes", ".git/modules", ".git/rebase*", ".git/sequencer", ".git/worktrees",
	       ".gitattributes", ".gitconfig", ".githooks", ".gitmodules", ".husky*", ".jj/repo", ".overcommit.yml",
	       ".pre-commit-config.y*ml", ".pre-commit-hooks.y*ml", ".repo")},
	{"Mercurial obeys it", false, NAMES(".hg/hgrc*", ".hg/sharedpath", ".hgrc", ".hgsub")},
	{BUILD, false,
	 NAMES("*.bazel", "*.bzl", "*.cabal", "*.cmake", "*.conf.*js", "*.conf.*ts", "*.config.*js", "*.config.*ts",
	       "*.csproj", "*.dockerfile", "*.fsproj", "*.gemspec", "*.gn", "*.gni", "*.gradle*", "*.gyp", "*.gypi",
	       "*.hcl", "*.just", "*.m4", "*.mak", "*.mk", "*.nimble", "*.nims", "*.ninja", "*.nix", "*.opam",
	       "*.podspec", "*.pri", "*.pro", "*.proj", "*.props", "*.qbs", "*.rake", "*.rockspec", "*.sbt", "*.sln",
	       "*.slnx", "*.targets", "*.tf", "*.tf.json", "*.vbproj", "*.vcxproj*", "*.xcodeproj", "*.xcworkspace",
	       "*compose*.y*ml", ".air.toml", ".bazel*", ".buckconfig*", ".bundle", ".busted", ".cargo", ".changeset",
	       ".commitlintrc*", ".credo.exs", ".formatter.exs", ".golangci.y*ml", ".goreleaser.y*ml", ".justfile",
	       ".luacheckrc", ".mise", ".mise-tasks", ".mvn", ".npmrc", ".nycrc*", ".php-cs-fixer*.php", ".plzconfig*",
	       ".pnp.*", ".pnpmfile.*", ".postcssrc*", ".proverc", ".puppeteerrc*", ".releaserc*", ".rspec",
	       ".rubocop*.yml", ".swcrc", ".terraform*", ".yarn", ".yarnrc*", "air.toml", "analysis_options.yaml",
	       "angular.json", "ansible.cfg", "autogen.sh", "bb.edn", "berksfile", "bootstrap.sh", "brewfile",
	       "bsdmakefile", "buf.gen.y*ml", "build-aux", "build.cake", "build.mill", "build.pl", "build.rs",
	       "build.sc", "build.xml", "build.zig*", "buildsrc", "bun.lock*", "bunfig.toml", "cabal.project*",
	       "cakefile", "capfile", "cargo.lock", "cargo.toml", "cartfile", "cdk.json", "cmakelists.txt",
	       "cmakepresets.json", "cmakeuserpresets.json", "composer.json", "composer.lock", "config.ru",
	       "config/*.exs", "configure*", "containerfile*", "cpanfile", "cross.toml", "dangerfile", "debian/rules",
	       "deno.json*", "deno.lock", "deps.edn", "devbox.json", "devenv.y*ml", "directory.build.*", "dist.ini",
	       "docker-bake.*", "dockerfile*", "dub.json", "dub.sdl", "dune-project", "dune-workspace", "dvc.yaml",
	       "earthfile", "fastfile", "fastlane", "firebase.json", "flake.lock", "gemfile", "gemfile.lock", "gems.rb",
	       "gnumakefile", "go.mod", "go.work", "gradle.properties", "gradle/libs.versions.toml", "gradle/wrapper",
	       "gradlew*", "gruntfile.*", "guardfile", "gulpfile.*", "helmfile.y*ml", "install-sh", "ivy.xml",
	       "jakefile*", "jamfile*", "jamroot*", "justfile", "karma.conf.*", "kbuild", "lerna.json", "magefile.go",
	       "magefiles", "makefile*", "makevars*", "meson.build", "mise-tasks", "mix.exs", "msbuild.rsp", "mvnw*",
	       "nim.cfg", "node_modules", "npm-shrinkwrap.json", "nuget.config", "nx.json", "package-lock.json",
	       "package.json", "package.swift", "paket.dependencies", "pants.toml", "phpstan*.neon*", "phpunit.xml*",
	       "pkgbuild", "pnpm-*.yaml", "podfile", "pom.xml", "premake*.lua", "procfile", "project.clj",
	       "project.json", "project/*.scala", "project/build.properties", "pubspec.*", "pulumi.y*ml", "rakefile",
	       "rakefile.rb", "rebar.config*", "rebar3", "rector.php", "rust-toolchain*", "sconscript*", "sconstruct",
	       "serverless.y*ml", "setup.hs", "setup.lhs", "shadow-cljs.edn", "shard.yml", "snakefile", "stack.y*ml",
	       "taskfile*.y*ml", "tauri.conf.json*", "thorfile", "tiltfile", "tools/bazel", "trunk.toml",
	       "tsconfig*.json", "tupfile", "turbo.json", "vagrantfile", "vitest.workspace.*", "webpack*.js",
	       "webpack*.ts", "wrangler.*", "wscript", "xmake.lua", "xtask", "yarn.lock")},
	{BUILD, true, NAMES("apkbuild", "bootstrap", "buck", "build", "dune", "targets", "workspace")},
	{"Python or its tools run or obey it", false,
	 NAMES("*.egg-link", "*.pth", "*.pyc", "*pytest.ini", "*pytest.toml", ".coveragerc", ".flake8", ".ipython",
	       ".jupyter", ".mypy.ini", ".pdbrc*", ".pythonrc*", ".venv", "__pycache__", "buildout.cfg", "conanfile.py",
	       "conda*.y*ml", "conf.py", "conftest.py", "dist-packages", "dodo.py", "environment.y*ml", "fabfile.py",
	       "gunicorn.conf.py", "hatch.toml", "hatch_build.py", "ipython_config.py", "jupyter*config.*",
	       "mkdocs.y*ml", "noxfile.py", "pdm.lock", "pdm.toml", "pip.conf", "pipfile*", "pixi.lock", "pixi.toml",
	       "poetry.*", "pyproject.toml", "pyvenv.cfg", "requirements*.txt", "setup.cfg", "setup.py",
	       "site-packages", "sitecustomize*", "tasks.py", "tox.ini", "tox.toml", "usercustomize*", "uv.lock",
	       "venv")},
	{"a shell or the session runs it when it starts", false,
	 NAMES("*.desktop", "*mise*.toml", "*profile.ps1", ".autoenv*", ".aws", ".bash*", ".condarc", ".config",
	       ".cshrc", ".curlrc", ".ddev", ".direnv", ".direnvrc", ".docker", ".env", ".env.local", ".envrc",
	       ".erlang", ".gemrc", ".ghci", ".gnupg", ".gnuplot", ".guile", ".i3", ".inputrc", ".irbrc", ".julia",
	       ".kshrc", ".kube", ".lando*.yml", ".lessfilter", ".lesskey", ".local/bin", ".local/share", ".login",
	       ".m2", ".mailcap", ".mongorc.js", ".mongoshrc.js", ".mutt", ".muttrc", ".my.cnf", ".nanorc", ".netrc",
	       ".nuget", ".ocamlinit", ".octaverc", ".pam_environment", ".perldb", ".profile", ".pryrc", ".psqlrc",
	       ".renviron", ".rprofile", ".rvmrc", ".sbclrc", ".screenrc", ".selected_editor", ".sqliterc", ".ssh",
	       ".tclshrc", ".tcshrc", ".tigrc", ".tmux.conf", ".tool-versions", ".wgetrc", ".wishrc", ".xclients",
	       ".xinitrc", ".xprofile", ".xsession*", ".zlog*", ".zprofile", ".zsh*")},
	{"an editor, debugger or agent runs or obeys it", false,
	 NAMES("*-gdb.gdb", "*-gdb.py", "*.code-workspace", "*.sublime-*", "*pylintrc", "*vimrc", ".agents", ".aider*",
	       ".amazonq", ".augment*", ".babelrc*", ".claude*", ".clinerules", ".codex", ".continue*", ".crush*",
	       ".cursor*", ".devcontainer*", ".dir-locals*", ".emacs*", ".eslintrc*", ".exrc", ".externaltoolbuilders",
	       ".fleet", ".gdb*", ".gemini", ".gitpod*", ".goosehints", ".helix", ".idea", ".junie", ".kakrc", ".kiro",
	       ".lintstagedrc*", ".lldbinit*", ".luarc.json*", ".mcp.json", ".mocharc*", ".nodemonrc", ".nova",
	       ".nvim*", ".opencode", ".prettierrc*", ".project", ".qwen", ".replit", ".roo*", ".rules", ".run",
	       ".settings", ".stylelintrc*", ".theia", ".trae", ".vim", ".vimspector.json", ".vs", ".vscode",
	       ".windsurf*", ".ycm_extra_conf.py", ".zed", "agents.md", "claude.local.md", "claude.md", "crush.json",
	       "gemini.md", "hie.yaml", "mcp.json", "mypy.ini", "nbproject", "nodemon.json", "opencode.json*",
	       "qwen.md")},
	{"a web server obeys it", false, NAMES(".htaccess", ".user.ini", "web.config")},
	{"continuous integration runs it", false,
	 NAMES("*appveyor.y*ml", ".azure-pipelines", ".buddy", ".build.yml", ".buildkite", ".builds", ".circleci",
	       ".cirrus*", ".codesandbox", ".devfile.y*ml", ".drone.y*ml", ".forgejo", ".gitea", ".github", ".gitlab",
	       ".gitlab-ci*", ".jenkins*", ".prow*", ".renovaterc*", ".semaphore", ".teamcity", ".tekton",
	       ".travis.yml", ".woodpecker*", ".zuul*", "action.y*ml", "amplify.yml", "azure-pipelines*",
	       "bitbucket-pipelines*", "bitrise.yml", "buddy.yml", "buildspec.y*ml", "cloudbuild.y*ml",
	       "codemagic.y*ml", "codeship-*", "devfile.y*ml", "heroku.yml", "jenkinsfile*", "netlify.toml",
	       "railway.*", "render.yaml", "renovate.json*", "screwdriver.y*ml", "skaffold.y*ml", "vercel.json",
	       "wercker.yml", "zuul.d")},
};
#define EXECUTED_GROUPS (sizeof(executed_groups) / sizeof(executed_groups[0]))

/* A compiled pattern. */
struct executed_name {
	struct glob glob;
	const char *reason;
	char first;     /* character of the pattern */
	bool has_below; /* it is of all that is below a match as well */
	bool has_no_star;
};

/* Compiles a pattern. 0 or -ENOMEM. */
static int executed_names_compile(struct executed_names *names, struct arena *arena, size_t group, const char *pattern)
{
	struct executed_name *name = &names->name[names->count];
	const char *text = arena_printf(arena, "**/%s", pattern);

	name->reason = executed_groups[group].reason;
	name->first = *pattern;
	name->has_below = !executed_groups[group].is_file;
	name->has_no_star = !strchr(pattern, '*');
	if (!text || glob_compile(arena, text, name->has_below, &name->glob) < 0)
		return -ENOMEM;
	names->count++;
	return 0;
}

int executed_names_init(struct executed_names *names, struct arena *arena)
{
	size_t count = 0;
	int r = 0;

	for (size_t i = 0; i < EXECUTED_GROUPS; i++)
		for (const char *const *pattern = executed_groups[i].patterns; *pattern; pattern++)
			count++;
	names->name = arena_alloc(arena, count * sizeof(*names->name));
	if (!names->name)
		return -ENOMEM;
	for (size_t i = 0; i < EXECUTED_GROUPS; i++)
		for (const char *const *pattern = executed_groups[i].patterns; r == 0 && *pattern; pattern++)
			r = executed_names_compile(names, arena, i, *pattern);
	return r;
}

/* True when a path ends with these names. */
static bool executed_ends_with(const char *path, const char *names)
{
	const size_t len = strlen(path), names_len = strlen(names);

	return len >= names_len && strcmp(path + len - names_len, names) == 0 &&
	       (len == names_len || path[len - names_len - 1] == '/');
}

/* True for a pattern that counts for what is looked for. */
static bool executed_names_counts(const struct executed_name *name, enum executed_match match)
{
	return match == EXECUTED_MATCH_ENTRY || (name->has_below && (match == EXECUTED_MATCH_DIR || name->has_no_star));
}

const char *executed_names_find(const struct executed_names *names, const char *path, enum executed_match match)
{
	bool begins[UCHAR_MAX + 1] = {['*'] = true}; /* with which characters components begin: most patterns do not */
	char lower[PATH_MAX];
	size_t len = strlen(path);

	if (len >= sizeof(lower))
		return "its path is too long";
	for (size_t i = 0; i <= len; i++) {
		lower[i] = (char)tolower((unsigned char)path[i]); /* a file system may take .GIT for .git */
		if (i == 0 || path[i - 1] == '/')
			begins[(unsigned char)lower[i]] = true;
	}
	for (size_t i = 0; i < names->count; i++)
		if (begins[(unsigned char)names->name[i].first] && executed_names_counts(&names->name[i], match) &&
		    glob_matches(&names->name[i].glob, lower, len))
			return names->name[i].reason;
	if (match != EXECUTED_MATCH_ENTRY)
		return NULL;
	if (executed_ends_with(lower, ".git"))
		return GIT; /* also a file or link that names another repository */
	if (executed_ends_with(lower, "head") && !executed_ends_with(lower, ".git/head"))
		return GIT; /* makes its directory a bare repository, with a "config" beside it that git obeys */
	return NULL;
}
