#include "agents/base64.h"

#include <nettle/base64.h>
#include <stdlib.h>

char *base64_make_text(const char *bytes, size_t len)
{
	const size_t size = BASE64_ENCODE_RAW_LENGTH(len);
	char *text = malloc(size + 1);

	if (!text)
		return NULL;
	base64_encode_raw(text, len, (const uint8_t *)bytes);
	text[size] = '\0';
	return text;
}
