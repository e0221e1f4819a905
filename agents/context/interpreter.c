/*
 * The interpreter of a context: a program in the sandbox that executes callgate's runner (agents/runner/). The source
 * of the runner is sent through stdin. So the view needs no file of callgate's, and the command line, which is
 * recorded, stays short.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agents/context/private.h"
#include "base/cleanup.h"
#include "base/installed.h"
#include "base/io.h"

#define RUNNER_FILE_BYTES_MAX (1u << 20)
#define RUNNER_LAZILY_COMPILED_PARTS_MAX 4 /* most lazy parts of a runner */
#define RUNNER_NONCE_PLACEHOLDER "@NONCE@" /* in bash.sh */

enum language_kind { LANGUAGE_PYTHON, LANGUAGE_NODE, LANGUAGE_BASH };

/* A language of contexts, and how its interpreter is started. */
struct language {
	const char *name;
	enum language_kind kind;
	const char *default_interpreter; /* program that is started if the context names none */
	const char *boot_file;   /* file of agents/runner/ whose text is on the command line; NULL: none */
	const char *source_file; /* file of agents/runner/ whose text is sent through stdin */
	const char *inline_code_option; /* option of the interpreter before the text of boot_file */
	const char *run_request_mode; /* "mode" in the requests to run code: which language the runner is to execute */
	/* each PART is the file python_PART.py, which the runner compiles on first use */
	const char *lazily_compiled_parts[RUNNER_LAZILY_COMPILED_PARTS_MAX];
};

static const struct language languages[] = {
	{.name = "python",
	 .kind = LANGUAGE_PYTHON,
	 .default_interpreter = "python3",
	 .boot_file = "python-boot.py",
	 .inline_code_option = "-c",
	 .source_file = "python.py",
	 .run_request_mode = "",
	 .lazily_compiled_parts = {"display", "charts", "magics"}},
	{.name = "javascript",
	 .kind = LANGUAGE_NODE,
	 .default_interpreter = "node",
	 .boot_file = "node-boot.js",
	 .inline_code_option = "-e",
	 .source_file = "node.js",
	 .run_request_mode = ""},
	{.name = "typescript",
	 .kind = LANGUAGE_NODE,
	 .default_interpreter = "node",
	 .boot_file = "node-boot.js",
	 .inline_code_option = "-e",
	 .source_file = "node.js",
	 .run_request_mode = "typescript"},
	{.name = "bash",
	 .kind = LANGUAGE_BASH,
	 .default_interpreter = "bash",
	 .source_file = "bash.sh",
	 .run_request_mode = ""},
};

const struct language *language_find(const char *name)
{
	for (size_t i = 0; i < sizeof(languages) / sizeof(languages[0]); i++)
		if (strcmp(languages[i].name, name) == 0)
			return &languages[i];
	return NULL;
}

/* ---- the files of agents/runner/ ---- */

static int runner_read_file_in_directory(const char *directory, const char *name, char **ret_text)
{
	char path[PATH_MAX];
	size_t len;

	if (!directory || (size_t)snprintf(path, sizeof(path), "%s/%s", directory, name) >= sizeof(path))
		return -ENOENT;
	return io_read_file(AT_FDCWD, path, RUNNER_FILE_BYTES_MAX, ret_text, &len);
}

/*
 * Reads a file of the runners: from the directory $CALLGATE_RUNNERS, or the installed one, or that of the build tree.
 */
static int runner_read_file(const char *name, char **ret_text)
{
	char tree[PATH_MAX];
	int r = runner_read_file_in_directory(getenv("CALLGATE_RUNNERS"), name, ret_text);

	if (r == -ENOENT)
		r = runner_read_file_in_directory(PKGDATADIR "/runners", name, ret_text);
	if (r == -ENOENT && installed_get_sibling_path("agents/runner", tree))
		r = runner_read_file_in_directory(tree, name, ret_text);
	return r;
}

/* ---- input of the interpreter ---- */

/*
 * Writes pending input, as far as the queue of the interpreter's stdin takes it. After an error the input is dropped:
 * an interpreter whose stdin is closed exits, which on_end reports.
 */
static void interpreter_write_pending_input(void *data)
{
	struct context *context = data;
	struct buf *input = &context->pending_input;
	ssize_t taken;

	if (!context->interpreter_program || context->pending_input_sent_bytes == input->len)
		return;
	taken = sandbox_program_write(context->interpreter_program, input->data + context->pending_input_sent_bytes,
				      input->len - context->pending_input_sent_bytes);
	if (taken > 0)
		context->pending_input_sent_bytes += (size_t)taken;
	if (taken < 0 || context->pending_input_sent_bytes == input->len) {
		buf_release(input);
		*input = (struct buf){0};
		context->pending_input_sent_bytes = 0;
	}
}

/* Adds a field of a request to the runner, which ends with a NUL byte. */
static void input_add_field(struct buf *input, const char *text)
{
	buf_add(input, text, strlen(text) + 1);
}

/* Adds a number as a field of a request to the runner. */
static void input_add_number(struct buf *input, unsigned number)
{
	char text[16];

	(void)snprintf(text, sizeof(text), "%u", number); /* it fits */
	input_add_field(input, text);
}

static void input_add_shell_quoted(struct buf *input, const char *text)
{
	buf_puts(input, "'");
	for (; *text; text++)
		if (*text == '\'')
			buf_puts(input, "'\\''");
		else
			buf_add(input, text, 1);
	buf_puts(input, "'");
}

/* ---- start of an interpreter ---- */

/* Queues the request that the runner imports these modules before it is needed. */
static void input_add_modules_to_import(struct context *context)
{
	struct buf *input = &context->pending_input;
	const json_t *module;
	size_t i;

	input_add_number(input, 1 + (unsigned)json_array_size(context->modules_to_import));
	input_add_field(input, "warm");
	json_array_foreach(context->modules_to_import, i, module) {
		input_add_field(input, json_string_value(module));
	}
}

/* Queues requests for the runner to keep the sources of the lazy parts. 0 or -errno. */
static int input_add_lazily_compiled_parts(struct context *context)
{
	struct buf *input = &context->pending_input;

	for (int i = 0; i < RUNNER_LAZILY_COMPILED_PARTS_MAX && context->language->lazily_compiled_parts[i]; i++) {
		_cleanup_free_ char *text = NULL;
		char name[64];
		int r;

		(void)snprintf(name, sizeof(name), "python_%s.py", context->language->lazily_compiled_parts[i]);
		r = runner_read_file(name, &text);
		if (r < 0)
			return r;
		input_add_number(input, 3);
		input_add_field(input, "source");
		input_add_field(input, context->language->lazily_compiled_parts[i]);
		input_add_field(input, text);
	}
	return 0;
}

/* Queues the source of the runner, and what the runner needs before it is ready: nonce, parts, modules to import. */
static int input_add_runner_source(struct context *context, const char *source)
{
	struct buf *input = &context->pending_input;
	const char *mark;
	int r;

	if (context->language->kind == LANGUAGE_BASH) {
		for (; (mark = strstr(source, RUNNER_NONCE_PLACEHOLDER));
		     source = mark + strlen(RUNNER_NONCE_PLACEHOLDER)) {
			buf_add(input, source, (size_t)(mark - source));
			buf_puts(input, context->nonce);
		}
		buf_puts(input, source);
	} else {
		buf_puts(input, source);
		input_add_number(input, 2);
		input_add_field(input, "nonce");
		input_add_field(input, context->nonce);
		r = input_add_lazily_compiled_parts(context);
		if (r < 0)
			return r;
		input_add_modules_to_import(context);
	}
	return input->failed ? -ENOMEM : 0;
}

/* Makes the random nonce, in hex digits, by which the interpreter's frames are told from its output. 0 or -EIO. */
static int interpreter_make_nonce(struct context *context)
{
	unsigned char random[CONTEXT_NONCE_DIGITS / 2];

	if (syscall(SYS_getrandom, random, sizeof(random), 0) != (long)sizeof(random))
		return -EIO;
	for (size_t i = 0; i < sizeof(random); i++)
		(void)snprintf(context->nonce + 2 * i, 3, "%02x", random[i]);
	return 0;
}

/* Starts the interpreter in the sandbox. boot: source that it executes first, NULL for bash. 0 or -errno. */
static int interpreter_start_program(struct context *context, const char *boot, size_t source_bytes)
{
	const struct language *language = context->language;
	const struct interpreter_callbacks *callbacks = context->callbacks;
	const char *name = context->interpreter ? context->interpreter : language->default_interpreter;
	char bytes[24];
	const char *const with_boot[] = {name, language->inline_code_option, boot, bytes, NULL};
	const char *const bash[] = {name, "--noprofile", "--norc", "--noediting", "-i", NULL};
	struct sandbox_program_options options = {.argv = boot ? with_boot : bash,
						  .env = context->env,
						  .cwd = context->cwd,
						  .stdin_is_open = true,
						  .on_output = callbacks->on_output,
						  .on_denials = callbacks->on_denials,
						  .on_room = interpreter_write_pending_input,
						  .on_end = callbacks->on_end,
						  .data = context};

	(void)snprintf(bytes, sizeof(bytes), "%zu", source_bytes);
	return sandbox_start_program(context->sandbox, &options, &context->interpreter_program);
}

int interpreter_start(struct context *context)
{
	const struct language *language = context->language;
	_cleanup_free_ char *source = NULL, *boot = NULL;
	int r;

	interpreter_discard(context);
	r = interpreter_make_nonce(context);
	if (r == 0)
		r = runner_read_file(language->source_file, &source);
	if (r == 0 && language->boot_file)
		r = runner_read_file(language->boot_file, &boot);
	if (r == 0)
		r = input_add_runner_source(context, source);
	if (r == 0)
		r = interpreter_start_program(context, boot, strlen(source));
	if (r < 0) {
		interpreter_discard(context);
		return r;
	}
	interpreter_write_pending_input(context);
	return 0;
}

/* Frees the interpreter, so that a new one can be started in its place. */
void interpreter_discard(struct context *context)
{
	sandbox_program_free(context->interpreter_program);
	context->interpreter_program = NULL;
	context->interpreter_generation++;
	buf_release(&context->pending_input);
	context->pending_input = (struct buf){0};
	context->pending_input_sent_bytes = 0;
	context->is_ready = false;
	for (int i = 0; i < SANDBOX_STREAM_MAX; i++) {
		frames_init(&context->frame_parsers[i], context->nonce);
		context->has_ready_event_on[i] = false;
	}
}

/* Sends a signal to the interpreter, if it runs. */
void interpreter_signal(struct context *context, int number)
{
	if (context->interpreter_program)
		/* fails if the interpreter has just ended */
		(void)sandbox_program_signal(context->interpreter_program, number);
}

/* ---- runs ---- */

/* Queues a code run for bash, as commands of its own language. */
static void input_add_bash_run(struct buf *input, const struct context_run *run)
{
	const char *name;
	const json_t *value;

	buf_puts(input, "__callgate_begin");
	json_object_foreach(run->env, name, value) {
		buf_printf(input, " %s=", name);
		input_add_shell_quoted(input, json_string_value(value));
	}
	buf_puts(input, "; eval ");
	input_add_shell_quoted(input, run->code);
	buf_printf(input, " </dev/null {__callgate_out}>&- {__callgate_err}>&-\n__callgate_end %u\n", run->run_number);
}

/* Queues the request for a code run: number, mode, code and variables. */
static void input_add_run_request(struct buf *input, const struct context_run *run, const char *mode)
{
	const char *name;
	const json_t *value;

	input_add_number(input, 4 + (unsigned)json_object_size(run->env));
	input_add_field(input, "run");
	input_add_number(input, run->run_number);
	input_add_field(input, mode);
	input_add_field(input, run->code);
	json_object_foreach(run->env, name, value) {
		buf_printf(input, "%s=", name);
		input_add_field(input, json_string_value(value));
	}
}

void interpreter_send_run(struct context *context)
{
	struct context_run *run = context->first_run;

	if (context->language->kind == LANGUAGE_BASH)
		input_add_bash_run(&context->pending_input, run);
	else
		input_add_run_request(&context->pending_input, run,
				      context->forks_for_each_run ? "fresh" : context->language->run_request_mode);
	if (context->pending_input.failed) /* out of memory: the interpreter has missed a request */
		interpreter_signal(context, SIGKILL);
	else
		interpreter_write_pending_input(context);
}
