/*
 * Decides which calls that only read are native in this run: those with which C libraries do fstat(2), and with
 * "judge": "changes" all of them. They are neither judged nor recorded, so the kernel has to decide as the view would.
 */
#include <stdio.h>

#include "policy/paths/below.h"
#include "policy/paths/reads.h"
#include "supervisor/process-private.h"

/*
 * The first layer that is missing for the kernel's names to be those of the view, in any native call with a path;
 * LAYER_MAX: none is. The network namespace is among them, because /proc/PID/net shows it.
 */
static enum layer process_find_layer_missing_for_paths(const struct process *process)
{
	static const enum layer needed[] = {LAYER_MOUNTNS, LAYER_PIDNS, LAYER_NETNS};

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!process->options->layers->layer[needed[i]].active)
			return needed[i];
	return LAYER_MAX;
}

static bool process_policy_allows_native_fstat(const struct process_options *options)
{
	return policy_grants_only_whole_trees(options->policy) && !policy_get_settings(options->policy)->audits_fstat;
}

void process_prepare_native_reads(const struct process_options *options)
{
	struct policy_kernel_reads_obstacle obstacle;
	struct namespaces *namespaces = options->namespaces;

	namespaces->wants_kernel_reads = policy_get_judge_mode(options->policy) == POLICY_JUDGE_CHANGES &&
					 layers_wants_layer(options->layers, LAYER_LANDLOCK) &&
					 namespaces_can_have_kernel_reads(namespaces) &&
					 !policy_find_kernel_reads_obstacle(options->policy, &obstacle);
	namespaces->wants_procfs_of_run_only =
		namespaces->wants_kernel_reads || process_policy_allows_native_fstat(options);
}

/*
 * Decides whether the run has kernel reads, and why not. They need Landlock as well: without it, the mounts alone would
 * keep the program from files of the host that it might reach.
 */
static void process_set_kernel_reads(struct process *process)
{
	const struct process_options *options = process->options;
	struct layers *layers = options->layers;
	enum layer missing = process_find_layer_missing_for_paths(process);
	struct policy_kernel_reads_obstacle obstacle;

	if (missing == LAYER_MAX && !layers->layer[LAYER_LANDLOCK].active)
		missing = LAYER_LANDLOCK;
	process->kernel_reads = false;
	if (policy_get_judge_mode(options->policy) != POLICY_JUDGE_CHANGES)
		layers_set_state(layers, LAYER_KERNEL_READS, false,
				 "every call is judged: the policy does not say \"judge\": \"changes\"");
	else if (policy_find_kernel_reads_obstacle(options->policy, &obstacle))
		layers_set_state(layers, LAYER_KERNEL_READS, false, "every call is judged: %s %s", obstacle.rule,
				 obstacle.why);
	else if (missing != LAYER_MAX)
		layers_set_state(layers, LAYER_KERNEL_READS, false, "every call is judged: the layer %s is not active",
				 layer_get_name(missing));
	else if (options->namespaces->refused_layers & LAYER_BIT(LAYER_KERNEL_READS))
		return; /* the keeper has stored the reason, which an earlier supervisor told it */
	else if (!view_kernel_judges_reads(process->view))
		layers_set_state(layers, LAYER_KERNEL_READS, false,
				 "every call is judged: the view is not prepared for it");
	else
		process->kernel_reads = true;
}

void process_decide_kernel_reads(struct process *process)
{
	struct layers *layers = process->options->layers;

	if (policy_get_judge_mode(process->options->policy) != POLICY_JUDGE_CHANGES &&
	    !(layers->required_layers & LAYER_BIT(LAYER_KERNEL_READS)))
		return;
	process_set_kernel_reads(process);
	if (process->kernel_reads)
		layers_set_state(layers, LAYER_KERNEL_READS, true,
				 "calls that only read are the kernel's, not judged and not on record; a name that "
				 "a process outside makes later is not denied to them%s",
				 view_skips_walk_of_installed_files(process->view)
					 ? ", nor one that a glob (**/NAME) denies in installed programs"
					 : "");
}

void process_decide_native_fstat(struct process *process)
{
	struct layers *layers = process->options->layers;
	char why[sizeof(layers->layer[0].why)];

	if (!layers->layer[LAYER_MOUNTNS].active)
		return;
	process->fstat_is_native = process_find_layer_missing_for_paths(process) == LAYER_MAX &&
				   process_policy_allows_native_fstat(process->options) &&
				   view_native_stat_is_safe(process->view);
	if (process->kernel_reads)
		return; /* the text of the layer tells already that all calls that only read are native */
	(void)snprintf(why, sizeof(why), "%s", layers->layer[LAYER_MOUNTNS].why);
	layers_set_state(layers, LAYER_MOUNTNS, true, "%.160s; fstat is %s", why,
			 process->fstat_is_native ? "left to it" : "judged");
}
