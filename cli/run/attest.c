/* --attest: writes a signed in-toto statement of the program, its policy, its inputs, and the outcome of the run. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "audit/envelope.h"
#include "base/cleanup.h"
#include "base/sha256.h"
#include "cli/run/attest.h"
#include "cli/run/private.h"
#include "config.h"
#include "keeper/result.h"
#include "supervisor/report.h"

#define ATTEST_STATEMENT_TYPE_URI "https://in-toto.io/Statement/v1"

/* An input or output with its digest, as attestations name them. */
static json_t *attest_make_resource(const char *name, const char *sha256)
{
	json_t *resource = json_pack("{s:o}", "name", report_make_text_json(name));

	if (sha256)
		(void)json_object_set_new(resource, "digest", json_pack("{s:s}", "sha256", sha256));
	return resource;
}

void run_hash_inputs(struct run *run, int dir_fd)
{
	run->inputs = json_array();
	for (size_t i = 0; i < run->options.input_paths.count; i++) {
		const char *path = run->options.input_paths.item[i], *slash = strrchr(path, '/');
		const char *name = slash && slash[1] ? slash + 1 : path;
		_cleanup_close_ int fd =
			openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		char sha256[SHA256_HEX_SIZE];
		struct stat file;
		uint64_t bytes;
		bool hashed = fd >= 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
			      sha256_hash_fd(fd, sha256, &bytes) == 0;

		(void)json_array_append_new(run->inputs, attest_make_resource(name, hashed ? sha256 : NULL));
	}
}

/* Returns the subjects of the statement: the files that the run left, and its log. */
static json_t *attest_make_subjects(const json_t *result)
{
	const json_t *audit = json_object_get(result, "audit"), *change;
	json_t *subjects = json_array();
	size_t i;

	json_array_foreach(json_object_get(result, "changes"), i, change) {
		json_t *sha256 = json_object_get(change, "sha256"), *path = json_object_get(change, "path");

		if (json_is_string(sha256) && *json_string_value(sha256))
			(void)json_array_append_new(subjects, json_pack("{s:O, s:{s:O}}", "name", path, "digest",
									"sha256", sha256));
	}
	(void)json_array_append_new(subjects,
				    json_pack("{s:s, s:{s:O}}", "name", "last line of the audit log", "digest",
					      "sha256", json_object_get(audit, "head")));
	return subjects;
}

/* The program and its arguments, as the attestation has them. */
static json_t *attest_make_command(const struct run *run)
{
	json_t *command = json_array();

	for (char **arg = run->options.argv; *arg; arg++)
		(void)json_array_append_new(command, report_make_text_json(*arg));
	return command;
}

/* The policy as the attestation has it, with its text. */
static json_t *attest_make_policy(const struct run *run, const json_t *result)
{
	_cleanup_free_ char *text = policy_make_json(run->program_phase.policy);
	json_t *policy = json_deep_copy(json_object_get(result, "policy"));

	(void)json_object_set_new(policy, "text", text ? json_string(text) : json_null());
	return policy;
}

/* What an attestation says of the run. */
static json_t *attest_make_predicate(const struct run *run, const json_t *result)
{
	static const char *const copied[] = {"run_id",    "mode",        "judge",       "dry_run",
					     "workspace", "status",      "exit_code",   "signal",
					     "error",     "limits",      "termination", "enforcement",
					     "calls",     "duration_ms", "usage",       "setup"};
	json_t *predicate = json_object(), *log = json_deep_copy(json_object_get(result, "audit"));
	struct utsname machine;

	(void)json_object_set_new(predicate, "version", json_string(PACKAGE_VERSION));
	(void)json_object_set_new(predicate, "command", attest_make_command(run));
	(void)json_object_set_new(predicate, "policy", attest_make_policy(run, result));
	(void)json_object_set(predicate, "inputs", run->inputs);
	(void)json_object_set_new(predicate, "log", log);
	if (uname(&machine) == 0)
		(void)json_object_set_new(predicate, "kernel",
					  json_pack("{s:s, s:s, s:s}", "release", machine.release, "version",
						    machine.version, "machine", machine.machine));
	for (size_t i = 0; i < sizeof(copied) / sizeof(copied[0]); i++)
		if (json_object_get(result, copied[i]))
			(void)json_object_set(predicate, copied[i], json_object_get(result, copied[i]));
	return predicate;
}

/* Returns the envelope with the signed statement. Owned by the caller; NULL: no memory. */
static char *attest_make_text(const struct run *run, const struct signing_key *key, const json_t *result)
{
	json_t *statement = json_pack("{s:s, s:o, s:s, s:o}", "_type", ATTEST_STATEMENT_TYPE_URI, "subject",
				      attest_make_subjects(result), "predicateType", ATTEST_PREDICATE_TYPE_URI,
				      "predicate", attest_make_predicate(run, result));
	_cleanup_free_ char *payload = statement ? json_dumps(statement, JSON_COMPACT) : NULL;

	json_decref(statement);
	return payload ? envelope_make(key, payload, strlen(payload)) : NULL;
}

void run_write_attestation(struct run *run, const struct keeper_outcome *outcome, json_t *result)
{
	_cleanup_free_ char *text = NULL;
	char message[512];
	int error;

	if (!run->attestation_file.base_name || run->is_setup_process)
		return;
	/* The error of a run that has no log tells the reason; the one below would take its place in the result. */
	if (outcome->error_code && outcome->log_end.line_count == 0)
		return;
	if (outcome->key && outcome->log_end.line_count > 0) {
		text = attest_make_text(run, outcome->key, result);
		error = text ? run_store_end_file(run, CUSTODIAN_ATTESTATION_FILE_DIR, &run->attestation_file, text)
			     : -ENOMEM;
	} else {
		error = -EBADMSG;
	}
	if (error == 0)
		return;
	(void)snprintf(message, sizeof(message), "--attest %s: %s", run->options.attest_path,
		       error == -EBADMSG ? "the log was not signed, so nothing can be attested" : strerror(-error));
	cli_print_error("run", "%s", message);
	result_set_error(result, "attest_failed", message);
}
