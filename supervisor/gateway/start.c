#include "supervisor/gateway/start.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/code.h"
#include "base/io.h"
#include "confine/selffilter.h"
#include "egress/dns/resolver.h"
#include "egress/parts.h"
#include "supervisor/gateway/address.h"
#include "supervisor/gateway/lockdown.h"
#include "supervisor/gateway/provide.h"

#include "base/banned.h"

#define ROOTS_MAX (8u << 20)
#define DNS_PORT 53
#define END_TIMEOUT_MS 1000 /* for egress to end by itself once nobody is there to serve */

/* What egress takes with it, and the keeper forgets. */
struct baggage {
	const struct egress_start_options *options;
	const struct egress_parts *parts;
	struct secrets *secrets;
	struct ca *ca;
	char *roots;    /* owned; the system's */
	char *upstream; /* owned; those and the policy's own; NULL: none */
	pid_t keeper;
};

static int fail(struct policy_error *error, int code, const char *what)
{
	if (!error->text[0])
		(void)snprintf(error->text, sizeof(error->text), "cannot %s: %s", what, strerror(-code));
	return code;
}

/* ---- what it takes ---- */

/* Whether some connection is opened: policy_net_intercepts for all that the rules' patterns may mean. */
static bool opens_any(const struct policy *policy)
{
	size_t count, secrets;
	const struct net_rule *rule = policy_net_rules(policy, &count);

	(void)policy_net_secrets(policy, &secrets);
	for (size_t i = 0; i < count; i++)
		if (rule[i].proto == NET_HTTPS && (rule[i].http_count > 0 || rule[i].header || secrets > 0))
			return true;
	return false;
}

/* network.upstream_ca, by its canonical name. */
static int read_upstream(const char *path, char **ret_text, struct policy_error *error)
{
	_cleanup_close_ int fd = io_open_plain(path, O_RDONLY | O_NOCTTY | O_NONBLOCK);
	_cleanup_free_ char *text = NULL;
	size_t len;
	int r = fd < 0 ? fd : io_read_fd(fd, ROOTS_MAX, &text, &len);

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

int egress_read(const struct policy *policy, bool secrets, struct egress_read *ret_read, struct policy_error *ret_error)
{
	const char *path = policy_net_upstream_ca(policy);
	int r = 0;

	*ret_read = (struct egress_read){NULL, NULL};
	if (!policy_net_enabled(policy))
		return 0;
	if (secrets)
		r = secrets_load(policy, &ret_read->secrets, ret_error);
	if (r < 0)
		return fail(ret_error, r, "read the policy's secrets");
	return path ? read_upstream(path, &ret_read->upstream_ca, ret_error) : 0;
}

void egress_read_done(struct egress_read *read)
{
	secrets_free(read->secrets);
	free(read->upstream_ca);
	*read = (struct egress_read){NULL, NULL};
}

static int join_roots(struct baggage *baggage, const char *more)
{
	size_t len;

	baggage->roots = egress_system_roots(&len);
	if (!baggage->roots && !more)
		return 0;
	if (asprintf(&baggage->upstream, "%s\n%s", baggage->roots ? baggage->roots : "", more ? more : "") < 0) {
		baggage->upstream = NULL; /* undefined after a failure */
		return -ENOMEM;
	}
	return 0;
}

static int pack(struct baggage *baggage, struct policy_error *error)
{
	const struct egress_start_options *options = baggage->options;
	struct egress_read now = {NULL, NULL}, *read = options->read ? options->read : &now;
	const char *why;
	int r = 0;

	baggage->parts = egress_parts(&why);
	if (!baggage->parts) {
		(void)snprintf(error->text, sizeof(error->text), "the policy's network %s", why);
		return -ELIBACC;
	}
	if (!options->read)
		r = egress_read(options->policy, true, &now, error);
	baggage->secrets = steal_pointer(&read->secrets);
	if (r == 0)
		r = join_roots(baggage, read->upstream_ca);
	egress_read_done(read);
	if (r < 0)
		return fail(error, r, "read the system's certificates");
	if (opens_any(options->policy))
		r = baggage->parts->ca_create(options->run_id, &baggage->ca);
	return r < 0 ? fail(error, r, "make the run's certificate authority") : 0;
}

static void forget(struct baggage *baggage)
{
	secrets_forget(baggage->secrets);
	if (baggage->ca)
		baggage->parts->ca_forget(baggage->ca);
	free(baggage->upstream);
	baggage->upstream = NULL;
}

static void unpack(struct baggage *baggage)
{
	secrets_free(baggage->secrets);
	if (baggage->ca)
		baggage->parts->ca_free(baggage->ca);
	free(baggage->roots);
	free(baggage->upstream);
}

/* ---- the processes ---- */

/*
 * Not in the program that is linked statically, which never comes here (base/shared.h): getaddrinfo(3) needs shared
 * libraries.
 */
extern __typeof__(resolver_main) resolver_main __attribute__((weak));

static _Noreturn void be_resolver(const struct baggage *baggage, struct confine *confine, int fd)
{
	static const char *const variables[] = {"RES_OPTIONS", "LOCALDOMAIN", NULL}; /* resolv.conf(5) */
	int keep[] = {fd, confine->landlock_fd};

	if (baggage->options->read)
		secrets_forget(baggage->options->read->secrets); /* its copy of them */
	if (confine_settle(confine, &baggage->options->user, baggage->keeper, variables, keep, 2) < 0)
		_exit(1);
	layers_free(baggage->options->layers); /* shared memory: what it says of the run is not theirs to write */
	/* exit, not _exit, so that coverage and sanitizers report; stdio was flushed before the fork. */
	exit(resolver_main ? resolver_main(fd, confine_lock, confine) : EXIT_FAILURE);
}

static _Noreturn void be_egress(struct baggage *baggage, struct confine *confine, int resolver_fd, int control_fd)
{
	static const char *const variables[] = {NULL};
	int keep[] = {resolver_fd, control_fd, confine->landlock_fd};
	const struct egress_options options = {
		.policy = baggage->options->policy,
		.control_fd = control_fd,
		.resolver_fd = resolver_fd,
		.ca = baggage->ca,
		.secrets = baggage->secrets,
		.upstream_roots = baggage->upstream,
		.upstream_roots_len = baggage->upstream ? strlen(baggage->upstream) : 0,
		.lock_down = confine_lock,
		.lock_ctx = confine,
	};

	if (confine_settle(confine, &baggage->options->user, baggage->keeper, variables, keep, 3) < 0)
		_exit(1);
	layers_free(baggage->options->layers);
	exit(baggage->parts->egress_main(&options));
}

static int fork_resolver(struct baggage *baggage, struct egress_side *side, int *ret_fd)
{
	struct confine confine;
	int pair[2], error = confine_prepare(baggage->options->layers, SELF_RESOLVER, &confine);

	if (error == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		error = -errno;
	if (error != 0) {
		confine_done(&confine);
		return error;
	}
	side->resolver_pid = fork();
	if (side->resolver_pid == 0)
		be_resolver(baggage, &confine, pair[1]);
	if (side->resolver_pid < 0)
		error = -errno;
	(void)close(pair[1]);
	*ret_fd = pair[0];
	confine_done(&confine);
	return error;
}

static int fork_egress(struct baggage *baggage, struct egress_side *side, int resolver_fd)
{
	struct confine confine;
	int pair[2], error = confine_prepare(baggage->options->layers, SELF_EGRESS, &confine);

	if (error == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		error = -errno;
	if (error != 0) {
		confine_done(&confine);
		return error;
	}
	side->pid = fork();
	if (side->pid == 0)
		be_egress(baggage, &confine, resolver_fd, pair[1]);
	if (side->pid < 0)
		error = -errno;
	(void)close(pair[1]);
	side->control_fd = pair[0];
	confine_done(&confine);
	if (error == 0)
		side->pidfd = (int)syscall(SYS_pidfd_open, side->pid, 0);
	return error == 0 && side->pidfd < 0 ? -errno : error;
}

/* The resolver first: it has no secrets. */
static int fork_both(struct baggage *baggage, struct egress_side *side, struct policy_error *error)
{
	_cleanup_close_ int resolver_fd = -1;
	int r;

	(void)fflush(NULL);
	baggage->keeper = getpid();
	r = fork_resolver(baggage, side, &resolver_fd);
	if (r == 0)
		r = pack(baggage, error);
	if (r == 0)
		r = fork_egress(baggage, side, resolver_fd);
	forget(baggage);
	return r < 0 ? fail(error, r, "start the egress process") : 0;
}

/* Addresses for a run without a network namespace, and the port of names there, while we may be root. */
static int take_address(struct egress_side *side)
{
	uint16_t port;
	int error = egress_address_take(&side->own, &side->own_fd);

	if (error == 0)
		(void)egress_address_bind(side->own, DNS_PORT, side->dns_fd,
					  &port); /* refused: another port is taken later */
	return error;
}

static int start(struct baggage *baggage, struct egress_side *side, struct policy_error *error)
{
	struct egress_provide provide = {.policy = baggage->options->policy};
	int r;

	/* Before there is anything worth a look; settle() in keeper.c says the same again. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return fail(error, -errno, "keep others from looking into callgate");
	r = fork_both(baggage, side, error);
	if (r == 0) {
		provide.parts = baggage->parts;
		provide.secrets = baggage->secrets;
		provide.roots = baggage->roots;
		provide.ca = baggage->ca ? baggage->parts->ca_pem(baggage->ca) : NULL;
		r = egress_provide(&provide, side);
	}
	if (r == 0)
		r = take_address(side);
	return r < 0 ? fail(error, r, "make what the program gets of the network") : 0;
}

int egress_start(const struct egress_start_options *options, struct egress_side *ret_side,
		 struct policy_error *ret_error)
{
	struct baggage baggage = {.options = options};
	int r, status;

	*ret_side = (struct egress_side)EGRESS_SIDE_NONE;
	ret_error->text[0] = '\0';
	if (!policy_net_enabled(options->policy)) {
		if (options->read)
			egress_read_done(options->read);
		return 0;
	}
	ret_side->active = true;
	r = start(&baggage, ret_side, ret_error);
	unpack(&baggage);
	if (r < 0) {
		(void)egress_side_end(ret_side, &status);
		egress_side_done(ret_side);
	}
	code_give_back(); /* the authority is made, the secrets are handed over: no more cryptography here */
	return r;
}

/* ---- the end ---- */

void egress_side_handed(struct egress_side *side)
{
	cleanup_close(&side->control_fd);
	cleanup_close(&side->dns_fd[0]);
	cleanup_close(&side->dns_fd[1]);
	side->control_fd = side->dns_fd[0] = side->dns_fd[1] = -1;
}

static int reap(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 0;
	return status;
}

bool egress_side_end(struct egress_side *side, int *ret_status)
{
	struct pollfd end = {.fd = side->pidfd, .events = POLLIN};
	bool in_time = true;

	egress_side_handed(side);
	*ret_status = 0;
	if (side->pid > 0) {
		in_time = side->pidfd >= 0 && poll(&end, 1, END_TIMEOUT_MS) > 0;
		if (!in_time)
			(void)kill(side->pid, SIGKILL);
		*ret_status = reap(side->pid);
	}
	if (side->resolver_pid > 0) {
		(void)kill(side->resolver_pid, SIGKILL); /* it may be in the middle of waiting for a server */
		(void)reap(side->resolver_pid);
	}
	side->pid = side->resolver_pid = 0;
	return !in_time || *ret_status == 0;
}

void egress_side_done(struct egress_side *side)
{
	egress_side_handed(side);
	cleanup_close(&side->pidfd);
	cleanup_close(&side->own_fd);
	for (size_t i = 0; i < side->provides; i++) {
		free(side->provide[i].virt);
		free(side->provide[i].text);
	}
	for (size_t i = 0; i < side->variables; i++) {
		free(side->variable[i].name);
		free(side->variable[i].value);
	}
	free(side->provide);
	free(side->variable);
	*side = (struct egress_side)EGRESS_SIDE_NONE;
}
