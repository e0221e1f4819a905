/*
 * --ask DIR: prepares the directory for questions about denied calls, and the policy under which calls are performed
 * that an answer approves.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "cli/load.h"
#include "cli/run/private.h"
#include "supervisor/ask/directory.h"

/* Reports that the run is refused because of the directory of --ask. Returns the exit status. */
static int ask_refuse(struct run *run, const char *why)
{
	return run_report_refusal(run, "ask_failed", "--ask %s: %s", run->options.ask_dir, why);
}

/* The rule or path of a grant by which the program reaches the path. NULL: there is none. */
static const char *ask_find_grant_of_path(const struct policy *policy, const char *real)
{
	size_t count;
	const struct policy_mount *mount = policy ? policy_get_mounts(policy, &count) : NULL;

	for (size_t i = 0; mount && i < count; i++) {
		const char *host = mount[i].host_path;

		if (mount[i].kind != POLICY_MOUNT_TREE || !host)
			continue;
		if (path_is_below(host, real) || (!mount[i].is_granted_by_globs_only && path_is_below(real, host)))
			return mount[i].rule ? mount[i].rule : mount[i].virt;
		if (mount[i].is_granted_by_globs_only && path_is_below(real, host) &&
		    policy_get_rights(policy, real, strlen(real)))
			return mount[i].rule;
	}
	return NULL;
}

char *run_find_unreachable_path(struct run *run, const char *option, const char *named, const char *kind)
{
	const struct writable_places places = run_collect_writable_places(run);
	struct places_refusal why = {""};
	_cleanup_free_ char *real = NULL;
	const char *grant;

	if (places_judge_path(&places, PLACES_PATH_MUST_BE_TRUSTED, named, &real, &why) < 0)
		return (void)run_report_refusal(run, "ask_failed", "%s %s: %s", option, named, why.text), NULL;
	if (!real)
		return (void)run_report_refusal(run, "ask_failed", "%s %s: %s", option, named, strerror(ENOENT)), NULL;
	grant = ask_find_grant_of_path(run->program_phase.policy, real);
	if (!grant)
		return steal_pointer(&real);
	(void)run_report_refusal(run, "ask_failed", "%s %s: %s lets the program reach it; name a %s that it cannot see",
				 option, named, grant, kind);
	return NULL;
}

/* Makes the directory if it is missing, and resolves it. Owned by the caller; NULL: a refusal was reported. */
static char *ask_find_directory(struct run *run)
{
	if (mkdir(run->options.ask_dir, 0700) < 0 && errno != EEXIST)
		return (void)ask_refuse(run, strerror(errno)), NULL;
	return run_find_unreachable_path(run, "--ask", run->options.ask_dir, "directory");
}

/* Refuses the directory of --ask if another user could write answers there. 0, or the exit status. */
static int ask_check_owner(struct run *run, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return ask_refuse(run, strerror(errno));
	if (st.st_uid != geteuid())
		return ask_refuse(run, "another user owns it, and could answer; name a directory of the run's user");
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return ask_refuse(run, "other users can write there, and could answer; chmod 700, or name another one");
	return 0;
}

/*
 * Locks the directory of --ask against other runs, and refuses it if it has files of another run. 0, or the exit
 * status.
 */
static int ask_lock_directory(struct run *run, int fd)
{
	int r;

	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return ask_refuse(run, errno == EWOULDBLOCK ? "another run asks there; name another directory"
							    : strerror(errno));
	r = ask_directory_find_files(fd);
	if (r < 0)
		return ask_refuse(run, strerror(-r));
	if (r > 0)
		return ask_refuse(run, "it has questions or answers of another run; remove them, or name another one");
	return 0;
}

int run_open_ask_directory(struct run *run)
{
	_cleanup_free_ char *real = ask_find_directory(run);
	_cleanup_close_ int fd = -1;
	const char *grant;

	if (!real)
		return CLI_EXIT_ERROR;
	grant = ask_find_grant_of_path(run->program_phase.policy, real);
	if (grant)
		return run_report_refusal(run, "ask_failed",
					  "--ask %s: %s lets the program reach it; name a directory that it cannot see",
					  run->options.ask_dir, grant);
	fd = io_open_without_links(real, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return ask_refuse(run, strerror(-fd));
	if (ask_check_owner(run, fd) != 0 || ask_lock_directory(run, fd) != 0)
		return CLI_EXIT_ERROR;
	run->ask.dir = steal_pointer(&real);
	run->ask.dir_fd = steal_fd(&fd);
	return 0;
}

/* Says which denials would be questions and are none, and which option has no effect. */
static void ask_note_what_is_not_asked(const struct run *run)
{
	const struct run_options *options = &run->options;
	const struct policy *policy = run->program_phase.policy;
	const bool asks_files = policy_asks_in_mode(policy, ON_DENY_ASK_FILE);
	const bool asks = policy_asks_in_mode(policy, ON_DENY_ASK);

	if (asks_files && !options->ask_dir)
		cli_note("callgate: the policy would ask about denied calls (\"on_deny\": \"ask-file\"), "
			 "and no directory for questions is named: they are denied; add --ask DIR");
	if (asks && !options->approve)
		cli_note("callgate: the policy would ask about denied calls (\"on_deny\": \"ask\"), and no approver "
			 "is named: they are denied; add --approve");
	if (options->ask_dir && !asks_files)
		cli_note("callgate: --ask %s: no rule of the policy has \"on_deny\": \"ask-file\", so nothing is "
			 "asked",
			 options->ask_dir);
	if (options->approve && !asks)
		cli_note("callgate: --approve %s: no rule of the policy has \"on_deny\": \"ask\", so nothing is asked",
			 options->approve);
}

int run_load_ask_policy(struct run *run)
{
	const char *hidden[5] = {NULL};
	const char *const own[] = {run->ask.dir, run->ask.approvals_path, run->ask.socket_path,
				   run->program_phase.log_path};
	const struct policy_observe observe = {.judged_policy = run->program_phase.policy, .hidden_paths = hidden};

	if (!run->options.is_quiet && !run->options.observes)
		ask_note_what_is_not_asked(run);
	if (!run->options.ask_dir && !run->options.approve)
		return 0;
	for (size_t i = 0, count = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (own[i])
			hidden[count++] = own[i];
	if (cli_load_observing_policy(&run->options.policy, "run", &run->host, &observe, &run->ask.policy) < 0)
		return run_report_refusal(run, "ask_failed",
					  "%s: the policy of approved calls cannot be made: nothing was run",
					  run->options.ask_dir ? "--ask" : "--approve");
	return 0;
}

void run_release_ask(struct run *run)
{
	cleanup_close(&run->ask.dir_fd);
	cleanup_close(&run->ask.approver_fd);
	free(run->ask.dir);
	free(run->ask.approvals_path);
	free(run->ask.socket_path);
	if (!run->ask.policy)
		return;
	policy_free(run->ask.policy);
	run->program_phase.policy = NULL; /* the observing policy owned the program's policy, and has freed it */
}
