#include "cli/account.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/shared.h"

#include "base/banned.h"

#define BLANK " \t\n"

/* Not in the program that is linked statically. */
extern const struct account_service account_service __attribute__((weak, visibility("hidden")));

/* nsswitch.conf(5): that `line` names no other source for `database` than its file. */
static bool says_files(const char *line, const char *database)
{
	size_t len = strlen(database);

	line += strspn(line, BLANK);
	if (strncmp(line, database, len) != 0)
		return false;
	line += len + strspn(line + len, BLANK);
	if (*line != ':')
		return false;
	line += 1 + strspn(line + 1, BLANK);
	return strncmp(line, "files", 5) == 0 && line[5 + strspn(line + 5, BLANK)] == '\0';
}

static bool has_only_files(const char *database)
{
	FILE *file = fopen("/etc/nsswitch.conf", "re");
	bool found = false;
	char line[256];

	while (file && !found && fgets(line, sizeof(line), file))
		found = says_files(line, database);
	if (file)
		(void)fclose(file);
	return found;
}

/* NULL: there is none, it would say the same as the file, or there is no other program that has it. */
static const struct account_service *service(const char *database)
{
	const char *why;

	return !has_only_files(database) && shared_program(&why) == 0 && &account_service ? &account_service : NULL;
}

/* Of this name; NULL: of this number. */
static const struct passwd *find_in_file(const char *name, uid_t uid)
{
	FILE *file = fopen("/etc/passwd", "re");
	const struct passwd *account = NULL;

	while (file && (account = fgetpwent(file)) &&
	       (name ? strcmp(account->pw_name, name) != 0 : account->pw_uid != uid))
		;
	if (file)
		(void)fclose(file); /* read only */
	return account;
}

const struct passwd *account_of_uid(uid_t uid)
{
	const struct passwd *account = find_in_file(NULL, uid);
	const struct account_service *more = account ? NULL : service("passwd");

	return more ? more->of_uid(uid) : account;
}

const struct passwd *account_named(const char *name)
{
	const struct passwd *account = find_in_file(name, 0);
	const struct account_service *more = account ? NULL : service("passwd");

	return more ? more->named(name) : account;
}

const struct group *account_group_named(const char *name)
{
	FILE *file = fopen("/etc/group", "re");
	const struct account_service *more;
	const struct group *group = NULL;

	while (file && (group = fgetgrent(file)) && strcmp(group->gr_name, name) != 0)
		;
	if (file)
		(void)fclose(file);
	more = group ? NULL : service("group");
	return more ? more->group_named(name) : group;
}
