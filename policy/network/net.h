/*
 * What a policy says about the network: which endpoints exist for the program, and what may be asked of them. Pure, as
 * all of policy/: no resolving, no I/O. Names are canonical here (net_host_canonical); an address is a name of its own.
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
#define NET_PATH_MAX 2048   /* of a request, normalised, without its query */
#define NET_METHOD_MAX 24
#define NET_ADDRESSES_MAX 8 /* that "resolve" may give one name */

enum net_proto {
	NET_HTTPS, /* TLS whose SNI is the approved name; opened only where rules or credentials ask for it */
	NET_HTTP,  /* HTTP/1.1 without TLS: each request is judged */
	NET_TCP,   /* bytes, either side may speak first */
	NET_UDP,
	NET_PROTO_MAX,
};
const char *net_proto_name(enum net_proto proto);

struct net_budget { /* 0: none. All connections of the rule together */
	uint64_t bytes_up, bytes_down;
	uint64_t bytes_per_second; /* both directions */
	uint64_t requests_per_minute;
	uint64_t requests;
	uint64_t connections;      /* at a time */
};

/* "GET,HEAD /repos/acme/" and two stars. */
struct net_http_rule {
	const char *methods; /* "GET,HEAD", upper case; "*": any but CONNECT and TRACE */
	const char *path;    /* glob: * within a segment, ** across */
	bool websocket;      /* "WEBSOCKET /chat": GET with an upgrade to it */
};

/* One of network.allow. Immutable, lives as long as the policy. */
struct net_rule {
	size_t index;       /* in policy_net_rules(): where its budget is counted */
	const char *label;  /* "data.json: network.allow[0] api.github.com:443" */
	const char *host;   /* canonical name, "*.d", "**.d", or an address as inet_ntop writes it */
	bool is_address;
	const uint16_t *port;
	size_t ports;
	enum net_proto proto;
	const struct net_http_rule *http;
	size_t http_count;        /* 0: not opened */
	const char *header;       /* of the credential, lower case; NULL: none */
	const char *header_value; /* "Bearer {GH_TOKEN}": names of secrets in braces */
	bool private_addresses;   /* "private": addresses of this machine's networks may be dialled */
	bool dns_real;            /* "dns": "real" */
	bool any_body;            /* "any_body": GET, HEAD, DELETE and OPTIONS may have content, too */
	struct net_budget budget;
	const char *reason;       /* the user's; NULL: none */
};

/* A policy without "network" has none: every network call is refused, and no egress process is started. */
bool policy_net_enabled(const struct policy *policy);
const struct net_rule *policy_net_rules(const struct policy *policy, size_t *ret_count);

struct net_verdict {
	bool allow;
	const struct net_rule *rule; /* allow: the first that matches, exact names before wildcards */
	const char *label;           /* of the rule, allow or deny; NULL: none matches */
	/*
	 * Static: granted no_rule denied_by_rule port_not_granted proto_not_granted method_not_granted path_not_granted
	 * upgrade_not_granted.
	 */
	const char *reason;
};

/* Whether the name may resolve: some rule, at whatever port, and no deny rule of the whole name. */
struct net_verdict policy_net_name(const struct policy *policy, const char *host);
/*
 * Whether there may be a connection (udp: datagrams) to it. host: canonical name, or an address as inet_ntop writes it.
 */
struct net_verdict policy_net_connect(const struct policy *policy, const char *host, unsigned port, bool udp);
/* Whether a deny rule names an address that a name was resolved to. A rule that allows is not looked for. */
struct net_verdict policy_net_address(const struct policy *policy, const struct sockaddr *address, unsigned port);
/*
 * Whether its TLS is opened: each rule for it has "http", or one has a credential or counts requests, or a secret names
 * the host.
 */
bool policy_net_intercepts(const struct policy *policy, const char *host, unsigned port);
/*
 * Whether a request may be made; the rule is the one whose credential and budget count. path: net_path_normalise's.
 * Without "http" in some matching rule: any. upgrade: it asks for a websocket.
 */
struct net_verdict policy_net_request(const struct policy *policy, const char *host, unsigned port, const char *method,
				      const char *path, bool upgrade);
/* Whether the program may listen at a port, on its own loopback; 0: at one the kernel chooses. */
struct net_verdict policy_net_listen(const struct policy *policy, unsigned port);

/* "resolve": fixed addresses for a name, which count as named by the user. 0: none. */
size_t policy_net_resolve(const struct policy *policy, const char *host, struct sockaddr_storage *ret, size_t cap);
/* File of further roots to verify servers with, as the policy names it, relative to the policy; NULL: none. */
const char *policy_net_upstream_ca(const struct policy *policy);
bool policy_net_proxy(const struct policy *policy);     /* "proxy": HTTP proxy and SOCKS5 are offered */
bool policy_net_proxy_env(const struct policy *policy); /* … and named in the program's environment */

struct net_pool { /* where synthetic addresses are from */
	struct in_addr v4;
	unsigned v4_bits;
	struct in6_addr v6;
	unsigned v6_bits;
};
struct net_pool policy_net_pool(const struct policy *policy); /* default 198.18.0.0/15 and fd00:5a::/32 */

/* ---- secrets ---- */

struct net_secret {
	const char *name;         /* of the variable in the program's environment, which holds the placeholder */
	const char *from;         /* "env:NAME", "file:PATH" (absolute by now), "fd:N", "command:…" */
	const char *const *hosts; /* NULL-ended: host patterns as in a rule */
};
const struct net_secret *policy_net_secrets(const struct policy *policy, size_t *ret_count);
/* Whether a secret may be sent to a host. */
bool net_secret_host(const struct net_secret *secret, const char *host);

/* ---- text, used by the parser of policies and by what reads the program's bytes ---- */

/*
 * Lower case, no trailing dot; refuses (-EINVAL) empty and over-long labels, "_", control characters, non-ASCII,
 * userinfo, zone ids and what looks like a number but is no address ("0x7f.1", "127.1"). An address is written as
 * inet_ntop does, without brackets. 0 or -EINVAL.
 */
int net_host_canonical(const char *text, size_t len, char ret_host[NET_HOST_MAX]);
/* The same for what people write in policies: IDNA to A-labels as well; *ret_why (static) says what is wrong. */
int net_host_parse(const char *text, char ret_host[NET_HOST_MAX], const char **ret_why);
/* "*.d": one label before d; "**.d": one or more; else equal. */
bool net_host_matches(const char *pattern, const char *host);

/*
 * Of a request target's path ("/a/%7eb/../c?q"): decodes what needs no encoding, upper-cases the rest's digits, removes
 * dot segments; the query is left out and *ret_query (may be NULL) points to its "?" in target or is NULL. This text is
 * judged and forwarded. An encoded "/" stays one (no "*" of a rule goes over it). -EINVAL: not absolute, control
 * characters, backslash, bad escapes, an encoded "\" or NUL, a "." segment that is encoded, however often, or ends at
 * an encoded "/" or ";", above the root, fragment; -ENAMETOOLONG.
 */
int net_path_normalise(const char *target, size_t len, char ret_path[NET_PATH_MAX], const char **ret_query);

/* ---- addresses ---- */

/*
 * Why a resolved address is never dialled without being named: "loopback", "private", "link_local", "metadata",
 * "multicast", …; NULL: it may be. Mapped, compatible, NAT64, 6to4 and Teredo forms are unwrapped first.
 */
const char *net_address_denied(const struct sockaddr *address);
enum net_lift { NET_LIFT_NONE, NET_LIFT_PRIVATE /* the rule says private: all but loopback, metadata, multicast… */,
		NET_LIFT_NAMED /* the user wrote the address itself and said private: loopback too, never metadata */ };
/* The same for a rule: NULL when it may be dialled. */
const char *net_address_refused(const struct sockaddr *address, enum net_lift lift);
/* "192.0.2.1" or "2001:db8::1" (a mapped address as the IPv4 one). */
#define NET_ADDRESS_TEXT 46
void net_address_text(const struct sockaddr *address, char ret_text[NET_ADDRESS_TEXT]);

#endif
