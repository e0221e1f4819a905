/*
 * The main function of callgate-egress (base/helper.h): locks down and runs egress, the resolver or the name service.
 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/helper.h"
#include "base/text.h"
#include "config.h"
#include "confine/selffilter.h"
#include "egress/dns/resolver.h"
#include "egress/egress.h"
#include "policy/network/pack.h"
#include "supervisor/gateway/handover.h"
#include "supervisor/gateway/lockdown.h"

/* An ELF note with the version, which helper_open_program() compares. The section's name makes it a note. */
static const struct {
	uint32_t name_len, version_len, type;
	char owner[12]; /* padded to a multiple of 4 bytes, as elf(5) demands */
	char version[HELPER_VERSION_SIZE];
} program_note __attribute__((section(".note.callgate"), aligned(4),
			      used)) = {sizeof(HELPER_ELF_NOTE_OWNER), HELPER_VERSION_SIZE,
					HELPER_ELF_NOTE_TYPE_VERSION, HELPER_ELF_NOTE_OWNER, PACKAGE_VERSION};

/* No change of user: the process that executed callgate-egress is the run's user already. */
static const struct privs_user same_user = {.set = false};

/* ---- the process that becomes the resolver ---- */

/* The resolver's main function. */
static _Noreturn void program_run_resolver(const struct handover *handover, int fd, pid_t egress)
{
	static const char *const variables[] = {"RES_OPTIONS", "LOCALDOMAIN", NULL}; /* resolv.conf(5) */
	struct egress_sandbox lockdown;
	int keep[] = {fd, -1};

	(void)prctl(PR_SET_NAME, "callgate-resolv"); /* the resolver has the command line of egress */
	if (lockdown_build_domain(SELF_RESOLVER, handover->self_filter, handover->landlock, &lockdown) < 0)
		_exit(EXIT_FAILURE);
	keep[1] = lockdown.landlock_fd;
	if (lockdown_drop_privileges(&lockdown, &same_user, egress, variables, keep, 2) < 0)
		_exit(EXIT_FAILURE);
	exit(resolver_main(fd, lockdown_enter_sandbox, &lockdown)); /* exit(3), because sanitizers report at exit */
}

/* Forks the resolver before egress has received any secret. The resolver dies with egress (PR_SET_PDEATHSIG). */
static int program_fork_resolver(const struct handover *handover, int *ret_fd)
{
	pid_t egress = getpid(), pid;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		program_run_resolver(handover, pair[1], egress);
	(void)close(pair[1]);
	*ret_fd = pair[0];
	return pid < 0 ? -errno : 0;
}

/* ---- egress ---- */

/* Reads the policy and the root certificates from the memfd. */
static int program_unpack_policy(const struct handover *handover, int bytes_fd, struct policy **ret_policy,
				 char **ret_roots)
{
	size_t policy_len = handover->policy_len, roots_len = handover->roots_len;
	char *bytes = mmap(NULL, policy_len + roots_len, PROT_READ, MAP_PRIVATE, bytes_fd, 0);
	int error;

	(void)close(bytes_fd);
	if (bytes == MAP_FAILED)
		return -errno;
	error = net_unpack_policy(bytes, policy_len, ret_policy);
	*ret_roots = roots_len ? strndup(bytes + policy_len, roots_len) : NULL;
	if (roots_len && !*ret_roots)
		error = -ENOMEM;
	(void)munmap(bytes, policy_len + roots_len); /* cannot fail: it unmaps the whole mapping */
	return error;
}

/* Fills egress_main's options and the reply. 0; -errno: reply->failed_step says what failed. */
static int program_receive_secrets(struct handover *handover, int bytes_fd, struct policy **ret_policy,
		       struct egress_options *options, struct handover_reply *reply)
{
	const char *step = "read the policy's network";
	int error = program_unpack_policy(handover, bytes_fd, ret_policy, &options->upstream_roots);

	options->policy = *ret_policy;
	options->upstream_roots_len = options->upstream_roots ? strlen(options->upstream_roots) : 0;
	if (error == 0) {
		step = "receive the secrets";
		error = secrets_receive(*ret_policy, HELPER_SOCKET_FD, &options->secrets);
	}
	if (error == 0 && handover->has_authority) {
		step = "take over the run's certificate authority";
		error = ca_create(&handover->authority, &options->ca);
	}
	authority_wipe(&handover->authority);
	reply->error = error;
	(void)snprintf(reply->failed_step, sizeof(reply->failed_step), "%s", step);
	return error;
}

/* Forks the resolver and gives up privileges. lockdown_enter_sandbox() follows when everything is open. */
static int program_fork_and_drop_privileges(const struct handover *handover, const int fds[HANDOVER_FD_COUNT],
					    int *ret_resolver_fd, struct egress_sandbox *ret_lockdown)
{
	static const char *const variables[] = {NULL};
	int keep[3 + HANDOVER_FD_COUNT] = {HELPER_SOCKET_FD}, error = program_fork_resolver(handover, ret_resolver_fd);

	if (error == 0)
		error = lockdown_build_domain(SELF_EGRESS, handover->self_filter, handover->landlock, ret_lockdown);
	if (error != 0)
		return error;
	keep[1] = *ret_resolver_fd;
	keep[2] = ret_lockdown->landlock_fd;
	memcpy(keep + 3, fds, HANDOVER_FD_COUNT * sizeof(*fds));
	return lockdown_drop_privileges(ret_lockdown, &same_user, handover->keeper, variables, keep,
					3 + HANDOVER_FD_COUNT);
}

/* Sends the reply, and waits until the process that gets it has ended. */
static int program_send_reply(const struct handover *handover, const struct handover_reply *reply)
{
	int error = handover_send(HELPER_SOCKET_FD, reply, sizeof(*reply), NULL, 0);

	(void)close(HELPER_SOCKET_FD);
	while (waitpid(handover->sender, NULL, 0) < 0 && errno == EINTR)
		;
	return error;
}

/* Receives the handover, restricts this process, and runs egress. Returns its exit status. */
static int program_run_egress(void)
{
	struct handover_reply reply = {0};
	struct policy *policy = NULL;
	struct handover handover = {.keeper = 0};
	struct egress_sandbox lockdown;
	struct egress_options options = {.lock_down = lockdown_enter_sandbox, .lock_ctx = &lockdown};
	int fds[HANDOVER_FD_COUNT], error, status;

	/* execveat(2) of a descriptor may name the process after its number. */
	(void)prctl(PR_SET_NAME, HELPER_FILE_NAME);
	if (helper_send_version() < 0 ||
	    handover_receive(HELPER_SOCKET_FD, &handover, sizeof(handover), fds, HANDOVER_FD_COUNT) < 0)
		return EXIT_FAILURE;
	options.control_fd = fds[HANDOVER_FD_CONTROL_SOCKET];
	options.program_socket_fds = fds + HANDOVER_FD_FIRST_PROGRAM_SOCKET;
	error = program_fork_and_drop_privileges(&handover, fds, &options.resolver_fd, &lockdown);
	if (error < 0)
		reply = (struct handover_reply){.error = error, .failed_step = "lock the network's processes"};
	else
		error = program_receive_secrets(&handover, fds[HANDOVER_FD_POLICY_AND_ROOT_CAS], &policy, &options,
						&reply);
	if (program_send_reply(&handover, &reply) < 0 || error < 0)
		return EXIT_FAILURE;
	status = egress_main(&options);
	policy_free(policy);
	return status;
}

/* ---- the name service: looks up accounts of a policy and of --user ---- */

static void program_fill_account_reply(const struct passwd *account, struct account_reply *reply)
{
	reply->was_found = account && strlen(account->pw_name) < sizeof(reply->account_name) &&
			   strlen(account->pw_dir) < sizeof(reply->home);
	if (!reply->was_found)
		return;
	reply->uid = account->pw_uid;
	reply->gid = account->pw_gid;
	memcpy(reply->account_name, account->pw_name, strlen(account->pw_name) + 1);
	memcpy(reply->home, account->pw_dir, strlen(account->pw_dir) + 1);
}

static void program_look_up_account(const struct account_query *query, struct account_reply *reply)
{
	const struct group *group = query->kind == ACCOUNT_LOOKUP_GROUP_BY_NAME ? getgrnam(query->text) : NULL;

	if (query->kind == ACCOUNT_LOOKUP_BY_UID)
		program_fill_account_reply(getpwuid(query->id), reply);
	else if (query->kind == ACCOUNT_LOOKUP_BY_NAME)
		program_fill_account_reply(getpwnam(query->text), reply);
	else
		reply->was_found = group != NULL;
	if (group)
		reply->gid = group->gr_gid;
}

/* Runs the name service, with the resolver's filter, because both use the C library's name service. */
static int program_run_account_service(void)
{
	static const char *const variables[] = {NULL};
	struct account_query query;
	struct egress_sandbox lockdown;
	int keep[] = {HELPER_SOCKET_FD, -1};
	const char *why;

	if (lockdown_build_domain(SELF_RESOLVER, selffilter_works_in_this_build(&why),
				  selffilter_works_in_this_build(&why), &lockdown) < 0)
		return EXIT_FAILURE;
	keep[1] = lockdown.landlock_fd;
	if (lockdown_drop_privileges(&lockdown, &same_user, getppid(), variables, keep, 2) < 0 ||
	    lockdown_enter_sandbox(&lockdown) < 0 || helper_send_version() < 0)
		return EXIT_FAILURE;
	while (recv(HELPER_SOCKET_FD, &query, sizeof(query), 0) == sizeof(query)) {
		struct account_reply reply = {0};

		query.text[sizeof(query.text) - 1] = '\0';
		program_look_up_account(&query, &reply);
		if (send(HELPER_SOCKET_FD, &reply, sizeof(reply), MSG_NOSIGNAL) != sizeof(reply))
			return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}

static const struct {
	const char *name;
	int (*run)(void);
} roles[] = {
	{"egress", program_run_egress},
	{"accounts", program_run_account_service},
};

int main(int argc, char **argv)
{
	/* Set before any secret is received. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return EXIT_FAILURE;
	for (size_t i = 0; argc == 2 && i < sizeof(roles) / sizeof(roles[0]); i++) {
		if (strcmp(argv[1], roles[i].name) != 0)
			continue;
		(void)syscall(SYS_close_range, HELPER_SOCKET_FD + 1, ~0u,
			      0u); /* closes what was inherited from callgate */
		return roles[i].run();
	}
	(void)text_print(stderr, HELPER_FILE_NAME ": a part of callgate, which starts it; see callgate(1)\n", true);
	return EXIT_FAILURE;
}
