#include "audit/envelope.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sha256.h"
#include "base/text.h"

/* Makes the text that is signed. Returns its length; 0: no memory. */
static size_t envelope_make_pae(const char *payload, size_t len, char **ret_text)
{
	char start[128];
	int start_len = snprintf(start, sizeof(start), "DSSEv1 %zu " ENVELOPE_PAYLOAD_TYPE " %zu ",
				 sizeof(ENVELOPE_PAYLOAD_TYPE) - 1, len);
	char *text = malloc((size_t)start_len + len);

	if (!text)
		return 0;
	memcpy(text, start, (size_t)start_len);
	memcpy(text + start_len, payload, len);
	*ret_text = text;
	return (size_t)start_len + len;
}

char *envelope_make(const struct signing_key *key, const char *payload, size_t len)
{
	_cleanup_free_ char *pae = NULL, *payload_text = malloc(signing_measure_base64(len));
	char signature_text[SIGNING_SIGNATURE_BASE64_SIZE], id[SHA256_HEX_SIZE];
	uint8_t signature[SIGNING_SIGNATURE_BYTES];
	size_t pae_len = payload_text ? envelope_make_pae(payload, len, &pae) : 0;

	if (pae_len == 0)
		return NULL;
	signing_sign(key, pae, pae_len, signature);
	(void)signing_write_base64(payload_text, payload, len);
	(void)signing_write_base64(signature_text, signature, sizeof(signature));
	sha256_hash_bytes(key->public, sizeof(key->public), id);
	return text_format("{\"payloadType\":\"" ENVELOPE_PAYLOAD_TYPE
			   "\",\"payload\":\"%s\",\"signatures\":[{\"keyid\":\"%s\","
			   "\"sig\":\"%s\"}]}\n",
			   payload_text, id, signature_text);
}

/* Whether one of the signatures is by the key. Their "keyid" is a hint only, and is not believed. */
static bool envelope_is_signed(const json_t *signatures, const uint8_t *public, const char *pae, size_t pae_len)
{
	uint8_t signature[SIGNING_SIGNATURE_BYTES + 4];
	const json_t *entry;
	size_t i;

	json_array_foreach(signatures, i, entry) {
		const char *text = json_string_value(json_object_get(entry, "sig"));

		if (text && signing_read_base64(text, strlen(text), signature, sizeof(signature)) ==
				    SIGNING_SIGNATURE_BYTES && signing_verify(public, pae, pae_len, signature))
			return true;
	}
	return false;
}

/* Decodes the payload of a signed envelope. *ret_payload is owned and NUL-terminated. 0 or -errno. */
static int envelope_read_payload(const json_t *envelope, char **ret_payload, size_t *ret_len)
{
	const char *type = json_string_value(json_object_get(envelope, "payloadType"));
	const char *text = json_string_value(json_object_get(envelope, "payload"));
	size_t cap = text ? signing_measure_decoded(strlen(text)) : 0;
	_cleanup_free_ char *payload = text ? malloc(cap + 1) : NULL;
	int n;

	if (!type || strcmp(type, ENVELOPE_PAYLOAD_TYPE) != 0 || !text)
		return -EBADMSG;
	if (!payload)
		return -ENOMEM;
	n = signing_read_base64(text, strlen(text), payload, cap);
	if (n < 0)
		return n;
	payload[n] = '\0';
	*ret_len = (size_t)n;
	*ret_payload = steal_pointer(&payload);
	return 0;
}

int envelope_open(const char *text, size_t text_len, const uint8_t public[SIGNING_KEY_BYTES], char **ret_payload,
		  size_t *ret_len)
{
	json_t *envelope = json_loadb(text, text_len, JSON_REJECT_DUPLICATES, NULL);
	_cleanup_free_ char *payload = NULL, *pae = NULL;
	size_t len = 0, pae_len;
	int r = envelope_read_payload(envelope, &payload, &len);

	if (r == 0) {
		pae_len = envelope_make_pae(payload, len, &pae);
		if (pae_len == 0)
			r = -ENOMEM;
		else if (!envelope_is_signed(json_object_get(envelope, "signatures"), public, pae, pae_len))
			r = -EKEYREJECTED;
	}
	json_decref(envelope);
	if (r < 0)
		return r;
	*ret_payload = steal_pointer(&payload);
	*ret_len = len;
	return 0;
}
