#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "egress/conn/socks.h"

#define SOCKS_VERSION 5
#define SOCKS_COMMAND_CONNECT 1
#define SOCKS_ATYP_IPV4 1
#define SOCKS_ATYP_NAME 3
#define SOCKS_ATYP_IPV6 4

ssize_t socks_parse_greeting(const uint8_t *data, size_t len, bool *ret_open)
{
	size_t size;

	if (len && data[0] != SOCKS_VERSION) /* another protocol, such as SOCKS4, TLS or HTTP */
		return -EPROTO;
	if (len < 2)
		return 0;
	if (!data[1])
		return -EPROTO;
	size = 2u + data[1];
	if (len < size)
		return 0;
	*ret_open = memchr(data + 2, 0, data[1]) != NULL;
	return (ssize_t)size;
}

/* The length of a SOCKS address with its ATYP byte, without the port; 0: incomplete; -EAFNOSUPPORT: unknown ATYP. */
static ssize_t socks_measure_address(const uint8_t *data, size_t len)
{
	switch (data[0]) {
	case SOCKS_ATYP_IPV4:
		return 1 + 4;
	case SOCKS_ATYP_IPV6:
		return 1 + 16;
	case SOCKS_ATYP_NAME:
		return len < 2 ? 0 : 2 + data[1];
	default:
		return -EAFNOSUPPORT;
	}
}

/* Reads the host of a SOCKS request, a name or an address. 0, or -errno if it is no valid host. */
static int socks_read_address(const uint8_t *data, char ret_host[NET_HOST_SIZE])
{
	char text[INET6_ADDRSTRLEN];

	if (data[0] == SOCKS_ATYP_NAME)
		return net_host_canonicalise((const char *)data + 2, data[1], ret_host);
	if (!inet_ntop(data[0] == SOCKS_ATYP_IPV4 ? AF_INET : AF_INET6, data + 1, text, sizeof(text)))
		return -EINVAL;
	return net_host_canonicalise(text, strlen(text), ret_host);
}

ssize_t socks_parse_request(const uint8_t *data, size_t len, struct socks_request *ret_request)
{
	struct socks_request request;
	ssize_t size;

	if ((len > 0 && data[0] != SOCKS_VERSION) || (len > 2 && data[2] != 0))
		return -EPROTO;
	if (len < 4)
		return 0;
	if (data[1] != SOCKS_COMMAND_CONNECT)
		return -EOPNOTSUPP;
	size = socks_measure_address(data + 3, len - 3);
	if (size <= 0)
		return size;
	size += 3;
	if (len < (size_t)size + 2)
		return 0;
	request.port = (uint16_t)(data[size] << 8 | data[size + 1]);
	if (!request.port || socks_read_address(data + 3, request.host) < 0)
		return -EINVAL;
	*ret_request = request;
	return size + 2;
}
