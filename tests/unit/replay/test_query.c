/* Records judged again: made by the writer's own encoder from decisions of generated policies, read by audit/scan.h. */
#include <check.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/encode.h"
#include "audit/hash.h"
#include "audit/scan.h"
#include "base/text.h"
#include "policy/paths/move.h"
#include "policy/paths/shown.h"
#include "replay/query.h"
#include "tests/unit/policy/policy-rig.h"
#include "tests/unit/sanitized.h"
#include "tests/unit/unit.h"

#define POLICIES (SANITIZED ? 50 : few_of(400))
#define QUERIES 200
/* The architecture's own loader, as the program writes it (base/elf-machine.h). */
#if defined(__x86_64__)
#define LOADER "/lib64/ld-linux-x86-64.so.2"
#elif defined(__aarch64__)
#define LOADER "/lib/ld-linux-aarch64.so.1"
#endif

static struct encoder encoder;
static struct query query;
static char *line;
static size_t line_len;

static struct policy *load(struct rig *rig, const char *text)
{
	struct policy *policy = NULL;
	int r = rig_load(rig, text, NULL, &policy);

	ck_assert_msg(r == 0, "%s: %s", text, rig->errors.count ? rig->errors.item[0].text : "");
	return policy;
}

/* The record's line, with its outcome. */
static void encode(const struct audit_record *record, int64_t ret)
{
	const struct line_chain_fields links = {.prev_hash = HASH_BLANK};
	size_t room;

	ck_assert_int_eq(encode_record(&encoder, record, &links, 1, 0, &line_len, &room), 0);
	line = encoder.line_buffer;
	outcome_store(&encoder, line + room, ret, 1000);
	line_len--; /* the newline */
}

static void read_query(struct scan_record *ret_record)
{
	int r = scan_parse_line_fast(line, line_len, ret_record);

	ck_assert_msg(r == 0, "%.*s", (int)line_len, line);
	ck_assert_msg(query_read_record(ret_record, &query) == 0, "%.*s", (int)line_len, line);
}

static char letter(unsigned want)
{
	return want & POLICY_EXEC ? 'x' : want & POLICY_WRITE ? 'w' : 'r';
}

static struct audit_record make_record(const struct policy_decision *decision, const char *path)
{
	return (struct audit_record){.pid = 5,
				     .tid = 5,
				     .ppid = 1,
				     .exe = "/usr/bin/x",
				     .syscall = "openat",
				     .arg = {{.name = "flags", .kind = AUDIT_ARG_HEX, .value = 0x80000}},
				     .arg_count = 1,
				     .path = path,
				     .path_len = strlen(path),
				     .resolved_path = path,
				     .resolved_path_len = strlen(path),
				     .verdict = decision->verdict,
				     .effect = decision->verdict == VERDICT_DENY ? AUDIT_EFFECT_REFUSED
										 : AUDIT_EFFECT_PERFORMED,
				     .rule = decision->rule,
				     .reason = decision->reason,
				     .access_right = letter(decision->wanted_rights)};
}

static int64_t get_outcome(const struct policy_decision *decision)
{
	return decision->verdict == VERDICT_DENY ? -decision->error : 3;
}

/* ---- the scanner ---- */

static void put_random_text(char *out, size_t max)
{
	size_t len = (size_t)random() % max;

	for (size_t i = 0; i < len; i++) {
		static const char odd[] = "\\\"\n\x01\x7f\xff\xc3\xa4u/x ";

		out[i] = odd[(size_t)random() % (sizeof(odd) - 1)];
		if (random() % 3)
			out[i] = "abcdefghijklmnopqrstuvwxyz"[random() % 26];
	}
	out[len] = '\0';
}

/* Each text that the writer escapes comes back as jansson and text_unescape_backslashes() read it. */
START_TEST(test_texts)
{
	srandom(1);
	for (int i = 0; i < 20000; i++) {
		char text[200] = "/", back[400], *expected;
		struct policy_decision decision = {.verdict = VERDICT_ALLOW, .rule = "p.json: filesystem.read[0] /",
						   .reason = "granted", .wanted_rights = POLICY_READ};
		struct scan_record record;
		struct audit_record written;
		size_t len;
		json_t *json;

		put_random_text(text + 1, sizeof(text) - 1);
		written = make_record(&decision, text);
		encode(&written, 0);
		ck_assert_msg(scan_parse_line_fast(line, line_len, &record) == 0, "%.*s", (int)line_len, line);
		ck_assert_int_eq(scan_copy_unescaped_bytes(&record.path[0].as_written, back, sizeof(back)),
				 (int)strlen(text));
		ck_assert_str_eq(back, text);
		json = json_loadb(line, line_len, JSON_REJECT_DUPLICATES, NULL);
		ck_assert_ptr_nonnull(json);
		expected = audit_line_get_bytes(json, "path", &len);
		ck_assert_str_eq(back, expected);
		ck_assert(scan_text_equals(&record.verdict, "allow") && record.seq == 1 && record.has_ret);
		free(expected);
		json_decref(json);
	}
}
END_TEST

/* Whatever is done to a line, it is read as jansson reads it, or not at all; and never beyond its end. */
START_TEST(test_broken_lines)
{
	struct policy_decision decision = {
		.verdict = VERDICT_DENY, .error = ENOENT, .reason = "not_granted", .wanted_rights = POLICY_READ};
	struct audit_record written = make_record(&decision, "/a/\x1b\xff/b\"c");
	unsigned read = 0;

	encode(&written, -ENOENT);
	srandom(2);
	for (int i = 0; i < (SANITIZED ? 40000 : few_of(200000)); i++) {
		size_t len = random() % 4 ? line_len : (size_t)random() % line_len;
		char *copy = malloc(len ? len : 1);
		struct scan_record record;

		memcpy(copy, line, len);
		for (int j = 0; len && j < (int)(random() % 3); j++)
			copy[(size_t)random() % len] = "\"\\{}[],: 0a\0"[random() % 12];
		if (scan_parse_line_fast(copy, len, &record) == 0) {
			json_t *json = json_loadb(copy, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);

			/* What jansson refuses besides: bytes and escapes that are no text. */
			if (json) {
				ck_assert_int_eq(json_integer_value(json_object_get(json, "seq")),
						 (json_int_t)record.seq);
				ck_assert(record.syscall.at || !json_object_get(json, "syscall"));
				json_decref(json);
			}
			(void)query_read_record(&record, &query);
			read++;
		}
		free(copy);
	}
	ck_assert_uint_gt(read, 1000);
}
END_TEST

/* ---- the same policy ---- */

static const char *const words[] = {"a", "b", "lib", ".env", "x.pem", "run"};
#define WORDS (sizeof(words) / sizeof(words[0]))
static const char *const starts[] = {"/usr", "/usr/lib", "/data", "/work", "/home/u/.ssh", "/etc", "/dev/null", "/"};
#define STARTS (sizeof(starts) / sizeof(starts[0]))

static void make_path(char *out, size_t cap)
{
	int len = snprintf(out, cap, "%s", starts[(size_t)random() % STARTS]);

	for (long i = random() % 4; i > 0; i--)
		len += snprintf(out + len, cap - (size_t)len, "%s%s", len > 1 ? "/" : "",
				words[(size_t)random() % WORDS]);
}

static size_t put_list(char *out, size_t cap, const char *key, bool globs)
{
	size_t len = (size_t)snprintf(out, cap, "\"%s\": [", key);
	long count = random() % 4;

	for (long i = 0; i < count; i++) {
		char path[128];

		make_path(path, sizeof(path));
		if (strncmp(path, "/dev", 4) == 0 || strcmp(path, "/") == 0)
			(void)snprintf(path, sizeof(path), "/opt");
		len += (size_t)snprintf(out + len, cap - len, "%s\"%s%s\"", i ? ", " : "", path,
					globs && random() % 3 == 0   ? "/*.pem"
					: globs && random() % 3 == 0 ? "/**/lib"
								     : "");
	}
	return len + (size_t)snprintf(out + len, cap - len, "]");
}

static void make_policy(char *out, size_t cap)
{
	size_t len = (size_t)snprintf(out, cap, "{\"version\": 1, \"filesystem\": {");
	static const char *const keys[] = {"read", "write", "exec", "deny", "private"};

	for (size_t i = 0; i < 5; i++) {
		if (i)
			len += (size_t)snprintf(out + len, cap - len, ", ");
		len += put_list(out + len, cap - len, keys[i], true);
	}
	(void)snprintf(out + len, cap - len, "}}");
}

static void check_same(const struct query_judge *judge, const struct policy_decision *decision, const char *path)
{
	struct audit_record written = make_record(decision, path);
	struct query_answer answer;
	struct scan_record record;
	bool found = false;

	encode(&written, get_outcome(decision));
	read_query(&record);
	ck_assert_int_eq(query.kind, QUERY_PATHS);
	query_judge(judge, &query, &answer);
	ck_assert_msg(answer.is_certain && answer.is_allowed == (decision->verdict != VERDICT_DENY), "%.*s",
		      (int)line_len, line);
	for (size_t i = 0; i < answer.rule_count; i++)
		found |= decision->rule ? answer.rules[i] && strcmp(answer.rules[i], decision->rule) == 0
					: !answer.rules[i];
	ck_assert_msg(found, "%.*s: %s", (int)line_len, line, answer.rules[0] ? answer.rules[0] : "none");
}

/* What the view says of a name where no rule grants: an ancestor of something that is granted can be read. */
static struct policy_decision decide(const struct policy *policy, const char *path, unsigned want)
{
	struct policy_decision decision = policy_decide_access(policy, path, strlen(path), want);

	if (strcmp(path, "/dev/null") == 0)
		return policy_decide_provided(policy, path, strlen(path), want, true);
	return decision;
}

START_TEST(test_same_policy)
{
	static const unsigned wants[] = {POLICY_READ, POLICY_WRITE, POLICY_EXEC};

	srandom(3);
	for (int loaded = 0; loaded < POLICIES;) {
		struct rig rig = {0};
		struct query_judge *judge;
		char text[2048];
		struct policy *policy;

		make_policy(text, sizeof(text));
		if (rig_load(&rig, text, NULL, &policy) < 0) { /* rules that contradict each other */
			rig_done(&rig);
			continue;
		}
		loaded++;
		ck_assert_int_eq(query_judge_create(policy, &judge), 0);
		for (int j = 0; j < QUERIES; j++) {
			struct policy_decision decision;
			char path[256];

			make_path(path, sizeof(path));
			decision = decide(policy, path, wants[random() % 3]);
			/* Ancestors of grants depend on the view, which the live test has. */
			if (decision.verdict == VERDICT_DENY && decision.error == ENOENT)
				continue;
			check_same(judge, &decision, path);
		}
		query_judge_free(judge);
		policy_free(policy);
		rig_done(&rig);
	}
}
END_TEST

/* ---- single records ---- */

struct answer_case {
	const char *policy; /* of the replay */
	const char *line;   /* what follows the seq */
	const char *answer; /* "allow", "deny", or the class of what is not replayable */
	const char *rule;   /* part of the rule's label; NULL: none */
};

#define READ_USR "{\"filesystem\": {\"read\": [\"/usr\"]}}"
#define NET "{\"network\": {\"allow\": [{\"host\": \"api.test\", \"http\": [\"GET /v1/**\"]}], \"listen\": [8000]}}"

static const struct answer_case cases[] = {
	{READ_USR, "\"syscall\":\"openat\",\"path\":\"/usr/x\",\"right\":\"r\",\"verdict\":\"allow\","
	 "\"ret\": 3", "allow",
	 "/usr"},
	{READ_USR, "\"syscall\":\"openat\",\"path\":\"/usr/x\",\"right\":\"w\",\"verdict\":\"allow\","
	 "\"ret\": 3", "deny",
	 "/usr"},
	/* what the run found to be absent stays so where it is not granted */
	{READ_USR, "\"syscall\":\"stat\",\"path\":\"/opt/x\",\"right\":\"r\",\"verdict\":\"allow\","
	 "\"errno\":\"ENOENT\"",
	 "allow", NULL},
	{READ_USR, "\"syscall\":\"stat\",\"path\":\"/opt/x\",\"right\":\"r\",\"verdict\":\"allow\","
	 "\"ret\":0", "deny", NULL},
	{READ_USR,
	 "\"syscall\":\"stat\",\"path\":\"/opt/x\",\"host\":\"/s/x\",\"right\":\"r\",\"verdict\":\"redirect\","
	 "\"errno\":\"ENOENT\"",
	 "absent", NULL},
	/* a refusal on the way, and what is behind it */
	{"{\"filesystem\": {\"read\": [\"/opt/y\"]}}",
	 "\"syscall\":\"open\",\"path\":\"/opt/x/z\",\"resolved\":\"/opt\",\"right\":\"r\",\"verdict\":\"deny\","
	 "\"reason\":\"not_granted\",\"errno\":\"ENOENT\"",
	 "deny", NULL},
	{"{\"filesystem\": {\"read\": [\"/opt/x\"]}}",
	 "\"syscall\":\"open\",\"path\":\"/opt/x/z\",\"resolved\":\"/opt\",\"right\":\"r\",\"verdict\":\"deny\","
	 "\"reason\":\"not_granted\",\"errno\":\"ENOENT\"",
	 "allow", NULL},
	{"{\"filesystem\": {\"read\": [\"/opt\"]}}",
	 "\"syscall\":\"mkdir\",\"path\":\"x/z\",\"resolved\":\"/opt/x\",\"right\":\"w\",\"verdict\":\"deny\","
	 "\"reason\":\"not_granted\",\"errno\":\"ENOENT\"",
	 "deny", "/opt"},
	{"{\"filesystem\": {\"read\": [\"/opt\"]}}",
	 "\"syscall\":\"open\",\"path\":\"../x\",\"resolved\":\"/opt/q\",\"right\":\"r\",\"verdict\":\"deny\","
	 "\"reason\":\"not_granted\",\"errno\":\"ENOENT\"",
	 "unresolved", NULL},
	/* a link that the new view does not show */
	{READ_USR,
	 "\"syscall\":\"open\",\"path\":\"/opt/l/x\",\"resolved\":\"/usr/x\",\"right\":\"r\",\"verdict\":\"allow\","
	 "\"ret\":3",
	 "deny", NULL},
	{"{\"filesystem\": {\"read\": [\"/usr\", \"/opt\"]}}",
	 "\"syscall\":\"open\",\"path\":\"/opt/l/x\",\"resolved\":\"/usr/x\",\"right\":\"r\",\"verdict\":\"allow\","
	 "\"ret\":3",
	 "allow", "/usr"},
	{READ_USR,
	 "\"syscall\":\"open\",\"path\":\"/lib/x\",\"resolved\":\"/usr/lib/x\",\"right\":\"r\",\"verdict\":\"allow\","
	 "\"ret\":3",
	 "allow", "/usr"},
	/* two names; the loader */
	{"{\"filesystem\": {\"write\": [\"/a\"], \"read\": [\"/b\"]}}",
	 "\"syscall\":\"rename\",\"path\":\"/a/1\",\"path2\":\"/b/1\",\"right\":\"w\",\"verdict\":\"allow\",\"ret\":0",
	 "deny", "/b"},
	{"{\"filesystem\": {\"write\": [\"/a\"], \"deny\": [\"/a/x/y\"]}}",
	 "\"syscall\":\"rename\",\"path\":\"/a/1\",\"path2\":\"/a/x\",\"right\":\"w\",\"verdict\":\"allow\",\"ret\":0",
	 "moved_directory", NULL},
	{"{\"filesystem\": {\"exec\": [\"/usr/bin\"]}}",
	 "\"syscall\":\"execve\",\"path\":\"/usr/bin/x\",\"loader\":\"" LOADER "\","
	 "\"loader_resolved\":\"/usr/lib/ld.so\",\"right\":\"x\",\"verdict\":\"allow\",\"ret\":0",
	 "deny", NULL},
	{"{\"filesystem\": {\"exec\": [\"/usr/bin\"], \"read\": [\"/usr/lib\", \"/usr/lib64\"]}}",
	 "\"syscall\":\"execve\",\"path\":\"/usr/bin/x\",\"loader\":\"" LOADER "\","
	 "\"loader_resolved\":\"/usr/lib/ld.so\",\"right\":\"x\",\"verdict\":\"allow\",\"ret\":0",
	 "allow", "/usr/bin"},
	{"{\"filesystem\": {\"exec\": [\"/usr/bin\"], \"read\": [\"/usr/lib\"]}}",
	 "\"syscall\":\"execve\",\"path\":\"/usr/bin/x\",\"loader\":\"/opt/ld.so\","
	 "\"loader_resolved\":\"/usr/lib/ld.so\","
	 "\"right\":\"x\",\"verdict\":\"allow\",\"ret\":0",
	 "deny", NULL},
	{"{\"filesystem\": {\"write\": [\"/b\"], \"read\": [\"/a\"]}}",
	 "\"syscall\":\"rename\",\"path\":\"/a/1\",\"path2\":\"/b/1\",\"right\":\"w\",\"verdict\":\"allow\",\"ret\":0",
	 "deny", "/a"},
	{"{\"filesystem\": {\"exec\": [\"/usr/bin\"], \"read\": [\"/usr/lib\", \"/opt\"]}}",
	 "\"syscall\":\"execve\",\"path\":\"/usr/bin/x\",\"loader\":\"/opt/ld.so\","
	 "\"loader_resolved\":\"/usr/lib/ld.so\",\"right\":\"x\",\"verdict\":\"allow\",\"ret\":0",
	 "deny", "/usr/lib"},
	{"{\"filesystem\": {\"read\": [\"/usr\"]}}",
	 "\"syscall\":\"execve\",\"path\":\"/usr/bin/x\",\"loader\":\"" LOADER "\","
	 "\"loader_resolved\":\"/usr/lib/ld.so\",\"right\":\"r\",\"verdict\":\"deny\",\"rule\":\"x\","
	 "\"reason\":\"denied_by_rule\"",
	 "deny", "/usr"},
	/* a link that leads from a denied name */
	{"{\"filesystem\": {\"write\": [\"/a\"], \"deny\": [\"/a/git/hooks\"]}}",
	 "\"syscall\":\"symlink\",\"args\":{\"target\":\"/a/other\"},\"path\":\"/a/git\",\"right\":\"w\","
	 "\"verdict\":\"allow\",\"ret\":0",
	 "deny", "hooks"},
	/* another object */
	{"{\"filesystem\": {\"redirect\": [{\"from\": \"/opt\", \"to\": \"@scratch/o\"}]}}",
	 "\"syscall\":\"stat\",\"path\":\"/opt/x\",\"right\":\"r\",\"verdict\":\"allow\",\"ret\":0", "elsewhere", NULL},
	{"{\"filesystem\": {\"redirect\": [{\"from\": \"/opt\", \"to\": \"@scratch/o\"}]}}",
	 "\"syscall\":\"stat\",\"path\":\"/opt/x\",\"host\":\"/s/o\",\"right\":\"r\","
	 "\"verdict\":\"redirect\",\"ret\":0",
	 "allow", "/opt"},
	/* what exists fails the same way where it may only be read */
	{READ_USR, "\"syscall\":\"mkdir\",\"path\":\"/usr/x\",\"right\":\"w\",\"verdict\":\"allow\","
	 "\"errno\":\"EEXIST\"",
	 "allow", "/usr"},
	{"{\"filesystem\": {\"read\": [\"/usr\"], \"deny\": [\"/usr/x\"]}}",
	 "\"syscall\":\"mkdir\",\"path\":\"/usr/x\",\"right\":\"w\",\"verdict\":\"allow\","
	 "\"errno\":\"EEXIST\"", "deny",
	 "/usr/x"},
	/* what no rule decided */
	{READ_USR, "\"syscall\":\"kill\",\"args\":{\"pid\":1,\"sig\":9},\"verdict\":\"deny\","
	 "\"reason\":\"outside_run\"",
	 "outside_run", NULL},
	{READ_USR, "\"syscall\":\"kill\",\"args\":{\"pid\":-1},\"verdict\":\"allow\",\"ret\":0", "no_path", NULL},
	{READ_USR,
	 "\"syscall\":\"openat\",\"path\":\"/proc/1/mem\",\"right\":\"r\",\"verdict\":\"deny\","
	 "\"reason\":\"not_granted\"",
	 "proc", NULL},
	{READ_USR, "\"syscall\":\"open\",\"path\":\"/usr/x\",\"verdict\":\"deny\","
	 "\"reason\":\"disk_limit\"", "disk_limit",
	 NULL},
	{"{\"filesystem\": {\"public\": [\"/opt\"]}}",
	 "\"syscall\":\"open\",\"path\":\"/opt/x\",\"right\":\"r\",\"verdict\":\"allow\",\"ret\":3", "public", NULL},
	{"{\"filesystem\": {\"public\": [\"/opt\"]}}",
	 "\"syscall\":\"open\",\"path\":\"/opt/x\",\"right\":\"r\",\"verdict\":\"allow\","
	 "\"reason\":\"public\",\"ret\":3",
	 "allow", "/opt"},
	/* the network */
	{NET,
	 "\"syscall\":\"connect\",\"host\":\"api.test\",\"port\":443,\"proto\":\"tcp\",\"verdict\":\"deny\","
	 "\"reason\":\"no_rule\"",
	 "allow", "api.test"},
	{READ_USR,
	 "\"syscall\":\"connect\",\"host\":\"api.test\",\"port\":443,\"proto\":\"tcp\",\"verdict\":\"allow\","
	 "\"rule\":\"p.json: network.allow[0] api.test:443\"",
	 "deny", NULL},
	{NET,
	 "\"event\":\"request\",\"host\":\"api.test\",\"port\":443,\"proto\":\"https\",\"method\":\"GET\","
	 "\"path\":\"/v1/x?\xe2\x80\xa6\",\"verdict\":\"allow\",\"rule\":\"x\"",
	 "allow", "api.test"},
	{NET,
	 "\"event\":\"request\",\"host\":\"api.test\",\"port\":443,\"proto\":\"https\",\"method\":\"POST\","
	 "\"path\":\"/v1/x\",\"verdict\":\"allow\",\"rule\":\"x\"",
	 "deny", NULL},
	{NET,
	 "\"event\":\"request\",\"host\":\"api.test\",\"port\":443,\"method\":\"GET\",\"path\":\"/v1/x\","
	 "\"truncated\":true,\"verdict\":\"allow\",\"rule\":\"x\"",
	 "truncated", NULL},
	{NET,
	 "\"event\":\"open\",\"host\":\"api.test\",\"port\":443,\"verdict\":\"deny\",\"reason\":\"denied_addr\"",
	 "denied_addr", NULL},
	{NET,
	 "\"event\":\"request\",\"host\":\"api.test\",\"port\":443,\"method\":\"GET\",\"path\":\"/v1/x\","
	 "\"verdict\":\"deny\",\"rule\":\"x\",\"reason\":\"cap_rate\"",
	 "cap_rate", NULL},
	{NET, "\"event\":\"close\",\"host\":\"api.test\",\"port\":443,\"verdict\":\"allow\","
	 "\"rule\":\"x\"", "close", NULL},
	{NET, "\"event\":\"dns\",\"host\":\"evil.test\",\"verdict\":\"deny\",\"reason\":\"no_rule\"", "deny", NULL},
	{NET,
	 "\"syscall\":\"listen\",\"host\":\"127.0.0.1\",\"port\":8000,\"proto\":\"tcp\",\"verdict\":\"deny\","
	 "\"reason\":\"port_not_granted\"",
	 "allow", "listen"},
	{NET,
	 "\"syscall\":\"connect\",\"host\":\"127.0.0.1\",\"port\":9,\"proto\":\"tcp\",\"verdict\":\"deny\","
	 "\"reason\":\"no_rule\"",
	 "within_run", NULL},
};

START_TEST(test_cases)
{
	const struct answer_case *wanted = &cases[_i];
	struct rig rig = {0};
	struct policy *policy = load(&rig, wanted->policy);
	struct query_answer answer = {0};
	struct query_judge *judge;
	struct scan_record record;
	const char *got;
	char text[2048];
	int len = snprintf(text, sizeof(text), "{\"seq\":7,\"time\":\"t\",\"pid\":5,\"ppid\":1,%s,"
	 "\"ns\":1 }", wanted->line);

	line = text;
	line_len = (size_t)len;
	ck_assert_int_eq(query_judge_create(policy, &judge), 0);
	read_query(&record);
	if (query.kind != QUERY_RULES_DO_NOT_DECIDE)
		query_judge(judge, &query, &answer);
	got = query.kind == QUERY_RULES_DO_NOT_DECIDE ? query.why_not_judged
	      : !answer.is_certain                    ? answer.why
	      : answer.is_allowed                     ? "allow"
						      : "deny";
	ck_assert_msg(strcmp(got, wanted->answer) == 0, "%s: %s for %s", wanted->line, got, wanted->answer);
	if (wanted->rule)
		ck_assert_msg(answer.rules[0] && strstr(answer.rules[0], wanted->rule), "%s: %s", wanted->line,
			      answer.rules[0] ? answer.rules[0] : "none");
	query_judge_free(judge);
	policy_free(policy);
	rig_done(&rig);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("query");
	TCase *tests = tcase_create("query");

	if (encoder_init(&encoder, "7f3a9c21", false) < 0)
		return EXIT_FAILURE;
	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, test_texts);
	tcase_add_test(tests, test_broken_lines);
	tcase_add_test(tests, test_same_policy);
	tcase_add_loop_test(tests, test_cases, 0, (int)(sizeof(cases) / sizeof(cases[0])));
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
