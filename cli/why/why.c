/* callgate why: decides one access as a run would decide it. */
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "cli/cli.h"
#include "cli/load.h"
#include "cli/why/net.h"
#include "policy/paths/explain.h"

#include "base/banned.h"

enum why_opt {
	WHY_OPEN = CLI_OPT_VERB,
	WHY_EXEC,
	WHY_CONNECT,
	WHY_URL,
	WHY_JSON,
};

/* The question about a path, and its answer. */
struct question {
	char asked[PATH_MAX];    /* the path made absolute */
	char resolved[PATH_MAX]; /* canonical name in the view */
	char host[PATH_MAX];     /* "": not a file of the host */
	const char *path;        /* of --open or --exec; NULL: not given */
	const char *endpoint;    /* of --connect or --url; NULL: not given */
	bool url;                /* the endpoint is of --url */
	unsigned want;
	bool json;
	struct policy_decision decision;
	const struct policy_mount *mount;
	char *suggest; /* owned */
};

static int why_help(void)
{
	_cleanup_buf_ struct buf text = {0};

	buf_puts(&text, "Usage: callgate why [OPTION...] QUESTION [-- PROGRAM]\n\n"
			"Explains whether a policy allows an access, by which rule, and what would allow it.\n\n"
			"      --open PATH[:r|w|x]   reading (r, also without a letter), writing or executing PATH\n"
			"      --exec PATH           executing PATH\n"
			"      --connect HOST:PORT   connecting to it (HOST:PORT/udp: sending datagrams)\n"
			"      --url 'METHOD URL'    making a request: 'GET https://HOST/PATH'\n"
			"      --json                one JSON object\n");
	buf_puts(&text, cli_policy_help());
	buf_puts(&text, CLI_COMMON_HELP "\nExit status: 0 allowed, 1 refused, 125 error.\n");
	return cli_print_buf("why", &text);
}

/* Prints a message when a question was given before. */
static bool why_is_asked(const struct question *question)
{
	if (!question->path && !question->endpoint)
		return false;
	cli_error("why", "more than one question; ask with one --open, --exec, --connect or --url");
	return true;
}

static int why_take_endpoint(struct question *question, const char *value, bool url)
{
	if (why_is_asked(question))
		return -EINVAL;
	question->endpoint = value;
	question->url = url;
	return 0;
}

/* Splits "PATH:w" into PATH and POLICY_WRITE. A path that itself ends in ":r" needs another ":r" behind it. */
static int why_take_path(struct question *question, char *value, unsigned want)
{
	size_t len = strlen(value);
	static const char letters[] = "rwx";
	const char *letter = len > 2 && value[len - 2] == ':' ? strchr(letters, value[len - 1]) : NULL;

	if (why_is_asked(question))
		return -EINVAL;
	if (!*value) {
		cli_error("why", "an empty path names nothing; write a path");
		return -EINVAL;
	}
	if (want != POLICY_EXEC && letter && value[len - 1]) {
		want = 1u << (letter - letters);
		value[len - 2] = '\0';
	}
	question->path = value;
	question->want = want;
	return 0;
}

/* Follows the host's symbolic links, and maps where they lead back into the view by the innermost mount. */
static void why_follow_host(const struct policy *policy, struct question *question)
{
	_cleanup_free_ char *real = NULL;
	const struct policy_mount *mounts;
	char host[PATH_MAX];
	size_t count;

	if (policy_host_path(policy, question->resolved, host) < 0)
		return;
	real = realpath(host, NULL);
	if (!real || strcmp(real, host) == 0)
		return;
	mounts = policy_mounts(policy, &count);
	for (size_t i = count; i-- > 0;) {
		const char *rest = mounts[i].kind == POLICY_MOUNT_TREE ? path_rest(real, mounts[i].host) : NULL;

		if (!rest)
			continue;
		(void)snprintf(question->resolved, PATH_MAX, "%s%s%s",
			       strcmp(mounts[i].virt, "/") == 0 ? "" : mounts[i].virt, *rest ? "/" : "",
			       rest); /* cut only where the mount is longer than its host path */
		return;
	}
	(void)snprintf(question->resolved, PATH_MAX, "%s", real); /* leads out of the view: decided by its host path */
}

static int why_answer(const struct policy *policy, struct question *question)
{
	bool lexical;
	int len = path_join(policy_settings(policy)->workdir, question->path, question->asked, PATH_MAX, &lexical);

	if (len > 0)
		len = policy_follow_links(policy, question->asked, question->resolved);
	if (len < 0) {
		cli_error("why", "%s: %s", question->path, strerror(-len));
		return len;
	}
	why_follow_host(policy, question);
	question->decision = policy_decide(policy, question->resolved, strlen(question->resolved), question->want);
	question->mount = policy_mount_of(policy, question->resolved);
	if (policy_host_path(policy, question->resolved, question->host) < 0)
		question->host[0] = '\0';
	question->suggest = policy_suggest(&question->decision, question->asked, question->want);
	return 0;
}

static const char *why_or_none(const char *text)
{
	return text && *text ? text : "none";
}

static const char *why_want_name(unsigned want)
{
	return want == POLICY_EXEC ? "exec" : want == POLICY_WRITE ? "write" : "read";
}

static int why_print_text(const struct question *question)
{
	const struct policy_decision *decision = &question->decision;
	_cleanup_buf_ struct buf text = {0};

	buf_printf(&text, "%s %s %s\n", verdict_name(decision->verdict), why_want_name(question->want),
		   question->asked);
	if (strcmp(question->asked, question->resolved) != 0)
		buf_printf(&text, "  resolved  %s\n", question->resolved);
	buf_printf(&text, "  rule      %s\n",
		   decision->rule ? decision->rule : "none: what no rule grants does not exist");
	buf_printf(&text, "  reason    %s\n", decision->reason);
	if (decision->error)
		buf_printf(&text, "  errno     %s\n", strerrorname_np(decision->error));
	buf_printf(&text, "  mount     %s\n", why_or_none(question->mount ? question->mount->virt : NULL));
	buf_printf(&text, "  host      %s\n", why_or_none(question->host));
	if (question->suggest)
		buf_printf(&text, "  to allow  %s\n", question->suggest);
	return cli_print_buf("why", &text);
}

/* A JSON string; null for no text and for bytes that are not UTF-8. */
static json_t *why_string(const char *text)
{
	json_t *value = text && *text ? json_string(text) : NULL;

	return value ? value : json_null();
}

static int why_print_json(const struct question *question)
{
	const struct policy_decision *decision = &question->decision;
	json_t *object = json_pack("{s:s, s:s, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o}", "verdict",
				   verdict_name(decision->verdict), "op", why_want_name(question->want), "path",
				   why_string(question->asked), "resolved", why_string(question->resolved), "rule",
				   why_string(decision->rule), "reason", decision->reason, "errno",
				   why_string(decision->error ? strerrorname_np(decision->error) : NULL), "mount",
				   why_string(question->mount ? question->mount->virt : NULL), "host",
				   why_string(question->host), "suggest", why_string(question->suggest));

	return cli_print_json("why", object);
}

/* 0 to continue, 1 when *ret_exit is set. */
static int why_parse(int argc, char **argv, struct cli_policy_options *options, struct question *question,
		     int *ret_exit)
{
	static const struct option longs[] = {CLI_POLICY_LONGS,
					      {"open", required_argument, NULL, WHY_OPEN},
					      {"exec", required_argument, NULL, WHY_EXEC},
					      {"connect", required_argument, NULL, WHY_CONNECT},
					      {"url", required_argument, NULL, WHY_URL},
					      {"json", no_argument, NULL, WHY_JSON},
					      {0}};
	int opt, ret;

	*ret_exit = CLI_ERROR;
	while ((opt = cli_getopt(argc, argv, "+" CLI_POLICY_SHORTS, longs)) != -1) {
		ret = cli_policy_option(options, "why", opt, optarg);
		if (ret > 0)
			continue;
		if (ret == 0 && opt == WHY_JSON)
			question->json = true;
		else if (ret == 0 && (opt == WHY_OPEN || opt == WHY_EXEC))
			ret = why_take_path(question, optarg, opt == WHY_EXEC ? POLICY_EXEC : POLICY_READ);
		else if (ret == 0 && (opt == WHY_CONNECT || opt == WHY_URL))
			ret = why_take_endpoint(question, optarg, opt == WHY_URL);
		else if (ret == 0) {
			*ret_exit = opt == CLI_OPT_HELP      ? why_help()
				    : opt == CLI_OPT_VERSION ? cli_version()
							     : cli_usage_error("why");
			return 1;
		}
		if (ret < 0)
			return 1;
	}
	if (question->path || question->endpoint)
		return 0;
	cli_error("why", "nothing asked; give --open PATH, --exec PATH, --connect HOST:PORT or --url 'METHOD URL'");
	*ret_exit = cli_usage_error("why");
	return 1;
}

int cli_why(int argc, char **argv)
{
	_cleanup_policy_options_ struct cli_policy_options options = {0};
	_cleanup_host_ struct cli_host host = {0};
	struct question question = {0};
	struct policy *policy;
	int exit_code;

	if (why_parse(argc, argv, &options, &question, &exit_code) != 0)
		return exit_code;
	if (cli_policy_load_only(&options, "why", optind < argc ? argv[optind] : NULL, &host, &policy) != CLI_OK)
		return CLI_ERROR;
	exit_code = CLI_ERROR;
	if (question.endpoint)
		exit_code = why_net(policy, question.endpoint, question.url, question.json);
	else if (why_answer(policy, &question) == 0)
		exit_code = question.json ? why_print_json(&question) : why_print_text(&question);
	if (exit_code == CLI_OK && question.path && question.decision.verdict == VERDICT_DENY)
		exit_code = 1;
	free(question.suggest);
	policy_free(policy);
	return exit_code;
}
