/* The classes of addresses that are not public, and which of them a rule may permit. */
#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>

#include "policy/network/net.h"

/*
 * What permits connections to a class of addresses: no rule does; only NET_LIFT_PRIVATE_AND_LOOPBACK does; or
 * NET_LIFT_PRIVATE does, too. The strictest comes first.
 */
enum lifted_by { BY_NOTHING, BY_NAME, BY_PRIVATE };

/* A block of addresses that are not public, and what allows connections to it, if anything does. */
struct address_block {
	unsigned char prefix[16];
	unsigned prefix_bits; /* length of the prefix */
	enum lifted_by lift;
	const char *reason; /* class of the addresses, such as "private"; static */
};

/*
 * The special-purpose registries of IANA, and the metadata services where clouds serve the credentials of a machine.
 * The first match counts. 0/8 is listed because Linux connects 0.0.0.0 to the loopback.
 */
/* clang-format off */
static const struct address_block blocks_v4[] = {
	{{169, 254, 169, 254}, 32, BY_NOTHING, "metadata"}, /* metadata service of nearly all clouds */
	{{169, 254, 170, 0}, 24, BY_NOTHING, "metadata"},   /* Amazon ECS and EKS */
	{{168, 63, 129, 16}, 32, BY_NOTHING, "metadata"},   /* Azure */
	{{100, 100, 100, 200}, 32, BY_NOTHING, "metadata"}, /* Alibaba */
	{{192, 0, 0, 192}, 32, BY_NOTHING, "metadata"},     /* Oracle */
	{{0}, 8, BY_NOTHING, "unspecified"},
	{{10}, 8, BY_PRIVATE, "private"},
	{{100, 64}, 10, BY_PRIVATE, "private"},
	{{127}, 8, BY_NAME, "loopback"},
	{{169, 254}, 16, BY_NAME, "link_local"},
	{{172, 16}, 12, BY_PRIVATE, "private"},
	{{192, 0, 0}, 24, BY_NAME, "reserved"},
	{{192, 0, 2}, 24, BY_PRIVATE, "documentation"},
	{{192, 88, 99}, 24, BY_NAME, "reserved"},
	{{192, 168}, 16, BY_PRIVATE, "private"},
	{{198, 18}, 15, BY_PRIVATE, "benchmark"},
	{{198, 51, 100}, 24, BY_PRIVATE, "documentation"},
	{{203, 0, 113}, 24, BY_PRIVATE, "documentation"},
	{{224}, 4, BY_NOTHING, "multicast"},
	{{255, 255, 255, 255}, 32, BY_NOTHING, "broadcast"},
	{{240}, 4, BY_NAME, "reserved"},
};

static const struct address_block blocks_v6[] = {
	{{0xfd, 0, 0x0e, 0xc2}, 32, BY_NOTHING, "metadata"},       /* Amazon: fd00:ec2::254, ::23 */
	{{0xfd, 0x20, 0, 0xce}, 32, BY_NOTHING, "metadata"},       /* Google: fd20:ce::254 */
	{{0}, 128, BY_NOTHING, "unspecified"},
	{{[15] = 1}, 128, BY_NAME, "loopback"},
	{{0xfc}, 7, BY_PRIVATE, "private"},
	{{0xfe, 0x80}, 10, BY_NAME, "link_local"},
	{{0xfe, 0xc0}, 10, BY_PRIVATE, "private"}, /* site-local addresses, RFC 3879 */
	{{0xff}, 8, BY_NOTHING, "multicast"},
	{{0x20, 0x01, 0x0d, 0xb8}, 32, BY_PRIVATE, "documentation"},
	{{0x3f, 0xff}, 20, BY_PRIVATE, "documentation"},
	{{0x20, 0x01, 0, 2}, 48, BY_PRIVATE, "benchmark"},
	{{0x20, 0x01}, 23, BY_NAME, "reserved"},
};
/* clang-format on */

/* IPv6 prefixes whose addresses contain an IPv4 address at an offset. */
struct embedded_ipv4_prefix {
	unsigned char prefix[16];
	unsigned prefix_bits; /* length of the prefix */
	unsigned ipv4_offset; /* index of the byte at which the IPv4 address begins */
	unsigned char mask; /* XORed with each byte of the IPv4 address */
};

static const struct embedded_ipv4_prefix embeddings[] = {
	{{[10] = 0xff, [11] = 0xff}, 96, 12, 0}, /* IPv4-mapped */
	{{0}, 96, 12, 0},                        /* IPv4-compatible, except :: and ::1 */
	{{0, 0x64, 0xff, 0x9b}, 96, 12, 0},      /* NAT64, RFC 6052 */
	{{[8] = 0xff, [9] = 0xff}, 96, 12, 0},   /* IPv4-translated, RFC 2765 */
	{{0x20, 0x02}, 16, 2, 0},                /* 6to4: the router */
	{{0x20, 0x01, 0, 0}, 32, 12, 0xff},      /* Teredo: the client's address, inverted */
	{{0x20, 0x01, 0, 0}, 32, 4, 0},          /* Teredo: the server */
};

static bool address_has_prefix(const unsigned char *address, const unsigned char *prefix, unsigned bits)
{
	unsigned rest = bits % 8;

	if (memcmp(address, prefix, bits / 8) != 0)
		return false;
	return rest == 0 || (address[bits / 8] ^ prefix[bits / 8]) >> (8 - rest) == 0;
}

static const struct address_block *address_find_in_blocks(const struct address_block *blocks, size_t count,
						  const unsigned char *address)
{
	for (size_t i = 0; i < count; i++)
		if (address_has_prefix(address, blocks[i].prefix, blocks[i].prefix_bits))
			return &blocks[i];
	return NULL;
}

#define FIND_ADDRESS_BLOCK(blocks, address) \
	address_find_in_blocks(blocks, sizeof(blocks) / sizeof((blocks)[0]), address)

/* Finds the strictest block of the IPv4 addresses inside an IPv6 address. *ret_embedded: there is one inside. */
static const struct address_block *address_find_embedded(const unsigned char *address, bool *ret_embedded)
{
	const struct address_block *strictest = NULL;

	*ret_embedded = false;
	for (size_t i = 0; i < sizeof(embeddings) / sizeof(embeddings[0]); i++) {
		const struct embedded_ipv4_prefix *embedding = &embeddings[i];
		const struct address_block *found;
		unsigned char v4[4];

		if (!address_has_prefix(address, embedding->prefix, embedding->prefix_bits))
			continue;
		*ret_embedded = true;
		for (size_t j = 0; j < sizeof(v4); j++)
			v4[j] = address[embedding->ipv4_offset + j] ^ embedding->mask;
		found = FIND_ADDRESS_BLOCK(blocks_v4, v4);
		if (found && (!strictest || found->lift < strictest->lift))
			strictest = found;
	}
	return strictest;
}

/* Finds the block of an IPv6 address. One that embeds an IPv4 address is judged by that. */
static const struct address_block *address_find_v6(const unsigned char *address)
{
	static const struct address_block elsewhere = {.lift = BY_NAME, .reason = "reserved"};
	const struct address_block *found = FIND_ADDRESS_BLOCK(blocks_v6, address);
	bool embedded = false, own = found && found->prefix_bits == 128; /* true for :: and ::1, which embed nothing */
	const struct address_block *inner = own ? NULL : address_find_embedded(address, &embedded);

	if (own)
		return found;
	if (embedded)
		return inner;
	return found || (address[0] & 0xe0) == 0x20 ? found : &elsewhere; /* public addresses are in 2000::/3 */
}

const unsigned char *net_address_get_bytes(const struct sockaddr *address)
{
	bool v4 = address->sa_family == AF_INET;

	return (const unsigned char *)address +
	       (v4 ? offsetof(struct sockaddr_in, sin_addr) : offsetof(struct sockaddr_in6, sin6_addr));
}

/* Returns the block of addresses that are not public to which the address belongs, or NULL for a public one. */
static const struct address_block *address_find_block(const struct sockaddr *address)
{
	static const struct address_block unknown = {.lift = BY_NOTHING, .reason = "unknown_family"};

	if (address->sa_family == AF_INET)
		return FIND_ADDRESS_BLOCK(blocks_v4, net_address_get_bytes(address));
	return address->sa_family == AF_INET6 ? address_find_v6(net_address_get_bytes(address)) : &unknown;
}

const char *net_address_get_nonpublic_class(const struct sockaddr *address)
{
	const struct address_block *block = address_find_block(address);

	return block ? block->reason : NULL;
}

const char *net_address_get_refusal_reason(const struct sockaddr *address, enum net_lifted_refusals lift)
{
	const struct address_block *block = address_find_block(address);
	bool lifted = block && ((lift == NET_LIFT_PRIVATE && block->lift == BY_PRIVATE) ||
				(lift == NET_LIFT_PRIVATE_AND_LOOPBACK && block->lift != BY_NOTHING));

	return block && !lifted ? block->reason : NULL;
}

void net_address_format(const struct sockaddr *address, char ret_text[NET_ADDRESS_TEXT_SIZE])
{
	const unsigned char *bytes = net_address_get_bytes(address);
	bool v6 = address->sa_family == AF_INET6, mapped = v6 && address_has_prefix(bytes, embeddings[0].prefix, 96);

	ret_text[0] = '\0';
	if (v6 || address->sa_family == AF_INET)
		(void)inet_ntop(v6 && !mapped ? AF_INET6 : AF_INET, mapped ? bytes + 12 : bytes, ret_text,
				NET_ADDRESS_TEXT_SIZE); /* cannot fail */
}

bool net_address_parse(const char *text, struct sockaddr_storage *ret_address)
{
	static const sa_family_t families[] = {AF_INET, AF_INET6};

	for (size_t i = 0; i < 2; i++) {
		const unsigned char *bytes;

		*ret_address = (struct sockaddr_storage){.ss_family = families[i]};
		bytes = net_address_get_bytes((struct sockaddr *)ret_address);
		if (inet_pton(families[i], text, (void *)(uintptr_t)bytes) == 1)
			return true;
	}
	return false;
}
