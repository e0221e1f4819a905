/* Answers with errors as E2B's API has them; parses request bodies as JSON. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "agents/e2b/private.h"

#define ANSWER_MESSAGE_SIZE 4096

/* Answers in the form of E2B's errors. A message that is not UTF-8 is replaced. */
static void e2b_answer_error_message(struct http_request *request, unsigned status, const char *message)
{
	json_t *answer = json_pack("{s:i, s:s}", "code", (int)status, "message", message);

	if (!answer) /* not UTF-8: the message was cut within a character */
		answer = json_pack("{s:i, s:s}", "code", (int)status, "message", "the request failed");
	http_answer_json(request, status, answer);
}

void e2b_answer_error(struct http_request *request, unsigned status, const char *format, ...)
{
	char message[ANSWER_MESSAGE_SIZE];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	e2b_answer_error_message(request, status, message);
}

json_t *e2b_parse_body(struct http_request *request, const char *bytes, size_t len)
{
	json_error_t error;
	json_t *body = json_loadb(len ? bytes : "{}", len ? len : 2, JSON_REJECT_DUPLICATES, &error);

	if (json_is_object(body))
		return body;
	if (body)
		e2b_answer_error(request, 400, "the body is no JSON object");
	else
		e2b_answer_error(request, 400, "the body is no JSON: line %d: %s", error.line, error.text);
	json_decref(body);
	return NULL;
}

unsigned files_get_http_status(int error)
{
	switch (error) {
	case ENOENT:
		return 404;
	case EISDIR:
	case ENOTDIR:
	case EINVAL:
	case ENAMETOOLONG:
	case ELOOP:
		return 400;
	case EACCES:
	case EPERM:
	case EROFS:
		return 403;
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return 507;
	case EMFILE:
	case ENFILE:
		return 429;
	case E2BIG: /* too many files in one request */
		return 413;
	default:
		return 500;
	}
}
