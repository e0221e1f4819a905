/* Turns the options for the network (--allow-host, --listen, ...) into a policy source, which follows all files. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/network/network.h"
#include "policy/parse/errors.h"
#include "policy/parse/source.h"

#include "base/banned.h"

struct net_cli {
	struct arena *arena;
	struct source_network *network;
	struct policy_errors *errors;
	const char *option, *text; /* the option being parsed and its argument */
};

static int net_cli_fail(const struct net_cli *cli, const char *why)
{
	policy_errors_add(cli->errors, "command line: %s %s: %s", cli->option, cli->text, why);
	return -EINVAL;
}

/* A rule that names a private address literally is treated as if it had "private": true. */
static bool net_cli_is_private(const char *host)
{
	struct net_rule rule = {.host = host, .is_address = net_is_address(host)};
	char why[256];

	return rule.is_address && net_rule_check(&rule, why, sizeof(why)) < 0;
}

static int net_cli_add_rule(struct net_cli *cli, const char *host, uint16_t number, enum net_proto proto,
			    struct net_http_rule *http)
{
	struct source_network *network = cli->network;
	uint16_t *port = arena_alloc(cli->arena, sizeof(*port));
	struct net_written_rule *written;
	char why[256];

	network->rule = arena_grow(cli->arena, network->rule, network->rules, sizeof(*network->rule));
	if (!network->rule || !port)
		return -ENOMEM;
	*port = number;
	written = &network->rule[network->rules];
	*written = (struct net_written_rule){
		.where = arena_printf(cli->arena, "command line: %s %s", cli->option, cli->text),
		.rule = {.host = arena_dup(cli->arena, host),
			 .is_address = net_is_address(host),
			 .port = port,
			 .ports = 1,
			 .proto = proto,
			 .http = http,
			 .http_count = http != NULL,
			 .private_addresses = net_cli_is_private(host),
			 .label = arena_printf(cli->arena, "command line: %s %s", cli->option, cli->text)},
	};
	if (!written->where || !written->rule.host || !written->rule.label)
		return -ENOMEM;
	if (net_rule_check(&written->rule, why, sizeof(why)) < 0)
		return net_cli_fail(cli, why);
	network->rules++;
	network->said = NET_SAID;
	return 0;
}

/* HOST[:PORT] */
static int net_cli_add_host(struct net_cli *cli)
{
	char host[NET_HOST_MAX];
	const char *why;
	uint16_t port;

	if (net_endpoint_parse(cli->text, host, &port, &why) < 0)
		return net_cli_fail(cli, why);
	return net_cli_add_rule(cli, host, port, net_port_proto(port), NULL);
}

/* HOST[:PORT], which may resolve to addresses that are not public. */
static int net_cli_add_private(struct net_cli *cli)
{
	struct source_network *network = cli->network;
	int ret = net_cli_add_host(cli);

	if (ret == 0) {
		network->rule[network->rules - 1].rule.private_addresses = true;
		network->rule[network->rules - 1].lifts = true;
	}
	return ret;
}

/* PORT, FIRST-LAST or "*" */
static int net_cli_add_listen(struct net_cli *cli)
{
	struct source_network *network = cli->network;
	struct net_range range = {.label = arena_printf(cli->arena, "command line: %s %s", cli->option, cli->text)};

	if (net_range_parse(cli->text, &range) < 0)
		return net_cli_fail(cli, "must be a port such as 8000, a range 9000-9010, 0 (any the kernel chooses) "
					 "or \"*\"");
	network->listen = arena_grow(cli->arena, network->listen, network->listens, sizeof(*network->listen));
	if (!network->listen || !range.label)
		return -ENOMEM;
	network->listen[network->listens++] = range;
	network->said = NET_SAID;
	return 0;
}

/* METHOD,... [http[s]://]HOST[:PORT][/PATH] */
static int net_cli_add_request(struct net_cli *cli)
{
	const char *at = strchr(cli->text, ' '), *slash, *why;
	struct net_http_rule *http = arena_alloc(cli->arena, sizeof(*http));
	char endpoint[4 * NET_HOST_MAX], host[NET_HOST_MAX], wrong[NET_PATH_MAX + 256];
	bool plain, secure;
	uint16_t port;
	char *rule;
	int ret;

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
	if (!rule || !http)
		return -ENOMEM;
	ret = net_http_parse(cli->arena, rule, http, wrong, sizeof(wrong));
	if (ret == -EINVAL)
		return net_cli_fail(cli, wrong);
	plain = plain || (port == 80 && !secure);
	return ret < 0 ? ret : net_cli_add_rule(cli, host, port, plain ? NET_HTTP : NET_HTTPS, http);
}

/* Splits HOST[,HOST] into host[], which has room for all and stays NULL-terminated. */
static int net_cli_parse_hosts(struct net_cli *cli, const char *list, const char **host)
{
	char text[4 * NET_HOST_MAX], pattern[NET_HOST_MAX];
	const char *why;
	size_t count = 0;

	for (;; list++) {
		size_t len = strcspn(list, ",");

		(void)snprintf(text, sizeof(text), "%.*s", (int)(len < sizeof(text) ? len : sizeof(text)), list);
		if (net_pattern_parse(text, pattern, &why) < 0)
			return net_cli_fail(cli, why);
		host[count] = arena_dup(cli->arena, pattern);
		if (!host[count++])
			return -ENOMEM;
		list += len;
		if (!*list)
			return 0;
	}
}

/* NAME@HOST[,HOST] */
static int net_cli_add_secret(struct net_cli *cli)
{
	struct source_network *network = cli->network;
	const char *at = strchr(cli->text, '@');
	const char **hosts = arena_alloc(cli->arena, (strlen(cli->text) + 1) * sizeof(*hosts));
	struct net_written_secret *written;
	int ret;

	if (!at || !net_is_secret_name(cli->text, (size_t)(at - cli->text)))
		return net_cli_fail(cli,
				    "is no variable and hosts; write NAME@HOST, with the value in the environment");
	network->secret = arena_grow(cli->arena, network->secret, network->secrets, sizeof(*network->secret));
	if (!hosts || !network->secret)
		return -ENOMEM;
	ret = net_cli_parse_hosts(cli, at + 1, hosts);
	if (ret < 0)
		return ret;
	written = &network->secret[network->secrets++];
	written->where = arena_printf(cli->arena, "command line: %s %s", cli->option, cli->text);
	written->secret.name = arena_dupn(cli->arena, cli->text, (size_t)(at - cli->text));
	if (!written->where || !written->secret.name)
		return -ENOMEM;
	written->secret.from = arena_printf(cli->arena, "env:%s", written->secret.name);
	written->secret.hosts = hosts;
	return written->secret.from ? 0 : -ENOMEM;
}

int source_network_from_cli(struct arena *arena, const struct policy_cli *options, struct policy_errors *errors,
			    struct source *source)
{
	struct net_cli cli = {.arena = arena, .network = &source->network, .errors = errors};
	const struct {
		const char *option;
		const char *const *texts;
		int (*add)(struct net_cli *cli);
	} lists[] = {{"--allow-host", options->allow_host, net_cli_add_host},
		     {"--allow-private", options->allow_private, net_cli_add_private},
		     {"--listen", options->listen, net_cli_add_listen},
		     {"--allow", options->allow_request, net_cli_add_request},
		     {"--secret", options->secret, net_cli_add_secret}};
	int ret, bad = 0;

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		for (const char *const *text = lists[i].texts; text && *text; text++) {
			cli.option = lists[i].option;
			cli.text = *text;
			ret = lists[i].add(&cli);
			if (ret == -ENOMEM)
				return ret;
			bad |= ret;
		}
	}
	if (options->no_net && source->network.said == NET_SAID) {
		policy_errors_add(errors,
				  "command line: --no-net: contradicts --allow-host, --allow and --listen; keep one of "
				  "them");
		bad = -EINVAL;
	}
	if (options->no_net)
		source->network.said = NET_NOTHING;
	return bad ? -EINVAL : 0;
}
