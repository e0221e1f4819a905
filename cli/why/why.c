/* callgate why: decides one access as a run would decide it. */
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "cli/load.h"
#include "cli/why/net.h"
#include "policy/paths/explain.h"

enum why_kind { WHY_OPEN, WHY_EXEC, WHY_CONNECT, WHY_LISTEN, WHY_URL };

/* The question, and the answer if the question is about a path. */
struct why_question {
	char *text; /* argument of the option; NULL: no question was given */
	enum why_kind kind;
	char asked[PATH_MAX];    /* the path of the question, made absolute */
	char resolved[PATH_MAX]; /* canonical path in the view */
	char host[PATH_MAX];     /* host path; "": the path leads to no file of the host */
	unsigned want;
	bool json;
	struct policy_decision decision;
	const struct policy_mount *mount;
	char *suggest; /* owned */
	char *suggest_why; /* owned: why nothing is suggested */
};

/* Sets the question. given->which is its enum why_kind. */
static int why_set_question(const struct cli_given *given, void *all)
{
	struct why_question *question = all;
	const char *wrong = NULL;

	if (question->text)
		wrong = "more than one question; ask with one --open, --exec, --connect, --listen or --url";
	else if (!*given->value && (given->which == WHY_OPEN || given->which == WHY_EXEC))
		wrong = "an empty path names nothing; write a path";
	if (wrong)
		cli_print_error("why", "%s", wrong);
	question->text = given->value;
	question->kind = given->which;
	return wrong ? -EINVAL : 0;
}

/* Splits "PATH:w" of --open into PATH and POLICY_WRITE. A path that itself ends in ":r" needs another ":r". */
static void why_split_path(struct why_question *question)
{
	static const char letters[] = "rwx";
	size_t len = strlen(question->text);
	const char *colon = len > 2 ? question->text + len - 2 : "";
	const char *letter = *colon == ':' ? strchr(letters, colon[1]) : NULL;

	question->want = question->kind == WHY_EXEC ? POLICY_EXEC : POLICY_READ;
	if (question->kind == WHY_EXEC || !letter)
		return;
	question->want = 1u << (letter - letters);
	question->text[len - 2] = '\0';
}

/* Follows the host's symbolic links, and maps the resulting host path back into the view by the innermost mount. */
static void why_follow_host_links(const struct policy *policy, struct why_question *question)
{
	_cleanup_free_ char *real = NULL;
	const struct policy_mount *mounts;
	char host[PATH_MAX];
	size_t count;

	if (policy_map_to_host(policy, question->resolved, host) < 0)
		return;
	real = realpath(host, NULL);
	if (!real || strcmp(real, host) == 0)
		return;
	mounts = policy_get_mounts(policy, &count);
	for (size_t i = count; i-- > 0;) {
		const char *rest = mounts[i].kind == POLICY_MOUNT_TREE ? path_rest_below(real, mounts[i].host) : NULL;

		if (!rest)
			continue;
		(void)snprintf(question->resolved, PATH_MAX, "%s%s%s",
			       strcmp(mounts[i].virt, "/") == 0 ? "" : mounts[i].virt, *rest ? "/" : "",
			       rest); /* truncated only if the mount's virtual path is longer than its host path */
		return;
	}
	(void)snprintf(question->resolved, PATH_MAX, "%s", real); /* outside the view: judged by the host path */
}

/* Denies by its mode what only a "public" rule grants, as open_public() in view/open.c does in a run. */
static void why_check_public(const struct policy *policy, struct why_question *question)
{
	char path[PATH_MAX];
	size_t granted = strlen(question->mount && question->host[0] ? question->mount->host : question->host);
	struct stat status;

	if (!question->host[0] || question->decision.verdict == VERDICT_DENY ||
	    !(policy_get_rights(policy, question->resolved, strlen(question->resolved)) & POLICY_PUBLIC))
		return;
	(void)snprintf(path, sizeof(path), "%s", question->host);
	for (mode_t needed = S_IROTH; strlen(path) > granted || needed == S_IROTH; needed = S_IXOTH) {
		if (lstat(path, &status) == 0 && !(status.st_mode & needed)) {
			question->decision.verdict = VERDICT_DENY;
			question->decision.error = EACCES;
			question->decision.reason = "not_public";
			return;
		}
		*strrchr(path, '/') = '\0';
		if (!*path)
			return;
	}
}

static mode_t why_host_type(void *ctx, const char *path)
{
	struct stat st;

	(void)ctx;
	return stat(path, &st) < 0 ? 0 : st.st_mode & S_IFMT;
}

static int why_answer_path(const struct policy *policy, struct why_question *question)
{
	const struct suggest_host host = {.home = policy_get_settings(policy)->home, .type = why_host_type};
	bool lexical;
	int len;

	why_split_path(question);
	len = path_join(policy_get_settings(policy)->workdir, question->text, question->asked, PATH_MAX, &lexical);
	if (len > 0)
		len = policy_follow_links(policy, question->asked, question->resolved);
	if (len < 0) {
		cli_print_error("why", "%s: %s", question->text, strerror(-len));
		return len;
	}
	why_follow_host_links(policy, question);
	question->decision =
		policy_decide_access(policy, question->resolved, strlen(question->resolved), question->want);
	question->mount = policy_find_mount(policy, question->resolved);
	if (policy_map_to_host(policy, question->resolved, question->host) < 0)
		question->host[0] = '\0';
	why_check_public(policy, question);
	question->suggest = policy_suggest_grant(&question->decision, &host, question->asked, question->want,
						 &question->suggest_why);
	return 0;
}

static const char *why_get_text_or_none(const char *text)
{
	return text && *text ? text : "none";
}

static const char *why_get_want_name(unsigned want)
{
	return want == POLICY_EXEC ? "exec" : want == POLICY_WRITE ? "write" : "read";
}

static int why_print_text(const struct why_question *question)
{
	const struct policy_decision *decision = &question->decision;
	_cleanup_buf_ struct buf text = {0};

	buf_printf(&text, "%s %s %s\n", verdict_get_name(decision->verdict), why_get_want_name(question->want),
		   question->asked);
	if (strcmp(question->asked, question->resolved) != 0)
		buf_printf(&text, "  resolved  %s\n", question->resolved);
	buf_printf(&text, "  rule      %s\n",
		   decision->rule ? decision->rule : "none: what no rule grants does not exist");
	buf_printf(&text, "  reason    %s\n", decision->reason);
	if (decision->error)
		buf_printf(&text, "  errno     %s\n", strerrorname_np(decision->error));
	buf_printf(&text, "  mount     %s\n", why_get_text_or_none(question->mount ? question->mount->virt : NULL));
	buf_printf(&text, "  host      %s\n", why_get_text_or_none(question->host));
	if (question->suggest)
		buf_printf(&text, "  to allow  %s\n", question->suggest);
	if (question->suggest_why)
		buf_printf(&text, "  to allow  nothing is suggested: %s\n", question->suggest_why);
	return cli_print_buf("why", &text);
}

/* A JSON string; null if there is no text, or if it is not UTF-8. */
static json_t *why_make_json_string(const char *text)
{
	json_t *value = text && *text ? json_string(text) : NULL;

	return value ? value : json_null();
}

static int why_print_json(const struct why_question *question)
{
	const struct policy_decision *decision = &question->decision;
	json_t *object =
		json_pack("{s:s, s:s, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o}", "verdict",
			  verdict_get_name(decision->verdict), "op", why_get_want_name(question->want), "path",
			  why_make_json_string(question->asked), "resolved", why_make_json_string(question->resolved),
			  "rule", why_make_json_string(decision->rule), "reason", decision->reason, "errno",
			  why_make_json_string(decision->error ? strerrorname_np(decision->error) : NULL), "mount",
			  why_make_json_string(question->mount ? question->mount->virt : NULL), "host",
			  why_make_json_string(question->host), "suggest", why_make_json_string(question->suggest),
			  "suggest_reason", why_make_json_string(question->suggest_why));

	return cli_print_json("why", object);
}

static int why_parse_options(int argc, char **argv, struct cli_policy_options *options, struct why_question *question)
{
	static const struct cli_option table[] = {
		{"open", 0, "PATH[:r|w|x]", "reading (r, also without a letter), writing or executing PATH",
		 why_set_question, 0, WHY_OPEN},
		{"exec", 0, "PATH", "executing PATH", why_set_question, 0, WHY_EXEC},
		{"connect", 0, "HOST:PORT", "connecting to it (HOST:PORT/udp: sending datagrams)", why_set_question, 0,
		 WHY_CONNECT},
		{"listen", 0, "PORT", "listening at PORT of the run's own loopback; 0: any that the kernel chooses",
		 why_set_question, 0, WHY_LISTEN},
		{"url", 0, "'METHOD URL'", "making a request: 'GET https://HOST/PATH'", why_set_question, 0, WHY_URL},
		CLI_FLAG("json", 0, "one JSON object", offsetof(struct why_question, json)),
		{0},
	};
	const struct cli_syntax syntax = {
		.verb = "why",
		.usage = "Usage: callgate why [OPTION...] QUESTION [-- PROGRAM]\n\n"
			 "Explains whether a policy allows an access, by which rule, and what would allow it.\n\n",
		.epilogue = "\nExit status: 0 allowed, 1 refused, 125 error.\n",
		.table = {{NULL, table, question}, {NULL, cli_get_policy_table(), options}},
	};
	int status = cli_parse_options(argc, argv, &syntax);

	if (status != CLI_PARSED || question->text)
		return status;
	cli_print_error("why", "nothing asked; give --open PATH, --exec PATH, --connect HOST:PORT, --listen PORT or "
		  "--url 'METHOD URL'");
	return cli_fail_usage("why");
}

int cli_main_why(int argc, char **argv)
{
	_cleanup_policy_options_ struct cli_policy_options options = {0};
	_cleanup_host_ struct cli_host host = {0};
	struct why_question question = {0};
	_cleanup_policy_ struct policy *policy = NULL;
	int exit_code = why_parse_options(argc, argv, &options, &question);

	if (exit_code != CLI_PARSED)
		return exit_code;
	if (cli_load_policy_without_run(&options, "why", argv[optind], &host, &policy) != CLI_OK)
		return CLI_ERROR;
	if (question.kind == WHY_LISTEN)
		return why_answer_listen(policy, question.text, question.json);
	if (question.kind == WHY_CONNECT || question.kind == WHY_URL)
		return why_answer_net(policy, question.text, question.kind == WHY_URL, question.json);
	if (why_answer_path(policy, &question) < 0)
		return CLI_ERROR;
	exit_code = question.json ? why_print_json(&question) : why_print_text(&question);
	free(question.suggest);
	free(question.suggest_why);
	return exit_code == CLI_OK && question.decision.verdict == VERDICT_DENY ? 1 : exit_code;
}
