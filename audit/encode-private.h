/* Shared by the encoder's own files. */
#ifndef CALLGATE_AUDIT_ENCODE_PRIVATE_H
#define CALLGATE_AUDIT_ENCODE_PRIVATE_H

#include <string.h>

#include "audit/encode.h"

#define PUT(out, literal) put_bytes(out, "" literal, sizeof(literal) - 1)

static inline char *put_bytes(char *out, const char *bytes, size_t len)
{
	memcpy(out, bytes, len);
	return out + len;
}

static inline size_t text_len(const char *text)
{
	return text ? strlen(text) : 0;
}

/* key is `,"name":"`. A NULL text leaves the field out. */
char *put_field(char *out, const char *key, const char *text, size_t len);

/* The fields of a connection's record, and the bytes of its texts before they are escaped. */
char *encode_net(char *out, const struct audit_net *net);
size_t encode_net_texts(const struct audit_net *net);

/*
 * compact.c. True when the line need not say parent, number outside and program; true when it need not say the effect.
 */
bool encode_knows(const struct encoder *encoder, const struct audit_record *record);
bool encode_follows(const struct encoder *encoder, const struct audit_record *record);
/* 0 or -ENOMEM; and the end of it. */
int encode_compact(struct encoder *encoder);
void encode_forget(struct encoder *encoder);

#endif
