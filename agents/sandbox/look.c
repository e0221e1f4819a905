#include "agents/sandbox/look.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agents/sandbox/host-command.h"
#include "agents/sandbox/private.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "keeper/session-client.h"

#define LOOK_WHY_BYTES_MAX 500 /* of what the command says instead of an answer */

struct sandbox_look {
	struct host_command *command;
	void (*on_end)(void *data, const json_t *answer, const char *why);
	void *data;
};

bool sandbox_wants_looks(const struct sandbox *sandbox)
{
	return sandbox->wants_looks;
}

static void look_on_reply(void *data, const char *reply, size_t len, int status)
{
	struct sandbox_look *look = data;
	_cleanup_json_ json_t *answer = json_loadb(reply, len, 0, NULL);
	_cleanup_free_ char *why = strndup(reply, LOOK_WHY_BYTES_MAX);
	void (*on_end)(void *data, const json_t *answer, const char *why) = look->on_end;
	const bool is_answer = json_object_get(answer, "refused") || json_object_get(answer, "changed");

	(void)status; /* the answer says as much */
	data = look->data;
	free(look);
	if (why)
		why[strcspn(why, "\n")] = '\0';
	on_end(data, is_answer ? answer : NULL, is_answer ? NULL : why && *why ? why : "callgate gives no answer");
}

/* Starts the command with a request, which is taken. 0 or -errno. */
static int look_start(const struct sandbox *sandbox, const struct sandbox_look_options *options, json_t *request,
		      struct sandbox_look **ret_look)
{
	const char *const argv[] = {options->callgate_path, "session", "inspect", "--request", "--", sandbox->id, NULL};
	_cleanup_free_ char *text = request ? json_dumps(request, JSON_COMPACT) : NULL;
	_cleanup_close_ int fd = memfd_create("callgate-request", MFD_CLOEXEC);
	struct sandbox_look *look = calloc(1, sizeof(*look));
	int r = !sandbox->id ? -ENOTCONN : look && text && fd >= 0 ? io_write_all(fd, text, strlen(text)) : -ENOMEM;

	json_decref(request);
	if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
		r = -errno;
	if (r == 0) {
		*look = (struct sandbox_look){.on_end = options->on_end, .data = options->data};
		r = host_command_start(sandbox->loop, argv, fd, look_on_reply, look, &look->command);
	}
	if (r < 0)
		free(look);
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
	host_command_free(look->command);
	free(look);
}

void sandbox_record_refusal(const struct sandbox *sandbox, const char *program, const char *why)
{
	if (sandbox->session_hold_fd >= 0) /* or the session has ended, with its log */
		(void)session_client_send(sandbox->session_hold_fd,
					  json_pack("{s:s, s:s*, s:s}", "op", "refused", "path", program, "why", why),
					  NULL, 0);
}
