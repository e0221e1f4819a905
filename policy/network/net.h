/*
 * The network part of a policy: which endpoints the program may reach, and with which HTTP requests. Called by the
 * supervisor and by egress. As all of policy/ it does no I/O and resolves nothing. A host is a canonical name
 * (net_host_canonicalise) or an address as inet_ntop writes it; an address is compared as text, as a name is.
 */
#ifndef CALLGATE_POLICY_NETWORK_NET_H
#define CALLGATE_POLICY_NETWORK_NET_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "policy/policy.h"

#define NET_HOST_MAX 254    /* a canonical name with its NUL: RFC 1035, 2.3.4 */
#define NET_PATH_MAX 2048   /* normalised path of a request, without its query */
#define NET_METHOD_MAX 24
#define NET_ADDRESSES_MAX 8 /* of one name in "resolve" */

enum net_proto {
	NET_HTTPS, /* TLS whose SNI is the approved name; intercepted where policy_net_intercepts_tls() says so */
	NET_HTTP,  /* HTTP/1.1 without TLS: each request is judged */
	NET_TCP,   /* any bytes; either side may send first */
	NET_UDP,
	NET_PROTO_MAX,
};
const char *net_proto_get_name(enum net_proto proto);

/* Limits for all connections of a rule together; 0: no limit. */
struct net_budget {
	uint64_t bytes_up, bytes_down;
	uint64_t bytes_per_second; /* both directions together */
	uint64_t requests_per_minute;
	uint64_t requests;
	uint64_t connections;      /* simultaneous */
};

/* "GET,HEAD /repos/acme/" and two stars. */
struct net_http_rule {
	const char *methods; /* "GET,HEAD", upper case; "*": any but CONNECT and TRACE */
	const char *path;    /* pattern of net_path_matches() */
	bool websocket;      /* "WEBSOCKET /chat": GET with an upgrade to websocket */
};

/* A rule of network.allow. Immutable, lives as long as the policy. */
struct net_rule {
	size_t index;       /* in policy_net_get_rules(): egress counts its budget under this index */
	const char *label;  /* "data.json: network.allow[0] api.github.com:443" */
	const char *where;  /* "file:line: key", for messages while the policy is compiled */
	const char *host;   /* canonical name, "*.d", "**.d", or an address as inet_ntop writes it */
	bool is_address;
	const uint16_t *port;
	size_t ports;
	enum net_proto proto;
	const struct net_http_rule *http;
	size_t http_count;        /* 0: any request */
	const char *header;       /* of the credential, lower case; NULL: none */
	const char *header_value; /* "Bearer {GH_TOKEN}": names of secrets in braces */
	bool lifts;               /* --allow-private: other rules of this endpoint become private, too */
	bool private_addresses;   /* "private": private addresses may be connected to (net_address_get_refusal) */
	bool dns_real;            /* "dns": "real" */
	bool any_body;            /* "any_body": GET, HEAD, DELETE and OPTIONS may have a body, too */
	struct net_budget budget;
	const char *reason;       /* "reason" in the policy; NULL: none */
};

/* False without "network" in the policy: every network call is denied, and no egress process is started. */
bool policy_net_is_enabled(const struct policy *policy);
const struct net_rule *policy_net_get_rules(const struct policy *policy, size_t *ret_count);

struct net_verdict {
	bool allow;
	const struct net_rule *rule; /* allow: the first that matches, exact names before wildcards */
	const char *label;           /* of the matching allow or deny rule; NULL: none matches */
	const char *reason;          /* static: granted no_rule denied_by_rule port_not_granted proto_not_granted
					method_not_granted path_not_granted upgrade_not_granted */
};

/* Judges DNS resolution: allowed when a rule allows any port of the name and no deny rule denies all its ports. */
struct net_verdict policy_net_judge_name(const struct policy *policy, const char *host);
/* Judges a connection (udp: datagrams) to a canonical host. */
struct net_verdict policy_net_judge_connect(const struct policy *policy, const char *host, unsigned port, bool udp);
/* Judges an address to which an approved name was resolved: denied only by a deny rule for the address. */
struct net_verdict policy_net_judge_address(const struct policy *policy, const struct sockaddr *address, unsigned port);
/*
 * True when TLS to this endpoint is intercepted, else it is passed through: all rules for it have "http", or one has a
 * credential or counts requests, or a secret may be sent to the host.
 */
bool policy_net_intercepts_tls(const struct policy *policy, const char *host, unsigned port);
/*
 * Judges a request. `path` is net_path_normalise()'s, `upgrade`: to websocket. A matching rule without "http" allows
 * any request. The verdict's rule is the one whose credential and budget apply.
 */
struct net_verdict policy_net_judge_request(const struct policy *policy, const char *host, unsigned port,
					    const char *method, const char *path, bool upgrade);
/* Judges listening on a port of the run's own loopback; 0: a port that the kernel chooses. */
struct net_verdict policy_net_judge_listen(const struct policy *policy, unsigned port);

/* The fixed addresses of a name in "resolve", at most `cap`. Returns their number; 0: the name is not in "resolve". */
size_t policy_net_get_fixed_addresses(const struct policy *policy, const char *host, struct sockaddr_storage *ret,
				  size_t cap);
/* Canonical path of a file of additional CA certificates to verify servers with; NULL: none. */
const char *policy_net_get_upstream_ca(const struct policy *policy);
bool policy_net_offers_proxy(const struct policy *policy);     /* "proxy": an HTTP and SOCKS5 proxy is offered */
bool policy_net_sets_proxy_variables(const struct policy *policy); /* the program's environment names the proxy */

/* The networks from which approved names get synthetic addresses. */
struct net_pool {
	struct in_addr v4;
	unsigned v4_bits;
	struct in6_addr v6;
	unsigned v6_bits;
};
struct net_pool policy_net_get_pool(const struct policy *policy); /* default 198.18.0.0/15 and fd00:5a::/32 */

/* ---- secrets ---- */

struct net_secret {
	const char *name;         /* of the environment variable in which the program finds the placeholder */
	const char *from;         /* "env:NAME", "file:PATH" (absolute), "fd:N", "command:…" */
	const char *const *hosts; /* host patterns as in a rule; NULL-terminated */
	const char *where;        /* as in struct net_rule */
};
const struct net_secret *policy_net_get_secrets(const struct policy *policy, size_t *ret_count);
/* True when the secret may be sent to the host. */
bool net_secret_allows_host(const struct net_secret *secret, const char *host);

/* ---- text: called by the policy parser, and by egress on untrusted bytes of the program ---- */

/*
 * Writes a host in its canonical form: a name in lower case without a trailing dot, an address as inet_ntop writes it,
 * without brackets. 0, or -EINVAL for empty and over-long labels, "_", control characters, non-ASCII, userinfo, zone
 * ids, and for numbers that some parsers take for an address ("0x7f.1", "127.1").
 */
int net_host_canonicalise(const char *text, size_t len, char ret_host[NET_HOST_MAX]);
/* As net_host_canonicalise, for a policy: also converts IDNA names to A-labels. -EINVAL with a static *ret_why. */
int net_host_parse(const char *text, char ret_host[NET_HOST_MAX], const char **ret_why);
/* Pattern "*.d" matches one label before d, "**.d" one or more; another pattern only itself. */
bool net_host_matches(const char *pattern, const char *host);

/*
 * Normalises the path of a request target ("/a/%7eb/../c?q"). The result is what is judged and what is forwarded.
 *   - Escapes of unreserved characters are decoded; the others are kept, with upper-case digits.
 *   - Dot segments are removed.
 *   - An encoded "/" stays encoded; no "*" of a rule matches it.
 *   - The query is left out. *ret_query (ret_query may be NULL) points to its "?" in target; NULL: no query.
 * -EINVAL: not absolute, a path above the root, a fragment, control characters, a backslash, bad escapes, an encoded
 * "\" or NUL, a dot segment that is encoded (also repeatedly) or delimited by an encoded "/" or by ";". -ENAMETOOLONG.
 */
int net_path_normalise(const char *target, size_t len, char ret_path[NET_PATH_MAX], const char **ret_query);

/* ---- addresses ---- */

/*
 * The class of an address that is not public: "loopback", "private", "link_local", "metadata", "multicast", …; NULL:
 * it is public. An IPv4 address in a mapped, compatible, NAT64, 6to4 or Teredo address is extracted first.
 */
const char *net_address_get_class(const struct sockaddr *address);
/* Which classes a rule permits all the same; never metadata, multicast, broadcast and unspecified. */
enum net_lift {
	NET_LIFT_NONE,
	NET_LIFT_PRIVATE, /* "private": true: private, documentation and benchmark */
	NET_LIFT_NAMED,   /* "private": true and the policy contains the address itself: loopback, link-local, too */
};
/* The class because of which a connection is refused; NULL: the address may be connected to. */
const char *net_address_get_refusal(const struct sockaddr *address, enum net_lift lift);
/* Parses what inet_pton(3) accepts. False: it is no address. */
bool net_address_parse(const char *text, struct sockaddr_storage *ret_address);
/* The 4 or 16 bytes of an address of AF_INET or AF_INET6, in network byte order. */
const unsigned char *net_address_get_bytes(const struct sockaddr *address);
/* Writes "192.0.2.1" or "2001:db8::1"; a mapped address is written as IPv4; "" for other families. */
#define NET_ADDRESS_TEXT 46
void net_address_format(const struct sockaddr *address, char ret_text[NET_ADDRESS_TEXT]);

#endif
