#include "cli/compare/trail.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/read.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/texthash.h"
#include "cli/audit/fields.h"
#include "cli/cli.h"

/* Fixed keys, so that equal texts of both logs have equal hashes. A collision only makes two calls look alike. */
static const struct texthash trail_hash = {0x9e3779b97f4a7c15u, 0xd6e8feb86659fd93u};

static uint64_t trail_hash_text(const char *text)
{
	return texthash_compute(&trail_hash, 0, text, strlen(text));
}

void trail_put_path(struct buf *out, const char *workdir, const char *path)
{
	size_t len = workdir ? strlen(workdir) : 0;

	if (len > 1 && strncmp(path, workdir, len) == 0 && (path[len] == '/' || path[len] == '\0')) {
		buf_printf(out, "@workdir%s", path + len);
		return;
	}
	if (strncmp(path, "/proc/", 6) == 0 && path[6] >= '0' && path[6] <= '9') {
		buf_printf(out, "/proc/PID%s", path + 6 + strspn(path + 6, "0123456789"));
		return;
	}
	buf_puts(out, path);
}

/* Adds a field of the line, with what differs from run to run left out. */
static void trail_add_field(const struct trail *trail, struct buf *out, const json_t *line, const char *key)
{
	_cleanup_free_ char *text = audit_get_field_for_display(line, key);

	if (!text)
		return;
	buf_puts(out, " ");
	trail_put_path(out, trail->workdir, text);
}

/*
 * Adds the paths of a call as the program wrote them, because where they lead may depend on the policy. A call on a
 * descriptor has only a resolved path.
 */
static void trail_append_paths_of_call(const struct trail *trail, struct buf *out, const json_t *line)
{
	static const char *const keys[][2] = {{"path", "resolved"}, {"path2", "resolved2"}};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		trail_add_field(trail, out, line,
				json_is_string(json_object_get(line, keys[i][0])) ? keys[i][0] : keys[i][1]);
}

/* Describes a step of a run, to compare it: call or event, method, host, port and paths. Owned; NULL: no memory. */
static char *trail_describe_step(const struct trail *trail, const json_t *line)
{
	static const char *const of_network[] = {"method", "host"};
	const char *call = json_string_value(json_object_get(line, "syscall"));
	const char *event = json_string_value(json_object_get(line, "event"));
	const json_t *port = json_object_get(line, "port");
	_cleanup_buf_ struct buf text = {0};

	buf_puts(&text, call ? call : event ? event : "");
	for (size_t i = 0; i < sizeof(of_network) / sizeof(of_network[0]); i++)
		trail_add_field(trail, &text, line, of_network[i]);
	if (json_is_integer(port))
		buf_printf(&text, ":%lld", (long long)json_integer_value(port));
	trail_append_paths_of_call(trail, &text, line);
	return buf_take_text(&text);
}

/* The error of a record by its name, or as a number if it has none. */
static char *trail_get_error_name(const json_t *line)
{
	const json_t *error = json_object_get(line, "errno");

	return json_is_integer(error) ? text_format("%lld", (long long)json_integer_value(error))
				      : audit_get_field_for_display(line, "errno");
}

/* Finds the process of a record. A pid whose parent has changed is another process that got the same number. */
static struct trail_process *trail_find_process(struct trail *trail, const json_t *line)
{
	long long pid = audit_get_field_number(line, "pid"), ppid = audit_get_field_number(line, "ppid");
	size_t parent = TRAIL_NO_PROCESS;

	for (size_t i = trail->process_count; i-- > 0;) {
		if (trail->processes[i].pid == pid && (trail->processes[i].ppid == ppid || ppid == 0))
			return &trail->processes[i];
		if (trail->processes[i].pid == ppid && parent == TRAIL_NO_PROCESS)
			parent = i;
	}
	if (!array_reserve(&trail->processes, trail->process_count, &trail->room))
		return NULL;
	trail->processes[trail->process_count] =
		(struct trail_process){.pid = pid, .ppid = ppid, .parent_index = parent};
	return &trail->processes[trail->process_count++];
}

static void trail_release_step(struct trail_step *step)
{
	free(step->call_text);
	free(step->exe);
	free(step->verdict);
	free(step->rule);
	free(step->reason);
	free(step->error);
}

/* Adds a record to the steps of its process. 0 or -ENOMEM. */
static int trail_add_step(struct trail *trail, const json_t *line)
{
	struct trail_process *process = trail_find_process(trail, line);
	struct trail_step step = {.seq = (uint64_t)audit_get_field_number(line, "seq"),
				  .call_text = trail_describe_step(trail, line),
				  .exe = audit_get_field_for_display(line, "exe"),
				  .verdict = audit_get_field_for_display(line, "verdict"),
				  .rule = audit_get_field_for_display(line, "rule"),
				  .reason = audit_get_field_for_display(line, "reason"),
				  .error = trail_get_error_name(line)};

	if (!process || !step.call_text || !array_reserve(&process->steps, process->step_count, &process->room)) {
		trail_release_step(&step);
		return -ENOMEM;
	}
	step.key = trail_hash_text(step.call_text);
	if (process->step_count == 0)
		process->first_steps_hash = step.key;
	process->steps[process->step_count++] = step;
	return 0;
}

/* Adds a record's step to the trail, or takes the working directory from the header. 0 or -errno. */
static int trail_add_line(struct trail *trail, const json_t *line)
{
	const char *type = audit_line_get_type(line);

	if (strcmp(type, "header") == 0 && !trail->workdir)
		trail->workdir = audit_get_field_for_display(line, "workdir");
	return strcmp(type, "record") == 0 ? trail_add_step(trail, line) : 0;
}

int trail_read_log(const char *path, struct trail *ret_trail)
{
	struct audit_reader *reader = NULL;
	struct audit_line line;
	int r = audit_reader_open(path, &reader), more;

	*ret_trail = (struct trail){0};
	if (r < 0) {
		cli_print_error("compare", "%s: %s", path, strerror(-r));
		return r;
	}
	while (r == 0 && (more = audit_reader_read_line(reader, &line)) != 0)
		r = more < 0 ? more : trail_add_line(ret_trail, line.json);
	audit_reader_free(reader);
	if (r < 0)
		cli_print_error("compare", "%s: %s", path, r == -EBADMSG ? "the log is damaged" : strerror(-r));
	return r;
}

void trail_release(struct trail *trail)
{
	for (size_t i = 0; i < trail->process_count; i++) {
		struct trail_process *process = &trail->processes[i];

		for (size_t n = 0; n < process->step_count; n++)
			trail_release_step(&process->steps[n]);
		free(process->steps);
	}
	free(trail->processes);
	free(trail->workdir);
	*trail = (struct trail){0};
}

size_t *trail_list_children(const struct trail *trail, size_t parent, size_t *ret_count)
{
	size_t *child = calloc(trail->process_count + 1, sizeof(*child));
	size_t count = 0;

	for (size_t i = 0; child && i < trail->process_count; i++) {
		size_t at = count;

		if (trail->processes[i].parent_index != parent)
			continue;
		for (; at > 0 && trail->processes[child[at - 1]].pid > trail->processes[i].pid; at--)
			child[at] = child[at - 1];
		child[at] = i;
		count++;
	}
	*ret_count = count;
	return child;
}
