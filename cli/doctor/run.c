/* One real run of callgate, which checks the results of doctor's trials. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "cli/doctor/doctor.h"
#include "doctor/probe.h"
#include "supervisor/limits/killtree.h"

/* A run takes a hundredth of it, but more than five seconds where processors are emulated and busy. */
#define DOCTOR_RUN_TIMEOUT_MS 15000
#define DOCTOR_KILL_TIMEOUT_MS 1000
#define DOCTOR_OUTPUT_BYTES_MAX (1u << 20)

/* Finds true(1), which `callgate doctor` runs to see whether a run works. NULL: it is nowhere. */
static const char *doctor_find_true_program(void)
{
	static const char *const names[] = {"/bin/true", "/usr/bin/true", "/run/current-system/sw/bin/true"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (access(names[i], X_OK) == 0)
			return names[i];
	return NULL;
}

/* Executes `callgate run` with limits, because a run creates control groups only for limits. */
static _Noreturn void doctor_exec_run(const char *program, int out_fd)
{
	const char *const argv[] = {"callgate", "run",      "--json", "--profile", "minimal", "-x", program, "-t",
				    "12s",      "--memory", "512M",   "--pids",    "200",     "--", program, NULL};
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null_fd >= 0) {
		(void)dup2(null_fd, 0);
		(void)dup2(null_fd, 2); /* discards the run's messages, which its result has as well */
	}
	(void)dup2(out_fd, 1);
	(void)execv("/proc/self/exe", (char *const *)(uintptr_t)argv);
	_exit(127);
}

/* Reads until end of file or the deadline. */
static void doctor_read_output(int fd, struct buf *output)
{
	uint64_t end = io_read_clock_ns() + UINT64_C(1000000) * DOCTOR_RUN_TIMEOUT_MS, now;
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	char bytes[4096];
	ssize_t len = 1;

	while (len > 0 && output->len < DOCTOR_OUTPUT_BYTES_MAX && (now = io_read_clock_ns()) < end) {
		if (poll(&ready, 1, (int)((end - now) / 1000000) + 1) <= 0)
			continue;
		len = read(fd, bytes, sizeof(bytes));
		if (len > 0)
			buf_add(output, bytes, (size_t)len);
	}
}

/*
 * Sets run->message to callgate's own error or, if there is none, to the program's exit status and the first line of
 * its stderr.
 */
static void doctor_explain_failure(struct doctor_run *run, const char *status)
{
	const char *message = json_string_value(json_object_get(json_object_get(run->result, "error"), "message"));
	const char *text = json_string_value(json_object_get(run->result, "stderr"));

	if (message)
		(void)snprintf(run->message, sizeof(run->message), "%s: %s", status, message);
	else
		(void)snprintf(run->message, sizeof(run->message), "%s: true ended with %d: %.*s", status,
			       (int)json_integer_value(json_object_get(run->result, "exit_code")),
			       text ? (int)strcspn(text, "\n") : 0, text ? text : "");
}

/* Tells how a run without a result ended. ended, status: of probe_wait_for_child(). */
static void doctor_explain_missing_result(struct doctor_run *run, int ended, int status)
{
	if (ended == -ETIMEDOUT)
		(void)snprintf(run->message, sizeof(run->message), "the run gave no result within %d s",
			       DOCTOR_RUN_TIMEOUT_MS / 1000);
	else if (ended == 0 && WIFSIGNALED(status))
		(void)snprintf(run->message, sizeof(run->message), "the run was killed by SIG%s and gave no result",
			       probe_name_signal(status));
	else
		(void)snprintf(run->message, sizeof(run->message), "the run ended with %d and gave no result",
			       ended == 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

/* Takes from the run's result whether it succeeded, and which layers held it. */
static void doctor_parse_run_result(struct doctor_run *run, const struct buf *output, int ended, int status)
{
	json_t *enforcement;
	const char *run_status;

	run->result = json_loadb(output->data ? output->data : "", output->len, 0, NULL);
	run_status = json_string_value(json_object_get(run->result, "status"));
	if (!run_status) {
		doctor_explain_missing_result(run, ended, status);
		return;
	}
	run->has_succeeded = strcmp(run_status, "ok") == 0;
	if (!run->has_succeeded)
		doctor_explain_failure(run, run_status);
	enforcement = json_object_get(run->result, "enforcement");
	for (enum layer layer = 0; layer < LAYER_OFFERED_BY_MACHINE_MAX; layer++)
		if (json_is_true(json_object_get(json_object_get(enforcement, layer_get_name(layer)), "active")))
			run->active_layers |= LAYER_BIT(layer);
}

void doctor_try_run(struct doctor_run *ret_run)
{
	_cleanup_buf_ struct buf output = {0};
	_cleanup_close_ int read_fd = -1;
	const char *program = doctor_find_true_program();
	int ends[2], ended = -ECHILD, status = 0;
	pid_t pid;

	*ret_run = (struct doctor_run){0};
	if (!program || pipe2(ends, O_CLOEXEC) < 0) {
		(void)snprintf(ret_run->message, sizeof(ret_run->message), "not tried: %s",
			       program ? strerror(errno) : "there is no program named true here");
		return;
	}
	read_fd = ends[0];
	pid = fork();
	if (pid == 0)
		doctor_exec_run(program, ends[1]);
	(void)close(ends[1]);
	ret_run->run_was_tried = pid > 0;
	if (pid > 0) {
		doctor_read_output(read_fd, &output);
		ended = probe_wait_for_child(pid, DOCTOR_KILL_TIMEOUT_MS, &status);
		(void)killtree(DOCTOR_KILL_TIMEOUT_MS, __WALL); /* a killed run's children are now this subreaper's */
	}
	doctor_parse_run_result(ret_run, &output, ended, status);
}

const char *doctor_run_get_layer_reason(const struct doctor_run *run, enum layer layer)
{
	json_t *enforcement = json_object_get(run->result, "enforcement");

	return json_string_value(json_object_get(json_object_get(enforcement, layer_get_name(layer)), "why"));
}
