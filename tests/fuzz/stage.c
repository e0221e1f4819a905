#include "tests/fuzz/stage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agents/sandbox/look.h"
#include "agents/sandbox/sandbox.h"

#define TURNS 6 /* libmicrohttpd accepts, reads, serves, writes */
#define NONCE_BYTES 32
#define FLOOD_BYTES 65536
#define FLOODS_MAX 32

struct sandbox {
	struct sandbox_options options;
	unsigned number;
	int approver_fd; /* -1: none */
	bool is_ready, is_paused, awaits_pause_answer;
	uint64_t paused_since_ms, ended_pauses_ms;
};

struct sandbox_program {
	struct sandbox_program_options options;
	const struct sandbox *sandbox;
	unsigned number;
	bool has_started, has_ended, is_paused, is_asked;
	char input; /* '0', '1', 'e' */
	int last_signal;
};

static struct {
	struct loop *loop;
	struct sandbox *sandbox[STAGE_SANDBOXES_MAX];
	struct sandbox_program *program[STAGE_PROGRAMS_MAX];
	unsigned sandbox_count, program_count;
	bool sandboxes_fail, programs_fail;
	char nonce[NONCE_BYTES + 1];
	long passed_ms;
} stage;

/* ---- time, which scripts let pass, and ids, which are the same in each run ---- */

/* Each look at the clock takes a millisecond: what is to be done at once is done in the loop's next turn. */
int clock_gettime(clockid_t clock, struct timespec *time)
{
	int r = (int)syscall(SYS_clock_gettime, clock, time);

	stage.passed_ms += stage.loop != NULL;
	time->tv_sec += stage.passed_ms / 1000;
	time->tv_nsec += stage.passed_ms % 1000 * 1000000;
	if (time->tv_nsec >= 1000000000) {
		time->tv_nsec -= 1000000000;
		time->tv_sec++;
	}
	return r;
}

ssize_t getrandom(void *bytes, size_t len, unsigned flags)
{
	static unsigned char next;

	(void)flags;
	memset(bytes, ++next, len);
	return (ssize_t)len;
}

/* ---- what agents/sandbox/ has ---- */

int sandbox_create(struct loop *loop, const struct sandbox_options *options, struct sandbox **ret_sandbox)
{
	struct sandbox *sandbox;

	promise(loop == stage.loop);
	if (stage.sandboxes_fail || stage.sandbox_count == STAGE_SANDBOXES_MAX)
		return -EMFILE;
	sandbox = calloc(1, sizeof(*sandbox));
	promise(sandbox != NULL);
	*sandbox = (struct sandbox){.options = *options, .number = stage.sandbox_count, .approver_fd = -1};
	if (options->approver_fd > 0)
		sandbox->approver_fd = dup(options->approver_fd);
	stage.sandbox[stage.sandbox_count++] = sandbox;
	*ret_sandbox = sandbox;
	return 0;
}

void sandbox_free(struct sandbox *sandbox)
{
	if (!sandbox)
		return;
	for (unsigned i = 0; i < stage.program_count; i++)
		if (stage.program[i] && stage.program[i]->sandbox == sandbox)
			sandbox_program_free(stage.program[i]);
	stage.sandbox[sandbox->number] = NULL;
	if (sandbox->approver_fd >= 0)
		(void)close(sandbox->approver_fd);
	free(sandbox);
}

const char *sandbox_get_id(const struct sandbox *sandbox)
{
	return sandbox->is_ready ? "played" : NULL;
}

const char *sandbox_get_workdir(const struct sandbox *sandbox)
{
	return sandbox->is_ready ? "/home/user" : NULL;
}

void sandbox_request_usage(struct sandbox *sandbox)
{
	(void)sandbox; /* never answered */
}

/* Policies on the stage have no "inspect". */
bool sandbox_wants_looks(const struct sandbox *sandbox)
{
	(void)sandbox;
	return false;
}

int sandbox_look_start(const struct sandbox *sandbox, const struct sandbox_look_options *options,
		       struct sandbox_look **ret_look)
{
	(void)sandbox;
	(void)options;
	(void)ret_look;
	abort();
}

int sandbox_look_for_changes(const struct sandbox *sandbox, const struct sandbox_look_options *options,
			     const json_t *answer, struct sandbox_look **ret_look)
{
	(void)answer;
	return sandbox_look_start(sandbox, options, ret_look);
}

void sandbox_look_free(struct sandbox_look *look)
{
	if (look)
		abort();
}

int sandbox_record_refusal(const struct sandbox *sandbox, const char *program, const char *why)
{
	(void)sandbox;
	(void)program;
	(void)why;
	abort();
}

int sandbox_record_changes(const struct sandbox *sandbox, const char *program, const json_t *answer, const char *why)
{
	(void)answer;
	return sandbox_record_refusal(sandbox, program, why);
}

static void sandbox_set_paused(struct sandbox *sandbox, bool paused)
{
	const uint64_t now_ms = loop_get_now_ms(stage.loop);

	if (!sandbox->is_paused && paused)
		sandbox->paused_since_ms = now_ms;
	else if (sandbox->is_paused && !paused)
		sandbox->ended_pauses_ms += now_ms - sandbox->paused_since_ms;
	sandbox->is_paused = paused;
}

static int sandbox_send_pause(struct sandbox *sandbox, bool paused)
{
	if (!sandbox->is_ready || stage.programs_fail)
		return -ENOTCONN;
	sandbox_set_paused(sandbox, sandbox->is_paused || paused);
	sandbox->awaits_pause_answer = true;
	return 0;
}

int sandbox_pause(struct sandbox *sandbox)
{
	return sandbox_send_pause(sandbox, true);
}

int sandbox_resume(struct sandbox *sandbox)
{
	return sandbox_send_pause(sandbox, false);
}

bool sandbox_is_paused(const struct sandbox *sandbox)
{
	return sandbox->is_paused;
}

uint64_t sandbox_get_running_ms(const struct sandbox *sandbox)
{
	return (sandbox->is_paused ? sandbox->paused_since_ms : loop_get_now_ms(stage.loop)) - sandbox->ended_pauses_ms;
}

int sandbox_start_program(struct sandbox *sandbox, const struct sandbox_program_options *options,
			  struct sandbox_program **ret_program)
{
	struct sandbox_program *program;

	promise(options->argv && options->argv[0]);
	if (!sandbox->is_ready)
		return -ENOTCONN;
	if (stage.programs_fail || stage.program_count == STAGE_PROGRAMS_MAX)
		return -EMSGSIZE;
	program = calloc(1, sizeof(*program));
	promise(program != NULL);
	*program = (struct sandbox_program){
		.options = *options, .sandbox = sandbox, .number = stage.program_count, .input = '1'};
	stage.program[stage.program_count++] = program;
	*ret_program = program;
	return 0;
}

void sandbox_program_free(struct sandbox_program *program)
{
	if (!program)
		return;
	stage.program[program->number] = NULL;
	free(program);
}

ssize_t sandbox_program_write(struct sandbox_program *program, const char *bytes, size_t len)
{
	const char *nonce = memmem(bytes, len, "nonce", sizeof("nonce"));

	if (program->has_ended || program->input == 'e')
		return -EPIPE;
	if (program->input == '0')
		return 0;
	if (nonce && bytes + len - nonce > (ptrdiff_t)sizeof("nonce") + NONCE_BYTES)
		memcpy(stage.nonce, nonce + sizeof("nonce"), NONCE_BYTES);
	return len > SANDBOX_STDIN_QUEUE_BYTES_MAX ? (ssize_t)SANDBOX_STDIN_QUEUE_BYTES_MAX : (ssize_t)len;
}

void sandbox_program_close_stdin(struct sandbox_program *program)
{
	program->input = 'e';
}

int sandbox_program_signal(struct sandbox_program *program, int number)
{
	program->last_signal = number;
	return program->has_ended ? -ESRCH : 0;
}

int sandbox_program_request_denials(struct sandbox_program *program)
{
	program->is_asked = !program->has_ended;
	return program->has_ended ? -ESRCH : 0;
}

int sandbox_program_resize(struct sandbox_program *program, unsigned columns, unsigned rows)
{
	program->options.columns = columns;
	program->options.rows = rows;
	return program->has_ended ? -ESRCH : 0;
}

void sandbox_program_pause_output(struct sandbox_program *program, bool paused)
{
	program->is_paused = paused;
}

/* ---- the script ---- */

static void play_sandbox(const struct script_segment *segment)
{
	struct sandbox *sandbox = stage.sandbox_count > 0 ? stage.sandbox[segment->which % stage.sandbox_count] : NULL;
	char *error = NULL;

	if (!sandbox || (segment->op == 'r') == sandbox->is_ready)
		return;
	if (segment->op == 'p') {
		if (sandbox->awaits_pause_answer) {
			sandbox->awaits_pause_answer = false;
			sandbox_set_paused(sandbox, segment->len == 0);
			sandbox->options.on_pause(sandbox->options.data, sandbox->is_paused,
						  sandbox->is_paused ? NULL : "it is played");
		}
		return;
	}
	if (segment->op == 'z') {
		sandbox->options.on_end(sandbox->options.data);
		return;
	}
	error = segment->len > 0 ? strndup(segment->data, segment->len) : NULL;
	sandbox->is_ready = !error;
	sandbox->options.on_ready(sandbox->options.data, error);
	free(error);
}

static void program_say_start(struct sandbox_program *program)
{
	if (program->has_started)
		return;
	program->has_started = true;
	if (program->options.on_start)
		program->options.on_start(program->options.data, (pid_t)(100 + program->number), program->number + 1);
}

/* A program may be freed in each of its callbacks. */
static struct sandbox_program *program_write_again(unsigned number, enum sandbox_stream stream, const char *bytes,
						   size_t len)
{
	struct sandbox_program *program = stage.program[number];

	if (program && !program->is_paused && len > 0)
		program->options.on_output(program->options.data, stream, bytes, len);
	return stage.program[number];
}

static void program_say(struct sandbox_program *program, const struct script_segment *segment)
{
	struct buf text = {0};

	for (size_t i = 0; i < segment->len; i++)
		if (segment->data[i] == 1)
			buf_printf(&text, "\x1e%s", stage.nonce);
		else if (segment->data[i] == 2)
			buf_printf(&text, "\x1e%s%zu:", stage.nonce, segment->len - i - 1);
		else
			buf_add(&text, &segment->data[i], 1);
	(void)program_write_again(program->number, segment->op == 'o' ? SANDBOX_STDOUT : SANDBOX_STDERR,
				  text.data ? text.data : "", text.len);
	buf_release(&text);
}

static void program_flood(const struct sandbox_program *program)
{
	static char bytes[FLOOD_BYTES];
	const unsigned number = program->number;

	memset(bytes, 'x', sizeof(bytes));
	for (int i = 0; i < FLOODS_MAX && program && !program->is_paused; i++)
		program = program_write_again(number, SANDBOX_STDOUT, bytes, sizeof(bytes));
}

/* What the session says at the end, which is not hostile. */
static json_t *program_make_result(const struct sandbox_program *program, char kind)
{
	static const char *const errors[] = {"session_ended", "not_found", "refused"};
	json_t *result;

	if (kind >= '4' && kind <= '6')
		return json_pack("{s:{s:s, s:s}}", "error", "code", errors[kind - '4'], "message", "it is played");
	if (!program->has_started)
		return json_pack("{s:{s:s, s:s}}", "error", "code", "cwd_failed", "message", "it is played");
	result = json_pack("{s:s, s:i, s:i, s:i, s:[]}", "status", kind == '3' ? "timeout" : "ok", "exit_code",
			   kind == '1' ? 3 : 0, "duration_ms", 1, "cpu_ms", 1, "denials");
	if (kind == '2')
		(void)json_object_set_new(result, "signal", json_integer(9));
	return result;
}

static void program_end(struct sandbox_program *program, const struct script_segment *segment)
{
	json_t *result = program_make_result(program, segment->len > 0 ? segment->data[0] : '0');

	program->has_ended = true;
	program->options.on_end(program->options.data, result);
	json_decref(result);
}

/* Data is the name of a file that was denied. */
static void program_say_denials(struct sandbox_program *program, const struct script_segment *segment)
{
	json_t *denials = json_array(), *target = json_stringn(segment->data, segment->len);

	if (target && segment->len > 0)
		(void)json_array_append_new(denials, json_pack("{s:s, s:O, s:i, s:s}", "action", "write", "target",
							       target, "count", 1, "reason", "no rule allows it"));
	if (program->is_asked && program->options.on_denials) {
		program->is_asked = false;
		program->options.on_denials(program->options.data, denials);
	}
	json_decref(target);
	json_decref(denials);
}

static void play_program(const struct script_segment *segment)
{
	const unsigned which = stage.program_count > 0 ? segment->which % stage.program_count : 0;
	struct sandbox_program *program = stage.program[which];

	if (!program || program->has_ended)
		return;
	if (segment->op != 'i' && segment->op != 'x')
		program_say_start(program);
	program = stage.program[which];
	if (!program)
		return;
	if (segment->op == 'o' || segment->op == 'e')
		program_say(program, segment);
	else if (segment->op == 'O')
		program_flood(program);
	else if (segment->op == 'i')
		program->input = segment->len > 0 && strchr("01e", segment->data[0]) ? segment->data[0] : '1';
	else if (segment->op == 'm' && program->options.on_room && program->options.stdin_is_open)
		program->options.on_room(program->options.data);
	else if (segment->op == 'd')
		program_say_denials(program, segment);
	else if (segment->op == 'x')
		program_end(program, segment);
}

static void play_approver(const struct script_segment *segment)
{
	const struct sandbox *sandbox = segment->which < STAGE_SANDBOXES_MAX ? stage.sandbox[segment->which] : NULL;
	struct buf line = {0};
	char dropped[256];

	if (!sandbox || sandbox->approver_fd < 0)
		return;
	buf_add(&line, segment->data, segment->len);
	buf_puts(&line, "\n");
	(void)send(sandbox->approver_fd, line.data, line.len, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (recv(sandbox->approver_fd, dropped, sizeof(dropped), MSG_DONTWAIT) > 0)
		; /* what it was answered */
	buf_release(&line);
}

bool stage_play(const struct script_segment *segment)
{
	if (segment->op == 'f')
		stage.sandboxes_fail = segment->which & 1;
	else if (segment->op == 'g')
		stage.programs_fail = segment->which & 1;
	else if (segment->op == 't')
		stage.passed_ms += (long)(segment->which % 100) * 1000;
	else if (segment->op == 'r' || segment->op == 'z' || segment->op == 'p')
		play_sandbox(segment);
	else if (segment->op == 'q')
		play_approver(segment);
	else if (strchr("soeOimdx", segment->op))
		play_program(segment);
	else
		return false;
	return true;
}

/* ---- */

static void stage_stop(void *data)
{
	loop_stop(data);
}

void stage_turn(void)
{
	for (int i = 0; i < TURNS; i++) {
		promise(loop_add_timer(stage.loop, 0, stage_stop, stage.loop) != NULL);
		promise(loop_run(stage.loop) == 0);
	}
}

void *stage_get_sandbox_data(unsigned which)
{
	return which < stage.sandbox_count && stage.sandbox[which] ? stage.sandbox[which]->options.data : NULL;
}

int stage_get_last_signal(unsigned which)
{
	return which < stage.program_count && stage.program[which] ? stage.program[which]->last_signal : 0;
}

void stage_begin(struct loop *loop)
{
	memset(&stage, 0, sizeof(stage));
	stage.loop = loop;
}

void stage_end(void)
{
	for (unsigned i = 0; i < stage.sandbox_count; i++)
		promise(!stage.sandbox[i]);
	for (unsigned i = 0; i < stage.program_count; i++)
		promise(!stage.program[i]);
	stage.loop = NULL;
	stage.passed_ms = 0;
}
