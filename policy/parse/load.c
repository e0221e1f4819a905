/* Loads files with all that they extend, composes them with the command line, and compiles. Implements policy_load. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"
#include "policy/model.h"
#include "policy/parse/errors.h"

#include "base/banned.h"

/* Longest chain of `extends`. */
#define EXTENDS_DEPTH_MAX 16

struct loader {
	struct compiler compiler;
	struct source **source; /* parents before children, each file once */
	size_t count;
	const char *path[EXTENDS_DEPTH_MAX]; /* files being loaded, each extended by the one before, to find circles */
	size_t depth;
	bool network_only; /* loading for network.extends: see source.partial */
	bool peeking;      /* load no provided files: "account:passwd" depends on the user, not known yet */
};

struct policy_draft {
	struct loader loader;
};

static bool load_succeeded(const struct compiler *compiler)
{
	return !compiler->failed && !compiler->no_memory;
}

static void load_fail(struct loader *loader, const char *where, const char *name, int error)
{
	struct compiler *compiler = &loader->compiler;

	if (error == -ENOENT && !strchr(name, '/'))
		compiler_fail(compiler, where, "no profile \"%s\"; a file needs a \"/\" or \".json\" in its name",
			      name);
	else if (error == -EILSEQ)
		compiler_fail(compiler, where, "%s has a NUL byte; only text can be loaded", name);
	else if (error == -EFBIG)
		compiler_fail(compiler, where, "%s is too large for a policy", name);
	else if (error == -ENOMEM)
		compiler->no_memory = true;
	else
		compiler_fail(compiler, where, "cannot read %s: %s", name, strerror(-error));
}

static void load_add_source(struct loader *loader, struct source *source)
{
	struct arena *arena = &loader->compiler.policy->arena;

	loader->source = arena_grow(arena, loader->source, loader->count, sizeof(struct source *));
	if (loader->source)
		loader->source[loader->count++] = source;
	else
		loader->compiler.no_memory = true;
}

/* When only the network is wanted, sources before the last network "none" do not count: it removed theirs. */
static bool load_has(const struct loader *loader, const char *path)
{
	for (size_t i = loader->count; i > 0; i--) {
		const struct source *source = loader->source[i - 1];

		if (loader->network_only && source->network.said == NET_NOTHING)
			return false;
		if (strcmp(source->path, path) == 0 && (loader->network_only || !source->partial))
			return true;
	}
	return false;
}

/* network.extends takes only the network, without secrets. */
static void load_keep_network(struct source *source)
{
	struct source_network network = source->network;

	network.secret = NULL;
	network.secrets = 0;
	*source = (struct source){.path = source->path, .label = source->label, .network = network, .partial = true};
}

/* Replaces "file:PATH" and "account:…" of provide rules by the content. */
static void load_provided(struct loader *loader, struct source *source)
{
	const struct policy_host *host = loader->compiler.host;

	for (size_t i = 0; i < source->rule_count; i++) {
		struct source_rule *rule = &source->rule[i];
		_cleanup_free_ char *text = NULL, *path = NULL, *name = NULL;
		int ret;

		if (!rule->to_file)
			continue;
		if (asprintf(&name, "%s%s", strpbrk(rule->to.text, "/:") ? "" : "./", rule->to.text) < 0) {
			name = NULL; /* undefined after a failure */
			loader->compiler.no_memory = true;
			return;
		}
		ret = host->load(host->ctx, name, source->path, &text, &path);
		if (ret < 0)
			load_fail(loader, rule->to.where, name, ret);
		else if (!text_is_utf8(text, strlen(text)))
			compiler_fail(&loader->compiler, rule->to.where,
				      "%s is not UTF-8 text, which a policy cannot hold; use redirect", name);
		else
			rule->to.text = compiler_keep(&loader->compiler, text);
	}
}

static void load_name(struct loader *loader, const char *where, const char *name, const char *from);

/* Loads the files of a list in `source`: "extends", or "network.extends" with network_only. */
static void load_list(struct loader *loader, const struct source *source, const struct source_text *list, size_t count,
		      bool network_only)
{
	bool before = loader->network_only;

	loader->network_only = before || network_only;
	for (size_t i = 0; i < count && !loader->compiler.no_memory; i++)
		load_name(loader, list[i].where, list[i].text, source->path);
	loader->network_only = before;
}

/* See policy_host.load. */
static bool load_is_profile(const char *name)
{
	size_t len = strlen(name);

	return !strchr(name, '/') && !(len > 5 && strcmp(name + len - 5, ".json") == 0);
}

static void load_text(struct loader *loader, const char *name, const char *path, const char *text)
{
	struct compiler *compiler = &loader->compiler;
	struct source *source;
	int ret = source_parse(&compiler->policy->arena, path, text, compiler->errors, &source);

	if (ret == -ENOMEM)
		compiler->no_memory = true;
	if (ret < 0) {
		compiler->failed = true;
		return;
	}
	source->profile = load_is_profile(name);
	loader->path[loader->depth++] = source->path;
	load_list(loader, source, source->extends, source->extends_count, false);
	load_list(loader, source, source->net_extends, source->net_extends_count, true);
	loader->depth--;
	if (loader->network_only)
		load_keep_network(source);
	if (!loader->peeking)
		load_provided(loader, source);
	load_add_source(loader, source);
}

static void load_name(struct loader *loader, const char *where, const char *name, const char *from)
{
	const struct policy_host *host = loader->compiler.host;
	_cleanup_free_ char *text = NULL, *path = NULL;
	int ret = host->load(host->ctx, name, from, &text, &path);

	if (ret < 0) {
		load_fail(loader, where, name, ret);
		return;
	}
	for (size_t i = 0; i < loader->depth; i++) {
		if (strcmp(loader->path[i], path) == 0) {
			compiler_fail(&loader->compiler, where, "\"%s\" extends itself in a circle; remove one extends",
				      name);
			return;
		}
	}
	if (loader->depth == EXTENDS_DEPTH_MAX)
		compiler_fail(&loader->compiler, where, "more than %d files extend each other; shorten the chain",
			      EXTENDS_DEPTH_MAX);
	else if (!load_has(loader, path))
		load_text(loader, name, path, text);
}

/* ---- workdir ---- */

static void load_take_workdir(struct compiler *compiler, void *ctx, const struct expanded *expanded)
{
	const struct source_text *from = ctx;

	if (strcmp(expanded->path, "/") == 0 || path_below(expanded->path, "/proc") ||
	    path_below(expanded->path, "/dev"))
		compiler_fail(compiler, from->where, "%s cannot be the workdir; write another path, such as \"/work\"",
			      expanded->path);
	compiler->policy->workdir = expanded->path;
}

static void load_set_workdir(struct loader *loader)
{
	struct compiler *compiler = &loader->compiler;
	const struct policy_host *host = compiler->host;
	const struct source_text *named = NULL;
	struct source_text fixed = {host->workdir_virt ? host->workdir_virt : host->workdir_virt_default, "workdir"};

	for (size_t i = 0; i < loader->count && !host->workdir_virt; i++)
		if (loader->source[i]->workdir.text)
			named = &loader->source[i]->workdir;
	compiler->policy->workdir_host = compiler_keep(compiler, host->workdir);
	compiler->policy->home = host->home ? compiler_keep(compiler, host->home) : NULL;
	if (!named)
		named = &fixed;
	vars_expand(compiler, named, 0, load_take_workdir, (void *)(uintptr_t)named);
}

/* ---- phases, loading ---- */

static void load_compile(struct loader *loader)
{
	void (*const steps[])(struct compiler * compiler) = {compile_names, compile_index, compile_mounts,
							     compile_remaps};
	struct compiler *compiler = &loader->compiler;

	load_set_workdir(loader);
	if (!load_succeeded(compiler))
		return;
	compile_rules(compiler, loader->source, loader->count);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && load_succeeded(compiler); i++)
		steps[i](compiler);
	if (load_succeeded(compiler))
		compile_settings(compiler, loader->source, loader->count);
	if (!compiler->no_memory)
		compile_network(compiler, loader->source, loader->count);
}

/*
 * Adds the sources of a phase after all files. True: its network is "none". The command line's rules then count for the
 * other phase only: otherwise --allow-host, given for the setup, would open the network for the program, too.
 */
static bool load_phase(struct loader *loader, enum policy_phase phase)
{
	size_t files = loader->count;
	bool closed = false;

	for (size_t i = 0; i < files; i++)
		for (unsigned which = 0; which < POLICY_PHASE_MAX; which++)
			if (loader->source[i]->phase[which])
				loader->compiler.policy->phases |= 1u << which;
	for (size_t i = 0; i < files && !loader->compiler.no_memory; i++) {
		struct source *source = loader->source[i]->phase[phase];

		if (!source)
			continue;
		load_list(loader, source, source->net_extends, source->net_extends_count, true);
		load_provided(loader, source);
		if (source->network.said != NET_UNSAID)
			closed = source->network.said == NET_NOTHING;
		load_add_source(loader, source);
	}
	return closed;
}

static void load_drop_network(struct source *source)
{
	const struct source_network said = source->network;

	source->network = (struct source_network){.secret = said.secret, .secrets = said.secrets};
}

/* policy_name() */
static const char *load_policy_name(const struct loader *loader)
{
	const struct source *last = loader->count ? loader->source[loader->count - 1] : NULL;

	return !last ? "command line" : last->name ? last->name : last->label;
}

/* The sources' order is the same whether policy_peek parsed the files or not. */
static void load_names(struct loader *loader, const char *const *names)
{
	if (loader->peeking) { /* parsed by policy_peek: only provided files are missing */
		loader->peeking = false;
		for (size_t i = 0; i < loader->count; i++)
			load_provided(loader, loader->source[i]);
		return;
	}
	for (; names && *names; names++)
		load_name(loader, "command line", *names, NULL);
}

static void load_all(struct loader *loader, const char *const *names, const struct policy_cli *cli)
{
	struct compiler *compiler = &loader->compiler;
	struct source *source;
	bool closed;
	int ret;

	load_names(loader, names);
	compiler->policy->name = load_policy_name(loader);
	closed = load_phase(loader, cli ? cli->phase : POLICY_PHASE_RUN);
	if (!cli || compiler->no_memory)
		return;
	ret = source_from_cli(&compiler->policy->arena, cli, compiler->errors, &source);
	if (ret == -ENOMEM)
		compiler->no_memory = true;
	else if (ret < 0)
		compiler->failed = true;
	else if (closed)
		load_drop_network(source);
	if (ret == 0)
		load_add_source(loader, source);
}

/* NULL when there were errors: policy_load parses again and reports them. */
static struct policy_draft *load_keep_draft(const struct loader *loader)
{
	struct policy_draft *draft = load_succeeded(&loader->compiler) ? malloc(sizeof(*draft)) : NULL;

	if (draft)
		*draft = (struct policy_draft){*loader};
	else
		policy_free(loader->compiler.policy);
	return draft;
}

struct policy_draft *policy_peek(const char *const *names, const struct policy_host *host, char **ret_user)
{
	struct policy *policy = calloc(1, sizeof(*policy));
	struct policy_errors errors = {0};
	struct loader loader = {.compiler = {.policy = policy, .host = host, .errors = &errors}, .peeking = true};
	char *user = NULL;

	*ret_user = NULL;
	if (!policy)
		return NULL;
	for (const char *const *name = names; name && *name; name++)
		load_name(&loader, "command line", *name, NULL);
	for (size_t i = loader.count; i > 0 && !user && !loader.compiler.no_memory; i--)
		user = loader.source[i - 1]->user ? strdup(loader.source[i - 1]->user) : NULL;
	policy_errors_done(&errors);
	*ret_user = user;
	return load_keep_draft(&loader);
}

void policy_draft_free(struct policy_draft *draft)
{
	if (!draft)
		return;
	policy_free(draft->loader.compiler.policy);
	free(draft);
}

/* Takes the loader out of the draft, or starts an empty one. False: no memory. */
static bool load_begin(struct loader *loader, struct policy_draft *draft)
{
	if (draft && draft->loader.compiler.policy) {
		*loader = draft->loader;
		draft->loader.compiler.policy = NULL;
	} else {
		loader->compiler.policy = calloc(1, sizeof(struct policy));
	}
	return loader->compiler.policy != NULL;
}

int policy_load(const char *const *names, const struct policy_cli *cli, const struct policy_host *host,
		struct policy **ret_policy, struct policy_errors *errors)
{
	struct loader loader = {0};

	if (!load_begin(&loader, cli ? cli->draft : NULL))
		return -ENOMEM;
	loader.compiler.host = host;
	loader.compiler.errors = errors;
	load_all(&loader, names, cli);
	if (load_succeeded(&loader.compiler))
		load_compile(&loader);
	if (!load_succeeded(&loader.compiler)) {
		policy_free(loader.compiler.policy);
		return loader.compiler.no_memory ? -ENOMEM : -EINVAL;
	}
	*ret_policy = loader.compiler.policy;
	return 0;
}
