/*
 * hello_parse: whom a TLS connection is for is read from the program's bytes, and the server reads them too. OpenSSL is
 * asked for its opinion: what is let through must name the same server there.
 */
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string.h>
#include <strings.h>

#include "egress/tls/hello.h"
#include "tests/fuzz/fuzz.h"

struct opinion {
	bool asked, has_name;
	char name[NET_HOST_SIZE];
};

/* The first name of the extension, as a server's callback for it would see it. */
static int look(SSL *ssl, int *alert, void *ctx)
{
	struct opinion *opinion = ctx;
	const unsigned char *data;
	size_t len;

	(void)alert;
	opinion->asked = true;
	opinion->has_name = SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &data, &len) == 1;
	if (opinion->has_name && len > 5 && len - 5 < sizeof(opinion->name))
		memcpy(opinion->name, data + 5, len - 5);
	return SSL_CLIENT_HELLO_ERROR;
}

static void ask_openssl(const uint8_t *data, size_t size, struct opinion *opinion)
{
	static SSL_CTX *context;
	SSL *ssl;

	if (!context) {
		context = SSL_CTX_new(TLS_server_method());
		promise(context != NULL);
	}
	SSL_CTX_set_client_hello_cb(context, look, opinion);
	ssl = SSL_new(context);
	promise(ssl != NULL);
	SSL_set_bio(ssl, BIO_new_mem_buf(data, (int)size), BIO_new(BIO_s_null()));
	(void)SSL_accept(ssl); /* look ends it */
	SSL_free(ssl);
	ERR_clear_error();
}

static void compare(const uint8_t *data, size_t size, const struct client_hello *hello)
{
	struct opinion opinion = {0};
	size_t len = strlen(hello->sni);

	ask_openssl(data, size, &opinion);
	if (!opinion.asked || hello->has_bad_sni)
		return;
	promise(opinion.has_name == (len > 0));
	if (len)
		promise(strncasecmp(opinion.name, hello->sni, len) == 0 &&
			(!opinion.name[len] || strcmp(opinion.name + len, ".") == 0));
}

/* As it comes in over the network: no part of it is anything but the beginning of the same. */
static void cut(const uint8_t *data, size_t size, int whole, const struct client_hello *hello)
{
	for (size_t len = 0; len < size && len < CLIENT_HELLO_BYTES_MAX; len += 1 + size / 16) {
		struct client_hello part;
		int so_far = hello_parse(data, len, &part);

		promise(so_far == 0 || so_far == whole);
		if (so_far == 1)
			promise(memcmp(&part, hello, sizeof(part)) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct client_hello hello;
	int whole = hello_parse(data, size, &hello);

	promise(whole == 1 || whole == 0 || whole == -EPROTO || whole == -EMSGSIZE);
	promise(whole != 0 || size < CLIENT_HELLO_BYTES_MAX);
	if (whole != 0 || size == 0)
		cut(data, size, whole, &hello);
	if (whole != 1)
		return 0;
	promise(memchr(hello.sni, '\0', sizeof(hello.sni)) && memchr(hello.alpn, '\0', sizeof(hello.alpn)));
	promise(!hello.has_bad_sni || !hello.sni[0]);
	compare(data, size, &hello);
	return 0;
}
