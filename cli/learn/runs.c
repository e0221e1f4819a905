/* Runs the program: in observe mode to learn from, and then under the learnt policy to verify it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/batch/batch.h"
#include "cli/learn/learn.h"
#include "cli/run/private.h"
#include "policy/paths/literal.h"
#include "replay/log.h"

/* policy file that sets the working directory's path in the view, for all runs that learn makes */
#define RUNS_WORKDIR_FILE "where.json"

/* ---- writing the files that runs need ---- */

/* Writes a JSON file. object_taken is released; NULL means that memory ran out. */
static int runs_write_json(const struct learn *learn, const char *name, json_t *object_taken)
{
	_cleanup_json_ json_t *object = object_taken;
	_cleanup_free_ char *path = text_format("%s/%s", learn->runs_dir, name);

	if (object && path && json_dump_file(object, path, JSON_INDENT(1)) == 0)
		return 0;
	cli_print_error("learn", "cannot write %s/%s", learn->runs_dir, name);
	return -EIO;
}

/* Returns a text as a value of env.set, in which "${" is written "$${". NULL: no memory. */
static json_t *runs_escape_value(const char *value)
{
	_cleanup_free_ char *escaped = literal_write("", value);

	return escaped ? json_string(escaped) : NULL;
}

/* Adds the variables of the command line to the policy's "env": "NAME" is passed on, "NAME=VALUE" is set. */
static int runs_add_env(struct draft *draft, const struct cli_list *list)
{
	json_t *pass = list->count ? draft_get_list(draft, "env", "pass") : NULL, *set;
	int r = pass || !list->count ? 0 : -ENOMEM;

	set = json_object_get(json_object_get(draft->root, "env"), "set");
	if (pass && !set) {
		set = json_object();
		r = json_object_set_new(json_object_get(draft->root, "env"), "set", set);
	}
	for (size_t i = 0; r == 0 && i < list->count; i++) {
		const char *item = list->item[i], *equals = strchr(item, '=');
		_cleanup_free_ char *name = strndup(item, strcspn(item, "="));

		r = !name ? -1 : equals ? json_object_set_new(set, name, runs_escape_value(equals + 1))
					: json_array_append_new(pass, json_string(item));
	}
	return r < 0 ? -ENOMEM : 0;
}

/* Returns the last component of the program's name. */
static const char *runs_get_program_name(const struct learn *learn)
{
	const char *program = learn->program ? learn->program[0] : learn->fixed, *slash = strrchr(program, '/');

	return slash && slash[1] ? slash + 1 : program;
}

int learn_prepare_runs(struct learn *learn)
{
	int r;

	draft_release(&learn->draft);
	r = draft_init(&learn->draft, learn->merged_policy, runs_get_program_name(learn), learn->base_profile);
	if (r == 0)
		r = runs_add_env(&learn->draft, &learn->env);
	if (r < 0)
		return cli_fail_no_memory("learn"), r;
	r = runs_write_json(learn, RUNS_WORKDIR_FILE,
			    json_pack("{s:i, s:s, s:s}", "version", 1, "name", "where", "workdir",
				      learn->workdir_in_view));
	/* The draft lies in the directory of the policy that will be written: paths in it may be relative to that. */
	return r < 0 ? r : draft_write(&learn->draft, learn->draft_path, false);
}

/* ---- running the program once ---- */

/* Whether learn->passed, the options that are passed on to the runs, has this one. */
static bool runs_have_option(const struct learn *learn, const char *option)
{
	for (size_t i = 0; i < learn->passed.count; i++)
		if (strcmp(learn->passed.item[i], option) == 0)
			return true;
	return false;
}

/*
 * Makes the options of a run: its policy, and the options given for every run. Every call is judged, whatever the
 * policy says: what is learnt, and what is denied to the learnt policy, must be on record. Owned; the texts are
 * borrowed.
 */
static const char **runs_make_options(const struct learn *learn, const char *where, const char *policy, bool observe)
{
	const char *const first[] = {"-p", where, "-p", policy};
	const char *const mode[] = {"--mode", "observe", learn->allow_risky ? "--allow-risky" : NULL, NULL};
	const bool really = runs_have_option(learn, "--really");
	const char **options = calloc(learn->passed.count + 10, sizeof(*options));
	size_t count = 0;

	if (!options)
		return NULL;
	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		options[count++] = first[i];
	for (size_t i = 0; observe && mode[i]; i++)
		options[count++] = mode[i];
	for (size_t i = 0; i < learn->passed.count; i++)
		if (observe || strcmp(learn->passed.item[i], "--really") != 0)
			options[count++] = learn->passed.item[i];
	options[count++] = "--judge=all";
	/* As in the learning run, writes outside the copy of the working directory do not reach the host. */
	if (!observe && !really && draft_writes_outside_workdir(&learn->draft))
		options[count++] = "--dry-run";
	return options;
}

static int runs_wait_for_child(pid_t pid)
{
	int status = 0;

	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid < 0 ? pid : 0;
}

/* With --user, lets the user's group pass through the directory, because the run's working directory is in it. */
static int runs_let_user_traverse_dir(const struct learn *learn, const char *dir)
{
	const char *text = json_string_value(json_object_get(learn->draft.root, "user"));
	struct privs_user user = {0};
	struct policy_error error;

	for (size_t i = 0; i < learn->passed.count; i++)
		if (strncmp(learn->passed.item[i], "--user=", 7) == 0)
			text = learn->passed.item[i] + 7;
	/* the run will report an invalid user */
	if (!text || geteuid() != 0 || run_find_user("--user", text, &user, &error) < 0)
		return 0;
	if (chown(learn->runs_dir, (uid_t)-1, user.gid) < 0 || chown(dir, (uid_t)-1, user.gid) < 0 ||
	    chmod(learn->runs_dir, 0710) < 0 || chmod(dir, 0710) < 0)
		return -errno;
	return 0;
}

/*
 * Checks the result of a run. 0; -EOPNOTSUPP: --dry-run cannot keep a write of this policy from the host; -ECANCELED,
 * with a message.
 */
static int runs_check_result(const json_t *result, const char *dir)
{
	const char *why = json_string_value(json_object_get(json_object_get(result, "error"), "message"));

	if (json_is_integer(json_object_get(json_object_get(result, "audit"), "records")))
		return 0;
	if (why && strncmp(why, "--dry-run", 9) == 0)
		return -EOPNOTSUPP;
	cli_print_error("learn", "the program could not be run:");
	batch_print_messages("learn", dir);
	return -ECANCELED;
}

/*
 * Runs the program in a new directory, *ret_dir. *ret_dir and *ret_result are owned by the caller. 0 or -errno, with a
 * message except for -EOPNOTSUPP (runs_check_result).
 */
static int runs_run_program(struct learn *learn, const char *policy, const char *input, bool observe, char **ret_dir,
			    json_t **ret_result)
{
	_cleanup_free_ char *dir = text_format("%s/%u", learn->runs_dir, learn->next_run_number++),
			    *where = text_format("%s/" RUNS_WORKDIR_FILE, learn->runs_dir);
	_cleanup_free_ const char **options = runs_make_options(learn, where, policy, observe);
	const struct batch_run run = {.dir = dir, .workdir = learn->workdir, .options = options,
				      .program = (const char *const *)learn->program, .stdin_path = input};
	int r = dir && where && options ? 0 : -ENOMEM;

	if (r == 0 && (mkdir(dir, 0700) < 0 || runs_let_user_traverse_dir(learn, dir) < 0))
		r = -errno;
	if (r == 0)
		r = runs_wait_for_child(batch_start_run(&run));
	if (r < 0) {
		cli_print_error("learn", "cannot run the program: %s", strerror(-r));
		return r;
	}
	*ret_result = batch_read_result(dir);
	r = runs_check_result(*ret_result, dir);
	if (r < 0) {
		json_decref(*ret_result);
		*ret_result = NULL;
		return r;
	}
	*ret_dir = steal_pointer(&dir);
	return 0;
}

/* ---- reading the log of a run ---- */

/* The reading of a run's log, from which needs are learnt. */
struct runs_reader {
	struct learn *learn;
	bool reads_denied_only; /* adds only denied accesses, as after a verification */
	struct query query;
};

/* The reader's callback for a record: adds what it shows as needed. 0 or -errno. */
static int runs_add_needs_of_record(void *ctx, const struct scan_record *record)
{
	struct runs_reader *reader = ctx;
	char call[64] = "", exe[PATH_MAX] = "";
	int r = query_read_record(record, &reader->query);

	if (r < 0 || (reader->reads_denied_only && reader->query.was_allowed))
		return r;
	/* if the text is too long, it is not the name of a call */
	(void)scan_copy_unescaped_bytes(&record->syscall, call, sizeof(call));
	(void)scan_copy_unescaped_bytes(&record->exe, exe, sizeof(exe));
	return needs_add_query(&reader->learn->needs, &reader->query, record->seq, call, exe);
}

/* Adds what the log of a run shows as needed; with `denied`, only of denied calls. 0, or -errno after a message. */
static int runs_read_log(struct learn *learn, const char *dir, bool denied)
{
	_cleanup_free_ char *path = text_format("%s/" BATCH_LOG_FILE, dir);
	_cleanup_free_ struct runs_reader *context = calloc(1, sizeof(*context));
	const struct replay_reader reader = {.path = path, .record = runs_add_needs_of_record, .ctx = context};
	struct replay_log_state state = {0};
	int r = path && context ? 0 : -ENOMEM;

	if (r == 0) {
		context->learn = learn;
		context->reads_denied_only = denied;
		r = replay_read_log(&reader, &state);
	}
	if (r == -E2BIG)
		cli_print_error("learn", "the program asked for more than %u paths or %u requests; learn from a "
				"smaller input", NEEDS_PATHS_MAX, NEEDS_NETS_MAX);
	else if (r < 0)
		cli_print_error("learn", "the log of the run cannot be read: %s",
				state.first_damage[0] ? state.first_damage : strerror(-r));
	return r;
}

/* ---- learning ---- */

/* Remembers the denials by callgate itself: no policy can change them, so a verification will have them as well. */
static void runs_keep_refusals_by_callgate(struct learn *learn)
{
	const json_t *denials = json_object_get(learn->result, "denials");

	for (size_t i = 0; i < json_array_size(denials); i++) {
		json_t *denial = json_array_get(denials, i);

		if (!json_is_true(json_object_get(denial, "observed")))
			(void)json_array_append(learn->own_refusals, denial);
	}
}

/* Describes how a run ended: by a status, a signal, or a limit. Owned; NULL: no memory. */
static json_t *runs_describe_end_of_run(const json_t *result)
{
	static const char *const stops[] = {"timeout", "limit", "killed", "error", "refused"};
	json_t *stop = json_object_get(result, "status");
	bool stopped = false;

	for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++)
		stopped |= json_is_string(stop) && strcmp(json_string_value(stop), stops[i]) == 0;
	return json_pack("{s:O?, s:O?, s:O?}", "exit_code", json_object_get(result, "exit_code"), "signal",
			 json_object_get(result, "signal"), "stopped_by", stopped ? stop : NULL);
}

/* Stores how the run of this input ended, in place of an earlier run of it. 0 or -ENOMEM. */
static int runs_store_end_of_run(json_t *ends, size_t input, const json_t *result)
{
	json_t *end = runs_describe_end_of_run(result);

	return (input < json_array_size(ends) ? json_array_set_new(ends, input, end)
					      : json_array_append_new(ends, end)) < 0
		       ? -ENOMEM
		       : 0;
}

bool learn_run_ends_differ(const struct learn *learn)
{
	return learn->proof && !json_equal(learn->ends, learn->proof_ends);
}

/* Runs the program with one of the inputs, and observes what it needs. 0 or -errno. */
static int runs_observe_once(struct learn *learn, size_t at)
{
	const char *input = learn->input.count ? learn->input.item[at] : NULL;
	_cleanup_free_ char *dir = NULL;
	int r;

	json_decref(learn->result);
	learn->result = NULL;
	r = runs_run_program(learn, learn->draft_path, input, true, &dir, &learn->result);
	if (r == 0)
		r = runs_read_log(learn, dir, false);
	if (r == 0)
		runs_keep_refusals_by_callgate(learn);
	return r < 0 ? r : runs_store_end_of_run(learn->ends, at, learn->result);
}

int learn_from_observed_runs(struct learn *learn)
{
	int r = 0;

	for (unsigned run = 0; r == 0 && run < learn->run_count; run++)
		for (size_t i = 0; r == 0 && (i == 0 || i < learn->input.count); i++)
			r = runs_observe_once(learn, i);
	return r;
}

/* ---- verifying the policy ---- */

/* Whether both objects have the key, with equal values. */
static bool runs_have_same_text(const json_t *a, const json_t *b, const char *key)
{
	return json_equal(json_object_get(a, key), json_object_get(b, key));
}

/*
 * True for a connect(2) that is expected to be denied. One kind is for datagrams that need no rule. The other is to
 * this machine: no program listened there in the learning run, and a rule would grant this machine's own services.
 */
static bool runs_connect_denial_is_expected(const struct learn *learn, const json_t *denial)
{
	const char *call = json_string_value(json_object_get(denial, "syscall"));
	const char *target = json_string_value(json_object_get(denial, "target"));
	const char *reason = json_string_value(json_object_get(denial, "reason"));
	const char *colon = target ? strrchr(target, ':') : NULL;
	_cleanup_free_ char *host = colon ? strndup(target, (size_t)(colon - target)) : NULL;
	struct sockaddr_storage address;
	const char *class;

	if (!call || strcmp(call, "connect") != 0 || !host || !reason)
		return false;
	if (strcmp(reason, "proto_not_granted") == 0)
		return learn_is_needless_udp(&learn->needs, host, (unsigned)strtoul(colon + 1, NULL, 10));
	if (!net_address_parse(host, &address))
		return false;
	class = net_address_get_nonpublic_class((const struct sockaddr *)&address);
	return class && strcmp(class, "loopback") == 0;
}

/*
 * True for the denial of something that callgate offers to no program: sockets such as MPTCP, some files of /proc,
 * sockets without a port.
 */
static bool runs_denial_is_of_unoffered_object(const json_t *denial)
{
	const char *call = json_string_value(json_object_get(denial, "syscall"));
	const char *reason = json_string_value(json_object_get(denial, "reason"));

	const char *target = json_string_value(json_object_get(denial, "target"));
	const size_t len = target ? strlen(target) : 0;

	if (!call || !reason)
		return false;
	return strcmp(reason, "proc_not_listed") == 0 ||
	       (strcmp(call, "socket") == 0 && strcmp(reason, "network_not_granted") != 0) ||
	       (strcmp(call, "connect") == 0 && len > 2 && strcmp(target + len - 2, ":0") == 0);
}

/* True for a denial that no rule can prevent, because the learning run had it, too, or whose rule was left out. */
static bool runs_denial_is_expected(const struct learn *learn, const json_t *denial)
{
	const char *resolved = json_string_value(json_object_get(denial, "resolved"));

	for (size_t i = 0; i < json_array_size(learn->own_refusals); i++) {
		const json_t *before = json_array_get(learn->own_refusals, i);

		if (runs_have_same_text(before, denial, "syscall") &&
		    (runs_have_same_text(before, denial, "target") ||
		     (runs_have_same_text(before, denial, "reason") && !resolved)))
			return true;
	}
	if (runs_connect_denial_is_expected(learn, denial) || runs_denial_is_of_unoffered_object(denial))
		return true;
	for (size_t i = 0; resolved && i < json_array_size(learn->draft.disabled_paths); i++)
		if (path_is_below(resolved, json_string_value(json_array_get(learn->draft.disabled_paths, i))))
			return true;
	for (size_t i = 0; resolved && i < json_array_size(learn->draft.ungrantable); i++)
		if (path_is_below(resolved, json_string_value(json_object_get(
						    json_array_get(learn->draft.ungrantable, i), "path"))))
			return true;
	return false;
}

/* Sorts the denials of learn->proof into expected ones, which are counted, and wrong ones. 0 or -ENOMEM. */
static int runs_collect_wrong_denials(struct learn *learn)
{
	const json_t *denials = json_object_get(learn->proof, "denials");

	for (size_t i = 0; i < json_array_size(denials); i++) {
		json_t *denial = json_array_get(denials, i);

		if (runs_denial_is_expected(learn, denial))
			learn->expected_denial_count++;
		else if (json_array_append(learn->wrong_denials, denial) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Runs the program with one of the inputs under the learnt policy, and collects what is wrongly denied. 0 or -errno. */
static int runs_verify_once(struct learn *learn, size_t at)
{
	const char *input = learn->input.count ? learn->input.item[at] : NULL;
	_cleanup_free_ char *dir = NULL;
	int r = 0;

	json_decref(learn->proof);
	learn->proof = NULL;
	/*
	 * -EOPNOTSUPP: the policy grants writing a single file, which --dry-run cannot keep from the host. The
	 * verification must not change that file, so it uses --mode observe.
	 */
	if (!learn->verifies_by_observing)
		r = runs_run_program(learn, learn->draft_path, input, false, &dir, &learn->proof);
	learn->verifies_by_observing |= r == -EOPNOTSUPP;
	if (learn->verifies_by_observing)
		r = runs_run_program(learn, learn->draft_path, input, true, &dir, &learn->proof);
	if (r == 0)
		r = runs_collect_wrong_denials(learn);
	if (r == 0)
		r = runs_store_end_of_run(learn->proof_ends, at, learn->proof);
	if (r == 0 && json_array_size(learn->wrong_denials) > 0)
		r = runs_read_log(learn, dir, true);
	return r;
}

int learn_verify(struct learn *learn)
{
	int r = 0;

	learn->verification_rounds++;
	learn->expected_denial_count = 0;
	json_array_clear(learn->wrong_denials);
	json_array_clear(learn->proof_ends);
	for (size_t i = 0; r == 0 && (i == 0 || i < learn->input.count); i++)
		r = runs_verify_once(learn, i);
	return r;
}
