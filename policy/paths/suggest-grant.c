#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"
#include "policy/network/net.h"
#include "policy/paths/literal.h"
#include "policy/paths/suggest.h"
#include "policy/policy.h"

#define SUGGEST_REASON_ADDRESS                                                                                         \
	"its address is not public; \"private\": true in its rule permits private addresses, but none of link-local, " \
	"metadata and the like"

/* Whether the text is an entry of the NULL-terminated list. */
static bool grant_text_is_listed(const char *text, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(text, *list) == 0)
			return true;
	return false;
}

/* What to do instead of a call that no grant would allow. NULL: nothing. */
static const char *grant_find_advice(const char *reason)
{
	if (strcmp(reason, "exec_of_traced") == 0)
		return "start the program untraced and attach to it (gdb -p, strace -p): no program can be started "
		       "under a tracer, because callgate verifies each exec by tracing it";
	if (strcmp(reason, "traced") == 0)
		return "detach the debugger first: callgate has to trace the thread for this call";
	if (strcmp(reason, "trace_not_bounded") == 0)
		return "run with a pid namespace or Landlock, without which a tracer might leave the run; of "
		       "sanitizers: -e ASAN_OPTIONS=detect_leaks=0";
	if (strcmp(reason, "not_observed") == 0)
		return "--allow-risky";
	return NULL;
}

/*
 * Whether "private" would permit one of the addresses in `dropped`; see address_filter_list() in egress/conn/address.h.
 */
static bool grant_private_admits_dropped_address(const char *dropped)
{
	static const char *const kinds[] = {" private", " local"};

	for (size_t i = 0; dropped && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const char *found = strstr(dropped, kinds[i]);

		if (found && strchr(",", found[strlen(kinds[i])]))
			return true;
	}
	return false;
}

/*
 * Makes the option that would allow a request. NULL: none would allow just that. A method that a rule cannot name, such
 * as "*", would mean something else there.
 */
static char *grant_suggest_request(const struct suggest_denial *denial, const char *open, const char *shut)
{
	const char *method = denial->is_websocket ? NULL : denial->http_method;
	_cleanup_free_ char *path = strndup(denial->http_path, strcspn(denial->http_path, "?"));
	_cleanup_buf_ struct buf buf = {0};

	if (!path || strpbrk(path, "'\n") || !net_http_rule_can_name(method, path))
		return NULL;
	buf_printf(&buf, "--allow '%s %s%s%s:%u%s'", method ? method : "WEBSOCKET", open, denial->host, shut,
		   denial->port, path);
	return buf_take_text(&buf);
}

/*
 * Makes the option of `callgate run` that would allow the endpoint, request or port. Owned; NULL: no such option would,
 * because the access was refused for another reason than a missing rule; or no memory.
 */
static char *grant_suggest_endpoint(const struct suggest_denial *denial)
{
	static const char *const by_rule[] = {"no_rule",          "port_not_granted",    "method_not_granted",
					      "path_not_granted", "upgrade_not_granted", NULL};
	const char *open = strchr(denial->host, ':') ? "[" : "", *shut = *open ? "]" : "";
	bool private = strcmp(denial->reason, "denied_addr") == 0 &&
		       grant_private_admits_dropped_address(denial->addresses_not_dialled);
	_cleanup_buf_ struct buf buf = {0};

	if ((!private && !grant_text_is_listed(denial->reason, by_rule)) || strpbrk(denial->host, "'\n* (") ||
	    (denial->http_method && private))
		return NULL;
	if (denial->http_method)
		return grant_suggest_request(denial, open, shut);
	if (denial->accepts_connections)
		buf_printf(&buf, "--listen %u", denial->port);
	else if (private && denial->port == 0)
		buf_printf(&buf, "--allow-private %s%s%s", open, denial->host, shut);
	else
		buf_printf(&buf, "--allow-%s %s%s%s:%u", private ? "private" : "host", open, denial->host, shut,
			   denial->port ? denial->port : 443);
	return buf_take_text(&buf);
}

/*
 * Chooses the path to grant: the path that the program wrote, if it is absolute, has no ".." and lies below the
 * resolved path; else the resolved path. Resolving may have ended at the first name that the view does not show.
 */
static void grant_choose_path(const struct suggest_denial *denial, char path[PATH_MAX])
{
	char full[PATH_MAX], *slash;
	bool lexical;

	(void)snprintf(path, PATH_MAX, "%s", denial->resolved_path);
	if (!denial->is_granted_by_run && denial->path_as_written && denial->path_as_written[0] == '/' &&
	    path_join("/", denial->path_as_written, full, sizeof(full), &lexical) >= 0 && lexical &&
	    path_is_below(full, denial->resolved_path))
		(void)snprintf(path, PATH_MAX, "%s", full);
	slash = denial->changes_names && denial->wanted_right & POLICY_WRITE ? strrchr(path, '/') : NULL;
	if (slash)
		slash[slash == path] = '\0';
}

bool suggest_find_library(const char *rule, char **ret_language, char **ret_name)
{
	static const char key[] = ": libraries.", lacks[] = " lacks ";
	const char *language = strstr(rule, key), *name = language ? strstr(language, lacks) : NULL;
	_cleanup_free_ char *language_text = NULL, *name_text = NULL;

	if (!name)
		return false;
	language += sizeof(key) - 1;
	language_text = strndup(language, (size_t)(name - language));
	name_text = strdup(name + sizeof(lacks) - 1);
	if (!language_text || !name_text)
		return false;
	*ret_language = steal_pointer(&language_text);
	*ret_name = steal_pointer(&name_text);
	return true;
}

char *suggest_libraries(const char *language, const char *names)
{
	_cleanup_buf_ struct buf buf = {0};

	buf_printf(&buf, "in the policy \"libraries\": {\"%s\": [%s]}", language, names);
	return buf_take_text(&buf);
}

char *suggest_library(const char *rule)
{
	_cleanup_free_ char *language = NULL, *name = NULL, *quoted = NULL;

	if (!rule || !suggest_find_library(rule, &language, &name))
		return NULL;
	quoted = text_format("\"%s\"", name);
	return quoted ? suggest_libraries(language, quoted) : NULL;
}

char *suggest_make_grant(const struct suggest_host *host, const struct suggest_denial *denial, const char **ret_why)
{
	static const char *const by_path[] = {"not_granted", "read_only", "not_executable", "not_public", NULL};
	const char *advice = denial->reason ? grant_find_advice(denial->reason) : NULL;
	_cleanup_free_ char *written = NULL;
	_cleanup_buf_ struct buf buf = {0};
	char path[PATH_MAX];

	if (advice)
		return strdup(advice);
	if (!denial->reason)
		return NULL;
	if (strcmp(denial->reason, "denied_by_rule") == 0 && denial->rule) {
		buf_printf(&buf, "drop or narrow the rule \"%s\"", denial->rule);
		return buf_take_text(&buf);
	}
	if (strcmp(denial->reason, "not_in_libraries") == 0)
		return suggest_library(denial->rule);
	if (denial->host) {
		char *option = grant_suggest_endpoint(denial);

		if (!option && strcmp(denial->reason, "denied_addr") == 0)
			*ret_why = SUGGEST_REASON_ADDRESS;
		return option;
	}
	if (!denial->resolved_path || !denial->wanted_right || !grant_text_is_listed(denial->reason, by_path))
		return NULL;
	grant_choose_path(denial, path);
	if (!denial->is_granted_by_run && (*ret_why = suggest_shorten_path(host, path, denial->wanted_right)))
		return NULL;
	if (literal_find_objection(path)) {
		*ret_why = LITERAL_REASON_NONE;
		return NULL;
	}
	buf_puts(&buf, denial->wanted_right & POLICY_EXEC    ? "-x "
		       : denial->wanted_right & POLICY_WRITE ? "-W "
							     : "-r ");
	written = literal_write("", path);
	if (!written)
		return NULL;
	suggest_put_shell_word(&buf, written);
	return buf_take_text(&buf);
}
