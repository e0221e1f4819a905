/* Adds the network options (--allow-host, --listen, ...) to the source of the command line, which follows all files. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/network/network.h"
#include "policy/parse/source.h"

/* The making of network rules from options of the command line. */
struct net_cli {
	struct arena *arena;
	struct policy_network *network;
	struct policy_errors *errors;
	const char *option, *text; /* the option being parsed and its argument */
};

/* Adds a message about the current option. Always returns false. */
static bool net_cli_fail(const struct net_cli *cli, const char *why)
{
	const int most = 300; /* a longer text is cut, so that the reason fits in the message */

	policy_errors_add(cli->errors, "command line: %s %.*s: %s", cli->option, most, cli->text, why);
	return false;
}

/* Names an option of the command line, as its rule's place and label. */
static const char *net_cli_describe_option(const struct net_cli *cli)
{
	return arena_printf(cli->arena, "command line: %s %s", cli->option, cli->text);
}

/* Adds the rule of a network option of the command line. Returns false, with a message, if the rule is invalid. */
static bool net_cli_add_rule(struct net_cli *cli, const char *host, uint16_t number, enum net_proto proto,
			     struct net_http_rule *http)
{
	struct policy_network *network = cli->network;
	uint16_t *port = arena_alloc(cli->arena, sizeof(*port));
	struct net_rule rule = {.source_location = net_cli_describe_option(cli),
				.label = net_cli_describe_option(cli),
				.host = arena_dup(cli->arena, host),
				.is_address = net_is_address(host),
				.port = port,
				.port_count = 1,
				.proto = proto,
				.http_rule = http,
				.http_rule_count = http != NULL};
	struct sockaddr_storage address;
	char why[256];

	*port = number;
	/* A rule that names a private address literally is treated as if it had "private": true. */
	rule.allows_private_addresses =
		net_address_parse(host, &address) && net_address_get_nonpublic_class((const struct sockaddr *)&address);
	if (net_rule_check_fields(&rule, why, sizeof(why)) < 0)
		return net_cli_fail(cli, why);
	ARENA_APPEND(cli->arena, network->rule, network->rule_count, rule);
	network->said = NET_SECTION_GIVEN;
	return true;
}

/* Parses HOST[:PORT] of --allow-host. */
static bool net_cli_add_host(struct net_cli *cli)
{
	char host[NET_HOST_SIZE];
	const char *why;
	uint16_t port;

	if (net_endpoint_parse(cli->text, host, &port, &why) < 0)
		return net_cli_fail(cli, why);
	return net_cli_add_rule(cli, host, port, net_get_port_proto(port), NULL);
}

/* Parses HOST[:PORT] of --allow-private: the host may resolve to addresses that are not public. */
static bool net_cli_add_private(struct net_cli *cli)
{
	struct policy_network *network = cli->network;

	if (!net_cli_add_host(cli))
		return false;
	network->rule[network->rule_count - 1].allows_private_addresses = true;
	network->rule[network->rule_count - 1].is_from_allow_private = true;
	return true;
}

/* Parses PORT, FIRST-LAST or "*" of --listen. */
static bool net_cli_add_listen(struct net_cli *cli)
{
	struct policy_network *network = cli->network;
	struct net_listen_range range = {.label = net_cli_describe_option(cli)};

	if (net_range_parse(cli->text, &range) < 0)
		return net_cli_fail(cli, "must be a port such as 8000, a range 9000-9010, 0 (any the kernel chooses) "
					 "or \"*\"");
	ARENA_APPEND(cli->arena, network->listen_range, network->listen_range_count, range);
	network->said = NET_SECTION_GIVEN;
	return true;
}

/* Parses METHOD,... [http[s]://]HOST[:PORT][/PATH] of --allow. */
static bool net_cli_add_request(struct net_cli *cli)
{
	const char *at = strchr(cli->text, ' '), *slash, *why;
	struct net_http_rule *http = arena_alloc(cli->arena, sizeof(*http));
	char endpoint[4 * NET_HOST_SIZE], host[NET_HOST_SIZE], wrong[NET_PATH_SIZE + 256];
	bool plain, secure;
	uint16_t port;
	char *rule;

	if (!at)
		return net_cli_fail(cli, "names no method and host; write 'GET,POST HOST/PATH/**'");
	at += strspn(at, " ");
	plain = strncmp(at, "http://", 7) == 0;
	secure = strncmp(at, "https://", 8) == 0;
	at += plain ? 7 : secure ? 8 : 0;
	if (!plain && !secure && strstr(at, "://"))
		return net_cli_fail(cli, "has a scheme that is neither http:// nor https://; write 'GET HOST/PATH'");
	slash = strchrnul(at, '/');
	if ((size_t)(slash - at) >= sizeof(endpoint))
		return net_cli_fail(cli, "is longer than a host name can be");
	memcpy(endpoint, at, (size_t)(slash - at));
	endpoint[slash - at] = '\0';
	if (net_endpoint_parse(endpoint, host, &port, &why) < 0)
		return net_cli_fail(cli, why);
	if (plain && port == 443 && !strchr(endpoint, ':'))
		port = 80;
	rule = arena_printf(cli->arena, "%.*s %s", (int)strcspn(cli->text, " "), cli->text, *slash ? slash : "/**");
	if (net_http_parse_rule(cli->arena, rule, http, wrong, sizeof(wrong)) < 0)
		return net_cli_fail(cli, wrong);
	plain = plain || (port == 80 && !secure);
	return net_cli_add_rule(cli, host, port, plain ? NET_HTTP : NET_HTTPS, http);
}

/* Splits HOST[,HOST] into host[], which has room for all and stays NULL-terminated. False with a message. */
static bool net_cli_parse_hosts(struct net_cli *cli, const char *list, const char **host)
{
	char text[4 * NET_HOST_SIZE], pattern[NET_HOST_SIZE];
	const char *why;
	size_t count = 0;

	for (;; list++) {
		size_t len = strcspn(list, ",");

		(void)snprintf(text, sizeof(text), "%.*s", (int)(len < sizeof(text) ? len : sizeof(text)), list);
		if (net_pattern_parse(text, pattern, &why) < 0)
			return net_cli_fail(cli, why);
		host[count++] = arena_dup(cli->arena, pattern);
		list += len;
		if (!*list)
			return true;
	}
}

/* Parses NAME@HOST[,HOST] of --secret. */
static bool net_cli_add_secret(struct net_cli *cli)
{
	struct policy_network *network = cli->network;
	const char *at = strchr(cli->text, '@');
	const char **hosts = arena_alloc(cli->arena, (strlen(cli->text) + 1) * sizeof(*hosts));
	struct net_secret secret = {.source_location = net_cli_describe_option(cli), .hosts = hosts};

	if (!at || !net_is_secret_name(cli->text, (size_t)(at - cli->text)))
		return net_cli_fail(cli,
				    "is no variable and hosts; write NAME@HOST, with the value in the environment");
	if (!net_cli_parse_hosts(cli, at + 1, hosts))
		return false;
	secret.name = arena_dupn(cli->arena, cli->text, (size_t)(at - cli->text));
	secret.value_source = arena_concat_texts(cli->arena, "env:", secret.name, (char *)NULL);
	ARENA_APPEND(cli->arena, network->secret, network->secret_count, secret);
	return true;
}

int source_add_network_from_cli(struct arena *arena, const struct policy_cli *options, struct policy_errors *errors,
			    struct policy_source *source)
{
	struct net_cli cli = {.arena = arena, .network = &source->network, .errors = errors};
	const struct {
		const char *option;
		const char *const *texts;
		bool (*add)(struct net_cli *cli);
	} lists[] = {{"--allow-host", options->allow_host, net_cli_add_host},
		     {"--allow-private", options->allow_private, net_cli_add_private},
		     {"--listen", options->listen, net_cli_add_listen},
		     {"--allow", options->allow_request, net_cli_add_request},
		     {"--secret", options->secret, net_cli_add_secret}};
	bool good = true;

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		for (const char *const *text = lists[i].texts; text && *text; text++) {
			cli.option = lists[i].option;
			cli.text = *text;
			good = lists[i].add(&cli) && good;
		}
	}
	if (options->denies_network && source->network.said == NET_SECTION_GIVEN) {
		policy_errors_add(errors,
				  "command line: --no-net: contradicts --allow-host, --allow and --listen; keep one of "
				  "them");
		good = false;
	}
	if (options->denies_network)
		source->network.said = NET_SECTION_NONE;
	return good ? 0 : -EINVAL;
}
