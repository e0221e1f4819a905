#include "tests/unit/egress/egress-rig.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "egress/dns/resolver.h"
#include "egress/egress.h"
#include "tests/unit/policy/policy-rig.h"

struct message {
	struct message *next;
	struct control_message message;
};

struct egress_rig {
	struct rig policy_rig;
	struct policy *policy;
	pid_t egress, resolver;
	int control, resolver_fd;
	struct sockaddr_in listener, dns_udp, dns_tcp, own;
	uint64_t last;
	int ack_error;
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t came;
	bool silent, gone;
	struct message *first, **end;
};

uint64_t erig_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- sockets ---- */

static int bound(int type, const struct sockaddr_in *own, struct sockaddr_in *ret_at)
{
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = own->sin_addr};
	socklen_t len = sizeof(at);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	*ret_at = at;
	return fd;
}

int erig_bound(uint16_t *ret_port)
{
	const struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in at;
	int fd = bound(SOCK_STREAM, &own, &at);

	*ret_port = ntohs(at.sin_port);
	return fd;
}

int erig_server(uint16_t *ret_port)
{
	int fd = erig_bound(ret_port);

	ck_assert_int_eq(listen(fd, 4096), 0);
	return fd;
}

int erig_accept(int server)
{
	struct pollfd ready = {.fd = server, .events = POLLIN};
	int fd;

	ck_assert_msg(poll(&ready, 1, ERIG_WAIT_MS) == 1, "no client connected");
	fd = accept4(server, NULL, NULL, SOCK_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	return fd;
}

/* ---- the supervisor's part ---- */

static void deliver(struct egress_rig *rig, const struct control_message *message)
{
	struct control_message ack = {.version = CONTROL_VERSION, .type = CONTROL_RECORD_ACK};
	struct message *kept = malloc(sizeof(*kept));

	kept->next = NULL;
	kept->message = *message;
	(void)pthread_mutex_lock(&rig->lock);
	*rig->end = kept;
	rig->end = &kept->next;
	ack.ack.id = message->record.id;
	ack.ack.error = rig->ack_error;
	(void)pthread_cond_broadcast(&rig->came);
	(void)pthread_mutex_unlock(&rig->lock);
	if (message->type == CONTROL_RECORD && message->record.wants_ack)
		while (control_send_message(rig->control, &ack, NULL, 0) == -EAGAIN) {
			struct pollfd room = {.fd = rig->control, .events = POLLOUT};

			(void)poll(&room, 1, 1000);
		}
}

static void *listen_to_egress(void *ctx)
{
	struct egress_rig *rig = ctx;
	int error;

	(void)pthread_mutex_lock(&rig->lock);
	while (rig->silent)
		(void)pthread_cond_wait(&rig->came, &rig->lock);
	(void)pthread_mutex_unlock(&rig->lock);
	do {
		struct pollfd ready = {.fd = rig->control, .events = POLLIN};
		struct control_message message;
		int fds[CONTROL_FDS_MAX];
		size_t count;

		(void)poll(&ready, 1, -1);
		error = control_receive_message(rig->control, &message, fds, &count);
		if (error == 0)
			deliver(rig, &message);
	} while (error == 0 || error == -EAGAIN);
	(void)pthread_mutex_lock(&rig->lock);
	rig->gone = true;
	(void)pthread_cond_broadcast(&rig->came);
	(void)pthread_mutex_unlock(&rig->lock);
	return NULL;
}

void erig_speak(struct egress_rig *rig)
{
	(void)pthread_mutex_lock(&rig->lock);
	rig->silent = false;
	(void)pthread_cond_broadcast(&rig->came);
	(void)pthread_mutex_unlock(&rig->lock);
}

typedef bool wanted_fn(const struct control_message *message, const void *want);

/* The index-th wanted message there is by now, or NULL. Under the lock. */
static const struct control_message *look(struct egress_rig *rig, wanted_fn *wanted, const void *want, size_t index)
{
	for (const struct message *kept = rig->first; kept; kept = kept->next)
		if (wanted(&kept->message, want) && index-- == 0)
			return &kept->message;
	return NULL;
}

static const struct control_message *await(struct egress_rig *rig, wanted_fn *wanted, const void *want, size_t index)
{
	const struct control_message *found;
	struct timespec until;

	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += ERIG_WAIT_MS / 1000;
	(void)pthread_mutex_lock(&rig->lock);
	while (!(found = look(rig, wanted, want, index)) && !rig->gone &&
	       pthread_cond_timedwait(&rig->came, &rig->lock, &until) == 0)
		;
	if (!found)
		found = look(rig, wanted, want, index);
	(void)pthread_mutex_unlock(&rig->lock);
	ck_assert_msg(found != NULL, rig->gone ? "egress is gone" : "it never came");
	return found;
}

/* ---- records ---- */

struct want {
	uint64_t conn;
	unsigned event;
};

static bool is_record(const struct control_message *message, const void *ctx)
{
	const struct want *want = ctx;

	return message->type == CONTROL_RECORD && message->record.event == want->event &&
	       (!want->conn || message->record.conn_id == want->conn);
}

struct control_record erig_record(struct egress_rig *rig, uint64_t conn, enum control_event event, size_t index)
{
	const struct want want = {.conn = conn, .event = event};

	return await(rig, is_record, &want, index)->record;
}

size_t erig_records(struct egress_rig *rig, uint64_t conn, enum control_event event)
{
	const struct want want = {.conn = conn, .event = event};
	size_t count = 0;

	(void)pthread_mutex_lock(&rig->lock);
	for (const struct message *kept = rig->first; kept; kept = kept->next)
		count += is_record(&kept->message, &want);
	(void)pthread_mutex_unlock(&rig->lock);
	return count;
}

static bool is_question(const struct control_message *message, const void *ctx)
{
	(void)ctx;
	return message->type == CONTROL_QUESTION;
}

struct control_question erig_question(struct egress_rig *rig, size_t index)
{
	return await(rig, is_question, NULL, index)->question;
}

void erig_answer_question(struct egress_rig *rig, uint64_t id, int error)
{
	const struct control_message ack = {
		.version = CONTROL_VERSION, .type = CONTROL_RECORD_ACK, .ack = {.id = id, .error = error}};

	ck_assert_int_eq(control_send_message(rig->control, &ack, NULL, 0), 0);
}

static bool is_done(const struct control_message *message, const void *ctx)
{
	(void)ctx;
	return message->type == CONTROL_REQUEST_DONE;
}

struct control_request_done erig_done(struct egress_rig *rig, size_t index)
{
	return await(rig, is_done, NULL, index)->done;
}

static bool is_name(const struct control_message *message, const void *ctx)
{
	return message->type == CONTROL_NAME_APPROVED && strcmp(message->name.host, ctx) == 0;
}

const char *erig_name(struct egress_rig *rig, const char *host, struct control_name_approved *ret_name)
{
	const struct control_message *found;

	(void)pthread_mutex_lock(&rig->lock);
	found = look(rig, is_name, host, 0);
	(void)pthread_mutex_unlock(&rig->lock);
	if (!found)
		return "";
	*ret_name = found->name;
	return ret_name->host;
}

/* ---- connections ---- */

static void say(struct egress_rig *rig, const struct control_message *message, const int *fds, size_t count)
{
	int error;

	while ((error = control_send_message(rig->control, message, fds, count)) == -EAGAIN) {
		struct pollfd room = {.fd = rig->control, .events = POLLOUT};

		ck_assert_msg(poll(&room, 1, ERIG_WAIT_MS) == 1, "egress does not read what it is told");
	}
	ck_assert_int_eq(error, 0);
}

static uint64_t announce(struct egress_rig *rig, const char *host, uint16_t port, uint16_t source, int fd)
{
	struct control_message message = {.version = CONTROL_VERSION,
					  .type = fd < 0 ? CONTROL_CONNECT : CONTROL_UDP_ENDPOINT};

	message.connect = (struct control_connect){.conn_id = ++rig->last,
						   .pid = getpid(),
						   .port = port,
						   .source_port = source,
						   .family = AF_INET};
	(void)snprintf(message.connect.host, sizeof(message.connect.host), "%s", host);
	(void)snprintf(message.connect.exe, sizeof(message.connect.exe), "/bin/program");
	say(rig, &message, &fd, fd < 0 ? 0 : 1);
	return rig->last;
}

uint64_t erig_announce(struct egress_rig *rig, const char *host, uint16_t port, int *ret_fd)
{
	struct sockaddr_in at;

	*ret_fd = bound(SOCK_STREAM, &rig->own, &at);
	return announce(rig, host, port, ntohs(at.sin_port), -1);
}

uint64_t erig_udp(struct egress_rig *rig, const char *host, uint16_t port, struct sockaddr_in *ret_at)
{
	int fd = bound(SOCK_DGRAM, &rig->own, ret_at);
	uint64_t conn = announce(rig, host, port, 0, fd);

	(void)close(fd);
	return conn;
}

static bool is_connected(const struct control_message *message, const void *ctx)
{
	return message->type == CONTROL_CONNECTED && message->connected.conn_id == *(const uint64_t *)ctx;
}

int erig_connected(struct egress_rig *rig, uint64_t conn)
{
	return await(rig, is_connected, &conn, 0)->connected.error;
}

int erig_join(struct egress_rig *rig, int fd)
{
	return connect(fd, (const struct sockaddr *)&rig->listener, sizeof(rig->listener)) < 0 ? -errno : 0;
}

int erig_connect(struct egress_rig *rig, const char *host, uint16_t port)
{
	int fd, error;
	uint64_t conn = erig_announce(rig, host, port, &fd);

	error = erig_connected(rig, conn);
	if (error == 0)
		error = erig_join(rig, fd);
	if (error == 0)
		return fd;
	(void)close(fd);
	return error;
}

void erig_cancel(struct egress_rig *rig, uint64_t conn)
{
	const struct control_message message = {
		.version = CONTROL_VERSION, .type = CONTROL_CANCEL, .id = {.conn_id = conn}};

	say(rig, &message, NULL, 0);
}

uint64_t erig_last(const struct egress_rig *rig)
{
	return rig->last;
}

/* ---- the processes ---- */

static void close_other(int fd)
{
	ck_assert_int_eq(close(fd), 0);
}

/* Not the test's sockets: what it closes shall be closed. */
static void keep_only(int first, int second)
{
	int low = first < second ? first : second, high = first < second ? second : first;

	(void)close_range(3, (unsigned)low - 1, 0); /* low is above 2, so an empty range at worst */
	if (high > low + 1)
		(void)close_range((unsigned)low + 1, (unsigned)high - 1, 0);
	(void)close_range((unsigned)high + 1, ~0u, 0);
}

static pid_t start_resolver(int fd)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid > 0)
		return pid;
	keep_only(fd, fd);
	_exit(resolver_main(fd, NULL, NULL));
}

static void start_egress(struct egress_rig *rig, const struct erig_options *options)
{
	int control[2], resolver[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, resolver), 0);
	rig->resolver = start_resolver(resolver[1]);
	close_other(resolver[1]);
	rig->egress = fork();
	ck_assert_int_ge(rig->egress, 0);
	if (rig->egress == 0) {
		const struct egress_options own = {
			.policy = rig->policy,
			.control_fd = control[1],
			.resolver_fd = resolver[0],
			.ca = options->ca,
			.secrets = options->secrets,
			.upstream_roots = options->roots ? strdup(options->roots) : NULL,
			.upstream_roots_len = options->roots ? strlen(options->roots) : 0,
			.lock_down = options->lock_down,
		};

		const struct rlimit limit = {.rlim_cur = options->descriptors, .rlim_max = options->descriptors};

		if (options->descriptors)
			(void)setrlimit(RLIMIT_NOFILE, &limit);
		keep_only(control[1], resolver[0]);
		/* exit, not _exit: the sanitizers look for leaks then. */
		exit(egress_main(&own));
	}
	close_other(control[1]);
	close_other(resolver[0]);
	rig->control = control[0];
}

static bool is_ready(const struct control_message *message, const void *ctx)
{
	(void)ctx;
	return message->type == CONTROL_READY;
}

static void give_guest(struct egress_rig *rig)
{
	const struct control_message message = {.version = CONTROL_VERSION, .type = CONTROL_PROGRAM_SOCKETS};
	int fds[CONTROL_FDS_MAX];

	fds[0] = bound(SOCK_STREAM | SOCK_NONBLOCK, &rig->own, &rig->listener);
	ck_assert_int_eq(listen(fds[0], 4096), 0);
	fds[1] = bound(SOCK_DGRAM | SOCK_NONBLOCK, &rig->own, &rig->dns_udp);
	fds[2] = bound(SOCK_STREAM | SOCK_NONBLOCK, &rig->own, &rig->dns_tcp);
	ck_assert_int_eq(listen(fds[2], 64), 0);
	say(rig, &message, fds, CONTROL_FDS_MAX);
	for (size_t i = 0; i < CONTROL_FDS_MAX; i++)
		close_other(fds[i]);
	if (!rig->silent)
		(void)await(rig, is_ready, NULL, 0);
}

struct egress_rig *erig_start_with(const char *policy_json, const struct erig_options *options)
{
	struct egress_rig *rig = calloc(1, sizeof(*rig));
	struct rlimit limit;

	ck_assert_ptr_nonnull(rig);
	(void)fflush(NULL); /* what is buffered is this process's to write, not the children's */
	(void)signal(SIGPIPE, SIG_IGN);
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (rig_load(&rig->policy_rig, policy_json, NULL, &rig->policy) < 0)
		ck_abort_msg("policy: %s", rig->policy_rig.errors.count ? rig->policy_rig.errors.item[0].text : "?");
	rig->own.sin_family = AF_INET;
	ck_assert_int_eq(
		inet_pton(AF_INET, options->own_address ? options->own_address : "127.0.0.1", &rig->own.sin_addr), 1);
	rig->end = &rig->first;
	rig->silent = options->silent;
	rig->ack_error = options->ack_error;
	(void)pthread_mutex_init(&rig->lock, NULL);
	(void)pthread_cond_init(&rig->came, NULL);
	start_egress(rig, options);
	ck_assert_int_eq(pthread_create(&rig->thread, NULL, listen_to_egress, rig), 0);
	give_guest(rig);
	return rig;
}

struct egress_rig *erig_start(const char *policy_json)
{
	static const struct erig_options none;

	return erig_start_with(policy_json, &none);
}

const struct policy *erig_policy(const struct egress_rig *rig)
{
	return rig->policy;
}

pid_t erig_pid(const struct egress_rig *rig)
{
	return rig->egress;
}

uint16_t erig_dns_udp_port(const struct egress_rig *rig)
{
	return ntohs(rig->dns_udp.sin_port);
}

uint16_t erig_dns_tcp_port(const struct egress_rig *rig)
{
	return ntohs(rig->dns_tcp.sin_port);
}

static int reap(pid_t pid)
{
	const uint64_t until = erig_ms() + ERIG_WAIT_MS;
	int status = 0;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		ck_assert_msg(erig_ms() < until, "process %d does not end", (int)pid);
		(void)usleep(2000);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int finish(struct egress_rig *rig)
{
	int status = reap(rig->egress);

	(void)reap(rig->resolver);
	(void)pthread_join(rig->thread, NULL);
	return status;
}

static void release(struct egress_rig *rig)
{
	(void)close(rig->control);
	while (rig->first) {
		struct message *next = rig->first->next;

		free(rig->first);
		rig->first = next;
	}
	policy_free(rig->policy);
	rig_done(&rig->policy_rig);
	free(rig);
}

int erig_end(struct egress_rig *rig)
{
	const struct control_message message = {.version = CONTROL_VERSION, .type = CONTROL_END};
	int status;

	say(rig, &message, NULL, 0);
	status = finish(rig);
	for (uint64_t conn = 1; conn <= rig->last; conn++)
		ck_assert_msg(erig_records(rig, conn, CONTROL_EVENT_CLOSE) == 1,
			      "connection %llu has %zu close records", (unsigned long long)conn,
			      erig_records(rig, conn, CONTROL_EVENT_CLOSE));
	release(rig);
	return status;
}

int erig_abandon(struct egress_rig *rig)
{
	int status;

	(void)shutdown(rig->control, SHUT_RDWR);
	status = finish(rig);
	release(rig);
	return status;
}
