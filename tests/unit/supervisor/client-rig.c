#include "tests/unit/supervisor/client-rig.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/read.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "supervisor/answer.h"
#include "supervisor/notify.h"
#include "syscalls/account/result/denials.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif
#define PATIENCE_MS 100000

static const char policy_text[] =
	"{\"version\": 1, \"network\": {\"allow\": [{\"host\": \"api.test\", \"max_bytes_down\": \"1K\", "
	"\"requests_per_minute\": 60, \"http\": [\"GET /a\"], \"on_deny\": \"ask\"}, {\"host\": \"*.wild.test\", "
	"\"dns\": \"real\"}]}}";

uint64_t client_rig_now_ms(void)
{
	return io_read_clock_ns() / 1000000;
}

static const char *const argv[] = {"rig", NULL};
static const struct audit_header header = {.run_id = "rig",
					   .argv = argv,
					   .policy_name = "rig",
					   .policy_sha256 = "",
					   .workdir = "/",
					   .layers_json = "{}",
					   .records_allowed_calls = true};

static void listen_on_loopback(struct client_rig *rig)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(address);

	rig->listener_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	ck_assert_int_eq(bind(rig->listener_fd, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(rig->listener_fd, 16), 0);
	ck_assert_int_eq(getsockname(rig->listener_fd, (struct sockaddr *)&address, &len), 0);
	rig->listener_port = ntohs(address.sin_port);
}

void client_rig_setup(struct client_rig *rig)
{
	const struct control_message ready = client_rig_message(CONTROL_READY);
	int line[2];

	memset(rig, 0, sizeof(*rig));
	rig->outcome_fd = -1;
	ck_assert_int_eq(rig_load(&rig->policy_rig, policy_text, NULL, &rig->policy), 0);
	ck_assert_int_eq(pool_create(rig->policy, &rig->pool), 0);
	(void)snprintf(rig->log, sizeof(rig->log), "/tmp/callgate-test-client-XXXXXX");
	ck_assert_int_eq(close(mkstemp(rig->log)), 0);
	ck_assert_int_eq(audit_open_log(rig->log, &header, &rig->sandbox.audit), 0);
	rig->sandbox.policy = rig->policy;
	rig->sandbox.denials = denials_create();
	rig->sandbox.listener_fd = -1;
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, line), 0);
	rig->egress_fd = line[1];
	ck_assert_int_eq(control_send_message(rig->egress_fd, &ready, NULL, 0), 0);
	ck_assert_int_eq(egress_client_create(&rig->sandbox, rig->pool, line[0], &rig->client), 0);
	listen_on_loopback(rig);
}

void client_rig_teardown(struct client_rig *rig)
{
	if (rig->pid > 0) {
		(void)kill(rig->pid, SIGKILL);
		(void)waitpid(rig->pid, NULL, 0);
	}
	cleanup_close(&rig->egress_fd);
	egress_client_free(rig->client);
	cleanup_close(&rig->sandbox.listener_fd);
	cleanup_close(&rig->listener_fd);
	cleanup_close(&rig->outcome_fd);
	(void)audit_close(rig->sandbox.audit, NULL);
	denials_free(rig->sandbox.denials);
	policy_free(rig->policy);
	rig_done(&rig->policy_rig);
	(void)unlink(rig->log);
}

/* ---- the program ---- */

static void become_program(int (*program)(void), int outcome_fd, volatile int *shared)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof(code) / sizeof(*code), code};
	int result;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		_exit(99);
	shared[0] = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			       SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &filter);
	if (shared[0] < 0 || unshare(CLONE_FILES) < 0)
		_exit(98);
	/*
	 * Nothing of the rig's may be held open here; the first is the program's standard input, which it does not use.
	 */
	if (dup2(outcome_fd, 0) < 0 || close_range(3, ~0u, 0) < 0)
		_exit(96);
	shared[1] = 1;
	result = program();
	_exit(write(0, &result, sizeof(result)) == sizeof(result) ? 0 : 97);
}

void client_rig_start(struct client_rig *rig, int (*program)(void))
{
	volatile int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	static char exe[] = "/bin/program";
	int outcome[2];

	ck_assert(shared != MAP_FAILED);
	shared[0] = -1;
	ck_assert_int_eq(pipe2(outcome, O_CLOEXEC), 0);
	rig->pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0L, 0L, 0L, 0L);
	ck_assert_int_ge(rig->pid, 0);
	if (rig->pid == 0)
		become_program(program, outcome[1], shared);
	/* The table is one until the child unshares it: only then may descriptors be closed here. */
	for (int i = 0; !shared[1] && i < PATIENCE_MS; i++)
		(void)usleep(1000);
	ck_assert_int_eq(shared[1], 1);
	rig->sandbox.listener_fd = shared[0];
	(void)close(outcome[1]);
	rig->outcome_fd = outcome[0];
	rig->task = (struct task){.tid = rig->pid, .tgid = rig->pid, .ppid = getpid(), .pidfd = -1, .exe = exe};
}

/* As inet_connect does: a bound duplicate, and what to tell egress. */
static void judge(struct client_rig *rig, const struct seccomp_notif *notif)
{
	_cleanup_free_ struct call *call = calloc(1, sizeof(*call));
	struct inet_egress_connect *what = calloc(1, sizeof(*what));
	struct audit_record record = {.pid = rig->pid, .tid = rig->pid, .syscall = "connect", .verdict = VERDICT_ALLOW,
				      .effect = AUDIT_EFFECT_PERFORMED};
	struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	_cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, rig->pid, 0);
	socklen_t len = sizeof(own);
	int fd = (int)syscall(SYS_pidfd_getfd, pidfd, (int)notif->data.args[0], 0), r;

	ck_assert_int_ge(fd, 0);
	(void)bind(fd, (struct sockaddr *)&own, sizeof(own)); /* the second time it is bound already */
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&own, &len), 0);
	*what = (struct inet_egress_connect){.request = {.port = CLIENT_RIG_PORT,
							 .source_port = ntohs(own.sin_port),
							 .family = AF_INET,
							 .host = CLIENT_RIG_HOST},
					     .egress_listener = inet_make_v4(own.sin_addr, rig->listener_port),
					     .domain = AF_INET,
					     .is_nonblocking = fcntl(fd, F_GETFL) & O_NONBLOCK,
					     .address = "198.18.0.16"};
	call->sandbox = &rig->sandbox;
	call->id = notif->id;
	call->tid = (pid_t)notif->pid;
	call->task = &rig->task;
	call->start_ns = io_read_clock_ns();
	call->outcome = (struct outcome){.kind = OUTCOME_CONNECT_BY_EGRESS, .fd = fd, .egress_connect = what};
	ck_assert_int_eq(audit_begin_record(rig->sandbox.audit, &record, &call->outcome_location), 0);
	rig->calls++;
	r = egress_client_start_connect(rig->client, call);
	if (r < 0) {
		(void)answer_with_error(rig->sandbox.listener_fd, notif->id, r);
		audit_end_record(rig->sandbox.audit, call->outcome_location, r, 0);
	}
}

void client_rig_step(struct client_rig *rig)
{
	int wait = egress_client_check_pending_connects(rig->client);
	struct pollfd poller[] = {{.fd = rig->client->line.fd, .events = POLLIN},
				  {.fd = rig->sandbox.listener_fd, .events = POLLIN}};
	struct seccomp_notif notif;

	if (egress_client_get_poll_events(rig->client) & POLLOUT)
		poller[0].events |= POLLOUT;
	if (!(egress_client_get_poll_events(rig->client) & POLLIN))
		poller[0].events &= ~POLLIN;
	(void)poll(poller, 2, wait >= 0 && wait < 10 ? wait : 10);
	if (poller[0].revents)
		egress_client_exchange_messages(rig->client);
	if (poller[1].revents & POLLIN && notify_receive(rig->sandbox.listener_fd, &notif) == 0)
		judge(rig, &notif);
}

int client_rig_outcome(struct client_rig *rig)
{
	uint64_t until = client_rig_now_ms() + PATIENCE_MS;
	struct pollfd ended = {.fd = rig->outcome_fd, .events = POLLIN};
	int result;

	while (poll(&ended, 1, 0) == 0) {
		ck_assert_uint_lt(client_rig_now_ms(), until);
		client_rig_step(rig);
	}
	ck_assert_int_eq(read(rig->outcome_fd, &result, sizeof(result)), sizeof(result));
	return result;
}

/* ---- egress ---- */

void client_rig_expect(struct client_rig *rig, enum control_type type, struct control_message *ret_message)
{
	uint64_t until = client_rig_now_ms() + PATIENCE_MS;
	int fds[CONTROL_FDS_MAX], r;
	size_t count;

	while ((r = control_receive_message(rig->egress_fd, ret_message, fds, &count)) == -EAGAIN) {
		ck_assert_uint_lt(client_rig_now_ms(), until);
		client_rig_step(rig);
	}
	ck_assert_int_eq(r, 0);
	ck_assert_uint_eq(ret_message->type, type);
	while (count > 0)
		(void)close(fds[--count]);
}

void client_rig_send(struct client_rig *rig, struct control_message *message)
{
	uint64_t until = client_rig_now_ms() + PATIENCE_MS;

	while (control_send_message(rig->egress_fd, message, NULL, 0) == -EAGAIN) {
		ck_assert_uint_lt(client_rig_now_ms(), until);
		client_rig_step(rig);
	}
	client_rig_step(rig);
}

struct control_message client_rig_message(enum control_type type)
{
	struct control_message message;

	memset(&message, 0, sizeof(message));
	message.version = CONTROL_VERSION;
	message.type = type;
	return message;
}

struct control_message client_rig_record(struct client_rig *rig, enum control_event event, uint64_t conn)
{
	struct control_message message = client_rig_message(CONTROL_RECORD);

	message.record.id = ++rig->record_id;
	message.record.conn_id = conn;
	message.record.event = (uint8_t)event;
	message.record.allow = 1;
	message.record.refusal_count = 1;
	message.record.port = CLIENT_RIG_PORT;
	(void)snprintf(message.record.host, sizeof(message.record.host), "%s", CLIENT_RIG_HOST);
	(void)snprintf(message.record.reason, sizeof(message.record.reason), "granted");
	return message;
}

void client_rig_open(struct client_rig *rig, uint64_t conn)
{
	struct control_message message = client_rig_record(rig, CONTROL_EVENT_OPEN, conn), ack;

	message.record.wants_ack = 1;
	client_rig_send(rig, &message);
	client_rig_expect(rig, CONTROL_RECORD_ACK, &ack);
	ck_assert_uint_eq(ack.ack.id, message.record.id);
	ck_assert_int_eq(ack.ack.error, 0);
	message = client_rig_message(CONTROL_CONNECTED);
	message.connected.conn_id = conn;
	client_rig_send(rig, &message);
}

void client_rig_close(struct client_rig *rig, uint64_t conn)
{
	struct control_message message = client_rig_record(rig, CONTROL_EVENT_CLOSE, conn);

	message.record.bytes_up = 3;
	message.record.bytes_down = 5;
	(void)snprintf(message.record.close_cause, sizeof(message.record.close_cause), "client");
	client_rig_send(rig, &message);
}

int client_rig_accept(struct client_rig *rig)
{
	uint64_t until = client_rig_now_ms() + PATIENCE_MS;
	int fd;

	while ((fd = accept4(rig->listener_fd, NULL, NULL, SOCK_CLOEXEC)) < 0) {
		ck_assert_int_eq(errno, EAGAIN);
		ck_assert_uint_lt(client_rig_now_ms(), until);
		client_rig_step(rig);
	}
	return fd;
}

/* ---- the log ---- */

json_t *client_rig_log(struct client_rig *rig, const char *event)
{
	struct audit_trailer trailer = {.status = "ok"};
	struct audit_reader *reader;
	struct audit_line line;
	json_t *list = json_array();
	int r;

	if (!rig->log_ended) {
		ck_assert_int_eq(audit_close(rig->sandbox.audit, &trailer), 0);
		/* for what comes later: only counted */
		ck_assert_int_eq(audit_open_log(NULL, &header, &rig->sandbox.audit), 0);
		rig->log_ended = true;
	}
	ck_assert_int_eq(audit_reader_open(rig->log, &reader), 0);
	while ((r = audit_reader_read_line(reader, &line)) == 1) {
		const char *text = json_string_value(json_object_get(line.json, event ? "event" : "syscall"));

		if (text && strcmp(text, event ? event : "connect") == 0)
			(void)json_array_append(list, line.json);
	}
	ck_assert_int_eq(r, 0);
	audit_reader_free(reader);
	return list;
}

const struct sockaddr_in client_rig_address = {.sin_family = AF_INET, .sin_port = 0xbb01, .sin_addr = {0x100012c6}};

int client_rig_connects(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return connect(fd, (const struct sockaddr *)&client_rig_address, sizeof(client_rig_address)) < 0 ? errno : 0;
}

uint64_t client_rig_announced(struct client_rig *rig)
{
	struct control_message message;

	client_rig_expect(rig, CONTROL_CONNECT, &message);
	ck_assert_str_eq(message.connect.host, CLIENT_RIG_HOST);
	ck_assert_uint_eq(message.connect.port, CLIENT_RIG_PORT);
	ck_assert_str_eq(message.connect.exe, "/bin/program");
	ck_assert_int_eq(message.connect.pid, rig->pid);
	return message.connect.conn_id;
}

void client_rig_answer(struct client_rig *rig, uint64_t conn, int error)
{
	struct control_message message = client_rig_message(CONTROL_CONNECTED);

	message.connected.conn_id = conn;
	message.connected.error = error;
	client_rig_send(rig, &message);
}

json_t *client_rig_the_record(struct client_rig *rig, const char *event)
{
	static json_t *list;

	json_decref(list);
	list = client_rig_log(rig, event);
	ck_assert_uint_eq(json_array_size(list), 1);
	return json_array_get(list, 0);
}

const char *client_rig_text_of(struct client_rig *rig, const char *event, const char *key)
{
	const char *text = json_string_value(json_object_get(client_rig_the_record(rig, event), key));

	return text ? text : "";
}

struct control_message client_rig_request(struct client_rig *rig, uint64_t conn, const char *method, const char *path)
{
	struct control_message message = client_rig_record(rig, CONTROL_EVENT_REQUEST, conn);

	(void)snprintf(message.record.method, sizeof(message.record.method), "%s", method);
	(void)snprintf(message.record.path, sizeof(message.record.path), "%s", path);
	return message;
}
