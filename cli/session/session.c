/* callgate session: runs several programs, one after the other or at once, in one sandbox. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/session/session.h"
#include "cli/verbs.h"
#include "keeper/session-client.h"

/* ---- list ---- */

/* Prints one line about a session: its id, the number of programs started, and the running programs. */
static void session_print_line(const char *id, const json_t *answer, bool json)
{
	const long long unlisted = json_integer_value(json_object_get(answer, "unlisted"));
	const json_t *program;
	size_t i;

	if (json) {
		(void)cli_print_json("session", json_incref((json_t *)(uintptr_t)answer));
		return;
	}
	(void)text_printf(stdout, "%s  %lld started", id,
			  (long long)json_integer_value(json_object_get(answer, "started")));
	json_array_foreach(json_object_get(answer, "programs"), i, program)
		(void)text_printf(stdout, "%s %s (%lld)", i == 0 ? ", running:" : ",",
			    json_string_value(json_object_get(program, "path")),
			    (long long)json_integer_value(json_object_get(program, "program")));
	if (unlisted > 0)
		(void)text_printf(stdout, " and %lld more", unlisted);
	(void)text_printf(stdout, "\n");
}

/* Prints a line about a session, or removes the socket of one that was killed. */
static void session_print_one(int dir_fd, const char *name, bool json)
{
	_cleanup_close_ int fd = session_client_connect(dir_fd, name, 0);
	_cleanup_json_ json_t *answer = NULL;

	if (fd == -ECONNREFUSED)
		(void)unlinkat(dir_fd, name, 0); /* no process listens at the socket: its session was killed */
	if (fd < 0 || session_client_send(fd, json_pack("{s:s}", "op", "list"), NULL, 0) < 0)
		return;
	if (session_client_receive(fd, &answer, NULL) == 0)
		session_print_line(name + strlen(SESSION_SOCKET_PREFIX), answer, json);
}

int session_main_list(int argc, char **argv)
{
	struct {
		bool json;
	} options = {false};
	static const struct cli_option table[] = {
		CLI_FLAG("json", 0, "print one JSON object a session", 0),
		{0},
	};
	const struct cli_syntax syntax = {
		.verb = "session list",
		.usage = "Usage: callgate session list [OPTION]\n\n"
			 "Prints this user's sessions: id, how many programs were started, and those that run.\n\n",
		.table = {{NULL, table, &options}},
	};
	int status = cli_parse_options(argc, argv, &syntax);
	_cleanup_closedir_ DIR *dir = NULL;
	const struct dirent *entry;
	int dir_fd, error = 0;

	if (status != CLI_OPTIONS_PARSED)
		return status;
	if (optind < argc) {
		cli_print_error("session list", "%s: no argument is taken", argv[optind]);
		return cli_fail_usage("session list");
	}
	dir_fd = session_open_directory();
	dir = io_take_dir_stream(dir_fd);
	while (dir && (entry = io_read_entry(dir, &error)))
		if (strncmp(entry->d_name, SESSION_SOCKET_PREFIX, strlen(SESSION_SOCKET_PREFIX)) == 0)
			session_print_one(dir_fd, entry->d_name, options.json);
	if (error < 0)
		cli_print_error("session", "the directory of sessions: %s", strerror(-error));
	return dir && error == 0 ? CLI_EXIT_OK : CLI_EXIT_ERROR;
}

/* ---- stop ---- */

#define STOP_CHECK_INTERVAL_MS 1000 /* pause between checks for a killed keeper, which leaves its socket behind */

/* Waits until the keeper has removed the session's socket, which the keeper removes last. */
static int session_await_removal(int dir_fd, const char *name)
{
	_cleanup_close_ int watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	char events[4096];
	struct pollfd wait = {.fd = watch_fd, .events = POLLIN};

	if (watch_fd < 0 || inotify_add_watch(watch_fd, io_proc_fd_path(dir_fd).path, IN_DELETE) < 0)
		return -errno;
	while (faccessat(dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		if (poll(&wait, 1, STOP_CHECK_INTERVAL_MS) > 0) {
			(void)!read(watch_fd, events, sizeof(events)); /* the kind of event does not matter */
		} else {
			_cleanup_close_ int fd = session_client_connect(dir_fd, name, 0);

			if (fd == -ECONNREFUSED)
				return 0;
		}
	}
	return 0;
}

/* Ends one session, and waits until it has ended. */
static int session_stop(const char *id)
{
	_cleanup_close_ int dir_fd = session_open_directory(), fd = -1;
	_cleanup_free_ char *name = NULL;
	_cleanup_json_ json_t *answer = NULL;
	int r;

	fd = dir_fd < 0 ? -1 : session_connect(dir_fd, id, &name);
	if (fd < 0)
		return CLI_EXIT_ERROR;
	r = session_client_send(fd, json_pack("{s:s}", "op", "stop"), NULL, 0);
	if (r == 0) {
		(void)session_client_receive(fd, &answer, NULL); /* waits, and fails when the session has ended */
		r = session_await_removal(dir_fd, name);
	}
	if (r < 0)
		cli_print_error("session stop", "%s: cannot wait for its end: %s", id, strerror(-r));
	return r < 0 ? CLI_EXIT_ERROR : CLI_EXIT_OK;
}

int session_main_stop(int argc, char **argv)
{
	static const struct cli_option table[] = {{0}};
	const struct cli_syntax syntax = {
		.verb = "session stop",
		.usage = "Usage: callgate session stop ID...\n\n"
			 "Ends sessions and the programs in them, and waits until nothing of them is left.\n\n",
		.table = {{NULL, table, NULL}},
	};
	int status = cli_parse_options(argc, argv, &syntax);

	if (status != CLI_OPTIONS_PARSED)
		return status;
	if (optind == argc) {
		cli_print_error("session stop", "name a session: callgate session stop ID");
		return cli_fail_usage("session stop");
	}
	cli_ignore_broken_pipes();
	status = CLI_EXIT_OK;
	for (; optind < argc; optind++)
		if (session_stop(argv[optind]) != CLI_EXIT_OK)
			status = CLI_EXIT_ERROR;
	return status;
}

/* ---- the main function of callgate session ---- */

int cli_main_session(int argc, char **argv)
{
	static const struct cli_verb verbs[] = {
		{"create", session_main_create, "make a session and print its id"},
		{"exec", session_main_exec, "run a program in it"},
		{"inspect", session_main_inspect, "look at what a program of it would run"},
		{"checkpoint", session_main_checkpoint, "keep what its workspace is"},
		{"restore", session_main_restore, "make its workspace what it was at a checkpoint"},
		{"list", session_main_list, "list this user's sessions and what runs in them"},
		{"stop", session_main_stop, "end sessions"},
	};
	static const struct cli_verbs all = {
		.parent = "session",
		.usage = "Usage: callgate session VERB [OPTION...] [ARGUMENT...]\n\n"
			 "A session is one sandbox in which programs run one after the other, or at once: one view,\n"
			 "workdir, network, budget and log.\n\n",
		.epilogue = "\nEach verb has --help. See callgate(1).\n",
		.verbs = verbs,
		.verb_count = CLI_VERB_COUNT(verbs)};

	return cli_run_verb(&all, argc, argv);
}
