/* Compiles environment, limits, required layers, user and audit log. A later file replaces settings of earlier ones. */
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "policy/findings.h"
#include "policy/model.h"

static void settings_set_env(struct compiler *compiler, const struct source_env_variable *from)
{
	struct policy *policy = compiler->policy;
	const char *value = from->value.text;
	size_t at = 0;

	if (value && !from->is_expanded) {
		value = vars_expand_value(compiler, &from->value);
		if (!value)
			return;
	}
	while (at < policy->env_count && strcmp(policy->env[at].name, from->name.text) != 0)
		at++;
	if (at < policy->env_count)
		policy->env[at].value = value;
	else
		ARENA_APPEND(&policy->arena, policy->env, policy->env_count,
			     ((struct policy_env){from->name.text, value}));
}

/* Callback for the expanded path of the audit log: sets it, or adds an error if the program could write to it. */
static void settings_set_audit_file(struct compiler *compiler, void *ctx, const struct expanded_path *expanded)
{
	const struct source_text *from = ctx;

	compiler->policy->settings.audit_file = expanded->path;
	if (policy_host_path_is_writable(compiler->policy, expanded->path))
		compiler_add_error(compiler, from->source_location,
			      "%s is where the program may write, so it could change its own record; "
			      "put it elsewhere",
			      expanded->path);
}

/* Why a directory cannot stay as it is while the program writes there; NULL: it can. */
static const char *settings_refuse_workspace_dir(const char *path)
{
	static const char *const machine[] = {"/proc", "/sys", "/dev"};

	if (strcmp(path, "/") == 0)
		return "it has the machine's own directories in it; name those that the program is to change, such as "
		       "/usr";
	for (size_t i = 0; i < sizeof(machine) / sizeof(machine[0]); i++)
		if (path_is_below(path, machine[i]))
			return "what is written there is for the kernel";
	return NULL;
}

/* Adds a directory of "workspace.directories". One in another one is an error: both would have its changes. */
static void settings_add_workspace_dir(struct compiler *compiler, void *ctx, const struct expanded_path *expanded)
{
	const struct source_text *from = ctx;
	struct policy *policy = compiler->policy;
	struct policy_settings *settings = &policy->settings;
	_cleanup_free_ char *real = compiler->host->realpath(compiler->host->ctx, expanded->path);
	const char *path = real ? arena_dup(&policy->arena, real) : NULL, *wrong;

	if (!path) {
		compiler_add_error(compiler, from->source_location, "%s: there is no such directory", expanded->path);
		return;
	}
	wrong = settings_refuse_workspace_dir(path);
	if (wrong) {
		compiler_add_error(compiler, from->source_location, "%s cannot be kept as it is: %s", path, wrong);
		return;
	}
	for (size_t i = 0; i < settings->workspace_dir_count; i++) {
		const char *other = settings->workspace_dir[i];

		if (strcmp(other, path) == 0)
			return;
		if (path_is_below(path, other) || path_is_below(other, path)) {
			compiler_add_error(compiler, from->source_location, "%s and %s are in one another; name one",
					   path, other);
			return;
		}
	}
	ARENA_APPEND(&policy->arena, settings->workspace_dir, settings->workspace_dir_count, path);
}

void compile_workspace(struct compiler *compiler, struct policy_source *const *sources, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (sources[i]->workspace)
			compiler->policy->settings.workspace = sources[i]->workspace;
		for (size_t j = 0; j < sources[i]->workspace_dir_count; j++)
			vars_expand_path(compiler, &sources[i]->workspace_dir[j], 0, settings_add_workspace_dir,
					 &sources[i]->workspace_dir[j]);
	}
}

/* Joins the modules of all files. Warns when no list has the kind of finding that other imports are. */
static void settings_add_modules(struct compiler *compiler, struct policy_source *const *sources, size_t count)
{
	struct policy_settings *settings = &compiler->policy->settings;
	const uint32_t listed = settings->refused_findings | settings->warned_findings;
	const char *source_location = NULL;

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < sources[i]->module_count; j++) {
			ARENA_APPEND(&compiler->policy->arena, settings->modules, settings->module_count,
				     sources[i]->modules[j].text);
			source_location = sources[i]->modules[j].source_location;
		}
	/* without both lists all findings are printed */
	if (source_location && listed && !(listed & INSPECT_BIT(INSPECT_MODULE)))
		compiler_add_warning(
			compiler, "%s: warning: limits nothing: neither inspect.refuse nor inspect.warn has \"module\"",
			source_location);
}

void compile_settings(struct compiler *compiler, struct policy_source *const *sources, size_t count)
{
	struct policy *policy = compiler->policy;
	struct policy_settings *settings = &policy->settings;
	bool *const flag[] = {&settings->audits_allowed_calls, &settings->audit_is_compact, &settings->audits_fstat,
			      &settings->allows_unix_datagrams};
	const struct source_text *file = NULL;

	settings->audits_allowed_calls = true;
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < sources[i]->env_count; j++)
			settings_set_env(compiler, &sources[i]->env[j]);
		for (enum policy_limit which = 0; which < POLICY_LIMIT_MAX; which++)
			if (sources[i]->given_limits_mask & POLICY_LIMIT_BIT(which))
				*policy_limit_get_field(&settings->limits, which) =
					*policy_limit_get_field(&sources[i]->limits, which);
		settings->required_layers |= sources[i]->required_layers;
		settings->refused_findings |= sources[i]->refused_findings;
		settings->warned_findings |= sources[i]->warned_findings;
		for (size_t j = 0; j < sizeof(flag) / sizeof(flag[0]); j++)
			if (sources[i]->flag[j] != FLAG_UNSAID)
				*flag[j] = sources[i]->flag[j] == FLAG_ON;
		if (sources[i]->on_deny)
			settings->on_deny = sources[i]->on_deny;
		if (sources[i]->judge) {
			settings->judge = sources[i]->judge;
			policy->judge_source_location = sources[i]->judge_source_location;
		}
		if (sources[i]->user)
			settings->user = sources[i]->user;
		if (sources[i]->audit_file.text)
			file = &sources[i]->audit_file;
	}
	settings_add_modules(compiler, sources, count);
	if (file)
		vars_expand_path(compiler, file, 0, settings_set_audit_file, (void *)(uintptr_t)file);
}
