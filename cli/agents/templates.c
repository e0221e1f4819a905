/* The templates of callgate serve are checked before it serves. */
#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/agents/agents.h"
#include "cli/load.h"

/* Whether the composed policy says "inspect". A policy that cannot be loaded fails the request for its template. */
static bool template_wants_inspection(const char *policy_path)
{
	_cleanup_policy_options_ struct cli_policy_options options = {0};
	_cleanup_host_ struct cli_host host = {0};
	_cleanup_policy_ struct policy *policy = NULL;
	const struct policy_settings *settings;

	if (cli_list_add_owned(&options.policy_names, strdup(policy_path)) < 0 || cli_host_init(&host, NULL) < 0 ||
	    cli_try_to_load_policy(&options, &host, &policy) < 0)
		return false;
	settings = policy_get_settings(policy);
	return settings->refused_findings || settings->warned_findings || settings->module_count > 0;
}

bool agents_check_templates(const char *dir_path)
{
	_cleanup_closedir_ DIR *dir = opendir(dir_path);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		_cleanup_free_ char *path = cli_format("%s/%s/policy.json", dir_path, entry->d_name);

		if (!path || *entry->d_name == '.' || access(path, R_OK) < 0 || !template_wants_inspection(path))
			continue;
		cli_print_error("serve",
				"template %s: its policy has \"inspect\", but serve starts programs without looking at "
				"them first; callgate mcp and callgate session exec look",
				entry->d_name);
		return false;
	}
	return true;
}
