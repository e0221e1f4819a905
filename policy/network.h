/* The compiled network of a policy from within: built by net-compile.c, judged by net-judge.c, printed by net-show.c. */
#ifndef CALLGATE_POLICY_NETWORK_H
#define CALLGATE_POLICY_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/net.h"

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
	const char *host;
	struct sockaddr_storage address[NET_ADDRESSES_MAX];
	size_t addresses;
};

enum net_said {
	NET_UNSAID,
	NET_NOTHING, /* "none": what files before said is void */
	NET_SAID,
};

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
	bool proxy, proxy_env;
	struct net_pool pool;
	bool has_pool_v4, has_pool_v6;
};

/* A pattern of request paths: "*" within a segment (as a whole one: not empty), a segment "**": any number, also none. */
bool net_path_matches(const char *pattern, const char *path);

/* "api.test", "*.test", "**.test": canonical in ret_pattern. -EINVAL with what is wrong with it in *ret_why (static). */
int net_pattern_parse(const char *text, char ret_pattern[NET_HOST_MAX], const char **ret_why);
/* Whether a pattern matches all that another one does, which may be a plain name. */
bool net_pattern_covers(const char *pattern, const char *other);
/* Whether some name may match both. */
bool net_patterns_meet(const char *a, const char *b);
bool net_is_wildcard(const char *pattern);
/* True for an address as net_host_canonical writes it. */
bool net_is_address(const char *host);

#endif
