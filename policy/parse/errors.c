/* The list of messages about one load. The caller of policy_load owns the list. */
#include "policy/parse/errors.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/model.h"

#define POLICY_ERRORS_MAX 100

void policy_errors_add(struct policy_errors *errors, const char *format, ...)
{
	struct policy_error *grown;
	va_list args;
	char *text;

	if (errors->count >= POLICY_ERRORS_MAX)
		return;
	grown = realloc(errors->item, (errors->count + 1) * sizeof(*grown));
	if (!grown)
		return; /* the message is lost, but loading still fails: its result does not depend on the list */
	errors->item = grown;
	text = grown[errors->count].text;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(grown->text), format, args); /* a long message is cut */
	va_end(args);
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
	/* Keeps a message once: each phase of a policy is compiled, and has the mistakes of the whole policy. */
	for (size_t i = 0; i < errors->count; i++)
		if (strcmp(grown[i].text, grown[errors->count].text) == 0)
			return;
	errors->count++;
}

void policy_errors_release(struct policy_errors *errors)
{
	free(errors->item);
	*errors = (struct policy_errors){0};
}

void compiler_add_error(struct compiler *compiler, const char *source_location, const char *format, ...)
{
	char message[sizeof(((struct policy_error *)NULL)->text)];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	policy_errors_add(compiler->errors, "%s: %s", source_location, message);
	compiler->has_failed = true;
}

void compiler_add_warning(struct compiler *compiler, const char *format, ...)
{
	struct policy *policy = compiler->policy;
	char text[sizeof(((struct policy_error *)NULL)->text)];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args); /* a long warning is cut */
	va_end(args);
	ARENA_APPEND(&policy->arena, policy->warning, policy->warning_count, arena_dup(&policy->arena, text));
}
