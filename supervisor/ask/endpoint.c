#include "supervisor/ask/endpoint.h"

#include <string.h>

#include "approval/show.h"
#include "policy/network/net.h"
#include "supervisor/report.h"

bool endpoint_is_of_datagrams(const struct call *asked)
{
	return asked->net.host[0] && strcmp(asked->net.audit_net.proto, "udp") == 0;
}

/* The rule by which the answer would permit the connection; NULL: the policy has no such rule any more. */
static const struct net_rule *endpoint_find_rule(const struct call *asked)
{
	const struct call_net *net = &asked->net;

	return policy_net_judge_answered_connect(asked->sandbox->policy, net->host, net->audit_net.port,
						 endpoint_is_of_datagrams(asked))
		.rule;
}

static const char *endpoint_get_protocol(const struct call *asked)
{
	const struct net_rule *rule = endpoint_find_rule(asked);

	return net_proto_get_name(rule ? rule->proto : endpoint_is_of_datagrams(asked) ? NET_UDP : NET_TCP);
}

json_t *endpoint_make_object(const struct call *asked)
{
	const struct call_net *net = &asked->net;

	return net->host[0] ? json_pack("{s:o, s:o, s:i, s:s}", "host", report_make_text_json(net->host), "address",
					report_make_text_json(net->address), "port", (int)net->audit_net.port, "proto",
					endpoint_get_protocol(asked))
			    : NULL;
}

json_t *endpoint_make_rule(const struct call *asked)
{
	return json_pack("{s:{s:[{s:o, s:i, s:s}]}}", "network", "allow", "host",
			 report_make_text_json(asked->net.host), "port", (int)asked->net.audit_net.port, "proto",
			 endpoint_get_protocol(asked));
}

const char *endpoint_describe_opening(const struct call *asked)
{
	const struct net_rule *rule = endpoint_find_rule(asked);

	if (endpoint_is_of_datagrams(asked))
		return "every datagram to that host and port, and its replies, with any contents, at any time, for "
		       "every program of the run";
	return rule && rule->proto == NET_HTTPS
		       ? "every TLS connection to that host and port, whose contents callgate does not see, at any "
			 "time, for every program of the run"
		       : "every connection to that host and port, with any contents, at any time, for every program of "
			 "the run";
}

/* Whether a label of a canonical name is an A-label (RFC 5890): characters that are not ASCII, which may look alike. */
static bool endpoint_name_is_internationalised(const char *host)
{
	for (const char *label = host; label; label = strchr(label, '.') ? strchr(label, '.') + 1 : NULL)
		if (strncmp(label, "xn--", 4) == 0)
			return true;
	return false;
}

/* The class of an address that is not public. NULL: it is public, or the host is a name. */
static const char *endpoint_get_nonpublic_class(const char *host)
{
	struct sockaddr_storage address;

	return net_address_parse(host, &address) ? net_address_get_nonpublic_class((const struct sockaddr *)&address)
						 : NULL;
}

void endpoint_add_host_lines(struct shown_lines *lines, const char *host, unsigned port, const char *protocol)
{
	const char *class = endpoint_get_nonpublic_class(host);
	struct sockaddr_storage address;
	char shown[SHOW_BYTES_MAX];

	show_text(shown, host, strlen(host));
	shown_add(lines, "%s: %s", net_address_parse(host, &address) ? "address" : "host", shown);
	shown_add(lines, "port: %u", port);
	shown_add(lines, "protocol: %s", protocol);
	if (endpoint_name_is_internationalised(host))
		shown_add(lines,
			  "note: the name has characters that are not ASCII (\"xn--\"), and may look like another "
			  "name");
	if (class)
		shown_add(lines, "note: the address is not public: %s", class);
}

void endpoint_add_lines(struct shown_lines *lines, const struct call *asked)
{
	endpoint_add_host_lines(lines, asked->net.host, asked->net.audit_net.port, endpoint_get_protocol(asked));
}
