/* Implements policy_load: loads files with all that they extend, composes them with the command line, and compiles. */
#include "policy/parse/load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"
#include "policy/model.h"

/* The longest chain of files that extend each other. */
#define EXTENDS_DEPTH_MAX 16

/* The loading of a policy: its files, those that they extend, and the compiler. */
struct loader {
	struct compiler compiler;
	/* all sources, each once: first the extended files, then the file that extends them */
	struct policy_source **source;
	size_t source_count;
	const char *file_being_loaded
		[EXTENDS_DEPTH_MAX]; /* files being loaded, each extended by the one before: detects circles */
	size_t extends_depth;        /* number of files in file_being_loaded */
	bool loads_network_only; /* the file is loaded for network.extends: source.is_network_only becomes true */
	/* do not load provided files: "account:passwd" depends on the user, who is not known yet */
	bool reads_only_user_key;
};

/* A policy whose files are loaded and that is not compiled yet. */
struct policy_draft {
	struct loader loader;
};

/* True when a name is that of a profile: policy_host.load() says which names are. */
static bool load_name_is_profile(const char *name)
{
	size_t len = strlen(name);

	return !strchr(name, '/') && !(len > 5 && strcmp(name + len - 5, ".json") == 0);
}

/* Adds an error for a file or profile that cannot be loaded. error: -errno. */
static void load_add_error(struct loader *loader, const char *source_location, const char *name, int error)
{
	struct compiler *compiler = &loader->compiler;

	if (error == -ENOENT && load_name_is_profile(name))
		compiler_add_error(compiler, source_location,
				   "no profile \"%s\"; a file needs a \"/\" or \".json\" in its name", name);
	else if (error == -EILSEQ)
		compiler_add_error(compiler, source_location, "%s has a NUL byte; only text can be loaded", name);
	else if (error == -EFBIG)
		compiler_add_error(compiler, source_location, "%s is too large for a policy", name);
	else if (error == -ENOMEM)
		(void)arena_fail_no_memory(&compiler->policy->arena);
	else
		compiler_add_error(compiler, source_location, "cannot read %s: %s", name, strerror(-error));
}

/* Appends a source to those of which the policy is compiled. */
static void load_add_source(struct loader *loader, struct policy_source *source)
{
	enum policy_on_deny mode = source->on_deny;

	for (size_t i = loader->source_count; i > 0 && !mode; i--)
		mode = loader->source[i - 1]->on_deny;
	source->on_deny_so_far = mode;
	ARENA_APPEND(&loader->compiler.policy->arena, loader->source, loader->source_count, source);
}

/* True when a file has been loaded already. For network.extends, files before the last network "none" do not count. */
static bool load_has_source(const struct loader *loader, const char *path)
{
	for (size_t i = loader->source_count; i > 0; i--) {
		const struct policy_source *source = loader->source[i - 1];

		if (loader->loads_network_only && source->network.said == NET_SECTION_NONE)
			return false;
		if (strcmp(source->path, path) == 0 && (loader->loads_network_only || !source->is_network_only))
			return true;
	}
	return false;
}

/* Empties a source except for its network: network.extends takes that alone, without secrets. */
static void load_drop_all_but_network(struct policy_source *source)
{
	struct policy_network network = source->network;

	network.secret = NULL;
	network.secret_count = 0;
	*source = (struct policy_source){
		.path = source->path, .label = source->label, .network = network, .is_network_only = true};
}

/* Replaces "file:PATH", "account:…" and "machine:…" in provide rules by the content of the file. */
static void load_content_of_provide_rules(struct loader *loader, struct policy_source *source)
{
	const struct policy_host *host = loader->compiler.host;
	struct arena *arena = &loader->compiler.policy->arena;

	for (size_t i = 0; i < source->rule_count; i++) {
		struct source_rule *rule = &source->rule[i];
		_cleanup_free_ char *text = NULL, *path = NULL;
		const char *name;
		int ret;

		if (!rule->has_provided_file)
			continue;
		name = arena_concat_texts(arena, strpbrk(rule->to.text, "/:") ? "" : "./", rule->to.text, (char *)NULL);
		ret = host->load(host->ctx, name, source->path, &text, &path);
		if (ret < 0)
			load_add_error(loader, rule->to.source_location, name, ret);
		else if (!text_is_utf8(text, strlen(text)))
			compiler_add_error(&loader->compiler, rule->to.source_location,
				      "%s is not UTF-8 text, which a policy cannot hold; use redirect", name);
		else
			rule->to.text = arena_dup(arena, text);
	}
}

static void load_named_file(struct loader *loader, const char *source_location, const char *name, const char *from);

/* Loads the files that `source` extends: those of "extends", or with network_only those of "network.extends". */
static void load_extended_files(struct loader *loader, const struct policy_source *source,
				const struct source_text *list, size_t count, bool network_only)
{
	bool before = loader->loads_network_only;

	loader->loads_network_only = before || network_only;
	for (size_t i = 0; i < count; i++)
		load_named_file(loader, list[i].source_location, list[i].text, source->path);
	loader->loads_network_only = before;
}

/* Parses a file, loads what it extends before it, and appends it to the sources. */
static void load_parse_file_text(struct loader *loader, const char *name, const char *path, const char *text)
{
	struct compiler *compiler = &loader->compiler;
	struct policy_source *source;

	if (!source_parse(&compiler->policy->arena, path, text, compiler->errors, &source))
		compiler->has_failed = true;
	source->is_profile = load_name_is_profile(name);
	loader->file_being_loaded[loader->extends_depth++] = source->path;
	load_extended_files(loader, source, source->extends, source->extends_count, false);
	load_extended_files(loader, source, source->net_extends, source->net_extends_count, true);
	loader->extends_depth--;
	if (loader->loads_network_only)
		load_drop_all_but_network(source);
	if (!loader->reads_only_user_key)
		load_content_of_provide_rules(loader, source);
	load_add_source(loader, source);
}

/* Loads a file with what it extends, unless it was loaded already. Adds an error for a circle or too long a chain. */
static void load_named_file(struct loader *loader, const char *source_location, const char *name, const char *from)
{
	const struct policy_host *host = loader->compiler.host;
	_cleanup_free_ char *text = NULL, *path = NULL;
	int ret = host->load(host->ctx, name, from, &text, &path);

	if (ret < 0) {
		load_add_error(loader, source_location, name, ret);
		return;
	}
	for (size_t i = 0; i < loader->extends_depth; i++) {
		if (strcmp(loader->file_being_loaded[i], path) == 0) {
			compiler_add_error(&loader->compiler, source_location,
					   "\"%s\" extends itself in a circle; remove one extends", name);
			return;
		}
	}
	if (loader->extends_depth == EXTENDS_DEPTH_MAX)
		compiler_add_error(&loader->compiler, source_location,
				   "more than %d files extend each other; shorten the chain", EXTENDS_DEPTH_MAX);
	else if (!load_has_source(loader, path))
		load_parse_file_text(loader, name, path, text);
}

/* ---- workdir ---- */

/* Callback for the expanded path of the working directory: sets it, or adds an error. */
static void load_use_expanded_workdir(struct compiler *compiler, void *ctx, const struct expanded_path *expanded)
{
	const struct source_text *from = ctx;

	if (strcmp(expanded->path, "/") == 0 || path_is_below(expanded->path, "/proc") ||
	    path_is_below(expanded->path, "/dev"))
		compiler_add_error(compiler, from->source_location,
				   "%s cannot be the workdir; write another path, such as \"/work\"", expanded->path);
	else
		compiler->policy->settings.workdir = expanded->path;
}

/* Sets the working directory's path in the view: from the caller, the last source that names one, or the default. */
static void load_set_workdir(struct loader *loader)
{
	struct compiler *compiler = &loader->compiler;
	const struct policy_host *host = compiler->host;
	const struct source_text *named = NULL;
	struct source_text fixed = {host->workdir_virt ? host->workdir_virt : host->workdir_virt_default, "workdir"};

	for (size_t i = 0; i < loader->source_count && !host->workdir_virt; i++)
		if (loader->source[i]->workdir.text)
			named = &loader->source[i]->workdir;
	compiler->policy->workdir_host = arena_dup(&compiler->policy->arena, host->workdir);
	compiler->policy->settings.home = host->home ? arena_dup(&compiler->policy->arena, host->home) : NULL;
	if (named)
		vars_expand_path(compiler, named, 0, load_use_expanded_workdir, (void *)(uintptr_t)named);
	/* replaces a workdir that is missing or wrong, so that mistakes in rules are found as well */
	if (!compiler->policy->settings.workdir)
		vars_expand_path(compiler, &fixed, 0, load_use_expanded_workdir, &fixed);
}

/* ---- phases, loading ---- */

/* Compiles the loaded sources to the policy. A step uses what those before it have made. */
static void load_compile_files(struct loader *loader)
{
	struct compiler *compiler = &loader->compiler;

	compile_after_entries(compiler, loader->source, loader->source_count);
	compile_rules(compiler, loader->source, loader->source_count);
	compile_libraries(compiler, loader->source, loader->source_count);
	compile_rule_paths(compiler);
	compiler->is_incomplete = compiler->has_failed;
	compile_rule_tree(compiler);
	compile_workspace(compiler, loader->source, loader->source_count);
	compile_mounts(compiler);
	compile_remaps(compiler);
	compile_paths_of_after_entries(compiler);
	compile_settings(compiler, loader->source, loader->source_count);
}

/*
 * Compiles also a policy with mistakes, without its wrong parts, so that mistakes in meaning are reported together with
 * mistakes in form.
 */
static void load_compile_policy(struct loader *loader)
{
	struct compiler *compiler = &loader->compiler;
	const bool incomplete = compiler->has_failed;

	load_set_workdir(loader);
	if (compiler->policy->settings.workdir)
		load_compile_files(loader);
	compiler->is_incomplete = incomplete;
	compile_network(compiler, loader->source, loader->source_count);
	compile_on_deny(compiler);
	on_deny_check_after_entries(compiler);
	compile_check_kernel_reads(compiler);
}

/*
 * Adds the sources of a phase after all files. True when the network of this phase is "none": the caller then ignores
 * the network options of the command line, which are meant for the other phase. Without this, --allow-host for the
 * setup would open the network to the program.
 */
static bool load_add_sources_of_phase(struct loader *loader, enum policy_phase phase)
{
	size_t files = loader->source_count;
	bool closed = false;

	for (size_t i = 0; i < files; i++)
		for (unsigned which = 0; which < POLICY_PHASE_MAX; which++)
			/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): with files there are sources */
			if (loader->source[i]->phase[which])
				loader->compiler.policy->phase_bits |= 1u << which;
	for (size_t i = 0; i < files; i++) {
		struct policy_source *source = loader->source[i]->phase[phase];

		if (!source)
			continue;
		load_extended_files(loader, source, source->net_extends, source->net_extends_count, true);
		load_content_of_provide_rules(loader, source);
		if (source->network.said != NET_SECTION_ABSENT)
			closed = source->network.said == NET_SECTION_NONE;
		load_add_source(loader, source);
		source->on_deny_so_far = loader->source[i]->on_deny_so_far;
	}
	return closed;
}

/* Loads the policies that the command line names, in order. */
static void load_named_files(struct loader *loader, const char *const *names)
{
	for (; names && *names; names++)
		load_named_file(loader, "command line", *names, NULL);
}

/* Loads the named policies with what they extend, then the phase's part, then the rules of the command line. */
static void load_all_sources(struct loader *loader, const char *const *names, const struct policy_cli *cli)
{
	struct compiler *compiler = &loader->compiler;
	const struct policy_source *last;
	struct policy_source *source;
	bool closed;

	if (!loader->reads_only_user_key)
		load_named_files(loader, names);
	for (size_t i = 0; loader->reads_only_user_key && i < loader->source_count; i++)
		load_content_of_provide_rules(loader, loader->source[i]); /* policy_find_user left provided files out */
	loader->reads_only_user_key = false;
	last = loader->source_count ? loader->source[loader->source_count - 1] : NULL;
	compiler->policy->settings.name = !last ? "command line" : last->name ? last->name : last->label;
	closed = load_add_sources_of_phase(loader, cli ? cli->phase : POLICY_PHASE_RUN);
	if (!cli)
		return;
	if (!source_make_from_cli(&compiler->policy->arena, cli, compiler->errors, &source))
		compiler->has_failed = true;
	if (closed)
		source->network = (struct policy_network){.secret = source->network.secret,
							  .secret_count = source->network.secret_count};
	load_add_source(loader, source);
	if (cli->observe)
		load_add_source(loader, source_make_for_observing(&compiler->policy->arena, cli->observe,
							    compiler->host->home != NULL));
}

/* Loads and compiles; with `reads_only_user_key`, only parses the files. 0, -EINVAL with messages, or -ENOMEM. */
static int load_and_compile(struct loader *loader, const char *const *names, const struct policy_cli *cli,
			    bool reads_only_user_key)
{
	struct compiler *compiler = &loader->compiler;
	jmp_buf no_memory;

	if (!compiler->policy)
		return -ENOMEM;
	if (setjmp(no_memory) != 0) { /* leaks a few texts that were on the heap */
		compiler->policy->arena.no_memory = NULL;
		return -ENOMEM;
	}
	compiler->policy->arena.no_memory = &no_memory;
	if (reads_only_user_key)
		load_named_files(loader, names);
	else
		load_all_sources(loader, names, cli);
	if (!reads_only_user_key)
		load_compile_policy(loader);
	compiler->policy->arena.no_memory = NULL;
	return compiler->has_failed ? -EINVAL : 0;
}

struct policy_draft *policy_find_user(const char *const *names, const struct policy_host *host, char **ret_user)
{
	struct policy_draft *draft = calloc(1, sizeof(*draft));
	struct loader *loader = draft ? &draft->loader : NULL;
	struct policy_errors errors = {0};
	int ret;

	*ret_user = NULL;
	if (!loader)
		return NULL;
	loader->compiler = (struct compiler){
		.policy = calloc(1, sizeof(struct policy)), .host = host, .errors = &errors};
	loader->reads_only_user_key = true;
	ret = load_and_compile(loader, names, NULL, true);
	for (size_t i = ret == -ENOMEM ? 0 : loader->source_count; i > 0 && !*ret_user; i--)
		*ret_user = loader->source[i - 1]->user ? strdup(loader->source[i - 1]->user) : NULL;
	policy_errors_release(&errors);
	if (ret == 0)
		return draft;
	policy_draft_free(draft); /* policy_load will parse the files again, and report the errors */
	return NULL;
}

void policy_draft_free(struct policy_draft *draft)
{
	if (!draft)
		return;
	policy_free(draft->loader.compiler.policy);
	free(draft);
}

/* Makes what policy_get_with_asked_execs() returns. Its messages are those that the policy itself had. */
static int load_with_asked_execs(const char *const *names, const struct policy_cli *cli, const struct policy_host *host,
				 struct policy **ret_policy)
{
	struct policy_errors same = {0};
	struct loader loader = {.compiler = {.policy = calloc(1, sizeof(struct policy)),
					     .host = host,
					     .errors = &same,
					     .permits_asked_execs = true}};
	int ret = load_and_compile(&loader, names, cli, false);

	policy_errors_release(&same);
	if (ret < 0)
		policy_free(loader.compiler.policy);
	else
		*ret_policy = loader.compiler.policy;
	return ret;
}

int policy_load(const char *const *names, const struct policy_cli *cli, const struct policy_host *host,
		struct policy **ret_policy, struct policy_errors *errors)
{
	struct policy_draft *draft = cli ? cli->draft : NULL;
	struct loader loader = {.reads_only_user_key = false};
	int ret;

	if (draft && draft->loader.compiler.policy) {
		loader = draft->loader;
		draft->loader.compiler.policy = NULL;
	} else {
		loader.compiler.policy = calloc(1, sizeof(struct policy));
	}
	loader.compiler.host = host;
	loader.compiler.errors = errors;
	if (cli && cli->observe && loader.compiler.policy)
		loader.compiler.policy->judged_policy = cli->observe->judged_policy;
	ret = load_and_compile(&loader, names, cli, false);
	if (ret == 0 && loader.compiler.asks_about_execs && !policy_is_observing(loader.compiler.policy))
		ret = load_with_asked_execs(names, cli, host, &loader.compiler.policy->with_asked_execs);
	if (ret < 0 && loader.compiler.policy)
		loader.compiler.policy->judged_policy = NULL; /* the caller still owns the judged policy */
	if (ret < 0)
		policy_free(loader.compiler.policy);
	else
		*ret_policy = loader.compiler.policy;
	return ret;
}
