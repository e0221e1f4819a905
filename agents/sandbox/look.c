#include "agents/sandbox/look.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agents/sandbox/host-command.h"
#include "agents/sandbox/look-queue.h"
#include "agents/sandbox/private.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "keeper/session-client.h"

#define LOOK_WHY_BYTES_MAX 500 /* of what the command says instead of an answer */

struct sandbox_look {
	struct look_turn turn; /* in looks.queue */
	struct loop *loop;
	const char *callgate_path;    /* borrowed */
	char *session_id, *request;   /* owned */
	struct host_command *command; /* NULL: waits */
	void (*on_end)(void *data, const json_t *answer, const char *why);
	void *data;
};

/* All looks of this process. */
static struct {
	struct look_queue queue;
	struct loop_timer *timer; /* starts those that wait; NULL: not set */
} looks;

bool sandbox_wants_looks(const struct sandbox *sandbox)
{
	return sandbox->wants_looks;
}

static void look_release(struct sandbox_look *look)
{
	look_queue_remove(&looks.queue, &look->turn);
	free(look->session_id);
	free(look->request);
	free(look);
}

static bool looks_set_timer(struct loop *loop);

/* Ends a look that does not run any more, and passes on what it says. */
static void look_end(struct sandbox_look *look, const json_t *answer, const char *why)
{
	void (*on_end)(void *data, const json_t *answer, const char *why) = look->on_end;
	struct loop *loop = look->loop;
	void *data = look->data;

	look_release(look);
	if (looks.queue.owners)
		(void)looks_set_timer(loop); /* without memory, the end of the next look tries again */
	on_end(data, answer, why);
}

static void look_on_reply(void *data, const char *reply, size_t len, int status)
{
	struct sandbox_look *look = data;
	_cleanup_json_ json_t *answer = json_loadb(reply, len, 0, NULL);
	_cleanup_free_ char *why = strndup(reply, LOOK_WHY_BYTES_MAX);
	const bool is_answer = json_object_get(answer, "refused") ||
			       json_object_get(answer, session_change_get_key(SESSION_CHANGE_OTHER));

	(void)status; /* the answer says as much */
	if (why)
		why[strcspn(why, "\n")] = '\0';
	look_end(look, is_answer ? answer : NULL, is_answer ? NULL : why && *why ? why : "callgate gives no answer");
}

/* Starts the command. 0 or -errno. */
static int look_run(struct sandbox_look *look)
{
	const char *const argv[] = {look->callgate_path, "session", "inspect", "--request", "--",
				    look->session_id,    NULL};
	_cleanup_close_ int fd = memfd_create("callgate-request", MFD_CLOEXEC);
	const struct host_command_options options = {.argv = argv,
						     .stdin_fd = fd,
						     .limit_ms = HOST_COMMAND_LIMIT_MS,
						     .on_reply = look_on_reply,
						     .data = look};
	int r = fd < 0 ? -errno : io_write_all(fd, look->request, strlen(look->request));

	if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
		r = -errno;
	return r < 0 ? r : host_command_start(look->loop, &options, &look->command);
}

/* Starts looks that wait, as far as there is room. */
static void looks_on_timer(void *data)
{
	struct look_turn *turn;

	(void)data;
	looks.timer = NULL;
	while ((turn = look_queue_take(&looks.queue))) {
		struct sandbox_look *look = (struct sandbox_look *)((char *)turn - offsetof(struct sandbox_look, turn));
		const int r = look_run(look);

		if (r < 0)
			look_end(look, NULL, strerror(-r));
	}
}

/* Has waiting looks started soon: not now, in the middle of what the caller does. False: no memory. */
static bool looks_set_timer(struct loop *loop)
{
	if (!looks.timer)
		looks.timer = loop_add_timer(loop, 0, looks_on_timer, NULL);
	return looks.timer != NULL;
}

/* Lets a look with a request, which is taken, wait for its turn. 0 or -errno. */
static int look_start(const struct sandbox *sandbox, const struct sandbox_look_options *options, json_t *request,
		      bool is_again, struct sandbox_look **ret_look)
{
	struct sandbox_look *look = calloc(1, sizeof(*look));
	int r = 0;

	if (look) {
		*look = (struct sandbox_look){.loop = sandbox->loop,
					      .callgate_path = options->callgate_path,
					      .session_id = sandbox->id ? strdup(sandbox->id) : NULL,
					      .request = request ? json_dumps(request, JSON_COMPACT) : NULL,
					      .on_end = options->on_end,
					      .data = options->data};
		r = !sandbox->id ? -ENOTCONN : !look->session_id || !look->request ? -ENOMEM : 0;
	}
	json_decref(request);
	if (!look)
		return -ENOMEM;
	if (r == 0)
		r = look_queue_add(&looks.queue, options->owner, sandbox, is_again, &look->turn);
	if (r == 0 && !looks_set_timer(look->loop))
		r = -ENOMEM;
	if (r < 0)
		look_release(look);
	else
		*ret_look = look;
	return r;
}

/* The type of file, as callgate inspect names it, that code of a language is looked at as. */
static const char *look_get_type(const char *language)
{
	static const char *const types[][2] = {{"python", "python"}, {"javascript", "javascript"}, {"bash", "shell"}};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(types[i][0], language) == 0)
			return types[i][1];
	return "text"; /* without a parser: TypeScript */
}

/* Makes an array of texts. A new reference; NULL: no memory, or one is not UTF-8. */
static json_t *look_make_argv(const char *const *argv)
{
	json_t *list = json_array();

	for (; list && *argv; argv++)
		if (json_array_append_new(list, json_string(*argv)) <
		    0) { /* without it, another program would be looked at */
			json_decref(list);
			return NULL;
		}
	return list;
}

int sandbox_look_start(const struct sandbox *sandbox, const struct sandbox_look_options *options,
		       struct sandbox_look **ret_look)
{
	json_t *argv = options->argv ? look_make_argv(options->argv) : NULL;

	if (options->argv && !argv)
		return -ENOMEM;
	return look_start(sandbox, options,
			  json_pack("{s:o*, s:s*, s:s*, s:O*, s:s*, s:b}", "argv", argv, "code", options->code, "type",
				    options->code ? look_get_type(options->language) : NULL, "env",
				    (json_t *)(uintptr_t)options->env, "cwd", options->cwd, "interactive",
				    options->reads_stdin),
			  false, ret_look);
}

int sandbox_look_for_changes(const struct sandbox *sandbox, const struct sandbox_look_options *options,
			     const json_t *answer, struct sandbox_look **ret_look)
{
	return look_start(sandbox, options,
			  json_pack("{s:O, s:s*}", "seen", json_object_get(answer, "seen"), "cwd", options->cwd), true,
			  ret_look);
}

void sandbox_look_free(struct sandbox_look *look)
{
	if (!look)
		return;
	host_command_free(look->command);
	if (look->turn.is_running)
		(void)looks_set_timer(look->loop);
	look_release(look);
	if (!looks.queue.owners) {
		loop_cancel_timer(looks.timer);
		looks.timer = NULL;
	}
}

/* Has the session put something on record (keeper/session-client.h). 0 or -errno. */
static int look_record(const struct sandbox *sandbox, const char *op, const char *program, const char *why)
{
	_cleanup_close_ int fd = -1;
	int r = sandbox->session_hold_fd >= 0
			? session_client_record_inspection(sandbox->session_hold_fd, op, program, why)
			: -ENOTCONN; /* the session has ended, with its log */

	if (r != -EAGAIN)
		return r;
	fd = sandbox_connect(sandbox); /* which has a queue of its own */
	return fd < 0 ? fd : session_client_record_inspection(fd, op, program, why);
}

int sandbox_record_refusal(const struct sandbox *sandbox, const char *program, const char *why)
{
	return look_record(sandbox, SESSION_INSPECT_REFUSED, program, why);
}

int sandbox_record_changes(const struct sandbox *sandbox, const char *program, const json_t *answer, const char *why)
{
	_cleanup_free_ char *names = answer ? session_client_join_changes(answer) : NULL;

	if (!answer)
		return look_record(sandbox, SESSION_INSPECT_CHANGES_UNKNOWN, program, why);
	if (names && !*names)
		return 0;
	return look_record(sandbox, SESSION_INSPECT_CHANGED, program, names ? names : "?");
}
