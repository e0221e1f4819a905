#include "cli/why/ask.h"

#include <errno.h>
#include <string.h>

#include "cli/why/net.h"
#include "cli/why/path.h"

const char *why_kind_get_name(enum why_kind kind)
{
	static const char *const names[WHY_KIND_MAX] = {
		[WHY_OPEN] = "open",     [WHY_EXEC] = "exec", [WHY_CONNECT] = "connect",
		[WHY_LISTEN] = "listen", [WHY_URL] = "url",
	};

	return names[kind];
}

/* Judges a path, as for a test. 0, or -errno; *ret_wrong: what to report then. */
static int why_ask_path(const struct policy *policy, const char *text, bool exec, struct why_answer *ret_answer,
			struct policy_question *ret_question, const char **ret_wrong)
{
	struct why_path_question question;
	int ret = *text ? why_decide_path(policy, text, exec, &question) : -EINVAL;

	*ret_wrong = *text ? "cannot be resolved: it is too long, or its links lead in a circle"
			   : "an empty path names nothing; write a path";
	if (ret < 0)
		return ret;
	*ret_answer = (struct why_answer){question.decision.verdict, question.decision.rule, question.decision.reason};
	ret_question->kind = POLICY_QUESTION_PATH;
	ret_question->wanted_rights = question.wanted_rights;
	memcpy(ret_question->path, question.resolved_path, sizeof(ret_question->path));
	return 0;
}

int why_ask(const struct policy *policy, enum why_kind kind, const char *text, struct why_answer *ret_answer,
	    struct policy_question *ret_question, const char **ret_wrong)
{
	struct policy_question unused;
	struct net_verdict verdict;
	int ret;

	if (!ret_question)
		ret_question = &unused;
	if (kind == WHY_OPEN || kind == WHY_EXEC)
		return why_ask_path(policy, text, kind == WHY_EXEC, ret_answer, ret_question, ret_wrong);
	ret = why_decide_net(policy, kind, text, &verdict, ret_question, ret_wrong);
	if (ret == 0)
		*ret_answer = (struct why_answer){verdict.is_allowed ? VERDICT_ALLOW : VERDICT_DENY, verdict.label,
						  verdict.reason};
	return ret;
}
