/* Builds what the program needs before it starts: its view, its sockets to egress, its Landlock domain. */
#include "supervisor/process-private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "confine/filter.h"
#include "confine/landlock.h"
#include "egress/conn/pool.h"
#include "supervisor/environment.h"
#include "supervisor/proc-net.h"
#include "supervisor/report.h"
#include "syscalls/call/descriptor.h"
#include "view/prepare.h"

/* Reads the keeper's next message: 0, or an -errno. An earlier supervisor may have left messages unread. */
static int process_read_keeper_message(const struct process *process)
{
	int error = 0;
	ssize_t got;

	do
		got = read(process->options->keeper_ready_fd, &error, sizeof(error));
	while (got < 0 && errno == EINTR);
	return got == (ssize_t)sizeof(error) ? error : -ECANCELED; /* the keeper is dead */
}

int process_await_scratch_dirs(struct process *process)
{
	int error = process_read_keeper_message(process);

	if (error < 0)
		return process_fail(
			process, "scratch_failed",
			"cannot make a scratch directory in %s: %s; free some room or set TMPDIR to another directory",
			process->options->scratch.base_path, strerror(-error));
	return 0;
}

int process_await_policy_digest(struct process *process)
{
	int error = 0;

	while (error == 0 &&
	       !__atomic_load_n(&process->options->shared_page->keeper_fields_are_written, __ATOMIC_ACQUIRE))
		error = process_read_keeper_message(process);
	(void)close(process->options->keeper_ready_fd);
	if (error < 0)
		return error == -EBADMSG
			       ? process_fail(process, "audit_failed",
					      "the file of --sign-key is no Ed25519 private key; callgate key new "
					      "makes one")
			       : process_fail(process, "out_of_memory",
					      "no memory for the policy's digest or the log's key");
	return 0;
}

/* Whether denied calls may be performed, in a second view, when an answer allows them. */
static bool process_has_second_view(const struct process_options *options)
{
	return options->ask.dir_fd >= 0 || options->ask.approver_fd >= 0;
}

/* Whether the kernel opens no file for the program by itself, which takes mounts that are attached. */
static bool process_gets_all_opens(const struct process_options *options)
{
	return policy_get_judge_mode(options->policy) == POLICY_JUDGE_ALL || options->namespaces->tmpfs_fd < 0;
}

/* The keeper's first order that ends the run, which stays unread; RUN_END_NOT_ORDERED: there is none yet. */
static unsigned process_peek_end_order(const struct process *process)
{
	unsigned char order[256];
	const ssize_t count = recv(process->options->control_fd, order, sizeof(order), MSG_PEEK | MSG_DONTWAIT);

	for (ssize_t i = 0; i < count; i++)
		if (order[i] != SIGTSTP && order[i] != SIGCONT)
			return order[i];
	return count > 0 || (count < 0 && errno == EAGAIN) ? RUN_END_NOT_ORDERED : SIGKILL; /* the keeper is dead */
}

static bool process_may_go_on(void *ctx)
{
	return process_peek_end_order(ctx) == RUN_END_NOT_ORDERED;
}

/* Makes the result of a run that was ended before its program started: as if the program had ended at once. */
static int process_end_before_start(struct process *process)
{
	const unsigned order = process_peek_end_order(process);
	const bool is_asked = order >= RUN_BYTE_ASK_TO_END && order < RUN_END_OUTPUT_LIMIT;
	const unsigned asked = !is_asked                              ? RUN_END_NOT_ORDERED
			       : order == RUN_BYTE_ASK_TO_END_TIMEOUT ? RUN_END_TIMEOUT
								      : order - RUN_BYTE_ASK_TO_END;

	process->result = json_pack("{s:b, s:i, s:i}", REPORT_NOT_STARTED, 1, "wait_status",
				    is_asked && asked != RUN_END_TIMEOUT ? (int)asked : SIGKILL, "asked", (int)asked);
	return -1;
}

int process_build_view(struct process *process)
{
	const struct process_options *options = process->options;
	const struct io_go_on go_on = {process_may_go_on, process};
	const struct view_options view_options = {.scratch_fd = options->scratch.fd,
						  .scratch_host = options->scratch.path,
						  .scratch_base = options->scratch.base_path,
						  .workdir_host = options->workdir_host,
						  .home_host = policy_get_settings(options->policy)->home,
						  .overlay = options->overlay,
						  .workspace_host = options->workspace_host,
						  .copies_workspace = options->copies_workspace,
						  .fills_copies_later = process_gets_all_opens(options),
						  .second_view_shares_layers = process_has_second_view(options),
						  .workspace_dirs = options->workspace_dirs,
						  .foreign_workspace_dirs = options->foreign_workspace_dirs,
						  .copy_limit_bytes =
							  policy_get_settings(options->policy)->limits.disk_bytes,
						  .copy_go_on = &go_on,
						  .acls_fd = options->acls_fd,
						  .provided_file = options->egress->provided_file,
						  .provided_file_count = options->egress->provided_file_count,
						  .root_fd = -1,
						  .tmpfs_fd = options->namespaces->tmpfs_fd,
						  .pts_fd = options->namespaces->devpts_mount_fd};
	struct policy_error error = {""};
	int ret = view_create(options->policy, &view_options, &process->view, &error);

	if (options->acls_fd >= 0)
		(void)close(options->acls_fd); /* ends the process at the other end */
	if (ret == -ECANCELED)
		return process_end_before_start(process);
	if (ret < 0)
		return process_fail(process, "view_failed", "%s",
				    error.text[0] ? error.text : "cannot build the program's view of the file system");
	ret = options->stdio_is_terminal ? view_add_tty_terminal(process->view, options->stdio_fd[0]) : 0;
	if (ret < 0)
		return process_fail(process, "view_failed", "cannot show the program its terminal: %s",
				    strerror(-ret));
	return 0;
}

#define SECOND_VIEW_SUBDIR_NAME "second-view" /* directory of the scratch directory */

int process_build_second_view(struct process *process)
{
	const struct process_options *options = process->options;
	_cleanup_free_ char *host = NULL;
	_cleanup_close_ int scratch = -1;
	struct policy_error error = {""};
	struct view_options second = {.scratch_base = options->scratch.base_path,
				      .workdir_host = options->workdir_host,
				      .root_fd = options->namespaces->host_root_fd,
				      .tmpfs_fd = -1,
				      .pts_fd = -1,
				      .acls_fd = -1};
	int r;

	if (!process_has_second_view(options))
		return 0;
	if (mkdirat(options->scratch.fd, SECOND_VIEW_SUBDIR_NAME, 0700) < 0 && errno != EEXIST)
		return process_fail(process, "view_failed", "cannot make a directory in %s: %s", options->scratch.path,
				    strerror(errno));
	scratch = openat(options->scratch.fd, SECOND_VIEW_SUBDIR_NAME, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	host = text_format("%s/" SECOND_VIEW_SUBDIR_NAME, options->scratch.path);
	if (scratch < 0 || !host)
		return process_fail(process, "view_failed", "cannot make a directory in %s", options->scratch.path);
	second.scratch_fd = scratch;
	second.scratch_host = host;
	process->ask = (struct asker_options){.policy = options->ask.policy,
					      .dir_fd = options->ask.dir_fd,
					      .approver_fd = options->ask.approver_fd,
					      .can_be_remembered = options->ask.can_be_remembered,
					      .timeout_ns = options->ask.timeout_ns,
					      .policy_sha256 = options->shared_page->policy_sha256,
					      .run_id = options->scratch.run_id};
	r = view_create(options->ask.policy, &second, &process->ask.view, &error);
	if (r < 0)
		return process_fail(process, "view_failed", "%s: %s", options->ask.dir_fd < 0 ? "--approve" : "--ask",
				    error.text[0] ? error.text : "cannot build the view of what is asked about");
	return 0;
}

int process_join_second_view(struct process *process)
{
	const char *const option = process->options->ask.dir_fd < 0 ? "--approve" : "--ask", *name = "";
	int r;

	if (!process->ask.view)
		return 0;
	r = view_share_proc_of_first_view(process->ask.view, process->view);
	if (r == 0)
		r = view_share_layers_of_first_view(process->ask.view, process->view, &name);
	if (r == -EXDEV)
		return process_fail(process, "view_failed",
				    "%s: what it allows could be written past the workspace of --cow, by the name %s; "
				    "leave out that grant or one of the options",
				    option, name);
	return r < 0 ? process_fail(process, "view_failed", "%s: cannot join the views: %s", option, strerror(-r)) : 0;
}

/*
 * Kernel reads need Landlock's reading rules, which cannot be made. True: the keeper starts another supervisor, which
 * judges every call. False: the view has no kernel reads, or the keeper does not wait any more.
 */
static bool process_give_up_kernel_reads(const struct process *process, const char *reason)
{
	char why[sizeof(process->options->layers->layer[0].why) + 64];

	if (!view_kernel_judges_reads(process->view))
		return false;
	(void)snprintf(why, sizeof(why), "Landlock cannot hold the reading rules: %s", reason);
	return namespaces_give_up_kernel_reads(process->options->namespaces, why);
}

int process_build_landlock(struct process *process, bool *ret_retry)
{
	struct layers *layers = process->options->layers;
	unsigned places = 0;
	char abi_text[LANDLOCK_ABI_TEXT_SIZE];
	int abi;

	if (!layers_wants_layer(layers, LAYER_LANDLOCK))
		return 0;
	abi = landlock_get_abi();
	if (abi < 0) {
		layers_set_state(
			layers, LAYER_LANDLOCK, false, "%s",
			abi == -EOPNOTSUPP ? "built into the kernel and not started: boot with landlock in lsm="
			: abi != -ENOSYS   ? strerror(-abi)
			: filter_is_on_this_process() ? "not in this kernel, or hidden by a container's seccomp profile"
						      : "not in this kernel (Linux 5.13, CONFIG_SECURITY_LANDLOCK)");
		*ret_retry = process_give_up_kernel_reads(process, layers->layer[LAYER_LANDLOCK].why);
		return 0;
	}
	process->landlock_fd = landlock_build_ruleset(process->view, abi, &places);
	if (process->landlock_fd < 0)
		*ret_retry = process_give_up_kernel_reads(process, strerror(-process->landlock_fd));
	if (*ret_retry)
		return 0;
	if (process->landlock_fd < 0)
		return process_fail(process, "landlock_failed",
				    "cannot build the program's Landlock domain: %s", strerror(-process->landlock_fd));
	landlock_describe_abi(abi, abi_text, sizeof(abi_text));
	layers_set_state(layers, LAYER_LANDLOCK, true,
		   "ABI %d: by itself the program can open no file but in %u places to execute%s%s", abi, places,
		   view_kernel_judges_reads(process->view) ? " and to read what is granted" : "", abi_text);
	return 0;
}

int process_open_program_sockets(struct process *process)
{
	const struct process_options *options = process->options;
	bool own = options->namespaces->made_layers & LAYER_BIT(LAYER_NETNS);
	const char *step = "";
	int error = 0;

	if (!options->egress->has_network)
		return 0;
	if (options->namespaces->network_is_made_in_thread) {
		own = options->namespaces->view_needs_network = true;
		egress_predict_program_sockets(&process->program_sockets);
	} else {
		error = egress_open_program_sockets(options->egress, options->policy, own, &process->program_sockets,
						    &step);
	}
	if (error == 0) {
		step = "make the program's resolv.conf";
		error = egress_provide_resolv_conf(options->egress, &process->program_sockets,
						   own || descriptor_pidfd_getfd_works());
	}
	if (error < 0)
		return process_fail(process, "network_failed", "cannot %s: %s", step, strerror(-error));
	return 0;
}

/* If the run has its own network namespace, opens in it the sockets that egress listens on. 0 or -errno. */
int process_open_program_sockets_in_netns(struct process *process)
{
	const struct process_options *options = process->options;
	const uint16_t expected_port = process->program_sockets.dns_port;
	const char *step = "";
	int error;

	if (!options->namespaces->view_needs_network)
		return 0;
	error = egress_open_program_sockets(options->egress, options->policy, true, &process->program_sockets, &step);
	if (error == 0 && process->program_sockets.dns_port != expected_port) {
		step = "listen at the DNS port of a network namespace of its own";
		error = -EADDRINUSE;
	}
	if (error < 0)
		return process_fail(process, "network_failed", "cannot %s: %s", step, strerror(-error));
	return 0;
}

/* Describes in "enforcement" that connections go to egress, with or without a network namespace. */
static void process_report_network_layers(const struct process *process)
{
	struct layers *layers = process->options->layers;
	char why[sizeof(layers->layer[0].why)], own[INET_ADDRSTRLEN];

	(void)snprintf(why, sizeof(why), "%s", layers->layer[LAYER_NETNS].why);
	(void)inet_ntop(AF_INET, &process->program_sockets.loopback, own, sizeof(own));
	layers_set_state(layers, LAYER_NETNS, layers->layer[LAYER_NETNS].active,
			 "%.110s; connections go to the egress process%s%s", why,
			 process->program_sockets.has_own_netns ? "" : " at ",
			 process->program_sockets.has_own_netns ? "" : own);
}

/*
 * Called when it is known whether the run has its own network namespace. Without a pid namespace, a process outside may
 * get the pid of a process of the run while its "net" is opened, which would then be the machine's.
 */
static void process_set_network_of_view(struct process *process)
{
	const unsigned bounded = LAYER_BIT(LAYER_NETNS) | LAYER_BIT(LAYER_PIDNS);
	bool own = (process->options->namespaces->made_layers & bounded) == bounded;
	struct net_pool_ranges pool = policy_net_get_pool(process->options->policy);
	const struct view_provided_file *file = NULL;
	size_t count = 0;

	pool_convert_to_run_address((unsigned char *)&pool.v6, sizeof(pool.v6), pool.v6_bits);
	if (!own)
		file = proc_net_get_provided_files(process->options->egress->has_network ? &pool.v6 : NULL, &count);
	view_set_network_files(process->view, file, count);
}

int process_send_program_sockets(struct process *process)
{
	const struct egress_process *egress = process->options->egress;
	int error;

	process_set_network_of_view(process);
	error = egress->has_network ? egress_send_program_sockets(egress, &process->program_sockets) : 0;
	if (egress->has_network)
		process_report_network_layers(process);
	if (error < 0)
		return process_fail(process, "egress_failed", "the egress process does not run: %s", strerror(-error));
	return 0;
}

/* A program that is started in place of a shim gets its own path as argv[0], as from the shim: python needs that. */
static int process_build_program_argv(struct process *process)
{
	const struct process_options *options = process->options;
	size_t count = 0;

	while (options->argv[count])
		count++;
	process->argv = calloc(count + 1, sizeof(*process->argv));
	if (!process->argv)
		return process_fail(process, "out_of_memory", "no memory for the arguments");
	memcpy(process->argv, options->argv, count * sizeof(*process->argv));
	if (options->version_manager_program &&
	    strcmp(process->lookup.found_path, options->version_manager_program) == 0)
		process->argv[0] = process->lookup.found_path;
	return 0;
}

int process_find_program(struct process *process)
{
	const struct process_options *options = process->options;
	const char *path_env = environment_get_value(process->envp, "PATH");
	struct lookup *lookup = &process->lookup;
	enum lookup_result result;

	lookup->view = process->view;
	lookup->policy = options->policy;
	lookup->wanted_name = options->argv[0];
	lookup->path_env = path_env;
	lookup->version_manager_program = options->version_manager_program;
	result = options->session ? LOOKUP_FOUND : lookup_find_program(lookup);
	if (result == LOOKUP_FOUND || result == LOOKUP_REFUSED)
		return process_build_program_argv(process);
	if (result == LOOKUP_FAILED)
		return process_fail(process, "launch_failed", "%s: cannot be looked for: %s", lookup->wanted_name,
				    strerror(-lookup->error));
	if (lookup->wanted_name[0] == '/')
		return process_set_error(process, RUN_EXIT_NOT_FOUND, "not_found", "%s: not found",
					 lookup->wanted_name);
	if (strchr(lookup->wanted_name, '/'))
		return process_set_error(process, RUN_EXIT_NOT_FOUND, "not_found",
					 "%s: not found in the working directory %s; -w names another one, --input "
					 "copies a file into it",
					 lookup->wanted_name, policy_get_settings(options->policy)->workdir);
	return process_set_error(process, RUN_EXIT_NOT_FOUND, "not_found", "%s: not found in PATH %s",
				 lookup->wanted_name, path_env ? path_env : "(unset)");
}
