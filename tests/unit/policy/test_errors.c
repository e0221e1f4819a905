/* Bad policies: each kind of mistake has one message that names file, line and key and says what to do. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/policy/policy-rig.h"
#include "policy/parse/keys.h"
#include "policy/policy.h"
#include "tests/unit/unit.h"

struct mistake {
	const char *text;
	const char *message; /* a part of some message */
};

/* clang-format off */
static const struct mistake mistakes[] = {
	{"", "p.json:1:"}, {"{", "not valid JSON"}, {"{}x", "not valid JSON"},
	{"[]", "p.json:1: a policy must be an object"},
	{"\"x\"", "not valid JSON"}, {"{\"a\": }", "not valid JSON"}, {"{\"name\": \"\xff\"}", "not valid JSON"},
	{"{\n\"name\": \"a\",\n\"name\": \"b\"}", "p.json:3: duplicate object key"},
	{"{\"name\": \"a\\u0000b\"}", "NUL"},
	{"{\n\"filesystm\": {}}", "p.json:2: filesystm: unknown key; did you mean \"filesystem\"?"},
	{"{\"filesystem\": {\n\n\"rread\": []}}", "p.json:3: filesystem.rread: unknown key; did you mean \"read\"?"},
	{"{\"completelyother\": 1}", "unknown key; see callgate-policy(5)"},
	{"{\"filesystem\": []}", "filesystem: must be an object { ... }, not a list"},
	{"{\"filesystem\": {\"read\": \"/usr\"}}", "filesystem.read: must be a list of paths [\"/...\"], not a string"},
	{"{\"filesystem\": {\"read\": [\"/usr\",\n 7]}}",
	 "p.json:2: filesystem.read[1]: must be a string: one path, not a number"},
	{"{\"filesystem\": {\"read\": [null]}}", "not null"},
	{"{\"filesystem\": {\"read\": [\"\"]}}", "filesystem.read[0]: must not be empty"},
	{"{\"filesystem\": {\"read\": [{}]}}", "filesystem.read[0]: lacks \"path\"; write {\"path\": \"/data\","},
	{"{\"filesystem\": {\"deny\": [{\"path\": \"\"}]}}", "filesystem.deny[0].path: must not be empty"},
	{"{\"filesystem\": {\"exec\": [{\"path\": 1}]}}",
	 "filesystem.exec[0].path: must be a string: one path, not a number"},
	{"{\"filesystem\": {\"write\": [{\"path\": \"w\"}]}}", "filesystem.write[0]: \"w\" is relative"},
	{"{\"exec\": {\"deny\": [{\"path\": \"/a\",\n\"because2\": \"\"}]}}",
	 "p.json:2: exec.deny[0].because2: unknown key; did you mean \"because\"?"},
	{"{\"filesystem\": {\"decoy\": [{\"path\": \"/a\", \"disabled\": true}]}}",
	 "filesystem.decoy[0].disabled: must be a string, not true"},
	{"{\"filesystem\": {\"read\": [{\"path\": 1, \"disabled\": \"x\"}]}}",
	 "filesystem.read[0].path: must be a string"},
	{"{\"filesystem\": {\"public\": [{\"path\": \"/a\", \"because\": \"\"}]}}",
	 "filesystem.public[0].because: must not be empty"},
	{"{\"filesystem\": {\"private\": [{\"path\": \"/a\", \"also_grants\": 3}]}}",
	 "filesystem.private[0].also_grants: must be an object"},
	{"{\"filesystem\": {\"read\": [{\"path\": \"/a\", \"also_grants\": {\"count\": -1}}]}}",
	 "filesystem.read[0].also_grants.count: must be a whole number, 0 or more"},
	{"{\"filesystem\": {\"read\": [{\"path\": \"/a\", \"also_grants\": {\"count\": \"none\"}}]}}",
	 "must be a whole number"},
	{"{\"filesystem\": {\"read\": [{\"path\": \"/a\", \"also_grants\": {\"names\": [\"/a\", 1]}}]}}",
	 "filesystem.read[0].also_grants.names[1]: must be a string"},
	{"{\"filesystem\": {\"redirect\": [{\"from\": \"/t\", \"disabled\": \"x\"}]}}", "lacks \"to\""},
	{"{\"network\": {\"allow\": [{\"host\": \"*.com\", \"disabled\": \"x\"}]}}", "network.allow[0].host: "},
	{"{\"network\": {\"deny\": [{\"disabled\": \"x\"}]}}", "network.deny[0]: lacks \"host\""},
	{"{\"version\": 2}", "version: must be 1"}, {"{\"version\": \"1\"}", "version: must be 1"},
	{"{\"name\": 1}", "name: must be a string, not a number"}, {"{\"name\": \"\"}", "name: must not be empty"},
	{"{\"phases\": []}", "phases: must be an object { ... }, not a list"},
	{"{\"phases\": {\"rnu\": {}}}", "phases.rnu: unknown key; did you mean \"run\"?"},
	{"{\"phases\": {\"setup\": \"none\"}}",
	 "phases.setup: must be an object { ... } with keys of a policy, not a string"},
	{"{\"phases\": {\n\"setup\": {\n\"user\": \"1\"}}}",
	 "p.json:3: phases.setup.user: is for the whole policy; a phase has"},
	{"{\"phases\": {\"run\": {\"phases\": {}}}}", "phases.run.phases: is for the whole policy"},
	{"{\"phases\": {\"run\": {\"extends\": [\"base\"]}}}", "phases.run.extends: is for the whole policy"},
	{"{\"phases\": {\"setup\": {\"secrets\": {}}}}", "phases.setup.secrets: is for the whole policy"},
	{"{\"phases\": {\"setup\": {\"filesystem\":\n{\"raed\": []}}}}",
	 "p.json:2: phases.setup.filesystem.raed: unknown key; did you"},
	{"{\"phases\": {\"setup\": {\"network\": {\"allow\": [{\"host\": \"*.com\"}]}}}}",
	 "phases.setup.network.allow[0].host: "},
	{"{\"phases\": {\"setup\": {\"limits\": {\"pids\": 3},\n\"process\": {\"max\": 4}}}}",
	 "p.json:2: phases.setup.process.max: is the same limit as limits.pids"},
	{"{\"phases\": {\"setup\": {\"env\": {\"pass\": [\"A\"], \"set\": {\"A\": \"1\"}}}}}",
	 "phases.setup.env.set.A: A is passed and set"},
	{"{\"phases\": {\"run\": {\"filesystem\": {\"read\": [\"@nowhere\"]}}}}", "phases.run.filesystem.read[0]: "},
	{"{\"network\": {\"extends\": \"pypi\"}}", "network.extends: must be a list of strings"},
	{"{\"network\": {\"extends\": [\"no-such\"]}}", "network.extends[0]: no profile \"no-such\""},
	{"{\"phases\": {\"run\": {\"network\": {\"extends\": [\"no-such\"]}}}}",
	 "phases.run.network.extends[0]: no profile \"no-such\""},
	{"{\"user\": \"1:1:1\"}", "has more than one colon"},
	{"{\"require\": \"landlock\"}",
	 "require: must be a list of layers [\"landlock\", \"namespaces\"], not a string"},
	{"{\"require\": [\"pidns\",\n\"landlok\"]}",
	 "p.json:2: require[1]: there is no layer \"landlok\"; did you mean \"landlock\"?"},
	{"{\"require\": [\"moat-and-bridge\"]}",
	 "require[0]: there is no layer \"moat-and-bridge\"; callgate doctor lists them"},
	{"{\"require\": [\"pidns,netns\"]}", "require[0]: there is no layer"},
	{"{\"require\": [3]}", "require[0]: must be a string"},
	{"{\"require\": [\"\"]}", "require[0]: must not be empty"},
	{"{\"on_deny\": \"die\"}",
	 "on_deny: must be \"errno\", \"kill\", \"stop\", \"ask-file\" or \"ask\", not \"die\""},
	{"{\"on_deny\": true}", "on_deny: must be \"errno\", \"kill\", \"stop\", \"ask-file\" or \"ask\", not true"},
	{"{\"phases\": {\"run\": {\"on_deny\": \"kill\"}}}", "phases.run.on_deny: is for the whole policy"},
	{"{\"filesystem\": {\"deny\": [{\"path\": \"/a\", \"on_deny\": \"x\"}]}}",
	 "filesystem.deny[0].on_deny: must be \"errno\", \"kill\", \"stop\", \"ask-file\" or \"ask\", not \"x\""},
	{"{\"network\": {\"deny\": [{\"host\": \"a.test\", \"on_deny\": \"ask-file\"}]}}",
	 "network.deny[0].on_deny: must be \"errno\", \"kill\", \"stop\" or \"ask\", not \"ask-file\""},
	{"{\"filesystem\": {\"read\": [{\"path\": \"/a\", \"on_read\": \"kill\"}]}}",
	 "filesystem.read[0].on_read: is for filesystem.decoy"},
	{"{\"filesystem\": {\"decoy\": [{\"path\": \"/a\", \"on_read\": \"stop\"}]}}",
	 "filesystem.decoy[0].on_read: must be \"flag\" or \"kill\", not \"stop\""},
	{"{\"network\": {\"deny\": [{\"host\": \"a.test\", \"on_deny\": 1}]}}",
	 "network.deny[0].on_deny: must be \"errno\", \"kill\", \"stop\" or \"ask\", not a number"},
	{"{\"network\": {\"ask\": [{\"host\": \"a.test\", \"proto\": \"http\"}]}}",
	 "network.ask[0].proto: is for requests; add \"http\", or remove it to ask about each connection"},
	{"{\"network\": {\"ask\": [{\"host\": \"a.test\", \"http\": [\"TRACE /\"]}]}}",
	 "network.ask[0].http[0]: \"TRACE /\" grants TRACE"},
	{"{\"limits\": {\"cpu\": \"1ms\"}}", "limits.cpu: \"1ms\" is out of range; write a time from 10ms to"},
	{"{\"limits\": {\"memory\": \"4K\"}}",
	 "limits.memory: \"4K\" is out of range; write a size from 1M to 1048576T, or \"none\""},
	{"{\"limits\":\n{\"pids\": 0}}",
	 "p.json:2: limits.pids: \"0\" is out of range; write a number from 1 to 4194304, or \"none\""},
	{"{\"limits\": {\"pids\": \"many\"}}", "limits.pids: \"many\" is no number"},
	{"{\"limits\": {\"pids\": 4194305}}", "out of range; write a number from 1 to 4194304"},
	{"{\"limits\": {\"open_files\": 3}}", "limits.open_files: \"3\" is out of range; write a number from 8"},
	{"{\"limits\": {\"open_files\": 9.5}}",
	 "limits.open_files: must be a number such as 64, or \"none\", not a number"},
	{"{\"limits\": {\"file_size\": -4}}", "limits.file_size: \"-4\" is no size"},
	{"{\"limits\": {\"disk\": \"1K\"}}", "limits.disk: \"1K\" is out of range; write a size from 64K"},
	{"{\"limits\": {\"disk\": \"99999999T\"}}", "limits.disk: \"99999999T\" is no size"},
	{"{\"limits\": {\"audit\": \"2000000T\"}}", "limits.audit: \"2000000T\" is out of range"},
	{"{\"limits\": {\"stdout\": \"none\"}}",
	 "limits.stdout: \"none\" is no size; write a size such as \"64K\" or \"1M\""},
	{"{\"limits\": {\"wall\": null}}", "limits.wall: must be a time such as \"10s\", \"2m\" or \"none\", not null"},
	{"{\"process\": {\"maxx\": 3}}", "process.maxx: unknown key; did you mean \"max\"?"},
	{"{\"process\": {\"max\": 0}}", "process.max: \"0\" is out of range"},
	{"{\"process\": 3}", "process: must be an object"},
	{"{\"limits\": {\"pids\": 9},\n\"process\": {\"max\": 8}}",
	 "p.json:2: process.max: is the same limit as limits.pids"},
	{"{\"process\": {\"max\": \"none\"}, \"limits\": {\"pids\": 9}}",
	 "limits.pids: is the same limit as process.max"},
	{"{\"limits\": {\"wall\": \"soon\"}}", "limits.wall: \"soon\" is no time"},
	{"{\"limits\": {\"wall\": \"0s\"}}", "is out of range; write a time from 1ms"},
	{"{\"limits\": {\"wall\": []}}", "limits.wall: must be a time"},
	{"{\"limits\": {\"stdout\": \"1X\"}}", "limits.stdout: \"1X\" is no size"},
	{"{\"limits\": {\"stderr\": -1}}", "limits.stderr: \"-1\" is no size"},
	{"{\"limits\": {\"stdout\": true}}", "must be a size"},
	{"{\"limits\": {\"wal\": \"1s\"}}", "did you mean \"wall\"?"},
	{"{\"audit\": {\"allowed\": 1}}", "audit.allowed: must be true or false, not a number"},
	{"{\"audit\": {\"file\": \"log\"}}", "audit.file: \"log\" is relative"},
	{"{\"filesystem\": {\"write\": [\"/d\"]}, \"audit\": {\"file\": \"/d/log\"}}",
	 "audit.file: /d/log is where the program may write"},
	{"{\"audit\": {\"file\": \"@workdir/log\"}}", "audit.file: @workdir cannot stand here"},
	{"{\"workdir\": \"work\"}", "workdir: \"work\" is relative; write an absolute path or ~/..."},
	{"{\"filesystem\": {\"read\": [\"usr\"]}}", "filesystem.read[0]: \"usr\" is relative; write an absolute path"},
	{"{\"filesystem\": {\"read\": [\"./usr\"]}}", "is relative"},
	{"{\"filesystem\": {\"read\": [\"**/x\"]}}", "is relative"},
	{"{\"filesystem\": {\"deny\": [\"x\"]}}", "or **/NAME for a name anywhere"},
	{"{\"filesystem\": {\"deny\": [\"**\"]}}", "is relative"},
	{"{\"filesystem\": {\"read\": [\"/usr/../etc\"]}}", "has a \"..\" in it"},
	{"{\"filesystem\": {\"read\": [\"/usr/./x\"]}}", "has a \".\" in it"},
	{"{\"filesystem\": {\"read\": [\"@workdir/../x\"]}}", "has a \"..\" in it"},
	{"{\"filesystem\": {\"read\": [\"/a**b\"]}}", "\"**\" must stand alone"},
	{"{\"filesystem\": {\"deny\": [\"**/x**\"]}}", "must stand alone"},
	{"{\"filesystem\": {\"read\": [\"/***\"]}}", "must stand alone"},
	{"{\"filesystem\": {\"read\": [\"@workdr/x\"]}}", "unknown variable \"@workdr\"; did you mean \"@workdir\"?"},
	{"{\"filesystem\": {\"read\": [\"@zzzzzzzzzzz\"]}}", "there are @workdir, @scratch, @interpreter"},
	{"{\"filesystem\": {\"read\": [\"@scratch/x\"]}}", "@scratch cannot stand here: the scratch space has no name"},
	{"{\"filesystem\": {\"read\": [\"~bob/x\"]}}", "is relative"},
	{"{\"filesystem\": {\"read\": [\"${NOPE}/x\"]}}", "${NOPE} is not set"},
	{"{\"filesystem\": {\"read\": [\"${EMPTY}/x\"]}}", "${EMPTY} is not set"},
	{"{\"filesystem\": {\"read\": [\"${STAR}\"]}}", "${STAR} has a \"*\""},
	{"{\"filesystem\": {\"read\": [\"${BYTES}\"]}}", "${BYTES} is not UTF-8"},
	{"{\"filesystem\": {\"read\": [\"${SET\"]}}", "write ${NAME}"},
	{"{\"filesystem\": {\"read\": [\"${}\"]}}", "write ${NAME}"},
	{"{\"filesystem\": {\"read\": [\"/proc/self\"]}}", "has its own /proc"},
	{"{\"filesystem\": {\"write\": [\"/dev\"]}}", "has its own /dev"},
	{"{\"filesystem\": {\"read\": [\"/a\"], \"deny\": [\"/a\"]}}",
	 "/a is denied as well, and a deny beats everything (filesystem."},
	{"{\"filesystem\": {\"read\": [\"/a/\"],\n\"deny\": [\"//a\"]}}", "is denied as well"},
	{"{\"filesystem\": {\"redirect\": [{\"from\": \"/t\", \"to\": \"@scratch/t\"}], \"provide\": {\"/t\": \"\"}}}",
	 "is redirected or provided twice"},
	{"{\"filesystem\": {\"redirect\": [{\"from\": \"/t\", \"to\": \"@scratch/t\"}, {\"from\": \"/t\", "
	 "\"to\": \"@scratch/u\"}]}}", "is redirected or provided twice"},
	{"{\"filesystem\": {\"decoy\": [\"/t\"], \"provide\": {\"/t\": \"\"}}}", "is redirected or provided twice"},
	{"{\"filesystem\": {\"redirect\": [{\"from\": \"/t\", \"to\": \"@scratch/t\"}], \"write\": [\"/t\"]}}",
	 "is redirected, which already lets it"},
	{"{\"filesystem\": {\"provide\": {\"/t\": \"\"}, \"read\": [\"/t\"]}}", "is provided by the policy"},
	{"{\"filesystem\": {\"redirect\": [{\"from\": \"/t\"}]}}", "filesystem.redirect[0]: lacks \"to\""},
	{"{\"filesystem\": {\"redirect\": [{\"to\": \"/t\"}]}}", "lacks \"from\""},
	{"{\"filesystem\": {\"redirect\": [\"/t\"]}}", "must be an object"},
	{"{\"filesystem\": {\"redirect\": {}}}", "must be a list of objects"},
	{"{\"filesystem\": {\"redirect\": [{\"from\": \"/t\", \"to\": \"/srv\"}]}}",
	 "leads to /srv, which nothing grants"},
	{"{\"filesystem\": {\"redirect\": [{\"from\": \"/t\", \"to\": \"/missing\"}]}}", "which does not exist"},
	{"{\"filesystem\": {\"read\": [\"/srv\"], \"deny\": [\"/srv/x\"], \"redirect\": [{\"from\": \"/t\", "
	 "\"to\": \"/srv/x\"}]}}", "denies; deny beats everything"},
	{"{\"filesystem\": {\"redirect\": [{\"from\": \"/t\", \"to\": \"@scratch/t\"}, {\"from\": \"/u\", "
	 "\"to\": \"/t/x\"}]}}", "is redirected or provided itself"},
	{"{\"filesystem\": {\"redirect\": [{\"from\": \"/t\", \"to\": \"@scratch/../x\"}]}}", "has a \"..\" in it"},
	{"{\"filesystem\": {\"redirect\": [{\"from\": \"/t*\", \"to\": \"@scratch/x\"}]}}",
	 "is a glob; one path is needed"},
	{"{\"filesystem\": {\"redirect\": [{\"from\": \"/\", \"to\": \"@scratch/x\"}]}}", "cannot be redirected"},
	{"{\"filesystem\": {\"redirect\": [{\"from\": \"@workdir\", \"to\": \"@scratch/x\"}]}}", "is the workdir"},
	{"{\"filesystem\": {\"redirect\": [{\"from\": \"/t\", \"to\": \"@scratch/x\", \"form\": 1}]}}",
	 "filesystem.redirect[0].form: unknown key; did you mean \"from\"?"},
	{"{\"filesystem\": {\"provide\": {\"/t\": 1}}}", "filesystem.provide[\"/t\"]: must be the file's content"},
	{"{\"filesystem\": {\"provide\": {\"t\": \"\"}}}", "is relative"},
	{"{\"filesystem\": {\"provide\": {\"\": \"\"}}}", "must not be empty"},
	{"{\"filesystem\": {\"provide\": {\"/t\": {}}}}", "lacks \"from\""},
	{"{\"filesystem\": {\"provide\": {\"/t\": {\"from\": \"env:X\"}}}}", "must be \"file:PATH\""},
	{"{\"filesystem\": {\"provide\": {\"/t\": {\"from\": \"file:./no\"}}}}", "cannot read ./no: No such file"},
	{"{\"filesystem\": {\"provide\": {\"/x/t\": \"\"}, \"deny\": [\"/x\"]}}",
	 "/x/t is denied by p.json: filesystem.deny[0] /x; deny beats everything, so remove that rule, or p.json: "
	 "filesystem.provide[\"/x/t\"]"},
	{"{\"filesystem\": {\"write\": [\"@workdir/out\"]}}", "leads out of the workdir to /etc by a symbolic link"},
	{"{\"filesystem\": {\"write\": [\"@workdir\"], \"read\": [\"/work\"]}}", "is the workdir's name in the view"},
	{"{\"workdir\": \"work\"}", "workdir: \"work\" is relative"},
	{"{\"workdir\": \"/\"}", "/ cannot be the workdir"},
	{"{\"workdir\": \"/proc/x\"}", "cannot be the workdir"}, {"{\"workdir\": \"/a*\"}", "is a glob"},
	{"{\"workdir\": 1}", "workdir: must be a string"},
	{"{\"env\": {\"pass\": [\"A=B\"]}}", "env.pass[0]: a variable's name has no \"=\""},
	{"{\"env\": {\"pass\": [\"A*B\"]}}", "\"*\" is for the end"},
	{"{\"env\": {\"pass\": [\"*\"]}}", "\"*\" is for the end"},
	{"{\"env\": {\"set\": {\"A*\": \"\"}}}", "has no \"*\" in its name"},
	{"{\"env\": {\"set\": {\"A\": 1}}}", "env.set.A: must be a string"},
	{"{\"env\": {\"set\": {\"\": \"\"}}}", "needs a name"},
	{"{\"env\": {\"pass\": [\"A\"], \"set\": {\"A\": \"\"}}}", "A is passed and set"},
	{"{\"env\": {\"set\": {\"A\": \"${NOPE}\"}}}", "${NOPE} is not set"},
	{"{\"env\": []}", "env: must be an object"},
	{"{\"env\": {\"pass\": {}}}", "env.pass: must be a list of strings"},
	{"{\"extends\": \"x\"}", "extends: must be a list of strings"},
	{"{\n\"extends\": [\"nope\"]}", "p.json:2: extends[0]: no profile \"nope\""},
	{"{\"extends\": [\"./nope.json\"]}", "cannot read ./nope.json"},
	{"{\"extends\": [\"p.json\"]}", "extends itself in a circle"},
	{"{\"exec\": {\"allow\": []}}", "exec.allow: unknown key"}, {"{\"exec\": [\"x\"]}", "exec: must be an object"},
	{"{\"filesystem\": {\"read\": [\"/a\\u0000b\"]}}", "NUL"},
};
/* clang-format on */

START_TEST(test_mistake)
{
	const struct mistake *mistake = &mistakes[_i];
	struct rig rig = {0};
	struct policy *policy = NULL;
	bool found = false;
	int ret = rig_load(&rig, mistake->text, NULL, &policy);

	ck_assert_msg(ret == -EINVAL, "%s: %d", mistake->text, ret);
	ck_assert_ptr_null(policy);
	ck_assert_uint_gt(rig.errors.count, 0);
	for (size_t i = 0; i < rig.errors.count; i++) {
		found |= strstr(rig.errors.item[i].text, mistake->message) != NULL;
		ck_assert_msg(strncmp(rig.errors.item[i].text, "p.json:", 7) == 0, "no place: %s",
			      rig.errors.item[i].text);
		ck_assert_ptr_null(strchr(rig.errors.item[i].text, '\n'));
	}
	ck_assert_msg(found, "%s\n gives: %s\n not: %s", mistake->text, rig.errors.item[0].text, mistake->message);
	rig_done(&rig);
}
END_TEST

START_TEST(test_every_mistake_is_listed)
{
	struct rig rig = {0};
	struct policy *policy;

	ck_assert_int_eq(
		rig_load(&rig, "{\"nme\": 1,\n\"version\": 3,\n\"filesystem\": {\"read\": [1, \"\"], \"wrrite\": []}}",
			 NULL, &policy),
		-EINVAL);
	ck_assert_uint_eq(rig.errors.count, 5);
	rig_done(&rig);
}
END_TEST

static bool rig_told(const struct rig *rig, const char *text)
{
	for (size_t i = 0; i < rig->errors.count; i++)
		if (strstr(rig->errors.item[i].text, text))
			return true;
	return false;
}

/* Those of meaning with those of form, each once, and none that follows from what was left out. */
START_TEST(test_mistakes_of_form_and_meaning)
{
	static const char text[] =
		"{\"version\": 1, \"workdir\": \"/proc\", \"limits\": {\"wall\": \"5x\"},\n"
		"\"filesystem\": {\"read\": [1, \"rel/path\", \"${UNSET}/x\", \"/a/../b\", \"/usr\"],\n"
		"\"deny\": [\"/a/x**y\"], \"provide\": {\"/dev\": \"x\", \"/usr\": \"y\"},\n"
		"\"redirect\": [{\"from\": \"/t\"}, {\"from\": \"/u\", \"to\": \"/missing\"},\n"
		"{\"from\": \"/v\", \"to\": \"/usr\"}, {\"from\": \"/w\", \"to\": \"/\"},\n"
		"{\"from\": \"\", \"to\": \"/usr\"}]},\n"
		"\"env\": {\"set\": {\"A\": \"${UNSET}\"}}, \"secrets\": {\"S\": 1},\n"
		"\"network\": {\"upstream_ca\": \"/missing\", \"allow\": [{\"host\": \"a.b\", \"credential\":\n"
		"{\"header\": \"Authorization\", \"value\": \"Bearer {S}\"}},\n"
		"{\"host\": \"e.f\", \"port\": 443, \"proto\": \"http\"}, {\"host\": \"e.f\"}]},\n"
		"\"phases\": {\"run\": {\"filesystem\": {\"read\": [\"also/relative\"]}}}}";
	static const char *const told[] = {
		"cannot be the workdir", "limits.wall", "read[0]: must be", "\"rel/path\" is relative",
		"read[2]: ${UNSET} is not set", "has a \"..\"", "deny[0]", "has its own /dev",
		"/usr is provided", "lacks \"to\"", "leads to /missing", "redirect[4].from: must not be empty",
		"A: ${UNSET} is not set", "secrets.S: must be", "upstream_ca: there is no file", "port 443 of e.f",
		"\"also/relative\" is relative",
	};
	struct rig rig = {0};
	struct policy *policy;

	ck_assert_int_eq(rig_load(&rig, text, NULL, &policy), -EINVAL);
	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++)
		ck_assert_msg(rig_told(&rig, told[i]), "not told: %s", told[i]);
	/* "/" may be granted by what was left out, and the secret S is there. */
	ck_assert_msg(!rig_told(&rig, "nothing grants"), "a grant was left out");
	ck_assert_msg(!rig_told(&rig, "\"secrets\" does not have"), "the secret was left out");
	ck_assert_uint_eq(rig.errors.count, sizeof(told) / sizeof(told[0]));
	rig_done(&rig);
}
END_TEST

START_TEST(test_long_things)
{
	static char text[200000], name[5000];
	struct rig rig = {0};
	struct policy *policy;

	memset(name, 'a', sizeof(name) - 1);
	(void)snprintf(text, sizeof(text), "{\"filesystem\": {\"read\": [\"/%s\"]}}", name);
	ck_assert_int_eq(rig_load(&rig, text, NULL, &policy), -EINVAL);
	ck_assert_ptr_nonnull(strstr(rig.errors.item[0].text, "longer than 255 bytes"));
	rig_done(&rig);
	for (size_t i = 1; i < sizeof(name); i += 2)
		name[i] = '/';
	name[sizeof(name) - 1] = '\0';
	(void)snprintf(text, sizeof(text), "{\"filesystem\": {\"read\": [\"/%s\"]}}", name);
	ck_assert_int_eq(rig_load(&rig, text, NULL, &policy), -EINVAL);
	ck_assert_ptr_nonnull(strstr(rig.errors.item[0].text, "longer than 4095 bytes"));
	rig_done(&rig);
	for (size_t i = 0; i < 300; i += 2)
		name[i] = '*';
	name[300] = '\0';
	(void)snprintf(text, sizeof(text), "{\"filesystem\": {\"read\": [\"/%s\"]}}", name);
	ck_assert_int_eq(rig_load(&rig, text, NULL, &policy), -EINVAL);
	ck_assert_ptr_nonnull(strstr(rig.errors.item[0].text, "names in a glob"));
	rig_done(&rig);
	memset(text, '[', sizeof(text) - 1);
	ck_assert_int_eq(rig_load(&rig, text, NULL, &policy), -EINVAL);
	rig_done(&rig);
}
END_TEST

START_TEST(test_too_many_rules)
{
	static char text[100000] = "{\"filesystem\": {\"read\": [\"/a\"";
	struct rig rig = {0};
	struct policy *policy;
	size_t len = strlen(text);

	for (unsigned i = 0; i < 5000; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, ",\"/a%u\"", i);
	(void)snprintf(text + len, sizeof(text) - len, "]}}");
	ck_assert_int_eq(rig_load(&rig, text, NULL, &policy), -EINVAL);
	ck_assert_uint_eq(rig.errors.count, 1);
	ck_assert_ptr_nonnull(strstr(rig.errors.item[0].text, "more than 4096 rules"));
	rig_done(&rig);
}
END_TEST

/*
 * A good policy cut at, or damaged in, every place is a policy or an error, never a crash (run under sanitizers, too).
 */
START_TEST(test_damaged)
{
	static const char good[] =
		"{\"version\": 1, \"workdir\": \"/w\", \"filesystem\": {\"read\": [\"/usr\", \"${SET}/*.c\"], "
		"\"redirect\":"
		"[{\"from\": \"/tmp\", \"to\": \"@scratch/t\"}], \"provide\": {\"/e/\\u00e9\\n\": \"x\"}, \"deny\": "
		"[\"**/.env\"]}, \"env\": {\"set\": {\"A\": \"@workdir:b\"}}, \"limits\": {\"wall\": 1}}";
	static const char bytes[] = "{}[]\",:\\*@~$/\x01\xff" "0";
	char text[sizeof(good)];

	for (size_t i = 0; i < sizeof(good) - 1; i++) {
		for (size_t j = 0; j < sizeof(bytes); j++) {
			struct rig rig = {0};
			struct policy *policy = NULL;
			int ret;

			memcpy(text, good, sizeof(good));
			text[i] = bytes[j]; /* the last one cuts */
			ret = rig_load(&rig, text, NULL, &policy);
			ck_assert(ret == 0 ? policy != NULL : ret == -EINVAL && rig.errors.count > 0);
			policy_free(policy);
			rig_done(&rig);
		}
	}
}
END_TEST

START_TEST(test_keys_have_help_and_sections)
{
	size_t count;
	const struct policy_key *keys = policy_key_get_all(&count);

	for (size_t i = 0; i < count; i++) {
		ck_assert_ptr_nonnull(keys[i].help);
		ck_assert_ptr_eq(policy_key_find(keys[i].section, keys[i].name), &keys[i]);
		ck_assert_ptr_nonnull(policy_key_type_describe_value(keys[i].type));
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("policy errors");
	TCase *tcase = tcase_create("errors");

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, test_mistake, 0, (int)(sizeof(mistakes) / sizeof(mistakes[0])));
	tcase_add_test(tcase, test_every_mistake_is_listed);
	tcase_add_test(tcase, test_mistakes_of_form_and_meaning);
	tcase_add_test(tcase, test_long_things);
	tcase_add_test(tcase, test_too_many_rules);
	tcase_add_test(tcase, test_damaged);
	tcase_add_test(tcase, test_keys_have_help_and_sections);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
