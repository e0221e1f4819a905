/* Messages and memory for all steps of compiling. */
#include <stdarg.h>
#include <stdio.h>

#include "policy/model.h"
#include "policy/parse/errors.h"

#include "base/banned.h"

void compiler_fail(struct compiler *compiler, const char *where, const char *format, ...)
{
	char message[sizeof(((struct policy_error *)NULL)->text)];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	policy_errors_add(compiler->errors, "%s: %s", where, message);
	compiler->failed = true;
}
