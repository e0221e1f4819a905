#include "cli/host/account.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/helper.h"

#define BLANK_CHARACTERS " \t\n"

/* The process that asks the name service: started by the first account_query(), ended by account_end_lookups(). */
static struct helper account_helper = HELPER_INIT;

/* Starts the helper process that looks up accounts. 0 or -errno. */
static int account_start_lookups(void)
{
	static const char *const no_variables[] = {NULL};
	const char *why; /* not reported: without a name service the account counts as missing */
	int error = helper_start("accounts", no_variables, &account_helper, &why);

	return error < 0 ? error : helper_await_equal_version(&account_helper, &why);
}

/* Asks the helper process about an account. -EPIPE: it cannot be started, or does not answer. */
static int account_query(const struct account_query *query, struct account_reply *ret_reply)
{
	if ((account_helper.pid > 0 || account_start_lookups() == 0) &&
	    send(account_helper.fd, query, sizeof(*query), MSG_NOSIGNAL) == sizeof(*query) &&
	    recv(account_helper.fd, ret_reply, sizeof(*ret_reply), 0) == sizeof(*ret_reply)) {
		ret_reply->account_name[sizeof(ret_reply->account_name) - 1] = '\0';
		ret_reply->home[sizeof(ret_reply->home) - 1] = '\0';
		return 0;
	}
	account_end_lookups();
	return -EPIPE;
}

void account_end_lookups(void)
{
	helper_stop(&account_helper);
}

/* Whether this line of nsswitch.conf(5) has "files" as the only source of `database`. */
static bool nsswitch_line_has_only_files(const char *line, const char *database)
{
	size_t len = strlen(database);

	line += strspn(line, BLANK_CHARACTERS);
	if (strncmp(line, database, len) != 0)
		return false;
	line += len + strspn(line + len, BLANK_CHARACTERS);
	if (*line != ':')
		return false;
	line += 1 + strspn(line + 1, BLANK_CHARACTERS);
	return strncmp(line, "files", 5) == 0 && line[5 + strspn(line + 5, BLANK_CHARACTERS)] == '\0';
}

/* Whether /etc/nsswitch.conf says that the database is read from files only. false if it says nothing. */
static bool nsswitch_has_only_files(const char *database)
{
	_cleanup_fclose_ FILE *file = fopen("/etc/nsswitch.conf", "re");
	bool found = false;
	char line[256];

	while (file && !found && fgets(line, sizeof(line), file))
		found = nsswitch_line_has_only_files(line, database);
	return found;
}

/* Asks the name service. NULL: no such account, the service cannot be asked, or nsswitch.conf(5) has only files. */
static const struct account_reply *account_ask_name_service(const char *database, enum account_lookup kind, uint32_t id,
						       const char *name)
{
	static struct account_reply reply;
	struct account_query query = {.kind = kind, .id = id};

	if (nsswitch_has_only_files(database) ||
	    (size_t)snprintf(query.text, sizeof(query.text), "%s", name) >= sizeof(query.text))
		return NULL;
	return account_query(&query, &reply) == 0 && reply.was_found ? &reply : NULL;
}

const struct account *account_find(const char *name, uid_t uid)
{
	static struct account account;
	_cleanup_fclose_ FILE *file = fopen("/etc/passwd", "re");
	const struct account_reply *reply;
	const struct passwd *found = NULL;

	while (file && (found = fgetpwent(file)) && (name ? strcmp(found->pw_name, name) != 0 : found->pw_uid != uid))
		;
	if (found) {
		account = (struct account){found->pw_uid, found->pw_gid, found->pw_name, found->pw_dir};
		return &account;
	}
	reply = name ? account_ask_name_service("passwd", ACCOUNT_LOOKUP_BY_NAME, 0, name)
		     : account_ask_name_service("passwd", ACCOUNT_LOOKUP_BY_UID, uid, "");
	if (reply)
		account = (struct account){reply->uid, reply->gid, reply->account_name, reply->home};
	return reply ? &account : NULL;
}

int account_find_group(const char *name, gid_t *ret_gid)
{
	_cleanup_fclose_ FILE *file = fopen("/etc/group", "re");
	const struct account_reply *reply;
	const struct group *group = NULL;

	while (file && (group = fgetgrent(file)) && strcmp(group->gr_name, name) != 0)
		;
	reply = group ? NULL : account_ask_name_service("group", ACCOUNT_LOOKUP_GROUP_BY_NAME, 0, name);
	if (!group && !reply)
		return -ENOENT;
	*ret_gid = group ? group->gr_gid : reply->gid;
	return 0;
}
