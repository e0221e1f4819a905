/*
 * The network part of a policy: which endpoints the program may reach, and with which HTTP requests. Called by the
 * supervisor and by egress. Does no I/O and resolves no names. A host is a canonical name (net_host_canonicalise) or an
 * address as inet_ntop writes it. Addresses are compared as text, as names are.
 */
#ifndef CALLGATE_POLICY_NETWORK_NET_H
#define CALLGATE_POLICY_NETWORK_NET_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "policy/policy.h"

#define NET_HOST_SIZE 254  /* bytes of a canonical name with its NUL: RFC 1035, 2.3.4 */
#define NET_PATH_SIZE 2048 /* bytes of the normalised path of a request, without its query */
#define NET_METHOD_SIZE 24
#define NET_ADDRESSES_MAX 8 /* addresses of one name in "resolve" */
#define NET_EVERY_HOST "**"  /* host of a rule of an observing policy: every name and address */

enum net_proto {
	NET_HTTPS, /* TLS; the SNI must be the approved name; see policy_net_intercepts_tls() */
	NET_HTTP,  /* HTTP/1.1 without TLS: each request is judged */
	NET_TCP,   /* any bytes; either side may send first */
	NET_UDP,
	NET_PROTO_MAX,
};
const char *net_proto_get_name(enum net_proto proto);

/* The limits of a rule, for all its connections together. 0: no limit. */
struct net_budget {
	uint64_t bytes_up, bytes_down;
	uint64_t bytes_per_second; /* rate of all bytes, both directions together */
	uint64_t requests_per_minute;
	uint64_t requests_max;         /* requests during the whole run */
	uint64_t connections_max;      /* connections that are open at a time */
};

/* One item of a rule's "http": methods and a pattern of paths, such as "GET,HEAD /repos/acme/x". */
struct net_http_rule {
	const char *methods; /* methods, upper case, such as "GET,HEAD"; "*": any but CONNECT and TRACE */
	const char *path;    /* pattern for net_path_matches() */
	bool is_websocket;   /* "WEBSOCKET /chat": GET with an upgrade to websocket */
};

/* A rule of network.allow, or one of network.ask with "http". It does not change and lives as long as the policy. */
struct net_rule {
	size_t index;       /* index in policy_net_get_rules(): egress keeps the budget of a rule by it */
	const char *label;  /* "data.json: network.allow[0] api.github.com:443" */
	const char *source_location;  /* "file:line: key", for messages while the policy is compiled */
	const char *host;   /* a canonical name, "*.d", "**.d", an address as inet_ntop writes it, or NET_EVERY_HOST */
	bool is_address;    /* `host` is an address, not a name */
	const uint16_t *port;
	size_t port_count; /* 0: every port, in an observing policy only */
	enum net_proto proto;
	const struct net_http_rule *http_rule; /* the requests that are allowed, or asked about */
	size_t http_rule_count;        /* 0: any request */
	const char *credential_header;       /* header of the credential, lower case; NULL: no credential */
	const char *credential_value;  /* value of that header, such as "Bearer {GH_TOKEN}"; braces name a secret */
	bool is_from_allow_private;    /* from --allow-private: other rules of this endpoint become private, too */
	bool allows_private_addresses; /* "private" in the policy: addresses that are not public may be connected to */
	bool uses_real_dns;       /* "dns" is "real": DNS answers with the real addresses of the name */
	bool allows_any_body;     /* "any_body" in the policy: GET, HEAD, DELETE and OPTIONS may have a body, too */
	bool asks_about_requests; /* of network.ask: what `http_rule` names is denied, unless an answer permits it */
	struct net_budget budget;
	const char *reason;       /* "reason" in the policy; NULL: none */
	enum policy_on_deny on_deny;
};

/* False when the policy has no "network": every network call is denied, and egress is not started. */
bool policy_net_is_enabled(const struct policy *policy);
const struct net_rule *policy_net_get_rules(const struct policy *policy, size_t *ret_count);

/* The verdict on a use of the network. */
struct net_verdict {
	bool is_allowed;
	const struct net_rule *rule; /* when allowed: the first rule that matches; exact names come before wildcards */
	const char *label;           /* label of the rule that allows or denies; NULL: no rule matches */
	/*
	 * why, static: granted, no_rule, denied_by_rule, port_not_granted, proto_not_granted, method_not_granted,
	 * path_not_granted or upgrade_not_granted
	 */
	const char *reason;
	/* In an observing policy: the verdict of the judged policy; `error` is ECONNREFUSED or EACCES. */
	struct policy_observed_denial observed_denial;
};

/* Judges the resolution of a name: allowed when a rule allows any port of it and no deny rule denies all its ports. */
struct net_verdict policy_net_judge_name(const struct policy *policy, const char *host);
/* Judges a connection to a canonical host; udp: sending datagrams to it. */
struct net_verdict policy_net_judge_connect(const struct policy *policy, const char *host, unsigned port, bool udp);
/* Judges an address that an approved name resolved to: only a deny rule for the address denies it. */
struct net_verdict policy_net_judge_address(const struct policy *policy, const struct sockaddr *address, unsigned port);
/*
 * Judges a TCP connection, or datagrams, that an answer permits ("on_deny": "ask"): by the rule of "allow" that names
 * the endpoint, else by a rule for this endpoint alone. Denied is what a rule of "deny" denies without asking, what is
 * not asked about, and an address that "private" would not permit: loopback, link-local, metadata, multicast and such.
 */
struct net_verdict policy_net_judge_answered_connect(const struct policy *policy, const char *host, unsigned port,
						     bool udp);
/* Judges an HTTP request on a connection that an answer permitted: by the rules of "ask" and "allow". */
struct net_verdict policy_net_judge_answered_request(const struct policy *policy, const char *host, unsigned port,
						     const char *method, const char *path, bool upgrade);
/*
 * Judges an HTTP request that an answer permits: by the rule of "allow" that permits it; else by that of "ask" that
 * names it; else by the first rule of its endpoint whose denials are asked about, because the rule or the policy has
 * "on_deny": "ask". Denied: an answer does not permit it, so it is not asked about. So are CONNECT and TRACE always.
 */
struct net_verdict policy_net_judge_asked_request(const struct policy *policy, const char *host, unsigned port,
						  const char *method, const char *path, bool upgrade);
/* Whether a connection to some port of the name would be asked about. Then the name is given a synthetic address. */
bool policy_net_may_ask_about_name(const struct policy *policy, const char *host);
/*
 * True when TLS to this endpoint is intercepted, false when it passes through. It is intercepted when all rules for the
 * endpoint have "http", when one asks about requests, has a credential or counts requests, or when a secret may be sent
 * to the host.
 */
bool policy_net_intercepts_tls(const struct policy *policy, const char *host, unsigned port);
/*
 * Judges an HTTP request. `path` comes from net_path_normalise(); `upgrade`: the request upgrades to websocket. A
 * matching rule without "http" allows any request. The credential and budget of the verdict's rule apply.
 */
struct net_verdict policy_net_judge_request(const struct policy *policy, const char *host, unsigned port,
					    const char *method, const char *path, bool upgrade);
/* True when a rule of "ask" names requests to the endpoint, so that methods and paths matter under any rule. */
bool policy_net_asks_about_requests(const struct policy *policy, const char *host, unsigned port);
/* True when the "http" of a rule allows a request, or the rule has none. `path` is net_path_normalise()'s. */
bool net_rule_allows_request(const struct net_rule *rule, const char *method, const char *path, bool upgrade);
/*
 * Whether an item of "http" can name just the requests of a method (NULL: websockets) to a path, which is normalised.
 * There "*" is a wildcard, and WEBSOCKET is no method.
 */
bool net_http_rule_can_name(const char *method, const char *path);
/* True when callgate judges each request to this endpoint of a rule: plain HTTP, or TLS is intercepted. */
bool policy_net_judges_requests(const struct policy *policy, const struct net_rule *rule, const char *host,
			      unsigned port);
/* An HTTP request that a policy judges. */
struct net_request {
	const char *host; /* canonical */
	unsigned port;
	bool tls; /* https, wss */
	bool asks_for_websocket;
	const char *method;
	const char *path; /* normalised */
};
/* Judges a request from the connection on: the endpoint, its protocol, and the request where callgate sees it. */
struct net_verdict policy_net_judge_url(const struct policy *policy, const struct net_request *request);
/* Judges listening on a port of the run's own loopback; 0: a port that the kernel chooses. */
struct net_verdict policy_net_judge_listen(const struct policy *policy, unsigned port);

/* Writes the fixed addresses of a name in "resolve", at most `cap`. Returns their number; 0: not in "resolve". */
size_t policy_net_get_fixed_addresses(const struct policy *policy, const char *host, struct sockaddr_storage *ret,
				  size_t cap);
/* Canonical path of a file of additional CA certificates, to verify servers with; NULL: not set. */
const char *policy_net_get_upstream_ca(const struct policy *policy);
/* True when the policy has "proxy": egress offers a proxy to the program. */
bool policy_net_offers_proxy(const struct policy *policy);
/* True when the program's environment names the proxy of egress: HTTP_PROXY and the like. */
bool policy_net_sets_proxy_variables(const struct policy *policy);

/* The networks that synthetic addresses of approved names are taken from. */
struct net_pool_ranges {
	struct in_addr v4;
	unsigned v4_bits; /* length of the IPv4 prefix; 0: not given */
	struct in6_addr v6;
	unsigned v6_bits; /* length of the IPv6 prefix; 0: not given */
};
struct net_pool_ranges policy_net_get_pool(const struct policy *policy); /* default: 198.18.0.0/15 and fd00:5a::/32 */

/* ---- secrets ---- */

/* A secret of the policy: where its value comes from, and to which hosts it may go. */
struct net_secret {
	const char *name;         /* name of the environment variable that holds the placeholder */
	const char *value_source;         /* the source: "env:NAME", "file:PATH" (absolute), "fd:N", "command:…" */
	const char *const *hosts; /* host patterns as in net_rule; NULL-terminated */
	const char *source_location;        /* "file:line: key", for messages */
};
const struct net_secret *policy_net_get_secrets(const struct policy *policy, size_t *ret_count);
/* True when the secret may be sent to the host. */
bool net_secret_allows_host(const struct net_secret *secret, const char *host);

/* ---- text of hosts and paths; egress calls these functions on untrusted bytes of the program ---- */

/*
 * Writes a host in its canonical form: a name in lower case without a trailing dot, or an address as inet_ntop writes
 * it, without brackets. 0, or -EINVAL for empty and over-long labels, "_", control characters, non-ASCII, userinfo,
 * zone ids, and for numbers that some parsers take for an address ("0x7f.1", "127.1").
 */
int net_host_canonicalise(const char *text, size_t len, char ret_host[NET_HOST_SIZE]);
/* As net_host_canonicalise, for policies: also converts IDNA names to A-labels. -EINVAL with *ret_why, static. */
int net_host_parse(const char *text, char ret_host[NET_HOST_SIZE], const char **ret_why);
/*
 * True when a pattern matches a host: "*.d" one label before d, "**.d" one or more labels, NET_EVERY_HOST every host,
 * any other pattern itself.
 */
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
int net_path_normalise(const char *target, size_t len, char ret_path[NET_PATH_SIZE], const char **ret_query);

/* ---- addresses ---- */

/*
 * Returns the class of an address that is not public: "loopback", "private", "link_local", "metadata", "multicast", …;
 * NULL: it is public. For mapped, compatible, NAT64, 6to4 and Teredo addresses, the class of the IPv4 address inside.
 */
const char *net_address_get_nonpublic_class(const struct sockaddr *address);
/* Classes that a rule permits besides public addresses. Never metadata, multicast, broadcast and unspecified. */
enum net_lifted_refusals {
	NET_LIFT_NONE,    /* the rule permits public addresses only */
	NET_LIFT_PRIVATE, /* "private": true: the classes private, documentation and benchmark */
	/* "private": true, and the policy names the address: also loopback and link_local */
	NET_LIFT_PRIVATE_AND_LOOPBACK,
};
/* Returns the class that forbids to connect to an address; NULL: it may be connected to. */
const char *net_address_get_refusal_reason(const struct sockaddr *address, enum net_lifted_refusals lift);
/* Parses an address that inet_pton(3) accepts. False: it is no address. */
bool net_address_parse(const char *text, struct sockaddr_storage *ret_address);
/* Returns the 4 or 16 bytes of an AF_INET or AF_INET6 address, in network byte order. Borrowed. */
const unsigned char *net_address_get_bytes(const struct sockaddr *address);
#define NET_ADDRESS_TEXT_SIZE 46
/* Writes an address as "192.0.2.1" or "2001:db8::1". A mapped address is written as IPv4. "" for other families. */
void net_address_format(const struct sockaddr *address, char ret_text[NET_ADDRESS_TEXT_SIZE]);

#endif
