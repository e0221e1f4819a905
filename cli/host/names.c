#include "cli/host/names.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "policy/network/names.h"

#include "base/banned.h"

static struct helper names = HELPER_NONE;

static int names_start(const char **ret_why)
{
	static const char *const none[] = {NULL};
	int error = names.pid > 0 ? 0 : helper_start("names", none, &names, ret_why);

	if (error < 0 || (error = helper_greeted(&names, ret_why)) < 0)
		cli_names_end();
	return error;
}

int cli_names_ask(const struct names_query *query, struct names_reply *ret_reply, const char **ret_why)
{
	int error = names.pid > 0 ? 0 : names_start(ret_why);

	if (error < 0)
		return error;
	if (send(names.fd, query, sizeof(*query), MSG_NOSIGNAL) != sizeof(*query) ||
	    recv(names.fd, ret_reply, sizeof(*ret_reply), 0) != sizeof(*ret_reply)) {
		cli_names_end();
		*ret_why = "cannot be looked up: the process of " HELPER_FILE " that was asked has ended";
		return -EPIPE;
	}
	ret_reply->text[sizeof(ret_reply->text) - 1] = '\0';
	ret_reply->home[sizeof(ret_reply->home) - 1] = '\0';
	return 0;
}

void cli_names_end(void)
{
	helper_end(&names);
}

static int names_ask_host(enum names_kind kind, const char *text, struct names_reply *ret_reply, const char **ret_why)
{
	struct names_query query = {.kind = kind};

	if ((size_t)snprintf(query.text, sizeof(query.text), "%s", text) < sizeof(query.text))
		return cli_names_ask(&query, ret_reply, ret_why);
	*ret_why = "is longer than a host name can be";
	return -EINVAL;
}

char *net_names_ascii(const char *text, const char **ret_why)
{
	static struct names_reply reply;

	if (names_ask_host(NAMES_ASCII, text, &reply, ret_why) < 0)
		return NULL;
	*ret_why = reply.text;
	return reply.found ? strdup(reply.text) : NULL;
}

bool net_names_public(const char *name, const char **ret_why)
{
	struct names_reply reply;

	return names_ask_host(NAMES_PUBLIC, name, &reply, ret_why) < 0 || reply.found;
}
