/* Decisions of policies, one per table line. Each is also checked with the policy that policy_make_json() prints. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/policy/policy-rig.h"
#include "policy/paths/host-paths.h"
#include "policy/policy.h"
#include "tests/unit/unit.h"

struct question {
	const char *path;
	char want;           /* r, w, x */
	enum verdict verdict;
	int error;
	const char *rule;    /* a part of the rule's text; NULL: none */
};

#define MAX_QUESTIONS 40

struct scene {
	const char *name;
	const char *text;
	const char *workdir;      /* NULL: scratch */
	const char *workdir_virt;
	struct question question[MAX_QUESTIONS];
};

#define ALLOW VERDICT_ALLOW, 0
#define REDIR VERDICT_REDIRECT, 0
#define GIVEN VERDICT_PROVIDE, 0
#define DENY(error) VERDICT_DENY, error

/* clang-format off */
static const struct scene scenes[] = {
	{"nothing", "{}", NULL, NULL, {
		{"/", 'r', DENY(ENOENT), NULL}, {"/etc/passwd", 'r', DENY(ENOENT), NULL},
		{"/work", 'r', DENY(ENOENT), NULL},
		{"/x", 'w', DENY(ENOENT), NULL}, {"/x", 'x', DENY(ENOENT), NULL}}},
	{"subtrees", "{\"filesystem\": {\"read\": [\"/usr/share\", \"/etc/hosts\"], \"write\": [\"/data/out\"],"
		     "\"exec\": [\"/usr/bin/env\"]}}", NULL, NULL, {
		{"/usr/share", 'r', ALLOW, "read[0]"}, {"/usr/share/x", 'r', ALLOW, "read[0]"},
		{"/usr/share/x/y/z", 'r', ALLOW, "read[0] /usr/share"}, {"/usr/share/x", 'w', DENY(EROFS), "read[0]"},
		{"/usr/share/x", 'x', DENY(EACCES), "read[0]"}, {"/usr/shar", 'r', DENY(ENOENT), NULL},
		{"/usr/share2", 'r', DENY(ENOENT), NULL}, {"/usr/sharex/y", 'r', DENY(ENOENT), NULL},
		{"/usr", 'r', DENY(ENOENT), NULL}, {"/", 'r', DENY(ENOENT), NULL},
		{"/etc/hosts", 'r', ALLOW, "read[1]"}, {"/etc/hosts", 'w', DENY(EROFS), "read[1]"},
		{"/etc/host", 'r', DENY(ENOENT), NULL}, {"/etc", 'r', DENY(ENOENT), NULL},
		{"/data/out", 'w', ALLOW, "write[0]"}, {"/data/out/a", 'r', ALLOW, "write[0]"},
		{"/data/out/a", 'w', ALLOW, "write[0]"}, {"/data/out/a", 'x', DENY(EACCES), "write[0]"},
		{"/data", 'r', DENY(ENOENT), NULL}, {"/usr/bin/env", 'x', ALLOW, "exec[0]"},
		{"/usr/bin/env", 'r', ALLOW, "exec[0]"}, {"/usr/bin/env", 'w', DENY(EROFS), "exec[0]"},
		{"/usr/bin/env2", 'x', DENY(ENOENT), NULL}, {"/usr/bin", 'r', DENY(ENOENT), NULL}}},
	{"public", "{\"filesystem\": {\"public\": [\"/etc\", \"/etc/a/b/c\"],"
		   "\"private\": [\"/etc/a\", \"/etc/k_*_y\", \"**/.pw\", \"/etc/p\"],"
		   "\"read\": [\"/etc/p/named\", \"/etc/plain\"], \"write\": [\"/etc/w\"], \"deny\": [\"/etc/no\"]}}",
	 NULL, NULL, {
		{"/etc", 'r', ALLOW, "public[0]"}, {"/etc/x/y", 'r', ALLOW, "public[0] /etc"},
		{"/etc/x", 'w', DENY(EROFS), "public[0]"}, {"/etc/x", 'x', DENY(EACCES), "public[0]"},
		{"/etc/plain/x", 'r', ALLOW, "read[1]"}, {"/etc/w", 'w', ALLOW, "write[0]"},
		{"/etc/w", 'r', ALLOW, "write[0]"}, {"/etc/no", 'r', DENY(EACCES), "deny[0]"},
		{"/etc/a", 'r', DENY(ENOENT), "private[0]"}, {"/etc/a/x", 'w', DENY(ENOENT), "private[0]"},
		{"/etc/a/b/c", 'r', ALLOW, "public[1]"}, {"/etc/a/b", 'r', DENY(ENOENT), "private[0]"},
		{"/etc/k_1_y", 'r', DENY(ENOENT), "private[1]"}, {"/etc/k_1_y/z", 'r', DENY(ENOENT), "private[1]"},
		{"/etc/k_1", 'r', ALLOW, "public[0]"},
		{"/etc/x/.pw", 'r', DENY(ENOENT), "private[2]"}, {"/etc/plain/.pw", 'r', ALLOW, "read[1]"},
		{"/etc/p", 'r', DENY(ENOENT), "private[3]"}, {"/etc/p/named", 'r', ALLOW, "read[0]"},
		{"/etcx", 'r', DENY(ENOENT), NULL}}},
	{"private by a glob", "{\"filesystem\": {\"public\": [\"/etc\", \"/etc/x.key/b\", \"/etc/.pw\"],"
			      "\"private\": [\"**/*.key\", \"**/.pw\", \"/etc/k*\", \"/etc/k1/in\"]}}",
	 NULL, NULL, {
		{"/etc/x", 'r', ALLOW, "public[0]"}, {"/etc/x.key", 'r', DENY(ENOENT), "private[0]"},
		{"/etc/a/x.key/y", 'r', DENY(ENOENT), "private[0]"}, {"/etc/x.key/b", 'r', DENY(ENOENT), "private[0]"},
		{"/etc/.pw", 'r', DENY(ENOENT), "private[1]"}, {"/etc/k1/in/x", 'r', DENY(ENOENT), "private[2]"}}},
	{"public, redirected", "{\"filesystem\": {\"public\": [\"/srv\"], \"private\": [\"/srv/key\"],"
			       "\"redirect\": [{\"from\": \"/r\", \"to\": \"/srv\"}]}}",
	 NULL, NULL, {
		{"/r", 'r', REDIR, "redirect[0]"}, {"/r/x", 'r', REDIR, "redirect[0]"},
		{"/r/x", 'w', DENY(EROFS), "redirect[0]"}, {"/r/key", 'r', DENY(ENOENT), "private[0]"}}},
	{"public, above the workdir's name", "{\"filesystem\": {\"public\": [\"/\"], \"write\": [\"@workdir/*.txt\"]}}",
	 NULL, NULL, {
		{"/work/a.txt", 'w', ALLOW, "write[0]"}, {"/work/a.c", 'r', DENY(ENOENT), NULL},
		{"/worker", 'r', ALLOW, "public[0]"}}},
	{"unions",
	 "{\"filesystem\": {\"read\": [\"/usr\"], \"write\": [\"/usr/local/w\", \"/d\"], \"exec\": [\"/usr/bin\", "
	 "\"/d/bin\"]}}",
	 NULL, NULL, {
		{"/usr/bin/ls", 'x', ALLOW, "exec[0]"}, {"/usr/bin/ls", 'r', ALLOW, NULL},
		{"/usr/bin/ls", 'w', DENY(EROFS), NULL},
		{"/usr/lib/x", 'x', DENY(EACCES), "read[0]"}, {"/usr/local/w/x", 'w', ALLOW, "write[0]"},
		{"/usr/local/w/x", 'x', DENY(EACCES), NULL}, {"/usr/local/v", 'w', DENY(EROFS), "read[0]"},
		{"/d/bin/p", 'x', ALLOW, "exec[1]"}, {"/d/bin/p", 'w', ALLOW, "write[1]"},
		{"/d/p", 'x', DENY(EACCES), "write[1]"}}},
	{"root", "{\"filesystem\": {\"read\": [\"/\"], \"deny\": [\"/root\", \"**/.env\"]}}", NULL, NULL, {
		{"/", 'r', ALLOW, "read[0]"}, {"/any/thing", 'r', ALLOW, "read[0]"},
		{"/root", 'r', DENY(EACCES), "deny[0]"},
		{"/root/x", 'r', DENY(EACCES), "deny[0]"}, {"/rooty", 'r', ALLOW, "read[0]"},
		{"/a/.env", 'r', DENY(EACCES), "deny[1]"}, {"/.env", 'w', DENY(EACCES), "deny[1]"},
		{"/a/.env/b", 'r', DENY(EACCES), "deny[1]"}, {"/a/x.env", 'r', ALLOW, "read[0]"},
		{"/a/.envy", 'r', ALLOW, NULL}}},
	{"denies",
	 "{\"filesystem\": {\"write\": [\"/d\"], \"deny\": [\"/d/secret\", \"/d/*.pem\", \"**/*.key\", \"**/id_*\","
		   "\"**/a/b\", \"/d/x/**/y\", \"/e\"]}}", NULL, NULL, {
		{"/d/secret", 'r', DENY(EACCES), "deny[0]"}, {"/d/secret/x", 'w', DENY(EACCES), "deny[0]"},
		{"/d/secrets", 'w', ALLOW, "write[0]"}, {"/d/k.pem", 'r', DENY(EACCES), "deny[1]"},
		{"/d/k.pem/z", 'r', DENY(EACCES), "deny[1]"}, {"/d/s/k.pem", 'r', ALLOW, NULL},
		{"/d/.pem", 'r', DENY(EACCES), "deny[1]"},
		{"/d/s/k.key", 'r', DENY(EACCES), "deny[2]"}, {"/q/k.key", 'r', DENY(EACCES), "deny[2]"},
		{"/d/key", 'r', ALLOW, NULL},
		{"/d/id_rsa", 'r', DENY(EACCES), "deny[3]"}, {"/d/my_id_rsa", 'r', ALLOW, NULL},
		{"/d/a/b", 'r', DENY(EACCES), "deny[4]"},
		{"/d/z/a/b/c", 'r', DENY(EACCES), "deny[4]"}, {"/d/a/c/b", 'r', ALLOW, NULL},
		{"/d/x/y", 'r', DENY(EACCES), "deny[5]"},
		{"/d/x/1/2/y/3", 'r', DENY(EACCES), "deny[5]"}, {"/d/x/1/2", 'r', ALLOW, NULL},
		{"/e", 'r', DENY(EACCES), "deny[6]"}}},
	{"globs",
	 "{\"filesystem\": {\"read\": [\"/data/*.csv\", \"/data/*/pub/**\", \"/log/**/*.txt\", \"/v/*-a-*-b\"],"
		  "\"exec\": [\"/usr/bin/python3*\"], \"write\": [\"/data/out*/**\"]}}", NULL, NULL, {
		{"/data/a.csv", 'r', ALLOW, "read[0]"}, {"/data/.csv", 'r', ALLOW, "read[0]"},
		{"/data/a.csvx", 'r', DENY(ENOENT), NULL},
		{"/data/s/a.csv", 'r', DENY(ENOENT), NULL}, {"/data/a.csv", 'w', DENY(EROFS), "read[0]"},
		{"/data/a.csv/b", 'r', DENY(ENOENT), NULL}, {"/data", 'r', DENY(ENOENT), NULL},
		{"/data/u/pub", 'r', ALLOW, "read[1]"},
		{"/data/u/pub/x/y", 'r', ALLOW, "read[1]"}, {"/data/pub/x", 'r', DENY(ENOENT), NULL},
		{"/data/u/w/pub", 'r', DENY(ENOENT), NULL},
		{"/log/a.txt", 'r', ALLOW, "read[2]"}, {"/log/a/b/c.txt", 'r', ALLOW, "read[2]"},
		{"/log/a/b/c.log", 'r', DENY(ENOENT), NULL},
		{"/log", 'r', DENY(ENOENT), NULL}, {"/v/1-a-2-b", 'r', ALLOW, "read[3]"},
		{"/v/-a--b", 'r', ALLOW, NULL},
		{"/v/1-a-2-c", 'r', DENY(ENOENT), NULL}, {"/usr/bin/python3", 'x', ALLOW, "exec[0]"},
		{"/usr/bin/python3.11", 'x', ALLOW, "exec[0]"}, {"/usr/bin/python", 'x', DENY(ENOENT), NULL},
		{"/usr/bin/perl", 'x', DENY(ENOENT), NULL}, {"/data/out", 'w', ALLOW, "write[0]"},
		{"/data/out1/x/y", 'w', ALLOW, "write[0]"}, {"/data/out1/x/y", 'r', ALLOW, "write[0]"},
		{"/data/ou/x", 'w', DENY(ENOENT), NULL}}},
	{"links",
	 "{\"filesystem\": {\"read\": [\"/lib\", \"/home/u/link\"], \"exec\": [\"/bin/*sh\"], \"deny\": [\"~/.ssh\", "
	 "\"/lib/no\"]}}",
	 NULL, NULL, {
		{"/usr/lib/libc.so.6", 'r', ALLOW, "read[0] /lib"}, {"/lib/libc.so.6", 'r', DENY(ENOENT), NULL},
		{"/srv/target/x", 'r', ALLOW, "read[1]"}, {"/home/u/link", 'r', DENY(ENOENT), NULL},
		{"/usr/bin/bash", 'x', ALLOW, "exec[0]"},
		{"/usr/bin/ls", 'x', DENY(ENOENT), NULL}, {"/home/u/.ssh/id", 'r', DENY(EACCES), "deny[0]"},
		{"/vault/keys/id", 'r', DENY(EACCES), "deny[0]"}, {"/vault", 'r', DENY(ENOENT), NULL},
		{"/usr/lib/no/x", 'r', DENY(EACCES), "deny[1]"},
		{"/lib/no", 'r', DENY(EACCES), "deny[1]"}}},
	{"missing",
	 "{\"filesystem\": {\"read\": [\"/missing\", \"/missing/*.c\"], \"write\": [\"@workdir/missing\"], "
	 "\"deny\": [\"/missing/d\", \"/srv/missing/x\"]}}",
	 NULL, NULL, {
		{"/missing", 'r', DENY(ENOENT), NULL}, {"/missing/a.c", 'r', DENY(ENOENT), NULL},
		{"/missing/d", 'r', DENY(EACCES), "deny[0]"}, {"/work/missing", 'w', ALLOW, "write[0]"},
		{"/work/missing/x", 'r', ALLOW, NULL},
		{"/work", 'r', DENY(ENOENT), NULL}, {"/srv/missing/x/y", 'r', DENY(EACCES), "deny[1]"}}},
	{"variables",
	 "{\"filesystem\": {\"read\": [\"@interpreter\", \"~/notes\", \"${SET}/x\", \"@interpreter/lib/*.so\"], "
	 "\"write\": [\"@workdir\"],"
	 "\"exec\": [\"@interpreter/bin\", \"@workdir/bin/**\"], \"deny\": [\"@workdir/.git\"]}}",
	 NULL, NULL, {
		{"/opt/py/lib/a", 'r', ALLOW, "read[0] @interpreter"}, {"/opt/venv/a", 'r', ALLOW, "read[0]"},
		{"/opt/x", 'r', DENY(ENOENT), NULL},
		{"/opt/py/bin/python3", 'x', ALLOW, "exec[0]"}, {"/opt/venv/bin/python3", 'x', ALLOW, "exec[0]"},
		{"/opt/py/lib/a", 'x', DENY(EACCES), NULL},
		{"/home/u/notes/a", 'r', ALLOW, "read[1]"}, {"/home/u", 'r', DENY(ENOENT), NULL},
		{"/srv/set/x", 'r', ALLOW, "read[2]"},
		{"/work", 'w', ALLOW, "write[0]"}, {"/work/a", 'w', ALLOW, "write[0]"},
		{"/work/a", 'x', DENY(EACCES), NULL},
		{"/work/bin/p", 'x', ALLOW, "exec[1]"}, {"/work/bin", 'x', ALLOW, "exec[1]"},
		{"/work/.git/config", 'r', DENY(EACCES), "deny[0]"},
		{"/scratch/run/work/a", 'r', DENY(ENOENT), NULL}}},
	{"exec deny",
	 "{\"filesystem\": {\"exec\": [\"/usr/bin\"], \"write\": [\"/w\"]}, \"exec\": {\"deny\": [\"**/curl\", "
	 "\"/usr/bin/net*\", \"**/w*t\"]}}",
	 NULL, NULL, {
		{"/usr/bin/curl", 'x', DENY(EACCES), "exec.deny[0]"}, {"/usr/bin/curl", 'r', ALLOW, "exec[0]"},
		{"/usr/bin/curly", 'x', ALLOW, "exec[0]"},
		{"/usr/bin/netcat", 'x', DENY(EACCES), "exec.deny[1]"}, {"/usr/bin/netcat", 'r', ALLOW, "exec[0]"},
		{"/usr/bin/wget", 'x', DENY(EACCES), "exec.deny[2]"},
		{"/w/curl", 'w', ALLOW, "write[0]"}, {"/w/curl", 'x', DENY(EACCES), "exec.deny[0]"}}},
	{"redirects",
	 "{\"workdir\": \"/home/x/job\", \"filesystem\": {\"read\": [\"/srv/data\", \"/home/x\"], "
	 "\"write\": [\"@workdir\", \"/tmp/keep\", \"/srv/data/out\"],"
	 "\"redirect\": [{\"from\": \"/tmp\", \"to\": \"@scratch/tmp\"}, {\"from\": \"/mnt\", "
	 "\"to\": \"/srv/data\"},"
	 "{\"from\": \"/home/x/cache\", \"to\": \"@workdir/.cache\"}], \"exec\": [\"/tmp\"], "
	 "\"deny\": [\"/srv/data/no\", \"@workdir/.cache/no\"]}}",
	 NULL, NULL, {
		{"/tmp", 'w', REDIR, "redirect[0]"}, {"/tmp/a", 'r', REDIR, "redirect[0]"},
		{"/tmp/a", 'x', REDIR, "exec[0]"},
		{"/tmp/keep/a", 'w', ALLOW, "write[1]"}, {"/tmp/keep/a", 'x', DENY(EACCES), NULL},
		{"/mnt/a", 'r', REDIR, "redirect[1]"},
		{"/mnt/a", 'w', DENY(EROFS), "redirect[1]"}, {"/mnt/out/a", 'w', DENY(EROFS), NULL},
		{"/mnt/no/a", 'r', DENY(EACCES), "deny[0]"},
		{"/mnt/no", 'r', DENY(EACCES), "deny[0]"}, {"/mnt/nose", 'r', REDIR, NULL},
		{"/home/x/cache/a", 'w', REDIR, "redirect[2]"},
		{"/home/x/cache/no", 'w', DENY(EACCES), "deny[1]"},
		{"/home/x/job/.cache/no/a", 'r', DENY(EACCES), "deny[1]"},
		{"/home/x/job/a", 'w', ALLOW, "write[0]"}, {"/home/x/a", 'r', ALLOW, "read[1]"},
		{"/home/x/a", 'w', DENY(EROFS), NULL}}},
	{"rights stay out of redirects",
	 "{\"filesystem\": {\"write\": [\"/home/u\"], \"exec\": [\"/home/u\"], \"read\": [\"/usr/lib\"],"
	 "\"redirect\": [{\"from\": \"/home/u/lib\", \"to\": \"/usr/lib\"}, {\"from\": \"/home/u/t\", "
	 "\"to\": \"@scratch/t\"}]}}", NULL, NULL, {
		{"/home/u/a", 'w', ALLOW, "write[0]"}, {"/home/u/a", 'x', ALLOW, "exec[0]"},
		{"/home/u/lib/a", 'r', REDIR, "redirect[0]"},
		{"/home/u/lib/a", 'w', DENY(EROFS), "redirect[0]"}, {"/home/u/lib/a", 'x', DENY(EACCES), "redirect[0]"},
		{"/home/u/t/a", 'w', REDIR, "redirect[1]"}, {"/home/u/t/a", 'x', DENY(EACCES), NULL}}},
	{"host paths below the workdir's name",
	 "{\"filesystem\": {\"write\": [\"@workdir\"], \"exec\": [\"@workdir\"], \"read\": [\"/work/lib\"]}}",
	 NULL, NULL, {
		{"/work/a", 'w', ALLOW, "write[0]"}, {"/work/a", 'x', ALLOW, "exec[0]"},
		{"/work/lib/a", 'r', ALLOW, "read[0]"},
		{"/work/lib/a", 'w', DENY(EROFS), "read[0]"}, {"/work/lib/a", 'x', DENY(EACCES), "read[0]"}}},
	{"provided",
	 "{\"filesystem\": {\"read\": [\"/etc/ssl\"], \"write\": [\"/etc/ssl/w\"], "
	 "\"provide\": {\"/etc/passwd\": \"x\", \"/etc/ssl/w/motd\": \"\"}, \"decoy\": [\"~/.aws/credentials\"]}}",
	 NULL, NULL, {
		{"/etc/passwd", 'r', GIVEN, "provide[\"/etc/passwd\"]"}, {"/etc/passwd", 'w', DENY(EROFS), NULL},
		{"/etc/passwd", 'x', DENY(EACCES), NULL},
		{"/etc", 'r', DENY(ENOENT), NULL}, {"/etc/ssl/w/motd", 'r', GIVEN, NULL},
		{"/etc/ssl/w/motd", 'w', DENY(EROFS), NULL},
		{"/etc/ssl/w/x", 'w', ALLOW, NULL},
		{"/home/u/.aws/credentials", 'r', GIVEN, "decoy[0] ~/.aws/credentials"},
		{"/home/u/.aws", 'r', DENY(ENOENT), NULL}}},
	{"-w keeps its name",
	 "{\"filesystem\": {\"write\": [\"@workdir\"], \"deny\": [\"~/proj/.env\", \"@workdir/x\"]}}",
	 "/home/u/proj", "/home/u/proj", {
		{"/home/u/proj/a", 'w', ALLOW, "write[0]"}, {"/home/u/proj/.env", 'r', DENY(EACCES), "deny[0]"},
		{"/home/u/proj/x/y", 'r', DENY(EACCES), "deny[1]"},
		{"/home/u", 'r', DENY(ENOENT), NULL}, {"/work", 'r', DENY(ENOENT), NULL}}},
	{"an interpreter in the workdir", "{\"filesystem\": {\"read\": [\"@interpreter\"]}}", "/opt", "/opt", {
		{"/opt/py/x", 'r', DENY(ENOENT), NULL}, {"/opt/venv", 'r', DENY(ENOENT), NULL}}},
	{"denies by both names of a redirect's target",
	 "{\"workdir\": \"/job\", \"filesystem\": {\"write\": [\"@workdir\"], \"redirect\": [{\"from\": \"/c\", "
	 "\"to\": \"@workdir/c\"}], \"deny\": [\"~/proj/c/k\", \"@workdir/c/w\"]}}",
	 "/home/u/proj", "/home/u/proj", {
		{"/c/k", 'r', DENY(EACCES), "deny[0]"}, {"/c/w/x", 'r', DENY(EACCES), "deny[1]"},
		{"/c/x", 'w', REDIR, "redirect[0]"}, {"/job/c/k", 'r', DENY(EACCES), "deny[0]"}}},
	{"denies by the host's name hold under the workdir's",
	 "{\"workdir\": \"/job\", \"filesystem\": {\"write\": [\"@workdir\"], \"deny\": [\"~/proj/.env\", "
	 "\"~/proj/a/**/k\"]}}",
	 "/home/u/proj", "/home/u/proj", {
		{"/job/a", 'w', ALLOW, "write[0]"}, {"/job/.env", 'r', DENY(EACCES), "deny[0]"},
		{"/job/.env/x", 'r', DENY(EACCES), "deny[0]"},
		{"/job/a/b/k", 'r', DENY(EACCES), "deny[1]"}, {"/job", 'w', ALLOW, "write[0]"},
		{"/home/u/proj/a", 'r', DENY(ENOENT), NULL}}},
	{"slashes", "{\"filesystem\": {\"read\": [\"//usr//share//\", \"/opt/\"]}}", NULL, NULL, {
		{"/usr/share/a", 'r', ALLOW, NULL}, {"/opt", 'r', ALLOW, NULL}}},
};
/* clang-format on */

static unsigned bit(char want)
{
	return want == 'x' ? POLICY_EXEC : want == 'w' ? POLICY_WRITE : POLICY_READ;
}

static unsigned ask(const struct policy *policy, const struct scene *scene, bool rules)
{
	unsigned asked = 0;

	for (const struct question *q = scene->question; q->path; q++, asked++) {
		struct policy_decision got = policy_decide_access(policy, q->path, strlen(q->path), bit(q->want));

		ck_assert_msg(got.verdict == q->verdict && got.error == q->error, "%s: %c %s: %s, errno %d, by %s",
			      scene->name, q->want, q->path, verdict_get_name(got.verdict), got.error,
			      got.rule ? got.rule : "none");
		ck_assert_ptr_nonnull(got.reason);
		if (got.verdict != VERDICT_DENY)
			ck_assert_int_eq(strcmp(got.reason, "public") == 0,
					 !!(policy_get_rights(policy, q->path, strlen(q->path)) & POLICY_PUBLIC));
		if (rules && q->rule)
			ck_assert_msg(got.rule && strstr(got.rule, q->rule), "%s: %c %s: by %s, not %s", scene->name,
				      q->want, q->path, got.rule ? got.rule : "none", q->rule);
		if (q->error == ENOENT && !q->rule)
			ck_assert_ptr_null(got.rule);
		/* only `len` bytes of the path are read */
		char longer[256];

		(void)snprintf(longer, sizeof(longer), "%s/zz", q->path);
		got = policy_decide_access(policy, longer, strlen(q->path), bit(q->want));
		ck_assert_int_eq(got.error, q->error);
	}
	return asked;
}

START_TEST(test_decisions)
{
	const struct scene *scene = &scenes[_i];
	struct rig rig = {.workdir = scene->workdir, .workdir_virt_default = scene->workdir_virt};
	struct policy *policy, *again;
	char *shown;
	int ret = rig_load(&rig, scene->text, NULL, &policy);

	ck_assert_msg(ret == 0, "%s: %s", scene->name, rig.errors.count ? rig.errors.item[0].text : strerror(-ret));
	(void)ask(policy, scene, true);
	shown = policy_make_json(policy);
	ck_assert_ptr_nonnull(shown);
	ret = rig_load(&rig, shown, NULL, &again);
	ck_assert_msg(ret == 0, "%s: shown: %s\n%s", scene->name, rig.errors.count ? rig.errors.item[0].text : "",
		      shown);
	(void)ask(again, scene, false);
	ck_assert_str_eq(policy_get_settings(policy)->workdir, policy_get_settings(again)->workdir);
	free(shown);
	policy_free(policy);
	policy_free(again);
	rig_done(&rig);
}
END_TEST

START_TEST(test_count)
{
	unsigned count = 0;

	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++)
		for (const struct question *q = scenes[i].question; q->path; q++)
			count++;
	ck_assert_uint_ge(count, 150);
}
END_TEST

START_TEST(test_degenerate_paths)
{
	struct rig rig = {0};
	struct policy *policy;

	ck_assert_int_eq(rig_load(&rig, "{\"filesystem\": {\"read\": [\"/usr\"]}}", NULL, &policy), 0);
	ck_assert_int_eq(policy_decide_access(policy, "", 0, POLICY_READ).error, ENOENT);
	ck_assert_int_eq(policy_decide_access(policy, "usr", 3, POLICY_READ).error, ENOENT);
	ck_assert_uint_eq(policy_get_rights(policy, "/usr/x", 6), POLICY_READ);
	ck_assert_uint_eq(policy_get_rights(policy, "xusr/x", 6), 0); /* as long as "/usr/x", and relative */
	ck_assert_uint_eq(policy_get_rights(policy, "/us", 3), 0);
	policy_free(policy);
	policy_free(NULL);
	rig_done(&rig);
}
END_TEST

START_TEST(test_rights_of_globs)
{
	struct rig rig = {0};
	struct policy *policy;

	ck_assert_int_eq(rig_load(&rig, "{\"filesystem\": {\"write\": [\"/w/*\"], \"exec\": [\"/x/*\"]}}", NULL,
				  &policy),
			 0);
	ck_assert_uint_eq(policy_get_rights(policy, "/w/a", 4), POLICY_READ | POLICY_WRITE);
	ck_assert_uint_eq(policy_get_rights(policy, "/x/a", 4), POLICY_READ | POLICY_EXEC);
	policy_free(policy);
	rig_done(&rig);
}
END_TEST

START_TEST(test_long_alias_fails_closed)
{
	struct rig rig = {0};
	struct policy *policy;
	char path[8192] = "/m/", *end = path + 3;

	ck_assert_int_eq(
		rig_load(&rig,
			 "{\"filesystem\": {\"read\": [\"/srv/a-rather-long-name\"], \"redirect\": [{\"from\": \"/m\","
			 "\"to\": \"/srv/a-rather-long-name\"}]}}",
			 NULL, &policy),
		0);
	memset(end, 'a', 4090);
	ck_assert_int_eq(policy_decide_access(policy, path, 4000, POLICY_READ).error, 0);
	ck_assert_int_eq(policy_decide_access(policy, path, 4090, POLICY_READ).error, ENOENT);
	policy_free(policy);
	rig_done(&rig);
}
END_TEST

START_TEST(test_may_hold)
{
	struct rig rig = {0};
	struct policy *policy;
	static const struct {
		const char *path;
		bool hold;
	} cases[] = {
		{"/", true},          {"/data", true},        {"/data/x", true},   {"/data/x/pub", true},
		{"/data/x/y", false}, {"/log", true},         {"/log/a/b", true},  {"/usr", true},
		{"/usr/share", true}, {"/usr/share/x", true}, {"/usr/bin", false}, {"/other", false},
		{"/data/no", false},  {"/etc", true},         {"/etc/motd", true}, {"/etc/x", false},
		{"/miss", false},
	};

	ck_assert_int_eq(rig_load(&rig,
				  "{\"filesystem\": {\"read\": [\"/data/*/pub\", \"/log/**/*.txt\", \"/usr/share\", "
				  "\"/missing/x\"],"
				  "\"provide\": {\"/etc/motd\": \"hi\"}, \"deny\": [\"/data/no\"]}}",
				  NULL, &policy),
			 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ck_assert_msg(policy_may_grant_below(policy, cases[i].path, strlen(cases[i].path)) == cases[i].hold,
			      "%s", cases[i].path);
	policy_free(policy);
	rig_done(&rig);
}
END_TEST

/* The host's /work is another directory than the workdir, which the view shows at /work. */
START_TEST(test_host_writable)
{
	static const struct {
		const char *host;
		bool writable;
	} cases[] = {
		{"/scratch/run/work", true},
		{"/scratch/run/work/x", true},
		{"/work", false},
		{"/work/x", false},
		{"/data/x", true},
		{"/usr", false},
	};
	struct rig rig = {0};
	struct policy *policy;

	ck_assert_int_eq(rig_load(&rig, "{\"filesystem\": {\"read\": [\"/\"], \"write\": [\"@workdir\", \"/data\"]}}",
				  NULL, &policy),
			 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ck_assert_msg(policy_host_path_is_writable(policy, cases[i].host) == cases[i].writable, "%s",
			      cases[i].host);
	policy_free(policy);
	rig_done(&rig);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("policy decide");
	TCase *tcase = tcase_create("decide");

	tcase_add_loop_test(tcase, test_decisions, 0, (int)(sizeof(scenes) / sizeof(scenes[0])));
	tcase_add_test(tcase, test_count);
	tcase_add_test(tcase, test_degenerate_paths);
	tcase_add_test(tcase, test_rights_of_globs);
	tcase_add_test(tcase, test_long_alias_fails_closed);
	tcase_add_test(tcase, test_may_hold);
	tcase_add_test(tcase, test_host_writable);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
