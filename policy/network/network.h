/*
 * The compiled network of a policy from within: built by net-compile.c, judged by net-judge.c, printed by net-show.c.
 */
#ifndef CALLGATE_POLICY_NETWORK_NETWORK_H
#define CALLGATE_POLICY_NETWORK_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/network/net.h"

/* One of network.deny. */
struct net_deny {
	const char *host;     /* as in struct net_rule */
	const uint16_t *port; /* NULL: all */
	size_t ports;
	const char *reason;   /* the user's; NULL: none */
	const char *label;
};

/* One of network.listen. */
struct net_range {
	uint16_t first, last;
	const char *label;
};

/* One name of network.resolve. */
struct net_fixed {
	const char *where;
	const char *host;
	struct sockaddr_storage address[NET_ADDRESSES_MAX];
	size_t addresses;
};

/* A rule and a secret with "file:line: key" for messages. */
struct net_written_rule {
	struct net_rule rule;
	const char *where;
};

struct net_written_secret {
	struct net_secret secret;
	const char *where;
};

enum net_said {
	NET_UNSAID,
	NET_NOTHING, /* "none": what files before said is void */
	NET_SAID,
};

enum net_proxy {
	NET_PROXY_UNSAID,
	NET_PROXY_OFF,
	NET_PROXY_ON,
	NET_PROXY_ENV, /* and the program's environment names it */
};

/* What one file says. */
struct source_network {
	enum net_said said;
	struct net_written_rule *rule;
	size_t rules;
	struct net_deny *deny;
	size_t denies;
	struct net_range *listen;
	size_t listens;
	struct net_fixed *fixed;
	size_t fixeds;
	struct net_written_secret *secret;
	size_t secrets;
	const char *upstream_ca, *upstream_ca_where; /* NULL: not said */
	enum net_proxy proxy;
	struct net_pool pool;
	bool has_pool_v4, has_pool_v6;
};

/* What all say together. */
struct policy_network {
	enum net_said said;
	struct net_rule *rule; /* exact names and addresses, then "*.", then "**."; longer ones first */
	size_t rules;
	struct net_deny *deny;
	size_t denies;
	struct net_range *listen;
	size_t listens;
	struct net_fixed *fixed;
	size_t fixeds;
	struct net_secret *secret;
	size_t secrets;
	const char *upstream_ca;
	enum net_proxy proxy;
	struct net_pool pool;
	bool has_pool_v4, has_pool_v6; /* else it is the usual one */
};

/* More than this are not written by hand, and each is compared with each. */
#define NET_RULES_MAX 1024
#define NET_PORTS_MAX 64
#define NET_HTTP_MAX 256

/*
 * A pattern of request paths: "*" within a segment (as a whole one: not empty), a segment "**": any number, also none.
 */
bool net_path_matches(const char *pattern, const char *path);

/*
 * "api.test", "*.test", "**.test": canonical in ret_pattern. -EINVAL with what is wrong with it in *ret_why (static).
 */
int net_pattern_parse(const char *text, char ret_pattern[NET_HOST_MAX], const char **ret_why);
/* Whether a pattern matches all that another one does, which may be a plain name. */
bool net_pattern_covers(const char *pattern, const char *other);
/* Whether some name may match both. */
bool net_patterns_meet(const char *a, const char *b);
bool net_is_wildcard(const char *pattern);
/* "80": 1 to 65535. 0 or -EINVAL. */
int net_port_parse(const char *text, uint16_t *ret_port);
/* "HOST[:PORT]"; the port is 443 unless said. As net_pattern_parse. */
int net_endpoint_parse(const char *text, char ret_pattern[NET_HOST_MAX], uint16_t *ret_port, const char **ret_why);

struct arena;
/* "GET,POST /path", "* /path", "WEBSOCKET /path". -EINVAL with what is wrong in why, or -ENOMEM. */
int net_http_parse(struct arena *arena, const char *text, struct net_http_rule *ret_rule, char *why, size_t cap);
/* The protocol that a port usually has. */
enum net_proto net_port_proto(uint16_t port);
/* What is wrong with a rule as such: 0, or -EINVAL with the words in why. */
int net_rule_check(const struct net_rule *rule, char *why, size_t cap);
/* NAME as a secret and a variable may be called. */
bool net_is_secret_name(const char *name, size_t len);
/* Where a secret may come from: 0, or -EINVAL with what is wrong (static). */
int net_secret_from_check(const char *from, const char **ret_why);
/* True for an address as net_host_canonical writes it. */
bool net_is_address(const char *host);

#endif
