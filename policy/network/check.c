/* Checks one rule of the network or one secret, from a policy file or from the command line. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "policy/network/network.h"

enum net_proto net_get_port_proto(uint16_t port)
{
	return port == 443 ? NET_HTTPS : port == 80 ? NET_HTTP : NET_TCP;
}

bool net_is_secret_name(const char *name, size_t len)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

	return len > 0 && len <= 128 && !(name[0] >= '0' && name[0] <= '9') && strspn(name, letters) >= len;
}

int net_secret_check_value_source(const char *from, const char **ret_why)
{
	static const struct {
		const char *scheme, *wrong;
	} places[] = {{"env:", "names no variable; write \"env:NAME\""},
		      {"fd:", "names no descriptor; write \"fd:3\""},
		      {"file:", "names no file; write \"file:./NAME\""},
		      {"command:", "names no command; write \"command:pass show NAME\""}};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const char *rest = from + strlen(places[i].scheme);

		if (strncmp(from, places[i].scheme, (size_t)(rest - from)) != 0)
			continue;
		*ret_why = places[i].wrong;
		if (i == 0)
			return net_is_secret_name(rest, strlen(rest)) ? 0 : -EINVAL;
		if (i == 1 && (strlen(rest) > 9 || rest[strspn(rest, "0123456789")]))
			return -EINVAL;
		return *rest ? 0 : -EINVAL;
	}
	*ret_why = "is no place to take a secret from; write \"env:NAME\", \"file:PATH\", \"fd:N\" or \"command:...\"";
	return -EINVAL;
}

/* True for headers that frame or route a message: as a credential they would change how the request is sent. */
static bool check_header_is_reserved(const char *name)
{
	static const char *const names[] = {
		"host",   "connection", "content-length",      "transfer-encoding", "te", "trailer", "upgrade",
		"expect", "keep-alive", "proxy-authorization", "proxy-connection"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcasecmp(name, names[i]) == 0)
			return true;
	return false;
}

/* Returns what is wrong with the header or the value of a rule's credential, for a message, or NULL. */
static const char *check_credential_header(const struct net_rule *rule)
{
	static const char token[] = "abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~";
	bool placed = false;

	if (rule->credential_header[strspn(rule->credential_header, token)] || strlen(rule->credential_header) > 128)
		return "has a credential header that is no header's name; write \"Authorization\"";
	if (check_header_is_reserved(rule->credential_header))
		return "has a credential in a header that belongs to the connection; write \"Authorization\"";
	for (const char *at = rule->credential_value; *at; at++) {
		size_t len = strcspn(at + 1, "{}");

		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			return "has control characters in its credential";
		if (*at == '}')
			return "has a \"}\" without a \"{\" in its credential; write \"Bearer {NAME}\"";
		if (*at != '{')
			continue;
		if (at[1 + len] != '}' || !net_is_secret_name(at + 1, len))
			return "has no secret's name between \"{\" and \"}\" in its credential; write \"Bearer "
			       "{NAME}\"";
		at += 1 + len;
		placed = true;
	}
	return placed ? NULL
		      : "has a credential without a secret in it; write \"Bearer {NAME}\" and name it in \"secrets\"";
}

/*
 * Checks a rule that names an address: it may have to be refused, or need "private". 0, or -EINVAL with a text in
 * `why`.
 */
static int check_literal_address(const struct net_rule *rule, char *why, size_t cap)
{
	struct sockaddr_storage address;
	const char *denied, *never;

	if (!net_address_parse(rule->host, &address))
		return 0;
	denied = net_address_get_nonpublic_class((const struct sockaddr *)&address);
	never = net_address_get_refusal_reason((const struct sockaddr *)&address, NET_LIFT_PRIVATE_AND_LOOPBACK);
	if (never)
		(void)snprintf(why, cap, "names an address that is never connected to (%s); remove the rule", never);
	else if (denied && !rule->allows_private_addresses)
		(void)snprintf(why, cap,
			       "names an address that is not public (%s); add \"private\": true if it is meant",
			       denied);
	else if (!denied && rule->allows_private_addresses)
		(void)snprintf(why, cap, "has \"private\" without effect: its address is public; remove it");
	else
		return 0;
	return -EINVAL;
}

/* Returns which fields of the rule contradict each other, for a message, or NULL. */
static const char *check_field_combinations(const struct net_rule *rule)
{
	bool requests = rule->proto == NET_HTTPS || rule->proto == NET_HTTP;

	if (!requests && rule->http_rule_count)
		return "has \"http\" where no HTTP is spoken; remove it, or write \"proto\": \"https\"";
	if (!requests && rule->allows_any_body)
		return "has \"any_body\" where no HTTP is spoken; remove it, or write \"proto\": \"https\"";
	if (rule->credential_header && rule->proto != NET_HTTPS)
		return "has a credential without TLS to protect it; write \"proto\": \"https\" or remove it";
	if (!requests && (rule->budget.requests_max || rule->budget.requests_per_minute))
		return "counts requests where none can be seen; remove the limit, or write \"proto\": \"https\"";
	if (rule->on_deny == ON_DENY_ASK && !rule->http_rule_count)
		return "asks about requests, but has no \"http\" that denies some; add it, or write a rule of \"deny\" "
		       "with \"on_deny\": \"ask\"";
	if (rule->is_address && rule->uses_real_dns)
		return "has \"dns\" for an address, which is not looked up; remove it";
	return rule->credential_header ? check_credential_header(rule) : NULL;
}

int net_rule_check_fields(const struct net_rule *rule, char *why, size_t cap)
{
	const char *text = check_field_combinations(rule);

	if (!text)
		return check_literal_address(rule, why, cap);
	(void)snprintf(why, cap, "%s", text);
	return -EINVAL;
}
