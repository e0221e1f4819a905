/* "inspect" of the policy: clients look at files before they start a program, and then say that they have. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/cleanup-json.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "policy/policy.h"
#include "supervisor/environment.h"
#include "supervisor/lookup.h"
#include "supervisor/session/private.h"
#include "supervisor/workers/copies.h"
#include "syscalls/account/limits/copying.h"
#include "syscalls/account/limits/disk.h"
#include "syscalls/account/workspace/filling.h"
#include "syscalls/call/work.h"

#define LOOKING_RECORDED_BYTES_MAX 1000         /* of each text of a client that is put on record */
#define LOOKING_VARIABLES_BYTES_MAX (32u << 10) /* of all variables that a client is told with their values */

bool looking_is_wanted(const struct session *session)
{
	const struct policy_settings *settings = policy_get_settings(session->sandbox->policy);

	return settings->refused_findings || settings->warned_findings || settings->module_count > 0;
}

/* A text of a request, shortened, with a mark. Owned; NULL: there is none, or no memory. */
static char *looking_copy_text(const json_t *asked, const char *key)
{
	const char *text = json_string_value(json_object_get(asked, key));

	return text ? text_copy_shortened(text, LOOKING_RECORDED_BYTES_MAX) : NULL;
}

/* What clients tell. A program whose files were changed has run. */
static const struct looking_event {
	const char *op, *reason;
	enum verdict verdict;
	enum audit_effect effect;
	int result;
} looking_events[] = {
	{"refused", "inspect", VERDICT_DENY, AUDIT_EFFECT_REFUSED, -EACCES},
	{"changed", "changed_after_look", VERDICT_ALLOW, AUDIT_EFFECT_PERFORMED, 0},
	{"changes_unknown", "changes_unknown", VERDICT_ALLOW, AUDIT_EFFECT_PERFORMED, 0},
};

static const struct looking_event *looking_find_event(const char *op)
{
	for (size_t i = 0; i < sizeof(looking_events) / sizeof(looking_events[0]); i++)
		if (strcmp(looking_events[i].op, op) == 0)
			return &looking_events[i];
	return NULL;
}

bool looking_record(const struct session *session, const char *op, const json_t *asked)
{
	const struct looking_event *told = looking_find_event(op);
	_cleanup_free_ char *path = looking_copy_text(asked, "path"), *why = looking_copy_text(asked, "why");
	const struct audit_net event = {.event_name = audit_event_get_name(AUDIT_EVENT_INSPECT), .cause = why};
	struct audit_record record = {.pid = getpid(),
				      .tid = getpid(),
				      .net = &event,
				      .path = path,
				      .path_len = path ? strlen(path) : 0,
				      .rule = "inspect"};
	struct audit_outcome_location location = {0};

	if (!told)
		return false;
	record.verdict = told->verdict;
	record.effect = told->effect;
	record.reason = told->reason;
	if (audit_begin_record(session->sandbox->audit, &record, &location) == 0)
		audit_end_record(session->sandbox->audit, location, told->result, 0);
	return true;
}

/* What the policy says of inspecting. A new reference; NULL: nothing, or no memory. */
static json_t *looking_make_settings(const struct session *session)
{
	const struct policy_settings *settings = policy_get_settings(session->sandbox->policy);
	json_t *modules;

	if (!looking_is_wanted(session))
		return NULL;
	modules = json_array();
	for (size_t i = 0; i < settings->module_count; i++)
		if (json_array_append_new(modules, json_string(settings->modules[i])) < 0) {
			json_decref(modules);
			return NULL;
		}
	return json_pack("{s:I, s:I, s:o}", "refuse", (json_int_t)settings->refused_findings, "warn",
			 (json_int_t)settings->warned_findings, "modules", modules);
}

/* Lets a worker fill a file. -EINPROGRESS: the client has to wait, for it or for another copy; or another -errno. */
static int looking_give_to_worker(struct session *session, struct client *client, int fd, struct view_fill *fill)
{
	_cleanup_close_ int filled = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	struct call_work *work;
	int r;

	if (filled < 0)
		return -errno;
	if (copies_are_being_made(session->copies))
		return -EINPROGRESS;
	work = filling_create_work(session->sandbox, fill, &session->look_result);
	if (!work)
		return -ENOMEM;
	r = copies_begin_for_client(session->copies, &filled, &work);
	if (work)
		work->free(work);
	if (r < 0)
		return r;
	session->looking_client = client;
	session->look_result = -ECANCELED;
	return -EINPROGRESS;
}

/*
 * Gives a file of a workspace its content, which counts for limits.disk. 0 or -errno, with *ret_why if errno does not
 * say it: a client that has the workspace may be filling the file as well. -EINPROGRESS: the client has to wait.
 */
static int looking_fill(struct session *session, struct client *client, int fd, const struct stat *st,
			const char **ret_why)
{
	const int result = session->looking_client == client ? session->look_result : 0;
	struct disk *disk = session->sandbox->disk;
	struct view_fill fill;
	struct fills *fills;
	uint64_t limit;
	int r;

	if (session->workspace_client && view_find_placeholder(session->sandbox->view, fd, "", st, &fills)) {
		*ret_why = "another client has the workspace";
		return -EBUSY;
	}
	r = view_begin_fill(session->sandbox->view, fd, 0, &fill);
	if (r <= 0)
		return r;
	r = disk && fill.bytes > disk_get_left_bytes(disk, &limit) ? -EDQUOT : result;
	if (r == 0)
		r = fill.bytes >= COPYING_INLINE_BYTES_MAX ? looking_give_to_worker(session, client, fd, &fill)
							   : view_fill_file(&fill, fd, NULL);
	close_fd(&fill.source_fd);
	if (r == 0)
		disk_count_filled_file(disk, fd);
	return r;
}

/*
 * The variables that programs of the session have, "NAME=VALUE". A value for which there is no room, or that is no
 * UTF-8, is "$", which says that it is not known. A new reference; NULL: no memory.
 */
static json_t *looking_make_variables(const struct session *session)
{
	json_t *list = json_array(), *variable;
	size_t bytes = 0;

	for (char *const *at = session->options->envp; *at; at++) {
		if (!text_is_utf8(*at, strcspn(*at, "=")))
			continue; /* no name that means anything */
		bytes += strlen(*at);
		variable = bytes <= LOOKING_VARIABLES_BYTES_MAX ? json_string(*at) : NULL;
		if (!variable)
			variable = json_sprintf("%.*s=$", (int)strcspn(*at, "="), *at);
		if (json_array_append_new(list, variable) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

/*
 * Opens a file as a program of the session would find it, if the policy lets programs read or execute it. A descriptor
 * owned by the caller, or -errno, with *ret_why if errno does not say it.
 */
static int looking_open(struct session *session, struct client *client, const char *cwd, const char *path,
			const char **ret_why)
{
	const struct policy *policy = session->sandbox->policy;
	_cleanup_close_ int fd = -1;
	struct place place;
	struct stat st;
	int r = view_walk_path(session->sandbox->view, NULL, cwd ? cwd : policy_get_settings(policy)->workdir, path,
			       VIEW_FOLLOW_LAST_LINK, &place);

	if (r < 0)
		return r;
	if (place.mount->flags & (MOUNT_PROC | MOUNT_DEV_PTS | MOUNT_TTY | MOUNT_DEVICE) ||
	    (view_judge_place(session->sandbox->view, NULL, &place, POLICY_READ).verdict == VERDICT_DENY &&
	     view_judge_place(session->sandbox->view, NULL, &place, POLICY_EXEC).verdict == VERDICT_DENY))
		return -EACCES;
	fd = view_open_place(&place, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
	if (fd == -EAGAIN) /* openat2(2): renames outside; open(2), O_NONBLOCK: a lease, which fcntl(2) describes */
		*ret_why = "directories are being renamed, or another process has a lease on it; try again";
	if (fd < 0 || fstat(fd, &st) < 0)
		return fd < 0 ? fd : -errno;
	if (!S_ISREG(st.st_mode))
		return -EACCES;
	r = looking_fill(session, client, fd, &st, ret_why);
	return r < 0 ? r : steal_fd(&fd);
}

/*
 * Finds and opens what a client asks for. *ret_path: the name by which it is found. A descriptor, or -errno, with
 * *ret_why if errno does not say it.
 */
static int looking_find(struct session *session, struct client *client, const json_t *asked, struct lookup *lookup,
			const char **ret_path, const char **ret_why)
{
	enum lookup_result result = LOOKUP_FOUND;

	*ret_path = lookup->wanted_name;
	if (json_is_true(json_object_get(asked, "program"))) {
		result = lookup_find_program(lookup);
		*ret_path = lookup->found_path;
	}
	if (result == LOOKUP_FAILED)
		return lookup->error;
	return result == LOOKUP_FOUND ? looking_open(session, client, json_string_value(json_object_get(asked, "cwd")),
						     *ret_path, ret_why)
				      : -ENOENT;
}

/*
 * Says that it is not known which file this is: no program may be started as if there was none, because a program of
 * the session can take all room and free it again.
 */
static void looking_answer_failure(struct client *client, int error, const char *why)
{
	char message[128];

	(void)snprintf(message, sizeof(message), "a file cannot be looked at: %s", why ? why : strerror(-error));
	clients_send_error(client, "unavailable", message);
}

/* Lets the client wait for session_answer_waiting_clients(). */
static void looking_keep(struct client *client, const json_t *asked)
{
	json_decref(client->look); /* it has asked for something else meanwhile */
	client->look = json_deep_copy(asked);
	if (!client->look)
		clients_send_error(client, "internal", "no memory");
}

static void looking_answer_now(struct session *session, struct client *client, const json_t *asked)
{
	const json_t *name = json_object_get(asked, "path");
	const char *path_env = json_string_value(json_object_get(asked, "PATH"));
	const char *path = NULL, *why = NULL;
	struct lookup lookup = {.view = session->sandbox->view,
				.policy = session->sandbox->policy,
				.wanted_name = json_string_value(name),
				.path_env =
					path_env ? path_env : environment_get_value(session->options->envp, "PATH")};
	const int found = lookup.wanted_name ? looking_find(session, client, asked, &lookup, &path, &why) : -ENOENT;
	_cleanup_close_ int fd = found < 0 ? -1 : found;
	json_t *settings, *variables;

	if (found == -EINPROGRESS) {
		looking_keep(client, asked);
		return;
	}
	if (session->looking_client == client)
		session->looking_client = NULL;
	if (found < 0 && !io_error_means_absent(found)) {
		looking_answer_failure(client, found, why);
		return;
	}
	settings = looking_make_settings(session);
	variables = json_is_string(name) ? NULL : looking_make_variables(session);
	/* a client would take it that nothing is refused, or loaded */
	if ((!settings && looking_is_wanted(session)) || (!variables && !json_is_string(name))) {
		json_decref(settings);
		json_decref(variables);
		clients_send_error(client, "internal", "no memory");
		return;
	}
	clients_send_fd(client,
			json_pack("{s:s, s:o*, s:s*, s:o*}", "session", session->options->run_id, "inspect", settings,
				  "path", fd >= 0 ? path : NULL, "variables", variables),
			fd);
}

void looking_answer(struct session *session, struct client *client, const json_t *asked)
{
	if (session->sandbox->is_filling)
		looking_keep(client, asked);
	else
		looking_answer_now(session, client, asked);
}

void session_answer_waiting_clients(struct session *session)
{
	for (struct client *client = session->client; client && !copies_are_being_made(session->copies);
	     client = client->next) {
		_cleanup_json_ json_t *look = steal_pointer(&client->look);

		if (look)
			looking_answer_now(session, client, look);
	}
}
