/* callgate attest: verifies the attestation that `callgate run --attest` has written. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/envelope.h"
#include "audit/hash.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/audit/verify.h"
#include "cli/options.h"
#include "cli/run/attest.h"

#define ATTEST_FILE_BYTES_MAX (256u << 20)
#define ATTEST_EXIT_LOG_DIFFERS 1
#define ATTEST_EXIT_NOT_SIGNED 2

/* Options of `callgate attest`. */
struct attest_options {
	const char *key, *log;
	bool json;
};

/* Reads a public key, which is named as base64 or as a file. -1 after a message. */
static int attest_read_key(const char *named, uint8_t key[SIGNING_KEY_BYTES])
{
	_cleanup_free_ char *text = NULL;
	size_t len;
	int r;

	if (signing_parse_public(named, strlen(named), key) == 0)
		return 0;
	r = io_read_file(AT_FDCWD, named, 4096, &text, &len);
	if (r == 0 && signing_parse_public(text, len, key) == 0)
		return 0;
	cli_print_error("attest", "--key %s: %s", named, r < 0 ? strerror(-r) : "not an Ed25519 public key");
	return -1;
}

static const char *attest_get_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "?";
}

static void attest_print_command(const json_t *command)
{
	const json_t *arg;
	size_t i;

	json_array_foreach(command, i, arg)
		(void)text_printf(stdout, " %s", json_is_string(arg) ? json_string_value(arg) : "?");
}

static void attest_print_summary(const json_t *statement)
{
	const json_t *predicate = json_object_get(statement, "predicate"), *entry;
	const json_t *log = json_object_get(predicate, "log");
	size_t i;

	(void)text_printf(stdout, "run %s: %s, exit status %lld\ncommand:", attest_get_text(predicate, "run_id"),
			  attest_get_text(predicate, "status"),
			  (long long)json_integer_value(json_object_get(predicate, "exit_code")));
	attest_print_command(json_object_get(predicate, "command"));
	(void)text_printf(stdout, "\npolicy: %s, sha256 %s\nlog: %lld lines, last line %s\n",
			  attest_get_text(json_object_get(predicate, "policy"), "name"),
			  attest_get_text(json_object_get(predicate, "policy"), "sha256"),
			  (long long)json_integer_value(json_object_get(log, "lines")), attest_get_text(log, "head"));
	json_array_foreach(json_object_get(statement, "subject"), i, entry)
		(void)text_printf(stdout, "subject: %s sha256 %s\n", attest_get_text(entry, "name"),
				  attest_get_text(json_object_get(entry, "digest"), "sha256"));
}

/*
 * Checks that the log is intact, that the key has signed it, and that the statement names it. CLI_EXIT_OK, or an exit
 * status after a message.
 */
static int attest_check_log(const struct attest_options *options, const json_t *statement)
{
	const json_t *log = json_object_get(json_object_get(statement, "predicate"), "log");
	const struct verify_options verify = {.key = options->key};
	char *paths[] = {(char *)(uintptr_t)options->log};
	char head[HASH_DIGITS + 1] = "";
	int status = audit_verify_logs(paths, 1, &verify, head);

	if (status != CLI_EXIT_OK)
		return status == CLI_EXIT_ERROR ? CLI_EXIT_ERROR : ATTEST_EXIT_LOG_DIFFERS;
	if (strcmp(head, attest_get_text(log, "head")) == 0)
		return CLI_EXIT_OK;
	cli_print_error("attest", "%s is another log than the attested one: its last line has the hash %s",
			options->log, head);
	return ATTEST_EXIT_LOG_DIFFERS;
}

/* Prints an attestation whose signature is right; with --log, compares the log with it. Returns the exit status. */
static int attest_check_statement(const struct attest_options *options, const char *payload, size_t len)
{
	json_t *statement = json_loadb(payload, len, JSON_REJECT_DUPLICATES, NULL);
	int status = CLI_EXIT_OK;

	if (strcmp(attest_get_text(statement, "predicateType"), ATTEST_PREDICATE_TYPE_URI) != 0) {
		cli_print_error("attest", "the signature is right, but this is not the attestation of a run");
		status = CLI_EXIT_ERROR;
	} else if (options->json) {
		status = cli_print_text("attest", payload);
		if (status == CLI_EXIT_OK)
			status = cli_print_text("attest", "\n");
	} else {
		attest_print_summary(statement);
	}
	if (status == CLI_EXIT_OK && options->log)
		status = attest_check_log(options, statement);
	json_decref(statement);
	return status;
}

/* Verifies the signature of an attestation, then checks what it says. Returns the exit status. */
static int attest_verify_file(const char *path, const struct attest_options *options)
{
	_cleanup_free_ char *text = NULL, *payload = NULL;
	uint8_t key[SIGNING_KEY_BYTES];
	size_t len = 0;
	int r;

	if (attest_read_key(options->key, key) < 0)
		return CLI_EXIT_ERROR;
	r = io_read_file(AT_FDCWD, path, ATTEST_FILE_BYTES_MAX, &text, &len);
	if (r == 0)
		r = envelope_open(text, len, key, &payload, &len);
	if (r == 0)
		return attest_check_statement(options, payload, len);
	cli_print_error("attest", "%s: %s", path,
			r == -EKEYREJECTED ? "not signed with this key: another key, or it was changed"
			: r == -EBADMSG	   ? "not an attestation"
					   : strerror(-r));
	return r == -EKEYREJECTED ? ATTEST_EXIT_NOT_SIGNED : CLI_EXIT_ERROR;
}

int cli_main_attest(int argc, char **argv)
{
	static const struct cli_option table[] = {
		CLI_TEXT("key", "PUB", "the public key: a file, or 44 characters",
			 offsetof(struct attest_options, key)),
		CLI_TEXT("log", "LOG", "verify the run's log, too, and that it is the attested one",
			 offsetof(struct attest_options, log)),
		CLI_FLAG("json", 0, "print the statement", offsetof(struct attest_options, json)),
		{0},
	};
	struct attest_options options = {.key = NULL};
	const struct cli_syntax syntax = {
		.verb = "attest",
		.usage = "Usage: callgate attest verify FILE --key PUB [--log LOG] [--json]\n\n"
			 "Verifies what callgate run --attest FILE has written, and prints what it says.\n\n",
		.epilogue = "\nExit status: 0, 1 the log is not the attested one, 2 not signed with this key,\n"
			    "125 error.\n",
		.allows_mixed_order = true,
		.table = {{NULL, table, &options}},
	};
	int status = cli_parse_options(argc, argv, &syntax);

	if (status != CLI_OPTIONS_PARSED)
		return status;
	if (argc - optind == 2 && strcmp(argv[optind], "verify") == 0 && options.key)
		return attest_verify_file(argv[optind + 1], &options);
	cli_print_error("attest", "say: callgate attest verify FILE --key PUB");
	return cli_fail_usage("attest");
}
