#include "supervisor/gateway/starter.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "confine/selffilter.h"
#include "egress/control.h"
#include "policy/network/pack.h"
#include "supervisor/gateway/handover.h"
#include "supervisor/gateway/lockdown.h"

#define STARTER_START_ERROR_BYTES_MAX 512u /* longest message on why egress did not start */

/* The process that waits, and becomes egress at the first use of the network. */
struct starter {
	const struct starter_options *options;
	pid_t keeper;
	int control_fd, why_fd;
	int program_socket_fd[CONTROL_FDS_MAX]; /* the descriptors of CONTROL_PROGRAM_SOCKETS; -1: not received yet */
	struct authority authority;             /* the run's authority for TLS interception */
};

static bool starter_has_self_filter(const struct starter *starter)
{
	return starter->options->layers->layer[LAYER_SELF_FILTER].active;
}

/*
 * Writes the reason, unless there is one: if a starter could not execute egress, its forked sender only finds that the
 * starter is gone, which must not replace the reason.
 */
static void starter_write_start_error(const struct starter *starter, const char *text)
{
	struct stat st;

	if (fstat(starter->why_fd, &st) == 0 && st.st_size == 0)
		/* If this fails, the keeper still sees how the process ended. */
		(void)!pwrite(starter->why_fd, text, strnlen(text, STARTER_START_ERROR_BYTES_MAX - 1), 0);
}

/* ---- sending egress what it needs ---- */

/* Makes a memfd with the packed network and the root certificates. */
static int starter_pack_policy(const struct starter_options *options, struct handover *handover, int *ret_fd)
{
	_cleanup_close_ int fd = memfd_create("callgate-network", MFD_CLOEXEC);
	_cleanup_buf_ struct buf buf = {0};
	int error = fd < 0 ? -errno : net_pack_policy(options->policy, &buf);

	if (error == 0)
		error = io_write_all(fd, buf.data, buf.len);
	if (error == 0 && options->root_certificates_pem)
		error = io_write_all(fd, options->root_certificates_pem, strlen(options->root_certificates_pem));
	if (error < 0)
		return error;
	handover->policy_len = buf.len;
	handover->roots_len = options->root_certificates_pem ? strlen(options->root_certificates_pem) : 0;
	*ret_fd = steal_fd(&fd);
	return 0;
}

static int starter_send_handover(const struct starter *starter, int socket_fd)
{
	struct handover handover = {.keeper = starter->keeper,
				    .sender = getpid(),
				    .self_filter = starter_has_self_filter(starter),
				    .landlock = layers_wants_layer(starter->options->layers, LAYER_LANDLOCK),
				    .has_authority = starter->options->makes_ca,
				    .authority = starter->authority};
	_cleanup_close_ int bytes_fd = -1;
	int error = starter_pack_policy(starter->options, &handover, &bytes_fd);
	int fds[HANDOVER_FD_COUNT] = {
		[HANDOVER_FD_POLICY_AND_ROOT_CAS] = bytes_fd, [HANDOVER_FD_CONTROL_SOCKET] = starter->control_fd};

	memcpy(fds + HANDOVER_FD_FIRST_PROGRAM_SOCKET, starter->program_socket_fd, sizeof(starter->program_socket_fd));
	if (error == 0)
		error = handover_send(socket_fd, &handover, sizeof(handover), fds, HANDOVER_FD_COUNT);
	authority_wipe(&handover.authority);
	return error < 0 ? error : secrets_send(starter->options->secrets, socket_fd);
}

/*
 * The main function of the forked sender: sends egress everything that it needs, and waits until egress has received
 * it.
 */
static _Noreturn void starter_run_sender(const struct starter *starter, int socket_fd)
{
	const struct helper egress = {.fd = socket_fd};
	struct handover_reply reply = {.failed_step = "hand over the policy"};
	char text[STARTER_START_ERROR_BYTES_MAX];
	const char *why;
	int error = helper_await_equal_version(&egress, &why);

	if (error < 0) {
		(void)snprintf(text, sizeof(text), "the policy's network %s", why);
		starter_write_start_error(starter, text);
		_exit(EXIT_FAILURE);
	}
	error = starter_send_handover(starter, socket_fd);
	if (error == 0)
		error = handover_receive(socket_fd, &reply, sizeof(reply), NULL, 0);
	if (error == 0)
		error = reply.error;
	reply.failed_step[sizeof(reply.failed_step) - 1] = '\0';
	if (error < 0) {
		(void)snprintf(text, sizeof(text), "the egress process cannot %s: %s", reply.failed_step,
			       strerror(-error));
		starter_write_start_error(starter, text);
	}
	_exit(error < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* Becomes egress. */
static _Noreturn void starter_become_egress(struct starter *starter)
{
	char text[STARTER_START_ERROR_BYTES_MAX];
	const char *why;
	int pair[2];
	pid_t sender;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		_exit(EXIT_FAILURE);
	sender = fork();
	if (sender == 0) {
		(void)close(pair[1]);
		starter_run_sender(starter, pair[0]);
	}
	(void)close(pair[0]);
	if (sender < 0)
		_exit(EXIT_FAILURE);
	(void)helper_execute(starter->options->program, pair[1], &why);
	(void)snprintf(text, sizeof(text), "the policy's network %s", why);
	starter_write_start_error(starter, text);
	_exit(EXIT_FAILURE);
}

/* ---- waiting for the first use of the network ---- */

enum starter_need {
	STARTER_KEEPS_WAITING,    /* nothing was asked of egress yet */
	STARTER_EGRESS_IS_NEEDED, /* the starter is to become egress */
	STARTER_RUN_HAS_ENDED,    /* the run ends */
	STARTER_HAS_FAILED,       /* the supervisor has sent what it may not send */
};

/* Receives CONTROL_PROGRAM_SOCKETS. All other messages stay in the socket, for egress. */
static enum starter_need starter_on_message(struct starter *starter)
{
	enum control_phase phase = CONTROL_STARTING;
	struct control_message message = {0};
	size_t count;
	ssize_t got = recv(starter->control_fd, &message, sizeof(message), MSG_PEEK | MSG_DONTWAIT);

	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return STARTER_KEEPS_WAITING;
	if (got <= 0 || (message.version == CONTROL_VERSION && message.type == CONTROL_END))
		return STARTER_RUN_HAS_ENDED;
	if (starter->program_socket_fd[0] >= 0)
		return STARTER_EGRESS_IS_NEEDED;
	if (control_receive_message(starter->control_fd, &message, starter->program_socket_fd, &count) < 0 ||
	    message.type != CONTROL_PROGRAM_SOCKETS ||
	    !control_admits_message(CONTROL_EGRESS, &phase, &message, count))
		return STARTER_HAS_FAILED;
	return STARTER_KEEPS_WAITING;
}

/* Waits for a message of the supervisor, and for queries of the program at the run's DNS sockets. */
static enum starter_need starter_await_need(struct starter *starter)
{
	enum starter_need need = STARTER_KEEPS_WAITING;

	while (need == STARTER_KEEPS_WAITING) {
		struct pollfd source[1 + CONTROL_FDS_MAX] = {{.fd = starter->control_fd, .events = POLLIN}};

		for (size_t i = 0; i < CONTROL_FDS_MAX; i++)
			source[1 + i] = (struct pollfd){.fd = starter->program_socket_fd[i], .events = POLLIN};
		if (poll(source, 1 + CONTROL_FDS_MAX, -1) < 0)
			need = errno == EINTR ? STARTER_KEEPS_WAITING : STARTER_HAS_FAILED;
		else if (source[0].revents)
			need = starter_on_message(starter);
		else
			need = STARTER_EGRESS_IS_NEEDED;
	}
	return need;
}

static int starter_send_reply(const struct starter *starter, int error, const char *step)
{
	struct starter_reply reply = {.error = error};

	(void)snprintf(reply.failed_step, sizeof(reply.failed_step), "%s", step);
	if (error == 0 && starter->options->makes_ca)
		memcpy(reply.pem, starter->authority.pem, sizeof(reply.pem));
	return send(starter->control_fd, &reply, sizeof(reply), MSG_NOSIGNAL) == sizeof(reply) ? error : -EPIPE;
}

/* The starter's main function: waits for the first use of the network, then becomes egress. */
static _Noreturn void starter_run(struct starter *starter)
{
	static const char *const variables[] = {NULL};
	const struct egress_sandbox lockdown = {.self_filter = starter_has_self_filter(starter), .landlock_fd = -1};
	int keep[] = {starter->control_fd, starter->why_fd, starter->options->program->fd};
	const char *step = "make the run's certificate authority";
	enum starter_need need;
	int error = starter->options->makes_ca ? authority_make(starter->options->run_id, &starter->authority) : 0;

	(void)prctl(PR_SET_NAME, "callgate-start");
	if (error == 0) {
		step = "lock the network's processes";
		error = lockdown_drop_privileges(&lockdown, &starter->options->user, starter->keeper, variables, keep,
						 sizeof(keep) / sizeof(keep[0]));
	}
	if (starter_send_reply(starter, error, step) < 0)
		_exit(EXIT_FAILURE);
	secrets_mlock_values(starter->options->secrets);
	need = starter_await_need(starter);
	if (need == STARTER_EGRESS_IS_NEEDED)
		starter_become_egress(starter);
	/* The supervisor waits for this end of file. At the exit it would come later, because memory is freed first. */
	(void)close(starter->control_fd);
	_exit(need == STARTER_RUN_HAS_ENDED ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* ---- functions that the keeper calls ---- */

int starter_fork(const struct starter_options *options, pid_t *ret_pid, int *ret_control_fd, int *ret_why_fd)
{
	struct starter starter = {.options = options, .keeper = getpid(), .program_socket_fd = {-1, -1, -1}};
	_cleanup_close_ int why = memfd_create("callgate-why", MFD_CLOEXEC);
	int pair[2];
	pid_t pid;

	if (why < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	(void)fflush(NULL);
	pid = fork();
	if (pid == 0) {
		(void)close(pair[0]);
		starter.control_fd = pair[1];
		starter.why_fd = why;
		starter_run(&starter);
	}
	(void)close(pair[1]);
	if (pid < 0) {
		int error = -errno;

		(void)close(pair[0]);
		return error;
	}
	*ret_pid = pid;
	*ret_control_fd = pair[0];
	*ret_why_fd = steal_fd(&why);
	return 0;
}

int starter_receive_reply(int control_fd, struct starter_reply *ret_reply)
{
	ssize_t got = TEMP_FAILURE_RETRY(recv(control_fd, ret_reply, sizeof(*ret_reply), 0));

	if (got != (ssize_t)sizeof(*ret_reply))
		return got < 0 ? -errno : -EPIPE;
	ret_reply->failed_step[sizeof(ret_reply->failed_step) - 1] = '\0';
	ret_reply->pem[sizeof(ret_reply->pem) - 1] = '\0';
	return 0;
}

void starter_read_start_error(int why_fd, char *ret_text, size_t size)
{
	ssize_t got = why_fd < 0 ? -1 : pread(why_fd, ret_text, size - 1, 0);

	ret_text[got > 0 ? got : 0] = '\0';
}
