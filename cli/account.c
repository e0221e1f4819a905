#include "cli/account.h"

#include <stdio.h>
#include <string.h>

#include "base/shared.h"

#include "base/banned.h"

extern const struct account_service account_service __attribute__((weak, visibility("hidden")));

/* NULL: there is none, and no other program that has it. */
static const struct account_service *service(void)
{
	const char *why;

	return shared_program(&why) == 0 && &account_service ? &account_service : NULL;
}

const struct passwd *account_of_uid(uid_t uid)
{
	FILE *file = fopen("/etc/passwd", "re");
	const struct passwd *account = NULL;

	while (file && (account = fgetpwent(file)) && account->pw_uid != uid)
		;
	if (file)
		(void)fclose(file); /* read only */
	return account || !service() ? account : service()->of_uid(uid);
}

const struct passwd *account_named(const char *name)
{
	FILE *file = fopen("/etc/passwd", "re");
	const struct passwd *account = NULL;

	while (file && (account = fgetpwent(file)) && strcmp(account->pw_name, name) != 0)
		;
	if (file)
		(void)fclose(file);
	return account || !service() ? account : service()->named(name);
}

const struct group *account_group_named(const char *name)
{
	FILE *file = fopen("/etc/group", "re");
	const struct group *group = NULL;

	while (file && (group = fgetgrent(file)) && strcmp(group->gr_name, name) != 0)
		;
	if (file)
		(void)fclose(file);
	return group || !service() ? group : service()->group_named(name);
}
