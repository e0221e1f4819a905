#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "policy/paths/decoy.h"

#include "base/banned.h"

enum decoy_piece {
	PIECE_TEXT,
	PIECE_UPPER, /* base32: letters A-Z and digits 2-7, as in key ids */
	PIECE_BASE64,
	PIECE_LINES, /* base64 in lines of 70 */
};

struct piece {
	enum decoy_piece kind;
	const char *text;
	size_t len; /* characters to generate */
};

#define PIECES_MAX 6

struct decoy {
	const char *name; /* of the file; "*x" matches a suffix, "x*" a prefix */
	struct piece piece[PIECES_MAX];
};

static const struct decoy decoys[] = {
	{"credentials",
	 {{PIECE_TEXT, "[default]\naws_access_key_id = AKIA", 0},
	  {PIECE_UPPER, NULL, 16},
	  {PIECE_TEXT, "\naws_secret_access_key = ", 0},
	  {PIECE_BASE64, NULL, 40},
	  {PIECE_TEXT, "\n", 0}}},
	{"id_*",
	 {{PIECE_TEXT, "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA", 0},
	  {PIECE_LINES, NULL, 352},
	  {PIECE_TEXT, "\n-----END OPENSSH PRIVATE KEY-----\n", 0}}},
	{"*.pem",
	 {{PIECE_TEXT, "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B", 0},
	  {PIECE_LINES, NULL, 1600},
	  {PIECE_TEXT, "\n-----END PRIVATE KEY-----\n", 0}}},
	{".env*",
	 {{PIECE_TEXT, "DATABASE_URL=postgres://app:", 0},
	  {PIECE_BASE64, NULL, 20},
	  {PIECE_TEXT, "@db.internal:5432/app\nAPI_TOKEN=", 0},
	  {PIECE_BASE64, NULL, 40},
	  {PIECE_TEXT, "\n", 0}}},
	{".netrc",
	 {{PIECE_TEXT, "machine git.internal login ci password ", 0}, {PIECE_BASE64, NULL, 32}, {PIECE_TEXT, "\n", 0}}},
	{".git-credentials",
	 {{PIECE_TEXT, "https://ci:ghp_", 0}, {PIECE_UPPER, NULL, 36}, {PIECE_TEXT, "@github.com\n", 0}}},
	{".npmrc",
	 {{PIECE_TEXT, "//registry.npmjs.org/:_authToken=npm_", 0}, {PIECE_UPPER, NULL, 36}, {PIECE_TEXT, "\n", 0}}},
	{".pypirc",
	 {{PIECE_TEXT, "[pypi]\nusername = __token__\npassword = pypi-AgEI", 0},
	  {PIECE_UPPER, NULL, 120},
	  {PIECE_TEXT, "\n", 0}}},
	{"*.json", {{PIECE_TEXT, "{\"token\": \"", 0}, {PIECE_UPPER, NULL, 48}, {PIECE_TEXT, "\"}\n", 0}}},
	{"*", {{PIECE_TEXT, "token = ", 0}, {PIECE_BASE64, NULL, 43}, {PIECE_TEXT, "\n", 0}}},
};

static bool decoy_matches(const char *pattern, const char *name)
{
	size_t len = strlen(pattern), name_len = strlen(name);

	if (pattern[0] == '*')
		return name_len >= len - 1 && strcmp(name + name_len - (len - 1), pattern + 1) == 0;
	if (pattern[len - 1] == '*')
		return strncmp(name, pattern, len - 1) == 0;
	return strcmp(name, pattern) == 0;
}

/* xorshift64*: the output need not be unpredictable. */
static uint64_t decoy_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(0x2545f4914f6cdd1d) >> 33;
}

static void decoy_generate(struct buf *out, const struct piece *piece, uint64_t *state)
{
	static const char upper[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
	static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < piece->len; i++) {
		uint64_t random = decoy_random(state);

		if (piece->kind == PIECE_LINES && i % 70 == 46)
			buf_puts(out, "\n");
		buf_add(out, piece->kind == PIECE_UPPER ? &upper[random % 32] : &base64[random % 64], 1);
	}
}

const char *decoy_text(struct arena *arena, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *copy;
	uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
	const struct decoy *decoy = decoys;
	_Static_assert(sizeof(decoys) / sizeof(decoys[0]) == 10,
		       "the last pattern matches every name and ends the search");
	struct buf out = {0};

	for (const char *c = path; *c; c++)
		state = (state ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
	state |= 1; /* from state 0 the generator yields only 0 */
	while (!decoy_matches(decoy->name, name))
		decoy++;
	for (size_t i = 0; i < PIECES_MAX; i++) {
		if (decoy->piece[i].text)
			buf_puts(&out, decoy->piece[i].text);
		decoy_generate(&out, &decoy->piece[i], &state);
	}
	copy = out.failed || !out.data ? NULL : arena_dupn(arena, out.data, out.len);
	buf_done(&out);
	return copy;
}
