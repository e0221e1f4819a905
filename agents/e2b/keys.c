/* API keys and their quotas; random ids and tokens. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "agents/e2b/private.h"
#include "base/cleanup.h"

#define API_KEY_BYTES_MIN 16u /* a shorter key could be guessed */
#define API_KEY_BYTES_MAX 1024u

bool keys_equal_in_constant_time(const char *a, const char *b)
{
	size_t len = strlen(a);
	unsigned difference = 0;

	if (strlen(b) != len)
		return false; /* the length of a key or token is no secret */
	for (size_t i = 0; i < len; i++)
		difference |= (unsigned)(unsigned char)a[i] ^ (unsigned)(unsigned char)b[i];
	return difference == 0;
}

bool keys_make_random_id(char id[E2B_ID_SIZE])
{
	/* 32 of them, which divides 256: modulo 32, a random byte chooses each equally often. */
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
	unsigned char bytes[E2B_ID_SIZE - 2];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return false;
	id[0] = 'i';
	for (size_t i = 0; i < sizeof(bytes); i++)
		id[i + 1] = letters[bytes[i] % 32];
	id[E2B_ID_SIZE - 1] = '\0';
	return true;
}

bool keys_make_random_token(char token[E2B_TOKEN_SIZE])
{
	unsigned char bytes[32];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return false;
	sha256_hash_bytes(bytes, sizeof(bytes), token);
	return true;
}

struct e2b_key *keys_find_by_text(struct e2b *e2b, const char *text)
{
	char hash[SHA256_HEX_SIZE];
	struct e2b_key *found = NULL;

	if (!text || strlen(text) > API_KEY_BYTES_MAX)
		return NULL;
	sha256_hash_bytes(text, strlen(text), hash);
	for (size_t i = 0; i < e2b->key_count; i++) /* no early end: the time taken does not tell which key it was */
		if (keys_equal_in_constant_time(hash, e2b->keys[i].key_hash))
			found = &e2b->keys[i];
	return found;
}

bool keys_cpu_quota_is_used_up(const struct e2b_key *key)
{
	return key->used_cpu_ms >= key->cpu_max_ms;
}

bool keys_have_quota_for(const struct e2b_key *key, const struct e2b_template *template, const char **ret_what)
{
	*ret_what = NULL;
	if (key->sandbox_count >= key->sandboxes_max)
		*ret_what = "sandboxes";
	else if (template->memory_limit_bytes > key->memory_max_bytes - key->reserved_memory_bytes)
		*ret_what = "memory";
	else if (template->disk_limit_bytes > key->disk_max_bytes - key->reserved_disk_bytes)
		*ret_what = "disk";
	else if (keys_cpu_quota_is_used_up(key))
		*ret_what = "processor time";
	return !*ret_what;
}

/* Counts the sandbox against its key's quotas. */
void keys_reserve_quota(struct e2b_key *key, const struct e2b_template *template)
{
	key->sandbox_count++;
	key->reserved_memory_bytes += template->memory_limit_bytes;
	key->reserved_disk_bytes += template->disk_limit_bytes;
	key->created_sandbox_count++;
}

/* Takes an ended sandbox out of its key's quotas. */
void keys_return_quota(struct e2b_key *key, const struct e2b_template *template)
{
	key->sandbox_count--;
	key->reserved_memory_bytes -= template->memory_limit_bytes;
	key->reserved_disk_bytes -= template->disk_limit_bytes;
}

/* ---- processor time ---- */

void keys_charge_cpu(struct e2b_sandbox *box, uint64_t cpu_ms)
{
	if (cpu_ms <= box->charged_cpu_ms)
		return;
	box->key->used_cpu_ms += cpu_ms - box->charged_cpu_ms;
	box->charged_cpu_ms = cpu_ms;
}

/* ---- the list of keys ---- */

/* Reads a quota of a key: a whole number that is not negative; UINT64_MAX if the key has no such member. */
static int keys_load_limit(const json_t *item, const char *name, uint64_t *ret_limit)
{
	const json_t *value = json_object_get(item, name);

	*ret_limit = UINT64_MAX;
	if (!value)
		return 0;
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return -EINVAL;
	*ret_limit = (uint64_t)json_integer_value(value);
	return 0;
}

static int keys_load_one(struct e2b_key *key, const json_t *item, size_t number, const char **ret_why)
{
	const char *text = json_string_value(json_object_get(item, "key"));
	const char *name = json_string_value(json_object_get(item, "name"));
	const json_t *is_operator = json_object_get(item, "operator");
	char plain[32];

	(void)snprintf(plain, sizeof(plain), "key-%zu", number + 1);
	*ret_why = "a key needs \"key\", a text of at least 16 characters";
	if (!text || strlen(text) < API_KEY_BYTES_MIN || strlen(text) > API_KEY_BYTES_MAX)
		return -EINVAL;
	sha256_hash_bytes(text, strlen(text), key->key_hash);
	*ret_why = "\"sandboxes\", \"memory\", \"disk\" and \"cpu\" of a key are whole numbers";
	if (keys_load_limit(item, "sandboxes", &key->sandboxes_max) < 0 ||
	    keys_load_limit(item, "memory", &key->memory_max_bytes) < 0 ||
	    keys_load_limit(item, "disk", &key->disk_max_bytes) < 0 ||
	    keys_load_limit(item, "cpu", &key->cpu_max_ms) < 0)
		return -EINVAL;
	if (key->cpu_max_ms < UINT64_MAX / 1000)
		key->cpu_max_ms *= 1000;
	*ret_why = "\"operator\" of a key is true or false";
	if (is_operator && !json_is_boolean(is_operator))
		return -EINVAL;
	key->is_operator = json_is_true(is_operator);
	*ret_why = NULL;
	key->name = strdup(name ? name : plain);
	return key->name ? 0 : -ENOMEM;
}

int keys_load_all(struct e2b *e2b, const json_t *list, char **ret_why)
{
	const char *why = "there is no key";
	size_t count = json_array_size(list);
	int error = count > 0 && count <= E2B_KEYS_MAX ? 0 : -EINVAL;

	e2b->keys = error ? NULL : calloc(count, sizeof(*e2b->keys));
	if (error == 0 && !e2b->keys)
		return -ENOMEM;
	for (size_t i = 0; error == 0 && i < count; i++) {
		error = keys_load_one(&e2b->keys[i], json_array_get(list, i), i, &why);
		e2b->key_count = i + 1;
	}
	if (error < 0 && why)
		*ret_why = strdup(why);
	return error;
}

void keys_free_all(struct e2b *e2b)
{
	for (size_t i = 0; i < e2b->key_count; i++)
		free(e2b->keys[i].name);
	free(e2b->keys);
}
