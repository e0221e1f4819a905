/* Reads logs. Loads the policy anew for each log, as that log's run loaded its policy. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/replay/replay.h"

/* The reading of logs whose records are judged by a policy. */
struct logs_walk {
	const char *verb;
	struct cli_policy_options options; /* a copy that borrows all members except `workdir` */
	struct replay_log *log;
	struct cli_host host;
	struct policy *policy;
	struct query_judge *judge;
	replay_judge_fn *each;
	void *ctx;
	const struct replay_accepted_logs *accepted_logs; /* --allow-damaged and others */
	bool error_was_explained; /* a message says already why reading ended */
	struct query query;       /* the question of the record that is read */
};

void replay_log_release(struct replay_log *log)
{
	free(log->policy_name);
	free(log->program);
	free(log->workdir);
	log->policy_name = log->program = log->workdir = NULL;
}

/* Copies a string of a JSON object. Owned; NULL: the object has no such string, or no memory. */
static char *logs_copy_text_of_member(const json_t *object, const char *key)
{
	size_t len;

	return audit_line_get_bytes(object, key, &len);
}

/* Returns argv[0] of the recorded program, for which @interpreter of the policy is looked up. Owned; NULL: unknown. */
static char *logs_get_program(const json_t *header)
{
	const char *text = json_string_value(json_array_get(json_object_get(header, "command"), 0));

	return text ? strdup(text) : NULL;
}

/* Without -w: finds the directory that the run had as workdir, if it was a directory of the host. */
static char *logs_find_workdir(const json_t *header)
{
	char *workdir = logs_copy_text_of_member(header, "workdir");
	struct stat status;

	if (workdir && stat(workdir, &status) == 0 && S_ISDIR(status.st_mode) && strcmp(workdir, "/work") != 0)
		return workdir;
	free(workdir);
	return NULL;
}

/* Keeps the name and hash of the run's policy, and whether the policy of the replay is the same. 0 or -ENOMEM. */
static int logs_compare_policy_of_header(struct logs_walk *walk, const json_t *header)
{
	const json_t *policy = json_object_get(header, "policy");
	const char *sha256 = json_string_value(json_object_get(policy, "sha256"));

	walk->log->policy_name = logs_copy_text_of_member(policy, "name");
	(void)snprintf(walk->log->policy_sha256, sizeof(walk->log->policy_sha256), "%s", sha256 ? sha256 : "");
	if (policy_compute_sha256(walk->policy) < 0)
		return -ENOMEM;
	walk->log->run_had_same_policy =
		strcmp(walk->log->policy_sha256, policy_get_settings(walk->policy)->sha256) == 0;
	return 0;
}

/*
 * The reader's callback for the header: loads the policy for the program and working directory of the run. 0 or -errno.
 */
static int logs_load_policy_by_header(void *ctx, const json_t *header)
{
	struct logs_walk *walk = ctx;
	struct replay_log *log = walk->log;
	int r;

	log->lacks_read_records = audit_header_lacks_records_of_reads(header);
	if (log->lacks_read_records && !walk->accepted_logs->logs_without_reads) {
		cli_print_error(walk->verb,
				"%s: the run had \"judge\": \"changes\", so what it read is not on record; %s",
				log->path, walk->accepted_logs->advice_if_refused);
		walk->error_was_explained = true;
		return -ECANCELED;
	}
	if (!walk->options.workdir && (log->workdir = logs_find_workdir(header))) {
		walk->options.workdir = log->workdir;
		walk->options.workdir_as_written = log->workdir;
	}
	log->program = logs_get_program(header);
	r = cli_load_policy_without_run(&walk->options, walk->verb, log->program, &walk->host, &walk->policy);
	walk->error_was_explained = r != CLI_EXIT_OK;
	r = walk->error_was_explained ? -ECANCELED : query_judge_create(walk->policy, &walk->judge);
	return r < 0 ? r : logs_compare_policy_of_header(walk, header);
}

/* The reader's callback for a record: makes its question, and passes both to the replay. 0 or -errno. */
static int logs_on_record(void *ctx, const struct scan_record *record)
{
	struct logs_walk *walk = ctx;
	int r;

	/* the record is about an entry of after_read that fired, not about an access by the program */
	if (query_fire_after_entry_of_event(walk->judge, record))
		return 0;
	r = query_read_record(record, &walk->query);

	return r < 0 ? r : walk->each(walk->ctx, walk->log, walk->judge, record, &walk->query);
}

static void logs_print_error(const struct logs_walk *walk, int error)
{
	const char *path = walk->log->path;

	if (error == -EBADMSG)
		cli_print_error(walk->verb, "%s:%llu: %s; if you trust the rest, use --allow-damaged", path,
				(unsigned long long)walk->log->state.first_damaged_line, walk->log->state.first_damage);
	else if (error == -ENOMSG)
		cli_print_error(walk->verb, "%s: this is not an audit log: it does not begin with a header line", path);
	else if (error == -ESPIPE)
		cli_print_error(walk->verb, "%s: not a regular file; write the log to one", path);
	else if (error == -E2BIG)
		cli_print_error(walk->verb, "%s: a line is too long for an audit log", path);
	else if (!walk->error_was_explained)
		cli_print_error(walk->verb, "%s: %s", path, strerror(-error));
}

int replay_judge_log(const char *verb, const struct cli_policy_options *options,
		     const struct replay_accepted_logs *accepted_logs, struct replay_log *log, replay_judge_fn *judge,
		     void *ctx)
{
	struct logs_walk *walk = calloc(1, sizeof(*walk));
	struct replay_reader reader = {log->path, accepted_logs->damaged_logs, logs_load_policy_by_header,
				       logs_on_record, walk};
	int r;

	if (!walk)
		return cli_fail_no_memory(verb);
	walk->verb = verb;
	walk->accepted_logs = accepted_logs;
	walk->options = *options;
	walk->log = log;
	walk->each = judge;
	walk->ctx = ctx;
	r = replay_read_log(&reader, &log->state);
	if (r < 0)
		logs_print_error(walk, r);
	else if (log->state.damage_count > 0)
		cli_print_error(verb, "%s:%llu: warning: %s; %llu such places", log->path,
				(unsigned long long)log->state.first_damaged_line, log->state.first_damage,
				(unsigned long long)log->state.damage_count);
	query_judge_free(walk->judge);
	policy_free(walk->policy);
	cli_host_release(&walk->host);
	free(walk);
	return r < 0 ? CLI_EXIT_ERROR : CLI_EXIT_OK;
}
