/* callgate audit verify: checks that logs are as callgate wrote them, and shows where they are not. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/verify.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/audit/anchor.h"
#include "cli/audit/audit.h"
#include "cli/audit/verify.h"
#include "supervisor/report.h"

#define VERIFY_BUFFER_BYTES (1u << 20)
/* most bytes of a log's line: large, because a trailer contains the hashes of all outcomes that came late */
#define VERIFY_LINE_BYTES_MAX (16u << 20)

/* A file of a log that was read already. */
struct verify_file {
	dev_t device;
	ino_t inode;
	bool was_named_by_previous; /* the file was read because the file before it names it */
};

/* The state of `callgate audit verify`. */
struct verify_run {
	const struct verify_options *options;
	uint8_t key[SIGNING_KEY_BYTES];
	bool has_key; /* `key` is the value of --key */
	struct verify verify;
	struct anchor_check anchor;
	bool log_is_begun; /* `verify` has begun a log that is not reported yet */
	char **paths; /* paths of the files of this log; owned array of owned texts */
	size_t path_count;
	struct verify_file *files; /* owned */
	size_t read_file_count;
	char *buffer; /* owned */
	size_t cap;
	int exit_status; /* the exit status: the worst result so far */
};

static int verify_report_error(const char *path, int error)
{
	if (error == -ECANCELED) /* with a message */
		return CLI_EXIT_ERROR;
	cli_print_error("audit", "%s: %s", path,
			error == -ENOMSG ? "this is not an audit log: it does not begin with a header line"
			: error == -E2BIG ? "a line is too long for an audit log"
					  : strerror(-error));
	return CLI_EXIT_ERROR;
}

/* ---- printing the findings ---- */

static const int exit_statuses[VERIFY_KIND_MAX] = {
	[VERIFY_INTACT] = CLI_EXIT_OK,
	[VERIFY_EDITED] = VERIFY_STATUS_BROKEN,
	[VERIFY_DELETED] = VERIFY_STATUS_BROKEN,
	[VERIFY_INSERTED] = VERIFY_STATUS_BROKEN,
	[VERIFY_REORDERED] = VERIFY_STATUS_BROKEN,
	[VERIFY_LOST_SEGMENT] = VERIFY_STATUS_BROKEN,
	[VERIFY_LOST_FILE] = VERIFY_STATUS_BROKEN,
	[VERIFY_HASH_MISSING] = VERIFY_STATUS_BROKEN,
	[VERIFY_FOREIGN_FILE] = VERIFY_STATUS_BROKEN,
	[VERIFY_REWRITTEN] = VERIFY_STATUS_BROKEN,
	[VERIFY_FOREIGN_KEY] = VERIFY_STATUS_WRONG_KEY,
	[VERIFY_BAD_SIGNATURE] = VERIFY_STATUS_WRONG_KEY,
	[VERIFY_TRUNCATED] = VERIFY_STATUS_TRUNCATED,
	[VERIFY_NO_TRAILER] = VERIFY_STATUS_END_UNKNOWN,
	[VERIFY_UNSIGNED] = VERIFY_STATUS_END_UNKNOWN,
};

/* Prints as text what the check of a log has found. tail: lines at the end without a hash. */
static void verify_print_for_people(const struct verify_run *run, const struct verify_finding *finding, uint64_t tail)
{
	const struct verify *verify = &run->verify;
	const struct verify_place *place = &finding->place;
	bool placed = place->line_number > 0;
	char text[VERIFY_FINDING_TEXT_SIZE];

	(void)text_printf(stdout, "%s", run->paths[placed ? place->file_index : 0]);
	(void)text_printf(stdout, placed ? ":%" PRIu64 ": " : ": ", place->line_number);
	verify_describe_finding(finding, text);
	(void)text_printf(stdout, "%s", text);
	if (finding->kind == VERIFY_LOST_FILE && verify->next_file_name[0])
		(void)text_printf(stdout, ": %s", verify->next_file_name);
	(void)text_printf(stdout, "; run %s, %" PRIu64 " records, %zu file%s", verify->run, verify->records,
			  run->path_count, run->path_count == 1 ? "" : "s");
	if (tail > 0 && finding->kind == VERIFY_NO_TRAILER)
		(void)text_printf(stdout, ", unsealed tail of %" PRIu64 " line%s", tail, tail == 1 ? "" : "s");
	if (run->anchor.agreed_count > 0)
		(void)text_printf(stdout, ", %" PRIu64 " checkpoints agree, the last at line %" PRIu64,
				  run->anchor.agreed_count, run->anchor.agreed_lines);
	if (verify->recovered > 0)
		(void)text_printf(stdout, ", ended by callgate after its supervisor died: the last %" PRIu64
				  " were sealed only then", verify->recovered);
	if (finding->kind == VERIFY_INTACT)
		(void)text_printf(stdout, ", signed by %s%s", verify->header_key_text,
				  run->has_key ? "" : " (so says the log: compare with the result, or use --key)");
	(void)text_printf(stdout, "\n");
}

static void verify_print_json(const struct verify_run *run, const struct verify_finding *finding, uint64_t tail)
{
	const struct verify *verify = &run->verify;
	json_t *found = json_object(), *files = json_array(), *result;
	_cleanup_free_ char *text = NULL;

	for (size_t i = 0; i < run->path_count; i++)
		(void)json_array_append_new(files, report_make_text_json(run->paths[i]));
	if (finding->place.line_number > 0)
		(void)json_object_update_new(found,
					     json_pack("{s:o, s:I, s:I}", "file",
						       report_make_text_json(run->paths[finding->place.file_index]),
						       "line", (json_int_t)finding->place.line_number, "seq",
						       (json_int_t)finding->place.seq));
	if (finding->last > 0 || finding->kind == VERIFY_DELETED)
		(void)json_object_update_new(found, json_pack("{s:I, s:I}", "first", (json_int_t)finding->first, "last",
							      (json_int_t)finding->last));
	result = json_pack("{s:s, s:b, s:o, s:o, s:s, s:I, s:I, s:I, s:I, s:s, s:b, s:I, s:I, s:s%}", "verdict",
			   verify_kind_get_name(finding->kind), "intact", finding->kind == VERIFY_INTACT, "found",
			   found, "files", files, "run", verify->run, "lines", (json_int_t)verify->lines, "records",
			   (json_int_t)verify->records, "unsealed", (json_int_t)tail, "recovered",
			   (json_int_t)verify->recovered, "key", verify->header_key_text, "key_given",
			   (int)run->has_key, "checkpoints", (json_int_t)run->anchor.agreed_count, "anchored",
			   (json_int_t)run->anchor.agreed_lines, "head", verify->last_line.hash, (size_t)HASH_DIGITS);
	text = result ? json_dumps(result, JSON_COMPACT) : NULL;
	(void)text_printf(stdout, "%s\n", text ? text : "{}");
	json_decref(result);
}

/* ---- reading one log ---- */

/* Ends the check of a log: prints what was found, and keeps the exit status that is worst. */
static void verify_end_log(struct verify_run *run)
{
	struct verify_finding finding;
	uint64_t tail;
	int status;

	if (!run->log_is_begun)
		return;
	finding = verify_get_finding(&run->verify, run->has_key ? run->key : NULL, &tail);
	anchor_apply_to_finding(&run->anchor, &run->verify, &finding);
	status = exit_statuses[finding.kind];
	if (run->options->json)
		verify_print_json(run, &finding, tail);
	else
		verify_print_for_people(run, &finding, tail);
	if (status != CLI_EXIT_OK && (run->exit_status == CLI_EXIT_OK || status < run->exit_status))
		run->exit_status = status;
	verify_release(&run->verify);
	anchor_close(&run->anchor);
	for (size_t i = 0; i < run->path_count; i++)
		free(run->paths[i]);
	run->path_count = 0;
	run->log_is_begun = false;
}

/* Whether the line is the header of the first file of a run, so that it begins another log. */
static bool verify_line_begins_run(const char *text, size_t len)
{
	json_t *json = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	bool begins = json && strcmp(audit_line_get_type(json), "header") == 0 &&
		      json_integer_value(json_object_get(json, "file")) == 0 &&
		      json_integer_value(json_object_get(json, "seq")) == 0;

	json_decref(json);
	return begins;
}

/* Begins a file. If it begins another run, the log before it has ended, and is reported. 0 or -ENOMEM. */
static int verify_begin_log_file(struct verify_run *run, const char *path, const char *text, size_t len)
{
	char **paths;
	char *copy;

	if (run->log_is_begun && verify_line_begins_run(text, len))
		verify_end_log(run);
	if (!run->log_is_begun)
		verify_init(&run->verify);
	run->log_is_begun = true;
	paths = reallocarray(run->paths, run->path_count + 1, sizeof(*paths));
	copy = paths ? strdup(path) : NULL;
	run->paths = paths ? paths : run->paths;
	if (!copy)
		return -ENOMEM;
	run->paths[run->path_count++] = copy;
	verify_begin_file(&run->verify);
	return 0;
}

/*
 * Reads more of the file. First moves the `have` unread bytes at *at to the front of the buffer. Returns the number of
 * bytes that were read, 0 at the end of the file, or -errno.
 */
static ssize_t verify_read_more_bytes(struct verify_run *run, int fd, size_t *at, size_t have)
{
	ssize_t n;

	memmove(run->buffer, run->buffer + *at, have);
	*at = 0;
	if (have == run->cap) {
		char *buffer = run->cap < VERIFY_LINE_BYTES_MAX ? realloc(run->buffer, 2 * run->cap) : NULL;

		if (!buffer)
			return run->cap < VERIFY_LINE_BYTES_MAX ? -ENOMEM : -E2BIG;
		run->buffer = buffer;
		run->cap *= 2;
	}
	n = TEMP_FAILURE_RETRY(read(fd, run->buffer + have, run->cap - have));
	return n < 0 ? -errno : n;
}

/* Returns the length of an incomplete line: up to the last byte that is not NUL, because NULs are unused space. */
static uint64_t verify_measure_incomplete_line(const char *text, size_t len)
{
	while (len > 0 && text[len - 1] == '\0')
		len--;
	return len;
}

/* With --anchor, compares the last line with the next checkpoint. 0, or -ECANCELED after a message. */
static int verify_compare_anchor(struct verify_run *run)
{
	int r = 0;

	if (run->anchor.checkpoints_path && !run->anchor.file)
		r = anchor_open(&run->anchor, &run->verify, run->has_key ? run->key : NULL);
	if (r == 0 && run->anchor.has_next_checkpoint)
		r = anchor_compare_last_line(&run->anchor, &run->verify);
	if (r < 0)
		cli_print_error("audit", "--anchor %s: %s", run->anchor.checkpoints_path,
				r == -EBADMSG ? "not checkpoints of an audit log" : strerror(-r));
	return r < 0 ? -ECANCELED : 0;
}

/* Reads the lines of a file. 0 or -errno. */
static int verify_read_lines(struct verify_run *run, int fd, const char *path)
{
	size_t at = 0, len = 0;
	bool first = true;
	uint64_t torn = 0;

	for (;;) {
		char *text = run->buffer + at, *newline = memchr(text, '\n', len);
		size_t line = newline ? (size_t)(newline - text) + 1 : 0;
		ssize_t n;
		int r = 0;

		if (newline) {
			r = first ? verify_begin_log_file(run, path, text, line) : 0;
			first = false;
			if (r == 0)
				r = verify_add_line(&run->verify, text, line);
			if (r == 0)
				r = verify_compare_anchor(run);
			if (r < 0)
				return r;
			at += line;
			len -= line;
			continue;
		}
		/* A killed writer leaves unused space of any length behind the last line. */
		if (len > 0 && !first && *text == '\0' && memchr(text, '\0', len) && text[len - 1] == '\0' &&
		    verify_measure_incomplete_line(text, len) == 0)
			len = 0;
		n = verify_read_more_bytes(run, fd, &at, len);
		if (n < 0)
			return (int)n;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	if (first && !(run->log_is_begun && run->verify.next_file_name[0]))
		return -ENOMSG;
	if (first)
		verify_begin_file(&run->verify);
	torn = verify_measure_incomplete_line(run->buffer + at, len);
	verify_end_file(&run->verify, torn);
	return 0;
}

/*
 * Reads a file of a log, unless the file was read before. followed: the log's file before this one names it, not the
 * user. *ret_next: path of the file that this file names as the log's next one; owned; NULL: none.
 */
static int verify_read_file(struct verify_run *run, const char *path, bool followed, char **ret_next)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	const char *slash = strrchr(path, '/');
	struct verify_file *all;
	struct stat file;
	int r;

	*ret_next = NULL;
	if (fd < 0 || fstat(fd, &file) < 0)
		return -errno;
	for (size_t i = 0; i < run->read_file_count; i++)
		if ((followed || run->files[i].was_named_by_previous) && run->files[i].device == file.st_dev &&
		    run->files[i].inode == file.st_ino)
			return 0;
	all = reallocarray(run->files, run->read_file_count + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	run->files = all;
	run->files[run->read_file_count++] = (struct verify_file){file.st_dev, file.st_ino, followed};
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	r = verify_read_lines(run, fd, path);
	if (r == 0 && !run->verify.is_broken && run->verify.next_file_name[0] &&
	    !strchr(run->verify.next_file_name, '/'))
		*ret_next =
			text_format("%.*s%s", slash ? (int)(slash - path + 1) : 0, path, run->verify.next_file_name);
	return r;
}

/* Reads a log: a file, and the files in the same directory in which the log continues. */
static int verify_read_log(struct verify_run *run, const char *path)
{
	_cleanup_free_ char *next = NULL;
	int r = verify_read_file(run, path, false, &next);

	while (r == 0 && next) {
		_cleanup_free_ char *now = steal_pointer(&next);

		r = verify_read_file(run, now, true, &next);
		if (r == -ENOENT) {
			r = 0; /* the file is missing, which verify_get_finding() reports */
			break;
		}
		if (r < 0)
			return verify_report_error(now, r);
	}
	return r < 0 ? verify_report_error(path, r) : CLI_EXIT_OK;
}

/* Reads the key of --key, which is named as base64 or as a file. Returns the exit status. */
static int verify_load_key(struct verify_run *run)
{
	const char *named = run->options->key;
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	int r;

	if (!named)
		return CLI_EXIT_OK;
	run->has_key = true;
	if (signing_parse_public(named, strlen(named), run->key) == 0)
		return CLI_EXIT_OK;
	r = io_read_file(AT_FDCWD, named, 4096, &text, &len);
	if (r == 0 && signing_parse_public(text, len, run->key) == 0)
		return CLI_EXIT_OK;
	cli_print_error("audit", "--key %s: %s", named,
			r < 0 ? strerror(-r) : "not an Ed25519 public key; callgate key new writes FILE.pub");
	return CLI_EXIT_ERROR;
}

int audit_verify_logs(char **paths, size_t count, const struct verify_options *options, char *ret_head)
{
	struct verify_run run = {
		.options = options, .anchor.checkpoints_path = options->anchor_path, .cap = VERIFY_BUFFER_BYTES};
	int status = verify_load_key(&run);

	run.buffer = malloc(run.cap);
	if (!run.buffer)
		return cli_fail_no_memory("audit");
	for (size_t i = 0; status == CLI_EXIT_OK && i < count; i++)
		status = verify_read_log(&run, paths[i]);
	if (ret_head && run.log_is_begun)
		(void)snprintf(ret_head, HASH_DIGITS + 1, "%.*s", HASH_DIGITS, run.verify.last_line.hash);
	verify_end_log(&run);
	free(run.paths);
	free(run.files);
	free(run.buffer);
	return audit_flush_stdout(status == CLI_EXIT_OK ? run.exit_status : status);
}

static const char usage[] =
	"Usage: callgate audit verify [OPTION...] LOG...\n\n"
	"Checks that the lines of a log are as callgate wrote them. Names the first that is not.\n\n";

int audit_main_verify(int argc, char **argv)
{
	static const struct cli_option table[] = {
		CLI_TEXT("key", "PUB", "the public key, a file or 44 characters; default: the one in the log",
			 offsetof(struct verify_options, key)),
		CLI_TEXT("anchor", "FILE", "compare with the checkpoints that run --anchor FILE has put there",
			 offsetof(struct verify_options, anchor_path)),
		CLI_FLAG("json", 0, "one object for each log", offsetof(struct verify_options, json)),
		{0},
	};
	struct verify_options options = {.key = NULL};
	const struct cli_syntax syntax = {
		.verb = "audit",
		.usage = usage,
		.epilogue = "\nExit status: 0 intact, 1 broken, 2 wrong key or signature, 3 truncated (by an anchor),\n"
			    "4 no end or not signed, which cannot be told from truncation, 125 error.\n",
		.allows_mixed_order = true,
		.table = {{NULL, table, &options}},
	};
	int status = cli_parse_options(argc, argv, &syntax);

	if (status != CLI_OPTIONS_PARSED)
		return status;
	if (optind >= argc) {
		cli_print_error("audit", "verify: no log given; name the files that run --audit wrote");
		return CLI_EXIT_ERROR;
	}
	return audit_verify_logs(argv + optind, (size_t)(argc - optind), &options, NULL);
}
