/*
 * The data structures behind net.h, private to policy/. parse/ and cli.c fill them, compile.c merges them, agree.c and
 * check.c check them, judge.c and asked.c judge by them, show.c prints them, and pack.c sends them to egress.
 */
#ifndef CALLGATE_POLICY_NETWORK_NETWORK_H
#define CALLGATE_POLICY_NETWORK_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/network/net.h"

/* A rule of network.deny. */
struct net_deny {
	const char *host;     /* host pattern, as in net_rule */
	const uint16_t *port; /* NULL: all ports */
	size_t port_count;
	const char *reason;   /* "reason" in the policy; NULL: none */
	const char *label;    /* name of the rule in records */
	enum policy_on_deny on_deny;
};

/* An item of network.listen. */
struct net_listen_range {
	uint16_t first, last;
	const char *label;
};

/* A name in network.resolve. */
struct net_fixed_host {
	const char *source_location;
	const char *host;
	struct sockaddr_storage address[NET_ADDRESSES_MAX]; /* the addresses that the name is given */
	size_t address_count;
};

enum net_section_state {
	NET_SECTION_ABSENT, /* the file has no "network" */
	NET_SECTION_NONE,   /* "none": discards the networks of earlier files */
	NET_SECTION_GIVEN,  /* rules are given, in the file or by options of the command line */
};

enum net_proxy {
	NET_PROXY_NOT_GIVEN,
	NET_PROXY_OFF,
	NET_PROXY_ON,
	NET_PROXY_ON_WITH_VARIABLES, /* a proxy is offered, and the environment of the program names it */
};

/* The "network" and "secrets" of one file, or of all files merged. */
struct policy_network {
	enum net_section_state said;
	struct net_rule *rule; /* after merging: exact names and addresses, then "*.", then "**."; longer ones first */
	size_t rule_count;
	struct net_deny *deny;
	size_t deny_count;
	struct net_listen_range *listen_range;
	size_t listen_range_count;
	struct net_fixed_host *fixed_host;
	size_t fixed_host_count;
	struct net_secret *secret;
	size_t secret_count;
	const char *upstream_ca, *upstream_ca_source_location; /* NULL: not set */
	enum net_proxy proxy;
	struct net_pool_ranges pool; /* 0 bits: not set, so the default is used */
	bool asks_about_denials;     /* "on_deny" of the policy is "ask" */
};

#define NET_RULES_MAX 1024 /* limited, because every pair of rules is compared */
#define NET_PORTS_PER_RULE_MAX 64
#define NET_HTTP_RULES_PER_RULE_MAX 256

/*
 * True when a pattern matches a normalised request path. "*" matches any text within a segment; alone in a segment, at
 * least one character. A segment "**" matches any number of segments, also none.
 */
bool net_path_matches(const char *pattern, const char *path);
/*
 * Whether some server may take the path for one that the pattern matches: servers differ about case, encoded slashes,
 * parameters and empty segments. For rules that withhold something. Those that grant use net_path_matches().
 */
bool net_path_may_match(const char *pattern, const char *path);

/* Parses a host pattern such as "*.test" into its canonical form. 0, or -EINVAL with *ret_why, static. */
int net_pattern_parse(const char *text, char ret_pattern[NET_HOST_SIZE], const char **ret_why);
/* True when a pattern matches every name that another pattern or plain name matches. */
bool net_pattern_covers(const char *pattern, const char *other);
/* True when some name matches both patterns. */
bool net_patterns_overlap(const char *a, const char *b);
bool net_is_wildcard(const char *pattern);
/* Parses a port from 1 to 65535. 0 or -EINVAL. */
int net_port_parse(const char *text, uint16_t *ret_port);
/* Parses "8000", "9000-9010", "0" (a port that the kernel chooses) or "*"; sets first and last. 0 or -EINVAL. */
int net_range_parse(const char *text, struct net_listen_range *ret_range);
/* Parses "HOST[:PORT]"; the default port is 443. 0, or -EINVAL with *ret_why, static. */
int net_endpoint_parse(const char *text, char ret_pattern[NET_HOST_SIZE], uint16_t *ret_port, const char **ret_why);

/* Whether a rule of "deny" names a canonical host and this port. */
bool net_deny_matches(const struct net_deny *deny, const char *host, unsigned port);
/* Finds the next rule from *at on for host, port and transport. NULL: no more. *reason: what the closest rule lacks. */
const struct net_rule *net_find_next_rule(const struct policy *policy, size_t *at, const char *host, unsigned port,
					  bool udp, const char **reason);
/* The denial of a request that a rule of "ask" names. */
struct net_verdict net_make_denial_by_asking_rule(const struct net_rule *rule);
/*
 * Judges an HTTP request by the rules of "allow" alone. Of the endpoint's rules, one that names such requests comes
 * before one that allows any. *ret_asking: the rule of "ask" that names such requests; NULL: none.
 */
struct net_verdict net_judge_request_by_rules(const struct policy *policy, const char *host, unsigned port,
					      const char *method, const char *path, bool upgrade,
					      const struct net_rule **ret_asking);

struct arena;
/* Parses an item of "http": "GET,POST /path", "* /path", "WEBSOCKET /path". 0, or -EINVAL with a message in why. */
int net_http_parse_rule(struct arena *arena, const char *text, struct net_http_rule *ret_rule, char *why, size_t cap);
/* The protocol of a rule that has no "proto", by its port. */
enum net_proto net_get_port_proto(uint16_t port);
/* Checks that the fields of one rule agree. 0, or -EINVAL with a message in why. */
int net_rule_check_fields(const struct net_rule *rule, char *why, size_t cap);
/* True for a valid name of a secret, which is also the name of an environment variable. */
bool net_is_secret_name(const char *name, size_t len);
/* Checks the "from" of a secret. 0, or -EINVAL with a static message in *ret_why. */
int net_secret_check_value_source(const char *from, const char **ret_why);
/* True when a canonical host is an address. */
bool net_is_address(const char *host);

#endif
