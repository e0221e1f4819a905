/*
 * Drives agents/sandbox/ as callgate-agents does. cases-agents CASE CALLGATE [OPTION OF SESSION CREATE]... exits with 0
 * when all is as it should be; the case "hold" prints the session's id and goes on until it is killed.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agents/sandbox/sandbox.h"

#define OUTPUT_KEPT_BYTES 256
#define JOBS_MAX 256
#define CROWD 130 /* each takes seven descriptors, of 1024 */

/* A program and what became of it. */
struct job {
	struct sandbox_program *program;
	char output[SANDBOX_STREAM_MAX][OUTPUT_KEPT_BYTES + 1];
	size_t bytes[SANDBOX_STREAM_MAX];
	json_t *result;
	bool has_started, is_slow, feeds;
	size_t left_to_write;
};

struct scenario {
	const char *name;
	void (*start)(void);
	void (*check)(void);
};

static struct loop *loop;
static struct sandbox *sandbox;
static const struct scenario *scenario;
static struct job job[JOBS_MAX];
static int job_count, ended_count, failures;

static void __attribute__((format(printf, 2, 3))) expect(bool condition, const char *format, ...)
{
	va_list arguments;

	if (condition)
		return;
	failures++;
	va_start(arguments, format);
	(void)fprintf(stderr, "%s: ", scenario ? scenario->name : "start");
	(void)vfprintf(stderr, format, arguments);
	(void)fputc('\n', stderr);
	va_end(arguments);
}

/* ---- a program ---- */

static void on_start(void *data, pid_t pid, unsigned number)
{
	struct job *one = data;

	expect(pid > 0 && number > 0 && !one->has_started, "started as pid %d, number %u", (int)pid, number);
	one->has_started = true;
}

static void let_go_on(void *data)
{
	struct job *one = data;

	if (one->program)
		sandbox_program_pause_output(one->program, false);
}

static void on_output(void *data, enum sandbox_stream stream, const char *bytes, size_t len)
{
	struct job *one = data;
	size_t kept = one->bytes[stream] < OUTPUT_KEPT_BYTES ? OUTPUT_KEPT_BYTES - one->bytes[stream] : 0;

	expect(!one->result, "output after the end");
	memcpy(one->output[stream] + (OUTPUT_KEPT_BYTES - kept), bytes, len < kept ? len : kept);
	one->bytes[stream] += len;
	if (one->is_slow && one->bytes[stream] < (4u << 20)) {
		sandbox_program_pause_output(one->program, true);
		(void)loop_add_timer(loop, 1, let_go_on, one);
	}
}

static void feed(void *data)
{
	static const char zeros[100000];
	struct job *one = data;

	while (one->left_to_write > 0) {
		size_t len = one->left_to_write < sizeof(zeros) ? one->left_to_write : sizeof(zeros);
		ssize_t taken = sandbox_program_write(one->program, zeros, len);

		if (taken < 0) {
			one->left_to_write = 0;
			return;
		}
		one->left_to_write -= (size_t)taken;
		if ((size_t)taken < len)
			return;
	}
	sandbox_program_close_stdin(one->program);
}

static void on_end(void *data, const json_t *result)
{
	struct job *one = data;

	expect(!one->result, "ended twice");
	one->result = json_deep_copy(result);
	if (++ended_count == job_count)
		loop_stop(loop);
}

static struct job *start(const struct sandbox_program_options *options)
{
	struct sandbox_program_options all = *options;
	struct job *one = &job[job_count++];
	int r;

	*one = (struct job){0};
	all.on_start = on_start;
	all.on_output = on_output;
	all.on_room = feed;
	all.on_end = on_end;
	all.data = one;
	r = sandbox_start_program(sandbox, &all, &one->program);
	expect(r == 0, "cannot start %s: %s", options->argv[0], strerror(-r));
	return one;
}

static struct job *start_shell(const char *script)
{
	const char *const argv[] = {"sh", "-c", script, NULL};

	return start(&(struct sandbox_program_options){.argv = argv});
}

static struct job *start_python(const char *script)
{
	const char *const argv[] = {"python3", "-c", script, NULL};

	return start(&(struct sandbox_program_options){.argv = argv});
}

static void expect_end(const struct job *one, int exit_code, const char *out)
{
	char *text = json_dumps(one->result, JSON_COMPACT);
	int got = (int)json_integer_value(json_object_get(one->result, "exit_code"));

	expect(got == exit_code && json_object_get(one->result, "status"), "program %d: exit code %d, not %d: %s",
	       (int)(one - job), got, exit_code, text);
	expect(!out || strcmp(one->output[SANDBOX_STDOUT], out) == 0, "program %d: stdout: \"%s\", not \"%s\" (%s)",
	       (int)(one - job), one->output[SANDBOX_STDOUT], out, one->output[SANDBOX_STDERR]);
	free(text);
}

/* ---- cases ---- */

static void start_twenty(void)
{
	json_t *env = json_pack("{s:s}", "A", "v");
	char number[16];

	for (int i = 0; i < 20; i++) {
		const char *const argv[] = {"sh", "-c", "sleep 0.1; echo $A $PWD $1; echo err >&2; exit $1", "sh",
					    number, NULL};

		(void)snprintf(number, sizeof(number), "%d", i);
		(void)start(&(struct sandbox_program_options){.argv = argv, .env = env, .cwd = "/etc"});
	}
	json_decref(env);
}

static void check_twenty(void)
{
	char text[64];

	for (int i = 0; i < 20; i++) {
		(void)snprintf(text, sizeof(text), "v /etc %d\n", i);
		expect_end(&job[i], i, text);
		expect(strcmp(job[i].output[SANDBOX_STDERR], "err\n") == 0 && job[i].has_started, "stderr of %d", i);
	}
}

static void start_input(void)
{
	const char *const count[] = {"wc", "-c", NULL}, *const head[] = {"head", "-c", "10", NULL};

	for (int i = 0; i < 2; i++) {
		struct job *one = start(&(struct sandbox_program_options){.argv = i ? head : count,
									  .stdin_is_open = true});

		one->left_to_write = 5000000;
		feed(one);
	}
	(void)start(&(struct sandbox_program_options){.argv = count});
}

static void check_input(void)
{
	expect_end(&job[0], 0, "5000000\n");
	expect_end(&job[1], 0, NULL);
	expect(job[1].bytes[SANDBOX_STDOUT] == 10, "head printed %zu bytes", job[1].bytes[SANDBOX_STDOUT]);
	expect_end(&job[2], 0, "0\n");
}

static void start_output(void)
{
	start_shell("head -c 20000000 /dev/zero; head -c 3000000 /dev/zero >&2")->is_slow = true;
	(void)start_shell("exec >&- 2>&- <&-; sleep 0.2; exit 5");
	(void)start_shell("sleep 60 & sleep 61 >/dev/null & setsid sleep 62 & echo left; exit 3");
}

static void check_output(void)
{
	expect_end(&job[0], 0, NULL);
	expect(job[0].bytes[SANDBOX_STDOUT] == 20000000 && job[0].bytes[SANDBOX_STDERR] == 3000000,
	       "a slow reader got %zu and %zu bytes", job[0].bytes[SANDBOX_STDOUT], job[0].bytes[SANDBOX_STDERR]);
	expect_end(&job[1], 5, "");
	expect_end(&job[2], 3, "left\n");
}

static void send_signals(void *data)
{
	(void)data;
	expect(sandbox_program_signal(job[0].program, SIGINT) == 0, "cannot signal");
	expect(sandbox_program_signal(job[1].program, SIGKILL) == 0, "cannot signal");
}

static void start_signals(void)
{
	const char *const argv[] = {"sleep", "60", NULL};

	(void)start_python("import signal, sys, time\n"
			   "signal.signal(signal.SIGINT, lambda *a: (print('int', flush=True), sys.exit(7)))\n"
			   "time.sleep(60)");
	(void)start_shell("sleep 60 | sleep 60");
	(void)start(&(struct sandbox_program_options){.argv = argv, .time_limit_ms = 300});
	(void)loop_add_timer(loop, 1000, send_signals, NULL);
}

static void check_signals(void)
{
	expect_end(&job[0], 7, "int\n");
	expect_end(&job[1], 137, "");
	expect_end(&job[2], 124, "");
	expect(sandbox_program_signal(job[0].program, SIGINT) == -ESRCH, "a signal to what has ended");
	expect(sandbox_program_write(job[0].program, "x", 1) == -EPIPE, "input of what has ended");
}

static void start_failing(void)
{
	const char *const none[] = {"nosuch", NULL}, *const directory[] = {"/etc", NULL};
	const char *const latin[] = {"\xe9", NULL};
	struct sandbox_program *program;

	(void)start(&(struct sandbox_program_options){.argv = none});
	(void)start(&(struct sandbox_program_options){.argv = directory});
	(void)start_shell("cat /etc/shadow");
	expect(sandbox_start_program(sandbox, &(struct sandbox_program_options){.argv = latin}, &program) == -EILSEQ,
	       "an argument that is not UTF-8");
}

static void check_failing(void)
{
	const json_t *error = json_object_get(job[0].result, "error");

	expect(strcmp(json_string_value(json_object_get(error, "code")), "not_found") == 0, "no such program");
	expect_end(&job[1], 126, "");
	expect(json_array_size(json_object_get(job[2].result, "denials")) == 1, "a denial is told");
}

/* A program passes its stdout to another one of the sandbox, which writes to it without end. */
static void start_passing(void)
{
	(void)start_python("import array, socket, time\n"
			   "s = socket.socket(socket.AF_UNIX)\n"
			   "s.bind('pass'); s.listen()\n"
			   "c = s.accept()[0]\n"
			   "print('mine', flush=True)\n"
			   "socket.send_fds(c, [b'x'], [1, 2]); c.recv(1)\n");
	(void)start_python("import os, socket, time\n"
			   "s = socket.socket(socket.AF_UNIX)\n"
			   "while True:\n"
			   "    try: s.connect('pass'); break\n"
			   "    except OSError: time.sleep(0.02)\n"
			   "fds = socket.recv_fds(s, 1, 2)[1]\n"
			   "s.send(b'x'); s.close()\n"
			   "try:\n"
			   "    while True: os.write(fds[0], b'z' * 65536)\n"
			   "except BrokenPipeError: print('gone', flush=True)\n");
}

static void check_passing(void)
{
	expect_end(&job[0], 0, NULL);
	expect(memcmp(job[0].output[SANDBOX_STDOUT], "mine\n", 5) == 0, "stdout that was passed on: %.5s",
	       job[0].output[SANDBOX_STDOUT]);
	expect_end(&job[1], 0, "gone\n");
}

static void end_freeing(void *data)
{
	(void)data;
	sandbox_program_free(job[0].program); /* with which the group of job 1 goes on */
	job[0].program = NULL;
	ended_count++;
}

static void start_freeing(void)
{
	(void)start_shell("touch begun; while :; do echo y; done");
	job[0].is_slow = true;
	(void)start_python("import os, time\n"
			   "while not os.path.exists('begun'): time.sleep(0.02)\n"
			   "def other(p):\n"
			   "    try: return b'do ec' b'ho y' in open('/proc/%s/cmdline' % p, 'rb').read()\n"
			   "    except OSError: return False\n"
			   "while any(other(p) for p in os.listdir('/proc') if p.isdigit()): time.sleep(0.02)\n"
			   "print('alone')");
	(void)loop_add_timer(loop, 700, end_freeing, NULL);
}

static void check_freeing(void)
{
	expect_end(&job[1], 0, "alone\n");
}

static void resize_and_type(void *data)
{
	(void)data;
	expect(sandbox_program_resize(job[0].program, 66, 7) == 0, "resize");
	expect(sandbox_program_resize(job[2].program, 66, 7) == -ENOTTY, "resize without a terminal");
	expect(sandbox_program_write(job[0].program, "first\n", 6) == 6, "write");
	sandbox_program_close_stdin(job[0].program);
}

static void start_terminals(void)
{
	const char *const on_terminal[] = {
		"sh", "-c", "stty -echo; stty size; read x; stty size; echo got $x; read x || echo end; exit 4", NULL};
	const char *const noisy[] = {"sh", "-c", "tty >name; stty -opost; head -c 3000000 /dev/zero; exit 6", NULL};

	(void)start(&(struct sandbox_program_options){
		.argv = on_terminal, .has_terminal = true, .columns = 91, .rows = 19});
	start(&(struct sandbox_program_options){.argv = noisy, .has_terminal = true})->is_slow = true;
	/* Holds the second one's terminal open longer than that runs. */
	(void)start_python("import os, time\n"
			   "while not os.path.exists('name') or not open('name').read(): time.sleep(0.01)\n"
			   "fd = os.open(open('name').read().strip(), os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)\n"
			   "print('open', flush=True)\n"
			   "end = time.monotonic() + 4\n"
			   "while time.monotonic() < end:\n"
			   "    try: os.write(fd, b'')\n"
			   "    except OSError: break\n"
			   "    time.sleep(0.01)\n"
			   "else: print('held')\n");
	(void)loop_add_timer(loop, 1000, resize_and_type, NULL);
}

static void check_terminals(void)
{
	expect_end(&job[0], 4, "19 91\r\n7 66\r\ngot first\r\nend\r\n");
	expect_end(&job[1], 6, NULL);
	expect(job[1].bytes[SANDBOX_STDOUT] == 3000000, "%zu bytes of a terminal", job[1].bytes[SANDBOX_STDOUT]);
	expect_end(&job[2], 0, NULL);
}

/* More at once than the session's socket takes connections that are not accepted yet. */
static void start_crowd(void)
{
	const char *const argv[] = {"head", "-c", "3", NULL};

	for (int i = 0; i < CROWD; i++) {
		struct job *one = start(&(struct sandbox_program_options){.argv = argv, .stdin_is_open = true});

		expect(sandbox_program_write(one->program, "crowd", 5) == 5, "input %d", i);
	}
}

static void check_crowd(void)
{
	for (int i = 0; i < job_count; i++)
		expect_end(&job[i], 0, "cro");
}

static const struct scenario scenarios[] = {
	{"twenty", start_twenty, check_twenty},    {"input", start_input, check_input},
	{"output", start_output, check_output},    {"signals", start_signals, check_signals},
	{"failing", start_failing, check_failing}, {"passing", start_passing, check_passing},
	{"freeing", start_freeing, check_freeing}, {"terminals", start_terminals, check_terminals},
	{"crowd", start_crowd, check_crowd},
};

/* ---- the sandbox ---- */

static bool has_ended;

static void on_sandbox_end(void *data)
{
	(void)data;
	has_ended = true;
	loop_stop(loop);
}

static void on_ready(void *data, const char *error)
{
	(void)data;
	expect(!error, "the sandbox: %s", error ? error : "");
	loop_stop(loop);
}

static void stop(void *data)
{
	(void)data;
	loop_stop(loop);
}

static void on_refused(void *data, const char *error)
{
	(void)data;
	expect(error && strstr(error, "nosuch"), "the reason: %s", error ? error : "none");
	loop_stop(loop);
}

static void on_late(void *data, const char *error)
{
	(void)data;
	expect(error && strstr(error, "took too long"), "the reason: %s", error ? error : "none");
	loop_stop(loop);
}

static void run_scenario(void)
{
	job_count = ended_count = 0;
	scenario->start();
	(void)loop_run(loop);
	scenario->check();
	for (int i = 0; i < job_count; i++) {
		sandbox_program_free(job[i].program);
		json_decref(job[i].result);
	}
}

/* A policy that does not exist, a session that is freed while it is made, and one that another process ends. */
static void run_ends(struct sandbox_options *options)
{
	const char *const nosuch[] = {"--profile", "nosuch", NULL}, *const *given = options->arguments;
	struct sandbox *other;

	options->arguments = nosuch;
	options->on_ready = on_refused;
	expect(sandbox_create(loop, options, &other) == 0, "create");
	(void)loop_run(loop);
	expect(!sandbox_get_id(other), "it has an id");
	sandbox_free(other);
	options->arguments = given;
	expect(sandbox_create(loop, options, &other) == 0, "create");
	sandbox_free(other);
	(void)loop_add_timer(loop, 1500, stop, NULL); /* until the process that makes it has exited */
	(void)loop_run(loop);
}

/* A launcher that hangs: here another program, which writes its pid into the file "hangs". */
static void run_late(struct sandbox_options *options)
{
	struct sandbox *other;

	options->arguments = NULL;
	options->on_ready = on_late;
	options->start_timeout_ms = 300;
	expect(sandbox_create(loop, options, &other) == 0, "create");
	(void)loop_run(loop);
	sandbox_free(other);
	(void)loop_add_timer(loop, 100, stop, NULL); /* until it is reaped */
	(void)loop_run(loop);
}

int main(int argc, char **argv)
{
	struct sandbox_options options = {.on_ready = on_ready, .on_end = on_sandbox_end};

	if (argc < 3 || loop_create(&loop) < 0)
		return 2;
	options.callgate_path = argv[2];
	options.arguments = (const char *const *)(uintptr_t)(argv + 3);
	if (strcmp(argv[1], "ends") == 0 || strcmp(argv[1], "late") == 0) {
		if (argv[1][0] == 'e')
			run_ends(&options);
		else
			run_late(&options);
		loop_free(loop);
		return failures > 0;
	}
	if (sandbox_create(loop, &options, &sandbox) < 0)
		return 2;
	(void)loop_run(loop);
	if (failures == 0 && strcmp(argv[1], "hold") == 0) {
		(void)start_shell("while :; do echo beat >>beats; sleep 0.02; done");
		(void)printf("%s\n", sandbox_get_id(sandbox));
		(void)fflush(stdout);
		(void)loop_run(loop);
		return has_ended ? 3 : 4;
	}
	for (size_t i = 0; failures == 0 && i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		scenario = &scenarios[i];
		if (strcmp(argv[1], "all") == 0 || strcmp(argv[1], scenario->name) == 0)
			run_scenario();
	}
	sandbox_free(sandbox);
	loop_free(loop);
	return failures > 0;
}
