/* Stops all programs of a session for a client, and lets them go on. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/cleanup.h"
#include "base/fdpass.h"
#include "base/io.h"
#include "base/proc/stat.h"
#include "base/text.h"
#include "supervisor/closing/pause.h"
#include "supervisor/session/private.h"
#include "syscalls/account/limits/disk.h"
#include "syscalls/account/workspace/reads.h"

#define PAUSE_RETRY_INTERVAL_NS UINT64_C(10000000)     /* how often a pause is tried until all threads can be stopped */
#define PAUSE_NAME_BYTES_MAX 200                       /* of a checkpoint's name that is put on record */
#define PAUSE_ERRNO_MAX 4096                           /* a client's "error" is below */
#define PAUSE_COPIES_TIMEOUT_NS UINT64_C(600000000000) /* how long it waits for copies of large files */
#define PAUSE_STOP_ALL_TIMEOUT_NS UINT64_C(1000000000) /* after this time the client is told that the pause failed */

/* The time limits of the programs do not count the time of the pause. */
static void pausing_resume_programs(struct session *session)
{
	const uint64_t paused_ns = io_read_clock_ns() - session->paused_since_ns;

	if (!pause_is_active(session->pause))
		return;
	for (unsigned i = 0; i < SPAWNER_PROGRAMS_MAX; i++) {
		struct program *program = session->program[i];

		if (program && program->deadline_ns > 0 && program->deadline_ns < UINT64_MAX - paused_ns)
			program->deadline_ns += paused_ns;
	}
	pause_resume_threads(session->pause);
}

/*
 * Learns what a client's process has filled, as of a checkpoint, which fills what was moved. Its bytes on the disk. A
 * client has the workspace only while the programs are stopped; before that, a worker may be filling a file.
 */
static uint64_t pausing_reload_fills(const struct session *session)
{
	return pause_is_active(session->pause) ? view_reload_fills(session->sandbox->view) : 0;
}

/*
 * Ends what a client does with the workspace, puts on record what became of it, and lets the programs go on that were
 * stopped for it: what they read after a restore is explained by nothing else. name: of the checkpoint, or NULL. cause:
 * why the client did not tell the result, or NULL. result: 0 or -errno.
 */
static void pausing_end_workspace(struct session *session, const char *name, const char *cause, int result)
{
	const uint64_t bytes = pausing_reload_fills(session);
	_cleanup_free_ char *path = name ? text_copy_shortened(name, PAUSE_NAME_BYTES_MAX) : NULL;
	const struct audit_net event = {.event_name = audit_event_get_name(AUDIT_EVENT_WORKSPACE), .cause = cause};
	const struct audit_record record = {.pid = getpid(),
					    .tid = getpid(),
					    .net = &event,
					    .path = path,
					    .path_len = path ? strlen(path) : 0,
					    .rule = "workspace",
					    .verdict = VERDICT_ALLOW,
					    .effect = AUDIT_EFFECT_PERFORMED,
					    .reason = session->workspace_verb};
	struct audit_outcome_location location = {0};

	if (audit_begin_record(session->sandbox->audit, &record, &location) == 0)
		audit_end_record(session->sandbox->audit, location, result, 0);
	session->workspace_client = NULL;
	if (session->sandbox->disk)
		disk_add_filled_bytes(session->sandbox->disk, bytes);
	if (!session->was_paused_before_workspace)
		pausing_resume_programs(session);
}

/*
 * Opens the directories of the workspace. How many there are, or -errno with the path of the one that cannot be opened;
 * NULL: there is none.
 */
static int pausing_open_workspace(const struct session *session, int ret_fds[FDPASS_FDS_MAX], const char **ret_path)
{
	int count = 0, fd = 0;

	while (count < FDPASS_FDS_MAX && (fd = view_open_workspace(session->sandbox->view, count, ret_path)) >= 0)
		ret_fds[count++] = fd;
	if (fd >= 0 || (!*ret_path && count > 0))
		return count;
	while (count > 0)
		(void)close(ret_fds[--count]);
	return fd;
}

/* Tells why there is no workspace, or that programs have closed its directory. path: NULL, or of that directory. */
static void pausing_send_no_workspace(struct client *client, const char *path, int error)
{
	_cleanup_free_ char *message = NULL;

	if (!path) {
		clients_send_error(client, "no_workspace", "the session was made without --cow");
		return;
	}
	message = text_format("%s cannot be opened: %s", path, strerror(-error));
	clients_send_error(client, "no_workspace", message ? message : "no memory");
}

/* Tells the client that has asked for the workspace that the programs are stopped, and passes it the descriptors. */
static void pausing_send_workspace(struct session *session, struct client *client)
{
	const struct disk *disk = session->sandbox->disk;
	uint64_t limit = 0, left = disk ? disk_get_left_bytes(disk, &limit) : UINT64_MAX;
	const char *path;
	int fds[FDPASS_FDS_MAX], count = pausing_open_workspace(session, fds, &path);

	reads_flush(session->sandbox->reads);
	if (count < 0) {
		pausing_send_no_workspace(client, path, count);
		pausing_end_workspace(session, NULL, "it cannot be opened", count);
		return;
	}
	clients_send_fds(client,
			 json_pack("{s:s, s:b, s:i, s:o*, s:o*}", "session", session->options->run_id, "paused", true,
				   "programs", (int)session->running_program_count, "disk_left",
				   left < UINT64_MAX ? json_integer((json_int_t)left) : NULL, "disk_limit",
				   left < UINT64_MAX ? json_integer((json_int_t)limit) : NULL),
			 fds, (size_t)count);
	while (count > 0)
		(void)close(fds[--count]);
}

/* Tells a client whether the programs are stopped. why: NULL, or why not. */
static void pausing_send_result(struct session *session, struct client *client, const char *why)
{
	if (client == session->workspace_client && !why && pause_is_active(session->pause)) {
		pausing_send_workspace(session, client);
		return;
	}
	if (client == session->workspace_client)
		session->workspace_client = NULL;
	clients_send(client, json_pack("{s:s, s:b, s:s*}", "session", session->options->run_id, "paused",
				       pause_is_active(session->pause), "why", why));
}

bool pausing_is_requested(const struct session *session)
{
	return session->pausing_client || pause_is_active(session->pause);
}

bool session_awaits_copies(const struct session *session)
{
	return session->pausing_client && session->pausing_awaits_copies;
}

/*
 * A program that is being started is a further process in a moment, which nothing would stop. Until its exec, a process
 * is undumpable, so that it may be missing in /proc.
 */
static bool pausing_awaits_program_start(const struct session *session)
{
	struct procstat stat;

	for (unsigned i = 0; i < SPAWNER_PROGRAMS_MAX; i++) {
		const struct program *program = session->program[i];

		if (program && (program->state == PROGRAM_STARTING ||
				(program->state == PROGRAM_RUNNING && procstat_read(program->pid, &stat) < 0)))
			return true;
	}
	return false;
}

uint64_t pausing_try_to_stop_programs(struct session *session, uint64_t now_ns)
{
	struct client *client = session->pausing_client;
	const bool was_paused = pause_is_active(session->pause);
	int r;

	if (!client)
		return UINT64_MAX;
	r = pausing_awaits_program_start(session) ? -EAGAIN : pause_stop_threads(session->pause);
	session->pausing_awaits_copies = r == -EINPROGRESS;
	/* Also after -EBUSY: until its exec, a new program is undumpable, and cannot be traced. */
	if (r == -EINPROGRESS && now_ns < session->pausing_began_ns + PAUSE_COPIES_TIMEOUT_NS)
		session->pausing_deadline_ns = now_ns + PAUSE_STOP_ALL_TIMEOUT_NS;
	if (r < 0 && now_ns < session->pausing_deadline_ns)
		return now_ns + PAUSE_RETRY_INTERVAL_NS;
	session->pausing_client = NULL;
	if (!was_paused)
		session->paused_since_ns = io_read_clock_ns();
	pausing_send_result(session, client,
			    r == 0 ? NULL : "a program traces another one, or does not stop where the kernel runs it");
	return UINT64_MAX;
}

/* Begins to stop the programs for a client, which is told when they are, or that they cannot be. */
static void pausing_begin(struct session *session, struct client *client)
{
	session->pausing_client = client;
	session->pausing_began_ns = io_read_clock_ns();
	session->pausing_deadline_ns = session->pausing_began_ns + PAUSE_STOP_ALL_TIMEOUT_NS;
	(void)pausing_try_to_stop_programs(session, io_read_clock_ns());
}

/*
 * Refuses a request if another client has asked for a pause or the workspace. True: the client is told so. One that has
 * hung up is forgotten first: that it did may come out of the loop after the request of the next client.
 */
static bool pausing_refuse_if_another_clients(struct session *session, struct client *client)
{
	struct client *const asking[] = {session->pausing_client, session->workspace_client};

	for (size_t i = 0; i < sizeof(asking) / sizeof(asking[0]); i++) {
		struct pollfd end = {.fd = asking[i] ? asking[i]->fd : -1}; /* -1: dropped, too */

		if (asking[i] && (end.fd < 0 || (poll(&end, 1, 0) > 0 && end.revents & (POLLHUP | POLLERR))))
			pausing_forget_client(session, asking[i]);
	}
	if (!session->pausing_client && !session->workspace_client)
		return false;
	pausing_send_result(session, client, "another client has asked for it");
	return true;
}

void pausing_request(struct session *session, struct client *client, bool wants_pause)
{
	if (pausing_refuse_if_another_clients(session, client))
		return;
	if (wants_pause) {
		pausing_begin(session, client);
		return;
	}
	pausing_resume_programs(session);
	pausing_send_result(session, client, NULL);
}

/* What a client wants the workspace for. NULL: no such thing. */
static const char *pausing_find_verb(const json_t *asked)
{
	static const char *const verbs[] = {"checkpoint", "restore"};
	const char *text = json_string_value(json_object_get(asked, "for"));

	for (size_t i = 0; text && i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(verbs[i], text) == 0)
			return verbs[i];
	return NULL;
}

void pausing_request_workspace(struct session *session, struct client *client, const json_t *asked)
{
	const char *path;
	_cleanup_close_ int fd = view_open_workspace(session->sandbox->view, 0, &path);
	const char *verb = pausing_find_verb(asked);

	if (!verb) {
		clients_send_error(client, "bad_request", "\"for\" is neither \"checkpoint\" nor \"restore\"");
		return;
	}
	if (fd < 0) {
		pausing_send_no_workspace(client, path, fd);
		return;
	}
	if (pausing_refuse_if_another_clients(session, client))
		return;
	session->workspace_client = client;
	session->workspace_verb = verb;
	session->was_paused_before_workspace = pause_is_active(session->pause);
	pausing_begin(session, client);
}

void pausing_release_workspace(struct session *session, struct client *client, const json_t *asked)
{
	const json_int_t error = json_integer_value(json_object_get(asked, "error"));

	if (session->sandbox->disk)
		disk_add_checkpoint_bytes(session->sandbox->disk,
					  json_integer_value(json_object_get(asked, "checkpoint_bytes")));
	if (session->workspace_client == client && session->pausing_client != client)
		pausing_end_workspace(session, json_string_value(json_object_get(asked, "checkpoint")), NULL,
				      -(int)(error >= 0 && error < PAUSE_ERRNO_MAX ? error : EINVAL));
	pausing_send_result(session, client, NULL);
}

void pausing_forget_client(struct session *session, struct client *client)
{
	if (session->pausing_client == client)
		session->pausing_client = NULL;
	if (session->workspace_client == client)
		pausing_end_workspace(session, NULL, "the client hung up before it gave it back", -ECANCELED);
}
