#include "agents/sandbox/look.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agents/sandbox/host-command.h"
#include "agents/sandbox/private.h"
#include "agents/slist.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "keeper/session-client.h"

#define LOOK_WHY_BYTES_MAX 500 /* of what the command says instead of an answer */
/* Looks at a time; others wait. Each runs parsers, whose processor time and memory are not those of the sandbox. */
#define LOOKS_RUNNING_MAX 16u

struct sandbox_look {
	struct sandbox_look *next; /* in looks.waiting */
	struct loop *loop;
	const char *callgate_path;    /* borrowed */
	char *session_id, *request;   /* owned */
	struct host_command *command; /* NULL: waits */
	void (*on_end)(void *data, const json_t *answer, const char *why);
	void *data;
};

/* All looks of this process. */
static struct {
	struct sandbox_look *waiting; /* in the order in which they came */
	unsigned running_count;
	struct loop_timer *timer; /* starts those that wait; NULL: not set */
} looks;

bool sandbox_wants_looks(const struct sandbox *sandbox)
{
	return sandbox->wants_looks;
}

static void look_release(struct sandbox_look *look)
{
	free(look->session_id);
	free(look->request);
	free(look);
}

static void looks_set_timer(struct loop *loop);

/* Ends a look that does not run any more, and passes on what it says. */
static void look_end(struct sandbox_look *look, const json_t *answer, const char *why)
{
	void (*on_end)(void *data, const json_t *answer, const char *why) = look->on_end;
	void *data = look->data;

	look_release(look);
	on_end(data, answer, why);
}

static void look_on_reply(void *data, const char *reply, size_t len, int status)
{
	struct sandbox_look *look = data;
	_cleanup_json_ json_t *answer = json_loadb(reply, len, 0, NULL);
	_cleanup_free_ char *why = strndup(reply, LOOK_WHY_BYTES_MAX);
	const bool is_answer = json_object_get(answer, "refused") || json_object_get(answer, "changed");

	(void)status; /* the answer says as much */
	looks.running_count--;
	looks_set_timer(look->loop);
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
	int r = fd < 0 ? -errno : io_write_all(fd, look->request, strlen(look->request));

	if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
		r = -errno;
	if (r == 0)
		r = host_command_start(look->loop, argv, fd, look_on_reply, look, &look->command);
	looks.running_count += r == 0;
	return r;
}

/* Starts looks that wait, as far as there is room. */
static void looks_on_timer(void *data)
{
	(void)data;
	looks.timer = NULL;
	while (looks.waiting && looks.running_count < LOOKS_RUNNING_MAX) {
		struct sandbox_look *look = looks.waiting;
		int r;

		looks.waiting = look->next;
		r = look_run(look);
		if (r < 0)
			look_end(look, NULL, strerror(-r));
	}
}

/* Has waiting looks started soon: not now, in the middle of what the caller does. */
static void looks_set_timer(struct loop *loop)
{
	if (looks.waiting && !looks.timer) /* without memory, the end of the next look tries again */
		looks.timer = loop_add_timer(loop, 0, looks_on_timer, NULL);
}

/* Starts a look with a request, which is taken, or lets it wait. 0 or -errno. */
static int look_start(const struct sandbox *sandbox, const struct sandbox_look_options *options, json_t *request,
		      struct sandbox_look **ret_look)
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
	if (r == 0 && looks.running_count >= LOOKS_RUNNING_MAX)
		slist_append(looks.waiting, look, next);
	else if (r == 0)
		r = look_run(look);
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

int sandbox_look_start(const struct sandbox *sandbox, const struct sandbox_look_options *options,
		       struct sandbox_look **ret_look)
{
	json_t *argv = options->argv ? json_array() : NULL;

	for (const char *const *argument = options->argv; argument && *argument; argument++)
		(void)json_array_append_new(argv, json_string(*argument));
	return look_start(sandbox, options,
			  json_pack("{s:o*, s:s*, s:s*, s:O*, s:s*, s:b}", "argv", argv, "code", options->code, "type",
				    options->code ? look_get_type(options->language) : NULL, "env",
				    (json_t *)(uintptr_t)options->env, "cwd", options->cwd, "interactive",
				    options->reads_stdin),
			  ret_look);
}

int sandbox_look_for_changes(const struct sandbox *sandbox, const struct sandbox_look_options *options,
			     const json_t *answer, struct sandbox_look **ret_look)
{
	return look_start(sandbox, options,
			  json_pack("{s:O, s:s*}", "seen", json_object_get(answer, "seen"), "cwd", options->cwd),
			  ret_look);
}

void sandbox_look_free(struct sandbox_look *look)
{
	if (!look)
		return;
	if (look->command)
		looks.running_count--;
	else
		slist_remove(looks.waiting, look, next);
	host_command_free(look->command);
	looks_set_timer(look->loop);
	if (!looks.waiting && looks.timer) {
		loop_cancel_timer(looks.timer);
		looks.timer = NULL;
	}
	look_release(look);
}

void sandbox_record_refusal(const struct sandbox *sandbox, const char *program, const char *why)
{
	if (sandbox->session_hold_fd >= 0) /* or the session has ended, with its log */
		(void)session_client_send(sandbox->session_hold_fd,
					  json_pack("{s:s, s:s*, s:s}", "op", "refused", "path", program, "why", why),
					  NULL, 0);
}
