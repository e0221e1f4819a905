/* The guest's side of a network: egress-guest.h. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/process-private.h"
#include "supervisor/status.h"
#include "syscalls/call/descriptor.h"

#include "base/banned.h"

int process_build_guest(struct process *process)
{
	const struct process_options *options = process->options;
	bool own = options->namespaces->made & LAYER_BIT(LAYER_NETNS);
	const char *step = "";
	int error;

	if (!options->egress->active)
		return 0;
	error = egress_guest_create(options->egress, options->policy, own, &process->guest, &step);
	if (error == 0) {
		step = "tell the program where to ask for names";
		error = egress_guest_names(options->egress, &process->guest, own || descriptor_direct());
	}
	if (error < 0)
		return process_fail(process, RUN_EXIT_ERROR, "network_failed", "cannot %s: %s", step, strerror(-error));
	return 0;
}

/* What "enforcement" says of a network that is not the host's, whether it has a namespace or not. */
static void tell_network(const struct process *process)
{
	struct layers *layers = process->options->layers;
	char why[sizeof(layers->layer[0].why)], own[INET_ADDRSTRLEN];

	(void)snprintf(why, sizeof(why), "%s", layers->layer[LAYER_NETNS].why);
	(void)inet_ntop(AF_INET, &process->guest.loopback, own, sizeof(own));
	layers_set(layers, LAYER_NETNS, layers->layer[LAYER_NETNS].active,
		   "%.110s; connections are led to the egress process%s%s", why, process->guest.own_netns ? "" : " at ",
		   process->guest.own_netns ? "" : own);
}

int process_hand_guest(struct process *process)
{
	const struct egress_side *egress = process->options->egress;
	int error = egress->active ? egress_guest_hand(egress, &process->guest) : 0;

	if (egress->active)
		tell_network(process);
	if (error < 0)
		return process_fail(process, RUN_EXIT_ERROR, "egress_failed", "the egress process does not run: %s",
				    strerror(-error));
	return 0;
}
