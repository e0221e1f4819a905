/*
 * Drives agents/context/ as callgate-agents does. cases-contexts CALLGATE [OPTION OF SESSION CREATE]... reads commands
 * from stdin, a JSON object a line, and prints what happens, likewise:
 *   {"op": "create", "context": NAME, "language": …, "cwd": …, "warm": [...], "fresh": bool, "env": {}}
 *   {"op": "run", "context": NAME, "run": NAME, "code": …, "env": {}, "timeout_ms": N}: events, with "run": NAME, and
 *       {"type": "over", "run": NAME} last
 *   {"op": "interrupt"|"pause"|"resume"|"free_run", "run": NAME}, {"op": "restart"|"free"|"is_ready", "context": NAME}
 * It ends when stdin does.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "agents/context/context.h"
#include "base/buf.h"

#define NAMES_MAX 4096
#define WARM_MAX 8
#define LINE_READ_BYTES 65536

/* A context or run that stdin has named. */
struct named {
	char *name;
	struct context *context;
	struct context_run *run;
};

static struct loop *loop;
static struct sandbox *sandbox;
static struct named named[NAMES_MAX];
static int named_count, status;
static struct buf input;

static const char *get(const json_t *command, const char *key)
{
	return json_string_value(json_object_get(command, key));
}

static struct named *find(const char *name)
{
	for (int i = named_count - 1; name && i >= 0; i--)
		if (strcmp(named[i].name, name) == 0)
			return &named[i];
	return NULL;
}

static struct named *add(const char *name)
{
	if (!name || named_count == NAMES_MAX)
		exit(2);
	named[named_count].name = strdup(name);
	return &named[named_count++];
}

/* Prints an object, and takes the reference to it. */
static void print(json_t *object)
{
	char *text = json_dumps(object, JSON_COMPACT);

	if (!text || printf("%s\n", text) < 0 || fflush(stdout) < 0)
		exit(2);
	free(text);
	json_decref(object);
}

static void on_event(void *data, const json_t *event)
{
	const struct named *one = data;
	json_t *copy = json_copy((json_t *)(uintptr_t)event);

	(void)json_object_set_new(copy, "run", json_string(one->name));
	print(copy);
}

static void on_run_end(void *data)
{
	struct named *one = data;

	print(json_pack("{s:s, s:s}", "type", "over", "run", one->name));
	context_run_free(one->run);
	one->run = NULL;
}

static int run_create(const json_t *command)
{
	const char *warm[WARM_MAX + 1] = {NULL};
	const struct context_options options = {.language = get(command, "language"),
						.cwd = get(command, "cwd"),
						.modules_to_import = warm,
						.interpreter = get(command, "interpreter"),
						.env = json_object_get(command, "env"),
						.forks_for_each_run = json_is_true(json_object_get(command, "fresh"))};

	for (size_t i = 0; i < WARM_MAX; i++)
		warm[i] = json_string_value(json_array_get(json_object_get(command, "warm"), i));
	return context_create(loop, sandbox, &options, &add(get(command, "context"))->context);
}

static int run_code(const json_t *command, struct named *context)
{
	struct named *one = add(get(command, "run"));
	const struct context_run_options options = {
		.code = get(command, "code"), .env = json_object_get(command, "env"),
		.timeout_ms = (uint64_t)json_integer_value(json_object_get(command, "timeout_ms")),
		.on_event = on_event, .on_end = on_run_end, .data = one};

	return context_run_code(context->context, &options, &one->run);
}

static int run_command(const char *op, const json_t *command)
{
	struct named *context = find(get(command, "context")), *run = find(get(command, "run"));

	if (strcmp(op, "create") == 0)
		return run_create(command);
	if (strcmp(op, "run") == 0 && context)
		return run_code(command, context);
	if (strcmp(op, "is_ready") == 0 && context)
		return context_is_ready(context->context) ? 0 : -EAGAIN;
	if (strcmp(op, "restart") == 0 && context) {
		context_restart(context->context);
	} else if (strcmp(op, "free") == 0 && context) {
		context_free(context->context);
		context->context = NULL;
	} else if (strcmp(op, "interrupt") == 0 && run && run->run) {
		context_run_interrupt(run->run);
	} else if (strcmp(op, "free_run") == 0 && run) {
		context_run_free(run->run);
		run->run = NULL;
	} else if (run && run->run) {
		context_run_pause_output(run->run, strcmp(op, "pause") == 0);
	}
	return 0;
}

static void run_line(const char *line)
{
	json_t *command = json_loads(line, 0, NULL);
	const char *op = get(command, "op");

	if (!op)
		exit(2);
	print(json_pack("{s:s, s:s, s:i}", "type", "done", "op", op, "result", run_command(op, command)));
	json_decref(command);
}

static void on_input(void *data, uint32_t events)
{
	static char bytes[LINE_READ_BYTES];
	ssize_t got = read(STDIN_FILENO, bytes, sizeof(bytes));
	char *newline;

	(void)data;
	(void)events;
	if (got < 0 && errno == EAGAIN)
		return;
	if (got <= 0) {
		loop_stop(loop);
		return;
	}
	buf_add(&input, bytes, (size_t)got);
	while (input.len > 0 && (newline = memchr(input.data, '\n', input.len))) {
		size_t taken = (size_t)(newline - input.data) + 1;

		*newline = '\0';
		run_line(input.data);
		memmove(input.data, input.data + taken, input.len - taken);
		input.len -= taken;
	}
}

static void on_ready(void *data, const char *error)
{
	(void)data;
	if (error) {
		(void)fprintf(stderr, "%s\n", error);
		status = 3;
		loop_stop(loop);
		return;
	}
	print(json_pack("{s:s, s:s}", "type", "sandbox", "id", sandbox_get_id(sandbox)));
	if (fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK) < 0 ||
	    !loop_add_source(loop, STDIN_FILENO, EPOLLIN, on_input, NULL))
		exit(2);
}

static void on_sandbox_end(void *data)
{
	(void)data;
	print(json_pack("{s:s}", "type", "sandbox_ended"));
}

int main(int argc, char **argv)
{
	struct sandbox_options options = {.on_ready = on_ready, .on_end = on_sandbox_end};

	if (argc < 2 || loop_create(&loop) < 0)
		return 2;
	options.callgate_path = argv[1];
	options.arguments = (const char *const *)(uintptr_t)(argv + 2);
	if (sandbox_create(loop, &options, &sandbox) < 0)
		return 2;
	(void)loop_run(loop);
	for (int i = 0; i < named_count; i++) {
		context_free(named[i].context);
		named[i].context = NULL;
	}
	for (int i = 0; i < named_count; i++) {
		context_run_free(named[i].run);
		free(named[i].name);
	}
	buf_release(&input);
	sandbox_free(sandbox);
	loop_free(loop);
	return status;
}
