#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "policy/model.h"

/*
 * In a text, "<U16>" stands for 16 random characters of base32 (A-Z, 2-7, as in AWS key ids), "<B16>" for 16 of base64,
 * and "<L16>" for 16 of base64 in lines of 70.
 */
static const struct decoy {
	/* name of the file: "*x" matches each that ends in x, "x*" each that begins with x, "/d/x" the end of a path */
	const char *name;
	const char *text;
} decoys[] = {
	{"/.aws/config", "[default]\nregion = eu-central-1\naws_access_key_id = AKIA<U16>\n"
			 "aws_secret_access_key = <B40>\n"},
	{"/.kube/config", "apiVersion: v1\nkind: Config\ncurrent-context: prod\nclusters:\n- name: prod\n"
			  "  cluster: {server: https://10.0.12.4:6443}\ncontexts:\n- name: prod\n"
			  "  context: {cluster: prod, user: admin}\nusers:\n- name: admin\n  user: {token: <B120>}\n"},
	{"/.docker/config.json", "{\"auths\": {\"registry.internal\": {\"auth\": \"Y2k6<B44>\"}}}\n"},
	{"/.cargo/credentials.toml", "[registry]\ntoken = \"cio<B32>\"\n"},
	{"application_default_credentials.json",
	 "{\n  \"client_id\": \"764086051850-<U32>.apps.googleusercontent.com\",\n  \"client_secret\": \"d-<B22>\",\n"
	 "  \"refresh_token\": \"1//0<B64>\",\n  \"type\": \"authorized_user\"\n}\n"},
	{"*.pub", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI<B43> ci@build\n"},
	{"shadow", "root:$6$<B16>$<B86>:19700:0:99999:7:::\ndaemon:*:19700:0:99999:7:::\n"},
	{".pgpass", "db.internal:5432:app:app:<B24>\n"},
	{".my.cnf", "[client]\nuser = app\nhost = db.internal\npassword = <B24>\n"},
	{".vault-token", "hvs.<B90>\n"},
	{"hosts.yml", "github.com:\n    user: ci\n    oauth_token: gho_<U36>\n    git_protocol: https\n"},
	{"*_history", "cd /srv/app\ngit pull\nmysql -h db.internal -u app -p<B20>\n"
		      "export AWS_SECRET_ACCESS_KEY=<B40>\n./deploy.sh prod\n"},
	{"credentials", "[default]\naws_access_key_id = AKIA<U16>\naws_secret_access_key = <B40>\n"},
	{"id_*", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA<L352>\n"
		 "-----END OPENSSH PRIVATE KEY-----\n"},
	{"*.pem", "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B<L1600>\n-----END PRIVATE KEY-----\n"},
	{".env*", "DATABASE_URL=postgres://app:<B20>@db.internal:5432/app\nAPI_TOKEN=<B40>\n"},
	{".netrc", "machine git.internal login ci password <B32>\n"},
	{".git-credentials", "https://ci:ghp_<U36>@github.com\n"},
	{".npmrc", "//registry.npmjs.org/:_authToken=npm_<U36>\n"},
	{".pypirc", "[pypi]\nusername = __token__\npassword = pypi-AgEI<U120>\n"},
	{"*.json", "{\"token\": \"<U48>\"}\n"},
	{"*", "token = <B43>\n"},
};

/* Matches a path's end, if the pattern begins with "/", else its last name, which may begin or end with "*". */
static bool decoy_pattern_matches(const char *pattern, const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	size_t len = strlen(pattern), name_len = strlen(name), path_len = strlen(path);

	if (pattern[0] == '/')
		return path_len >= len && strcmp(path + path_len - len, pattern) == 0;
	if (pattern[0] == '*')
		return name_len >= len - 1 && strcmp(name + name_len - (len - 1), pattern + 1) == 0;
	if (pattern[len - 1] == '*')
		return strncmp(name, pattern, len - 1) == 0;
	return strcmp(name, pattern) == 0;
}

/* Draws a random number by xorshift64*: a decoy's characters need not be unpredictable. */
static uint64_t decoy_draw_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(0x2545f4914f6cdd1d) >> 33;
}

/* Writes made-up characters. kind: 'U' for base32 digits, 'L' for base64 with line ends, others for base64. */
static void decoy_put_random_chars(struct buf *out, char kind, unsigned long count, uint64_t *state)
{
	static const char upper[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
	static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (unsigned long i = 0; i < count; i++) {
		uint64_t random = decoy_draw_random(state);

		if (kind == 'L' && i % 70 == 46)
			buf_puts(out, "\n");
		buf_add(out, kind == 'U' ? &upper[random % 32] : &base64[random % 64], 1);
	}
}

const char *decoy_make_text(struct arena *arena, const char *path)
{
	uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
	const struct decoy *decoy = decoys;
	_cleanup_buf_ struct buf out = {0};
	const char *text;
	char *end;

	for (const char *c = path; *c; c++)
		state = (state ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
	state |= 1; /* from state 0 the generator yields only 0 */
	while (!decoy_pattern_matches(decoy->name, path)) /* the last pattern matches every name */
		decoy++;
	for (text = decoy->text; *text; text = *end ? end + 1 : end) {
		size_t len = strcspn(text, "<");

		buf_add(&out, text, len);
		end = (char *)(uintptr_t)text + len;
		if (*end) {
			char kind = end[1];
			unsigned long count = strtoul(end + 2, &end, 10);

			decoy_put_random_chars(&out, kind, count, &state);
		}
	}
	return out.failed ? arena_fail_no_memory(arena) : arena_dupn(arena, out.data, out.len);
}
