/* The result that the keeper reads: the report, or an error. */
#include "supervisor/process-private.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "supervisor/report.h"

int process_set_error(struct process *process, enum run_exit exit_code, const char *code, const char *format, ...)
{
	char message[1200];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(message, sizeof(message), format, arguments); /* a longer message is truncated */
	va_end(arguments);
	if (!process->result)
		process->result = json_object();
	(void)json_object_set_new(process->result, "exit_code", json_integer(exit_code));
	(void)json_object_set_new(process->result, "error",
				  json_pack("{s:s, s:o}", "code", code, "message", report_make_text_json(message)));
	return -1;
}

int process_send_result(const struct process *process)
{
	_cleanup_free_ char *text = process->result ? json_dumps(process->result, JSON_COMPACT) : NULL;

	if (!text || io_write_all(process->options->report_fd, text, strlen(text)) < 0)
		return 1;
	/* EPIPE: the keeper is dead */
	(void)!write(process->options->control_fd, (const char[]){RUN_BYTE_REPORT_COMPLETE}, 1);
	return 0;
}
