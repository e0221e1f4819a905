#include "supervisor/process-private.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/ending.h"
#include "base/io.h"
#include "confine/descriptors.h"
#include "confine/filter.h"
#include "confine/privs.h"
#include "supervisor/environment.h"
#include "supervisor/report.h"
#include "supervisor/status.h"
#include "supervisor/supervise.h"

#include "base/banned.h"

static void process_done(struct process *process)
{
	supervise_report_done(&process->report);
	cleanup_close(&process->landlock_fd);
	cleanup_close(&process->audit_dirfd);
	free(process->audit_name);
	namespaces_done(process->options->namespaces);
	view_free(process->view);
	egress_guest_done(&process->guest);
	egress_side_done(process->options->egress);
	free(process->filter.filter);
	environment_free(process->envp);
	free(process->argv);
	json_decref(process->result);
}

void process_set_error(struct process *process, int exit_code, const char *code, const char *message)
{
	if (!process->result)
		process->result = json_object();
	(void)json_object_set_new(process->result, "exit_code", json_integer(exit_code));
	(void)json_object_set_new(process->result, "error",
				  json_pack("{s:s, s:o}", "code", code, "message", report_text(message)));
}

int process_fail(struct process *process, int exit_code, const char *code, const char *format, ...)
{
	char message[1200];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(message, sizeof(message), format, arguments); /* a longer one is cut */
	va_end(arguments);
	process_set_error(process, exit_code, code, message);
	return -1;
}

/* Terminal signals reach the whole foreground process group: they are the keeper's to act on. */
static void leave_terminal(void)
{
	static const int ignored[] = {SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGTTOU, SIGPIPE, SIGIO, SIGXFSZ};
	sigset_t none;

	/*
	 * A session of its own, so that a tty device it opens for the program is not the terminal callgate was started
	 * on.
	 */
	(void)setsid(); /* fails for a group leader only, which a forked child is not */
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		(void)signal(ignored[i], SIG_IGN);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static size_t caps_needed(const struct process_options *options)
{
	if (options->namespaces->net_later)
		return NAMESPACES_LOOPBACK_CAPS;
	return options->egress->active && options->namespaces->made & LAYER_BIT(LAYER_NETNS) ? NAMESPACES_NETWORK_CAPS
											   : NAMESPACES_SUPERVISOR_CAPS;
}

static int give_up(struct process *process)
{
	struct rlimit limit;
	int error;

	leave_terminal();
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return process_fail(process, RUN_EXIT_ERROR, "setup_failed", "cannot read the open files limit: %s",
				    strerror(errno));
	process->open_files = limit;
	limit.rlim_cur = limit.rlim_max; /* a thousand blocked opens are a thousand descriptors of ours */
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	descriptors_make_room();
	error = prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 ? -errno : 0;
	if (error == 0)
		error = privs_keep(&process->options->user, namespaces_caps, caps_needed(process->options), true);
	if (error == 0 && !process->options->namespaces->made)
		error = privs_drop();
	if (error == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		error = -errno;
	if (error < 0)
		return process_fail(process, RUN_EXIT_ERROR, "setup_failed",
				    "the supervisor cannot give up its privileges: %s", strerror(-error));
	layers_set(process->options->layers, LAYER_NO_NEW_PRIVS, true,
		   "set-user-ID and file capabilities have no effect");
	layers_set(process->options->layers, LAYER_CAPABILITIES, true, "none is held, by root neither");
	layers_set(process->options->layers, LAYER_SECCOMP, !filter_is_open(), "%s",
		   filter_is_open() ? "THE FIRST LOCK IS OFF in this build (--enable-open-filter): nothing is judged"
				    : "calls that name paths, processes or sockets are performed by the supervisor");
	process->envp = environment_build(process->options->policy, process->options->egress);
	if (!process->envp)
		return process_fail(process, RUN_EXIT_ERROR, "out_of_memory", "no memory for the environment");
	environment_scrub();
	return 0;
}

/* Nothing of the host has a name here afterwards. Not a matter of the result when it fails: the keeper starts anew. */
static int enter(struct process *process)
{
	return namespaces_enter(process->options->namespaces, process->view);
}

/* What the user insists on must hold before the program runs. */
static int check_layers(struct process *process)
{
	const struct layers *layers = process->options->layers;
	enum layer missing = layers_missing(layers);

	if (missing == LAYER_MAX)
		return 0;
	return process_fail(process, RUN_EXIT_ERROR, "layer_missing",
			    "the layer %s is required and not active: %s; callgate doctor tells how to get it",
			    layer_name(missing), layers->layer[missing].why);
}

static int send_report(const struct process *process)
{
	_cleanup_free_ char *text = process->result ? json_dumps(process->result, JSON_COMPACT) : NULL;

	if (!text || io_write_full(process->options->report_fd, text, strlen(text)) < 0)
		return 1;
	(void)!write(process->options->control_fd, "", 1); /* EPIPE: the keeper is dead */
	return 0;
}

int process_main(const struct process_options *options)
{
	struct process process = {
		.options = options, .landlock_fd = -1, .audit_dirfd = -1, .guest = EGRESS_GUEST_NONE};
	int status = 1;
	bool apart = false; /* in the keeper's hands: it forks another one in our place */

	options->namespaces->narrow_proc = process_may_leave_fstat(options);
	if (give_up(&process) == 0 && !(apart = namespaces_prepare(options->namespaces) < 0) &&
	    process_build_guest(&process) == 0 && process_await_scratch(&process) == 0 &&
	    process_build_view(&process) == 0 && process_find_audit(&process) == 0 && !(apart = enter(&process) < 0) &&
	    process_build_landlock(&process) == 0 && process_hand_guest(&process) == 0 && check_layers(&process) == 0 &&
	    process_find_program(&process) == 0 && process_await_digest(&process) == 0 &&
	    process_open_audit(&process) == 0)
		(void)process_watch(&process); /* the error is in the result */
	if (process.audit)
		process_close_audit(&process);
	if (!apart)
		status = send_report(&process);
	if (apart || ending_is_tidy) /* else it ends at once, and somebody waits for that */
		process_done(&process);
	return status;
}
