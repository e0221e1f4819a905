/*
 * A session's protocol: a script of what its clients send, with any descriptors, and of what its spawner and monitors
 * tell, in any order. The processes are played: no signal may go to a process that they did not announce.
 *     c n      client n sends data with three pipes; the first time it connects. C n: without descriptors
 *     f n      it sends data with descriptors of which one is no pipe; g n: with two pipes
 *     k n      it hangs up; r n: it reads what was sent to it
 *     s n      the spawner says that program n of those that were asked for has started; F n: that it has failed
 *     e n      its monitor says that it has ended, nothing is left; E n: something is left; data: its wait status
 *     m n      its monitor has exited
 *     d n      from now on, n denials are told, of a file that data names
 *     h n      from now on, processes can be hidden, and all stopped (0), or not (1)
 *     l n      from now on, programs are found (0), or not (1)
 *     w n      from now on, a worker fills the files that clients look at (1), or none is needed (0)
 *     x n      the worker has filled the file (0), or could not (1)
 *     q n      the spawner's socket is read (0), or not (1)
 *     t n      n seconds pass
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/cleanup.h"
#include "base/fdpass.h"
#include "base/io.h"
#include "base/times.h"
#include "supervisor/environment.h"
#include "supervisor/limits/killtree.h"
#include "supervisor/limits/limits.h"
#include "supervisor/lookup.h"
#include "supervisor/report.h"
#include "supervisor/session/private.h"
#include "supervisor/workers/copies.h"
#include "syscalls/account/limits/copying.h"
#include "syscalls/account/result/denials.h"
#include "syscalls/account/limits/disk.h"
#include "syscalls/account/workspace/filling.h"
#include "syscalls/account/workspace/reads.h"
#include "syscalls/call/work.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/script.h"

#define CLIENTS 8
#define SEGMENTS_MAX 300
#define REQUESTS_MAX 512
#define FIRST_PID 100000000 /* more than the kernel has */

static struct {
	struct session *session;
	struct sandbox sandbox;
	int listen_fd, spawner_fd;
	int client_fd[CLIENTS]; /* -1: not connected */
	int hold_fd;            /* the client's end of the first connection */
	uint32_t request[REQUESTS_MAX], request_count; /* numbers of programs that the spawner was asked for */
	struct sockaddr_un address;
	socklen_t address_len;
	unsigned denials;
	const char *denied_file;
	size_t denied_file_len;
	bool hiding_fails, is_missing, spawner_waits, is_paused, needs_worker;
	struct call_work *work; /* of the worker; NULL: it has none */
	int filled_fd;          /* of the work; owned */
	int *work_result;
	uint64_t passed_s;
} stage;

/* ---- what is played ---- */

int clock_gettime(clockid_t clock, struct timespec *time)
{
	int r = (int)syscall(SYS_clock_gettime, clock, time);

	time->tv_sec += (time_t)stage.passed_s;
	return r;
}

int pause_stop_threads(struct pause *pause)
{
	(void)pause;
	if (stage.hiding_fails)
		return -EBUSY;
	stage.is_paused = true;
	return 0;
}

void pause_resume_threads(struct pause *pause)
{
	(void)pause;
	stage.is_paused = false;
}

bool pause_is_active(const struct pause *pause)
{
	(void)pause;
	return stage.is_paused;
}

int audit_begin_record(struct audit *audit, const struct audit_record *record,
		       struct audit_outcome_location *ret_location)
{
	(void)audit;
	(void)ret_location;
	promise(record->verdict == VERDICT_DENY && record->path_len <= 1000 &&
		(!record->net->cause || strlen(record->net->cause) <= 1000));
	return -ENOSPC;
}

void audit_end_record(struct audit *audit, struct audit_outcome_location location, int64_t ret, uint64_t ns)
{
	(void)audit;
	(void)location;
	(void)ret;
	(void)ns;
	promise(false);
}

static const struct program *find_program_of_pid(pid_t pid)
{
	for (unsigned i = 0; i < SPAWNER_PROGRAMS_MAX; i++) {
		const struct program *program = stage.session->program[i];

		if (program && program->state != PROGRAM_STARTING && (program->monitor == pid || program->pid == pid))
			return program;
	}
	return NULL;
}

int kill(pid_t pid, int number)
{
	promise(pid >= FIRST_PID || pid <= -FIRST_PID);
	promise(number > 0 && number < _NSIG);
	promise(find_program_of_pid(pid < 0 ? -pid : pid) != NULL);
	errno = ESRCH;
	return pid < 0 && number % 2 ? -1 : 0; /* no group yet */
}

bool killtree_kill_descendants_once(pid_t root)
{
	promise(root >= FIRST_PID && find_program_of_pid(root) != NULL);
	return root % 4 == 0;
}

int view_hide_process(struct view *view, pid_t pid)
{
	(void)view;
	promise(pid > 0);
	return stage.hiding_fails ? -ENOMEM : 0;
}

void view_unhide_process(struct view *view, pid_t pid)
{
	(void)view;
	promise(pid > 0);
}

int view_open_workspace(const struct view *view, int at, const char **ret_path)
{
	(void)view;
	*ret_path = at > 1 ? NULL : "/w";
	if (at > 1)
		return -ENOENT;
	return stage.hiding_fails ? -ENOENT : open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void reads_flush(struct reads *reads)
{
	(void)reads;
}

/* Files that clients look at: all names lead to one, unless calls fail. */
int view_walk_path(const struct view *view, const struct task *task, const char *base, const char *path, unsigned flags,
		   struct place *ret_place)
{
	static const struct mount mount;

	(void)view;
	promise(!task && base && path && flags == VIEW_FOLLOW_LAST_LINK);
	ret_place->mount = &mount;
	return stage.is_missing ? -ENOENT : 0;
}

struct policy_decision view_judge_place(const struct view *view, const struct task *task, const struct place *place,
					unsigned want)
{
	(void)view;
	promise(!task && place->mount && (want == POLICY_READ || want == POLICY_EXEC));
	return (struct policy_decision){.verdict = stage.hiding_fails ? VERDICT_DENY : VERDICT_ALLOW};
}

int view_open_place(const struct place *place, int flags, mode_t mode)
{
	promise(place->mount && !(flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) && mode == 0);
	return open("/dev/null", flags);
}

uint64_t view_reload_fills(const struct view *view)
{
	(void)view;
	return 0;
}

struct fill_file *view_find_placeholder(const struct view *view, int dir_fd, const char *name, const struct stat *st,
					struct fills **ret_fills)
{
	(void)view;
	promise(dir_fd >= 0 && name[0] == '\0' && st->st_ino != 0);
	*ret_fills = NULL;
	return stage.is_missing ? (struct fill_file *)&stage : NULL;
}

int view_begin_fill(const struct view *view, int fd, unsigned flags, struct view_fill *ret_fill)
{
	(void)view;
	promise(fd >= 0 && flags == 0);
	*ret_fill = (struct view_fill){.source_fd = -1, .bytes = stage.needs_worker ? COPYING_INLINE_BYTES_MAX : 400};
	return stage.is_missing ? -EIO : 1;
}

int view_fill_file(const struct view_fill *fill, int fd, const struct io_go_on *go_on)
{
	promise(fill->bytes == 400 && fd >= 0 && !go_on);
	return 0;
}

static void work_free(struct call_work *work)
{
	promise(stage.sandbox.is_filling);
	stage.sandbox.is_filling = false;
	free(work);
}

struct call_work *filling_create_work(struct sandbox *sandbox, struct view_fill *fill, int *ret_result)
{
	struct call_work *work = calloc(1, sizeof(*work));

	promise(!sandbox->is_filling && fill->bytes == COPYING_INLINE_BYTES_MAX && work);
	sandbox->is_filling = true;
	stage.work_result = ret_result;
	work->free = work_free;
	return work;
}

bool copies_are_being_made(const struct copies *copies)
{
	(void)copies;
	return stage.work;
}

int copies_begin_for_client(struct copies *copies, int *fd, struct call_work **work)
{
	(void)copies;
	promise(!stage.work && *fd >= 0 && *work);
	if (stage.hiding_fails)
		return -EAGAIN;
	stage.filled_fd = steal_fd(fd);
	stage.work = steal_pointer(work);
	return 0;
}

static void worker_end(int result)
{
	if (!stage.work)
		return;
	stage.needs_worker = stage.needs_worker && result < 0;
	*stage.work_result = result;
	work_free(steal_pointer(&stage.work));
	close_fd(&stage.filled_fd);
}

void disk_count_filled_file(struct disk *disk, int fd)
{
	(void)disk;
	promise(fd >= 0);
}

uint64_t disk_get_left_bytes(const struct disk *disk, uint64_t *ret_limit)
{
	promise(disk != NULL);
	*ret_limit = 1000;
	return stage.hiding_fails ? UINT64_MAX : stage.needs_worker ? COPYING_INLINE_BYTES_MAX : 500;
}

void disk_add_filled_bytes(struct disk *disk, uint64_t bytes)
{
	(void)disk;
	(void)bytes;
}

void disk_add_checkpoint_bytes(struct disk *disk, int64_t bytes)
{
	promise(disk != NULL);
	(void)bytes;
}

int view_make_terminal(struct view *view, int *ret_master_fd, int *ret_slave_fd)
{
	int fd[2];

	(void)view;
	if (stage.hiding_fails || pipe2(fd, O_CLOEXEC) < 0)
		return -ENOTTY;
	*ret_master_fd = fd[0];
	*ret_slave_fd = fd[1];
	return 0;
}

/* The pipe is no terminal, and need not be one here. */
int ioctl(int fd, unsigned long request, ...)
{
	(void)fd;
	(void)request;
	return 0;
}

enum lookup_result lookup_find_program(struct lookup *lookup)
{
	promise(lookup->wanted_name != NULL);
	(void)snprintf(lookup->found_path, sizeof(lookup->found_path), "/bin/%s", lookup->wanted_name);
	lookup->error = -EMFILE;
	return stage.is_missing ? LOOKUP_MISSING : stage.hiding_fails ? LOOKUP_FAILED : LOOKUP_FOUND;
}

const char *environment_get_value(char *const *envp, const char *name)
{
	(void)name;
	return *envp;
}

uint64_t limits_read_cpu_ns(void *meter)
{
	(void)meter;
	return NS_PER_S;
}

const struct policy_settings *policy_get_settings(const struct policy *policy)
{
	static char workdir[] = "/home/user";
	static struct policy_settings settings = {.workdir = workdir};

	(void)policy;
	return &settings;
}

struct denials *denials_create(void)
{
	return malloc(1);
}

void denials_free(struct denials *denials)
{
	free(denials);
}

void denials_set_program_lookup(struct denials *denials, struct denials *(*find)(void *ctx, unsigned program),
				void *ctx)
{
	(void)denials;
	promise(find(ctx, 0) == NULL);
}

json_t *report_make_denials(const struct denials *denials, uint64_t *ret_unlisted)
{
	json_t *list = json_array();

	promise(denials != NULL);
	for (unsigned i = 0; i < stage.denials; i++) {
		json_t *target = json_stringn(stage.denied_file, stage.denied_file_len);

		(void)json_array_append_new(list, json_pack("{s:o, s:i}", "target", target ? target : json_null(),
							    "count", (int)i));
	}
	*ret_unlisted = 0;
	return list;
}

/* ---- what must hold ---- */

static void check_session(void)
{
	const struct session *session = stage.session;
	unsigned clients = 0, holding = 0, programs = 0;

	for (const struct client *client = session->client; client; client = client->next) {
		clients++;
		holding += client->holds_session;
		promise(!client->program || client->program->client == client);
		promise(!client->program || session->program[client->program->slot_index] == client->program);
	}
	for (unsigned i = 0; i < SPAWNER_PROGRAMS_MAX; i++) {
		const struct program *program = session->program[i];

		programs += program != NULL;
		promise(!program || (program->slot_index == i && program->number <= session->last_program_number));
		promise(!program || !program->client || program->client->program == program);
		promise(!program || programs_find(session, program->number) == program);
	}
	promise(clients == session->client_count && clients <= SESSION_CLIENTS_MAX);
	promise(holding == session->holding_client_count && programs == session->running_program_count);
	promise((session->idle_since_ns == UINT64_MAX) == (programs > 0));
}

/* An answer is JSON, and fits. */
static void client_read(int fd)
{
	static char text[SESSION_MESSAGE_BYTES_MAX];
	int passed_fd;
	ssize_t got;

	while ((got = fdpass_receive(fd, text, sizeof(text), &passed_fd, 1, MSG_DONTWAIT | MSG_TRUNC)) > 0) {
		json_t *answer = json_loadb(text, (size_t)got, JSON_REJECT_DUPLICATES, NULL);

		promise((size_t)got <= sizeof(text) && json_is_object(answer));
		json_decref(answer);
		cleanup_close(&passed_fd);
	}
}

/* What the spawner is asked for is what it takes: texts that end, and three descriptors. */
static void spawner_read(void)
{
	static struct spawner_request request;
	int fd[3];
	ssize_t got;

	while (!stage.spawner_waits && stage.request_count < REQUESTS_MAX &&
	       (got = fdpass_receive(stage.spawner_fd, &request, sizeof(request), fd, 3, MSG_DONTWAIT)) > 0) {
		const char *at = request.text, *end = (const char *)&request + got;
		size_t texts = 0;

		promise(request.slot < SPAWNER_PROGRAMS_MAX && request.arguments > 0);
		for (; at < end && (at = memchr(at, '\0', (size_t)(end - at))); at++)
			texts++;
		promise(at == end && texts == 2u + request.arguments + request.variables);
		for (int i = 0; i < 3; i++) {
			promise(fd[i] >= 0);
			cleanup_close(&fd[i]);
		}
		stage.request[stage.request_count++] = request.program_number;
	}
}

/* ---- the script ---- */

static void client_connect(int *fd)
{
	if (*fd >= 0)
		return;
	*fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	promise(*fd >= 0);
	if (connect(*fd, (const struct sockaddr *)&stage.address, stage.address_len) < 0)
		close_fd(fd);
}

static void client_play(const struct script_segment *segment)
{
	int *fd = &stage.client_fd[segment->which % CLIENTS], pipes[2] = {-1, -1}, passed[3];
	size_t count = 3;

	if (segment->op == 'k')
		close_fd(fd);
	else if (segment->op == 'r' && *fd >= 0)
		client_read(*fd);
	if (segment->op == 'k' || segment->op == 'r')
		return;
	client_connect(fd);
	promise(pipe2(pipes, O_CLOEXEC) == 0);
	passed[0] = pipes[0];
	passed[1] = passed[2] = pipes[1];
	if (segment->op == 'C')
		count = 0;
	else if (segment->op == 'g')
		count = 2;
	else if (segment->op == 'f')
		passed[segment->which % 3] = stage.listen_fd;
	if (*fd >= 0)
		(void)fdpass_send(*fd, segment->data, segment->len, passed, count, MSG_DONTWAIT);
	cleanup_close(&pipes[0]);
	cleanup_close(&pipes[1]);
}

static void spawner_play(const struct script_segment *segment)
{
	const uint32_t number =
		stage.request_count > 0 ? stage.request[segment->which % stage.request_count] : segment->which;
	const pid_t monitor = FIRST_PID + 2 * (pid_t)(number % 1000000);
	struct spawner_message message = {.program_number = number,
					  .wait_status_or_errno = segment->len > 0 ? segment->data[0] : 0,
					  .has_descendants = segment->op == 'E',
					  .cpu_us = UINT64_MAX,
					  .max_rss_kb = UINT64_MAX};

	if (segment->op == 'm') {
		(void)session_on_child_exit(stage.session, monitor);
		return;
	}
	message.event = segment->op == 's' ? SPAWNER_STARTED : segment->op == 'F' ? SPAWNER_FAILED : SPAWNER_ENDED;
	if (segment->op == 's') {
		message.monitor_pid = monitor;
		message.pid = monitor + 1;
	}
	(void)send(stage.spawner_fd, &message, sizeof(message), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void stage_play(const struct script_segment *segment)
{
	if (strchr("cCfgkr", segment->op)) {
		client_play(segment);
	} else if (strchr("sFeEm", segment->op)) {
		spawner_play(segment);
	} else if (segment->op == 'd') {
		stage.denials = segment->which % 200;
		stage.denied_file = segment->data;
		stage.denied_file_len = strnlen(segment->data, segment->len); /* a path has no NUL */
	} else if (segment->op == 'h') {
		stage.hiding_fails = segment->which & 1;
	} else if (segment->op == 'l') {
		stage.is_missing = segment->which & 1;
	} else if (segment->op == 'q') {
		stage.spawner_waits = segment->which & 1;
	} else if (segment->op == 'w') {
		stage.needs_worker = segment->which & 1;
	} else if (segment->op == 'x') {
		worker_end(segment->which & 1 ? -ENOSPC : 0);
	} else if (segment->op == 't') {
		stage.passed_s += segment->which % 100;
	}
}

/* As the supervisor's loop: what is ready, what is due, until the session has ended. */
static bool session_turn(void)
{
	for (int i = 0; i < 2; i++) {
		session_handle_ready_fds(stage.session);
		session_answer_waiting_clients(stage.session);
		(void)session_handle_deadlines(stage.session, io_read_clock_ns());
		check_session();
	}
	spawner_read();
	return stage.session->spawner_fd[0] >= 0;
}

static void session_begin_played(const struct session_options *options)
{
	struct launch_options launch = {0};

	stage.sandbox.disk = (struct disk *)&stage; /* only its address is seen */
	promise(session_create(options, &launch, &stage.session) == 0);
	stage.spawner_fd = dup(launch.spawner.socket_fd);
	promise(stage.spawner_fd >= 0 && session_begin(stage.session, &stage.sandbox, NULL, NULL, FIRST_PID) == 0);
}

static int listen_at_abstract_name(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	stage.address = (struct sockaddr_un){.sun_family = AF_UNIX};
	promise(bind(fd, (struct sockaddr *)&stage.address, sizeof(sa_family_t)) == 0);
	stage.address_len = sizeof(stage.address);
	promise(getsockname(fd, (struct sockaddr *)&stage.address, &stage.address_len) == 0);
	promise(listen(fd, CLIENTS) == 0);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char first[] = "PATH=/bin", second[] = "A=b";
	char *const envp[] = {first, second, NULL};
	const char *at = (const char *)data, *end = at + size;
	struct session_options options = {.idle_limit_ns = 60 * NS_PER_S, .run_id = "played", .envp = envp};
	struct script_segment segment;
	int pair[2], lowest_fd = dup(STDERR_FILENO), fd;
	bool goes_on = true;

	(void)close(lowest_fd);
	memset(&stage, 0, sizeof(stage));
	memset(stage.client_fd, -1, sizeof(stage.client_fd));
	stage.listen_fd = options.listen_fd = listen_at_abstract_name();
	promise(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
	stage.hold_fd = pair[0];
	options.holding_client_fd = pair[1];
	session_begin_played(&options);
	for (int i = 0; i < SEGMENTS_MAX && goes_on && script_next_segment(&at, end, &segment); i++) {
		stage_play(&segment);
		goes_on = session_turn();
	}
	session_end_programs(stage.session);
	worker_end(-ECANCELED);
	session_free(stage.session);
	for (size_t i = 0; i < CLIENTS; i++)
		cleanup_close(&stage.client_fd[i]);
	cleanup_close(&stage.hold_fd);
	cleanup_close(&stage.spawner_fd);
	cleanup_close(&stage.listen_fd);
	fd = dup(STDERR_FILENO);
	promise(fd == lowest_fd); /* no descriptor is left */
	(void)close(fd);
	stage.passed_s = 0; /* the clock is libFuzzer's, too */
	return 0;
}
