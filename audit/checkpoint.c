#include "audit/checkpoint.h"

#include <errno.h>
#include <nettle/base16.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/text.h"

#define CHECKPOINT_SIGNATURE_START "\xe2\x80\x94 " /* what a signature begins with: an em dash */
#define CHECKPOINT_KEY_TYPE_ED25519 1
#define CHECKPOINT_KEY_ID_BYTES 4

/* The id of a key: the first bytes of the SHA-256 of its name, a newline, its kind and itself. */
static void checkpoint_make_key_id(const char *name, const uint8_t *public, uint8_t ret_id[CHECKPOINT_KEY_ID_BYTES])
{
	static const uint8_t kind[] = {'\n', CHECKPOINT_KEY_TYPE_ED25519};
	struct sha256_ctx context;

	sha256_init(&context);
	sha256_update(&context, strlen(name), (const uint8_t *)name);
	sha256_update(&context, sizeof(kind), kind);
	sha256_update(&context, SIGNING_KEY_BYTES, public);
	sha256_digest(&context, CHECKPOINT_KEY_ID_BYTES, ret_id);
}

size_t checkpoint_write(const struct signing_key *key, const char *run, uint64_t lines, const char *head,
			char out[CHECKPOINT_TEXT_SIZE])
{
	uint8_t hash[BASE16_DECODE_LENGTH(HASH_DIGITS)], blob[CHECKPOINT_KEY_ID_BYTES + SIGNING_SIGNATURE_BYTES];
	char root[64], signature[128], name[256];
	struct base16_decode_ctx context;
	size_t hash_len = sizeof(hash);
	int text, all;

	base16_decode_init(&context);
	if (!base16_decode_update(&context, &hash_len, hash, HASH_DIGITS, head) ||
	    snprintf(name, sizeof(name), CHECKPOINT_ORIGIN "%s", run) >= (int)sizeof(name))
		return 0;
	(void)signing_write_base64(root, hash, SHA256_DIGEST_SIZE);
	text = snprintf(out, CHECKPOINT_TEXT_SIZE, "%s\n%llu\n%s\n", name, (unsigned long long)lines, root);
	checkpoint_make_key_id(name, key->public, blob);
	signing_sign(key, out, (size_t)text, blob + CHECKPOINT_KEY_ID_BYTES);
	(void)signing_write_base64(signature, blob, sizeof(blob));
	all = snprintf(out + text, CHECKPOINT_TEXT_SIZE - (size_t)text, "\n" CHECKPOINT_SIGNATURE_START "%s %s\n", name,
		       signature);
	return (size_t)text + (size_t)all < CHECKPOINT_TEXT_SIZE ? (size_t)(text + all) : 0;
}

/* Reads a line with its newline. Returns its length; 0: none, or one that is too long. */
static size_t checkpoint_read_line(FILE *file, char line[CHECKPOINT_TEXT_SIZE])
{
	size_t len = fgets(line, CHECKPOINT_TEXT_SIZE, file) ? strlen(line) : 0;

	return len > 0 && line[len - 1] == '\n' ? len : 0;
}

/* Whether a signature line of a checkpoint names this public key, and its signature of the text holds. */
static bool checkpoint_check_line(const char *line, const char *text, size_t len, const uint8_t *public)
{
	uint8_t blob[CHECKPOINT_KEY_ID_BYTES + SIGNING_SIGNATURE_BYTES + 4], id[CHECKPOINT_KEY_ID_BYTES];
	const char *blank = strrchr(line, ' ');
	char name[CHECKPOINT_TEXT_SIZE];

	if (!blank)
		return false;
	(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(text, "\n"), text);
	checkpoint_make_key_id(name, public, id);
	return signing_read_base64(blank + 1, strcspn(blank + 1, "\n"), blob, sizeof(blob)) ==
		       CHECKPOINT_KEY_ID_BYTES + SIGNING_SIGNATURE_BYTES &&
	       memcmp(blob, id, sizeof(id)) == 0 && signing_verify(public, text, len, blob + CHECKPOINT_KEY_ID_BYTES);
}

/* Reads the lines up to the blank one. Returns their length, or 0. */
static size_t checkpoint_read_text(FILE *file, char text[CHECKPOINT_TEXT_SIZE])
{
	char line[CHECKPOINT_TEXT_SIZE];
	size_t len = 0, more;

	while ((more = checkpoint_read_line(file, line)) > 0) {
		if (more == 1)
			return len;
		if (len + more >= CHECKPOINT_TEXT_SIZE)
			return 0;
		memcpy(text + len, line, more + 1);
		len += more;
	}
	return 0;
}

/* Parses the text of a checkpoint. 0 or -EBADMSG. */
static int checkpoint_parse_text(const char *text, struct checkpoint *checkpoint)
{
	uint8_t hash[SHA256_DIGEST_SIZE + 4];
	char root[64] = "";
	unsigned long long lines;

	if (sscanf(text, CHECKPOINT_ORIGIN "%128[0-9A-Za-z._-]\n%20llu\n%63[A-Za-z0-9+/=]", checkpoint->run, &lines,
		   root) != 3 ||
	    lines == 0 || signing_read_base64(root, strlen(root), hash, sizeof(hash)) != SHA256_DIGEST_SIZE)
		return -EBADMSG;
	checkpoint->line_count = lines;
	hash_put_digits(checkpoint->head_hash, hash);
	return 0;
}

int checkpoint_read(FILE *file, const uint8_t public[SIGNING_KEY_BYTES], struct checkpoint *ret_checkpoint)
{
	struct checkpoint checkpoint = {.is_signed = false};
	char text[CHECKPOINT_TEXT_SIZE], line[CHECKPOINT_TEXT_SIZE];
	size_t len;
	int next;

	next = getc(file);
	if (next == EOF)
		return 0;
	(void)ungetc(next, file);
	len = checkpoint_read_text(file, text);
	if (len == 0 || checkpoint_parse_text(text, &checkpoint) < 0)
		return -EBADMSG;
	/* Further signatures may follow, added by others. */
	while ((next = getc(file)) == (unsigned char)CHECKPOINT_SIGNATURE_START[0]) {
		(void)ungetc(next, file);
		if (checkpoint_read_line(file, line) == 0)
			return -EBADMSG;
		checkpoint.is_signed = checkpoint.is_signed || checkpoint_check_line(line, text, len, public);
	}
	if (next != EOF)
		(void)ungetc(next, file);
	*ret_checkpoint = checkpoint;
	return 1;
}
