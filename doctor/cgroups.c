/* The trial of control groups: makes, limits, reads and removes what a run would. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "confine/cgroup.h"
#include "confine/layers.h"
#include "doctor/probe.h"

#include "base/banned.h"

void probe_cgroups(struct doctor *doctor)
{
	/* High limits: the question is whether they can be set. */
	const struct policy_limits limits = {
		.memory_bytes = UINT64_C(1) << 30, .pids = 1000, .cpu_ns = UINT64_C(3600000000000)};
	struct layers *layers = layers_create(0, 0);
	char id[32];
	struct cgroup_options options;
	struct cgroup *cgroup;

	if (!layers)
		return;
	(void)snprintf(id, sizeof(id), "doctor-%d", (int)getpid());
	options = (struct cgroup_options){
		.run_id = id, .uid = geteuid(), .gid = getegid(), .limits = &limits, .layers = layers};
	cgroup = cgroup_create(&options);
	if (!layers->layer[LAYER_CGROUPS].active)
		probe_found(doctor, PROBE_CGROUPS, FINDING_LACKS, EACCES, "%s", layers->layer[LAYER_CGROUPS].why);
	else
		probe_found(doctor, PROBE_CGROUPS, FINDING_WORKS, 0, "made, limited and removed: %s",
			    layers->layer[LAYER_CGROUPS].why);
	cgroup_destroy(cgroup);
	layers_free(layers);
}
