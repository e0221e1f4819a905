#include "supervisor/gateway/start.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/helper.h"
#include "base/io.h"
#include "base/text.h"
#include "supervisor/gateway/provide.h"
#include "supervisor/gateway/starter.h"

/* What the keeper holds while it starts egress, and frees afterwards. */
struct egress_start_state {
	const struct egress_start_options *options;
	struct secrets *secrets;
	char *root_certificates_pem;    /* the system's certificates; owned */
	/* the system's certificates and those of network.upstream_ca; owned; NULL: no upstream_ca */
	char *root_and_upstream_certificates_pem;
	struct java_truststores *java_truststores; /* owned */
	struct starter_reply reply;
};

static int start_set_error(struct policy_error *error, int code, const char *what)
{
	if (!error->text[0])
		(void)snprintf(error->text, sizeof(error->text), "cannot %s: %s", what, strerror(-code));
	return code;
}

/* ---- what is read from the host ---- */

/* Whether TLS of any connection may be intercepted: policy_net_intercepts_tls() for all names that rules can match. */
static bool start_may_intercept_tls(const struct policy *policy)
{
	size_t count, secrets;
	const struct net_rule *rule = policy_net_get_rules(policy, &count);

	(void)policy_net_get_secrets(policy, &secrets);
	for (size_t i = 0; i < count; i++)
		if (rule[i].proto == NET_HTTPS &&
		    (rule[i].http_rule_count > 0 || rule[i].credential_header || secrets > 0))
			return true;
	return false;
}

static int start_read_upstream_ca(const char *path, char **ret_text, struct policy_error *error)
{
	_cleanup_close_ int fd = io_open_without_links(path, O_RDONLY | O_NOCTTY | O_NONBLOCK);
	_cleanup_free_ char *text = NULL;
	size_t len;
	int r = fd < 0 ? fd : io_read_fd(fd, CA_CERTIFICATES_BYTES_MAX, &text, &len);

	if (r < 0) {
		(void)snprintf(error->text, sizeof(error->text), "cannot read network.upstream_ca %s: %s", path,
			       strerror(-r));
		return r;
	}
	if (!strstr(text, "-----BEGIN ") || !strstr(text, "CERTIFICATE-----")) {
		(void)snprintf(error->text, sizeof(error->text),
			       "network.upstream_ca %s has no certificate in it; it must be a PEM file", path);
		return -EINVAL;
	}
	*ret_text = steal_pointer(&text);
	return 0;
}

int egress_read_host_data(const struct policy *policy, bool secrets, struct egress_data_from_host *ret_read,
			  struct policy_error *ret_error)
{
	const char *path = policy_net_get_upstream_ca(policy);
	int r = 0;

	*ret_read = (struct egress_data_from_host){NULL, NULL};
	if (!policy_net_is_enabled(policy))
		return 0;
	if (secrets)
		r = secrets_load(policy, &ret_read->secrets, ret_error);
	if (r < 0)
		return start_set_error(ret_error, r, "read the policy's secrets");
	return path ? start_read_upstream_ca(path, &ret_read->upstream_ca, ret_error) : 0;
}

void egress_data_from_host_release(struct egress_data_from_host *read)
{
	secrets_free(read->secrets);
	free(read->upstream_ca);
	*read = (struct egress_data_from_host){NULL, NULL};
}

/* Reads the system's root certificates, and appends those of an upstream proxy. */
static int start_join_system_and_upstream_cas(struct egress_start_state *state, const char *more)
{
	size_t len;

	state->root_certificates_pem = egress_read_system_roots(&len);
	if (!more)
		return 0;
	state->root_and_upstream_certificates_pem =
		text_format("%s\n%s", state->root_certificates_pem ? state->root_certificates_pem : "", more);
	return state->root_and_upstream_certificates_pem ? 0 : -ENOMEM;
}

/* Reads root certificates and secrets for egress, unless the caller has read them. */
static int start_read_host_files_and_secrets(struct egress_start_state *state, struct policy_error *error)
{
	const struct egress_start_options *options = state->options;
	struct egress_data_from_host now = {NULL, NULL}, *read = options->host_data ? options->host_data : &now;
	int r = 0;

	if (!options->host_data)
		r = egress_read_host_data(options->policy, true, &now, error);
	state->secrets = steal_pointer(&read->secrets);
	if (r == 0)
		r = start_join_system_and_upstream_cas(state, read->upstream_ca);
	egress_data_from_host_release(read);
	return r < 0 ? start_set_error(error, r, "read the system's certificates") : 0;
}

/* ---- starting the process that becomes egress ---- */

static int start_open_pidfd_of_egress(struct egress_process *egress, struct policy_error *error)
{
	egress->pidfd = (int)syscall(SYS_pidfd_open, egress->pid, 0);
	return egress->pidfd < 0 ? start_set_error(error, -errno, "watch the egress process") : 0;
}

/* Forks the process that becomes egress at the first use of the network, and gives it what egress needs. */
static int start_fork_starter(struct egress_start_state *state, struct helper_program *program,
			      struct egress_process *egress, struct policy_error *error)
{
	const struct egress_start_options *options = state->options;
	struct starter_options starter = {.policy = options->policy,
					  .layers = options->layers,
					  .user = options->user,
					  .run_id = options->run_id,
					  .secrets = state->secrets,
					  .program = program,
					  .root_certificates_pem = state->root_and_upstream_certificates_pem
									   ? state->root_and_upstream_certificates_pem
									   : state->root_certificates_pem,
					  .makes_ca = start_may_intercept_tls(options->policy)};
	struct starter_reply *reply = &state->reply;
	int r = starter_fork(&starter, &egress->pid, &egress->control_fd, &egress->start_error_fd);

	secrets_forget_values(state->secrets);
	if (r == 0)
		r = start_open_pidfd_of_egress(egress, error);
	/* Meanwhile the starter makes the run's certificate authority. */
	if (r == 0 && starter.makes_ca)
		r = egress_begin_java_truststores(options->policy, state->root_certificates_pem,
						  &state->java_truststores);
	if (r == 0)
		r = starter_receive_reply(egress->control_fd, reply);
	if (r < 0)
		return start_set_error(error, r, "start the egress process");
	return reply->error < 0 ? start_set_error(error, reply->error, reply->failed_step) : 0;
}

/* Opens callgate-egress, which must be of the same build, reads what it needs from the host, and forks. */
static int start_prepare_egress(struct egress_start_state *state, struct egress_process *egress,
				struct policy_error *error)
{
	static const char *const variables[] = {"RES_OPTIONS", "LOCALDOMAIN", NULL}; /* resolv.conf(5) */
	struct helper_program program = HELPER_PROGRAM_INIT;
	const char *why = NULL; /* helper.h's text about a failure */
	int r = helper_open_program("egress", variables, &program, &why);

	if (r < 0)
		(void)snprintf(error->text, sizeof(error->text), "the policy's network %s", why);
	if (r == 0)
		r = start_read_host_files_and_secrets(state, error);
	if (r == 0)
		r = start_fork_starter(state, &program, egress, error);
	helper_close_program(&program);
	return r;
}

/* Reserves loopback addresses for a run without a network namespace, and binds their DNS port while root. */
static int start_reserve_address(struct egress_process *egress)
{
	uint16_t port;
	int error = egress_address_reserve(&egress->own_address, &egress->address_reserving_fd);

	if (error == 0)
		(void)egress_address_bind_udp_and_tcp(egress->own_address, DNS_PORT, egress->dns_fd,
					       &port); /* guest.c uses another port on failure */
	return error;
}

/* Starts the starter, and adds the files and variables that clients of egress need. */
static int start_egress_and_provide_files(struct egress_start_state *state, struct egress_process *egress,
					  struct policy_error *error)
{
	struct egress_provide_options provide = {.policy = state->options->policy};
	int r;

	/* Set before any secret is read. The keeper sets it again. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return start_set_error(error, -errno, "make callgate undumpable");
	r = start_prepare_egress(state, egress, error);
	if (r == 0) {
		provide.secrets = state->secrets;
		provide.root_certificates_pem = steal_pointer(&state->root_certificates_pem);
		provide.java_truststores = steal_pointer(&state->java_truststores);
		provide.ca = state->reply.pem[0] ? state->reply.pem : NULL;
		r = egress_provide_files_and_variables(&provide, egress);
	}
	if (r == 0)
		r = start_reserve_address(egress);
	return r < 0 ? start_set_error(error, r, "make the program's files and variables for the network") : 0;
}

int egress_start(const struct egress_start_options *options, struct egress_process *ret_egress,
		 struct policy_error *ret_error)
{
	struct egress_start_state state = {.options = options, .reply = {.error = 0}};
	int r, status;

	*ret_egress = (struct egress_process)EGRESS_PROCESS_NONE;
	ret_error->text[0] = '\0';
	if (!policy_net_is_enabled(options->policy)) {
		if (options->host_data)
			egress_data_from_host_release(options->host_data);
		return 0;
	}
	ret_egress->has_network = true;
	r = start_egress_and_provide_files(&state, ret_egress, ret_error);
	secrets_free(state.secrets);
	free(state.root_certificates_pem);
	egress_free_java_truststores(state.java_truststores);
	free(state.root_and_upstream_certificates_pem);
	if (r < 0) {
		(void)egress_process_end(ret_egress, &status);
		egress_process_release(ret_egress);
	}
	return r;
}
