/* callgate why: decides one connection, request or listening port as a run would. No name is resolved. */
#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/why/net.h"
#include "policy/network/net.h"

/* An address that the question names, or that the policy's "resolve" gives to the host name. */
struct net_known_address {
	char address_text[NET_ADDRESS_TEXT_SIZE];
	/* why the address is not public: its class, such as "private"; NULL: it is public */
	const char *not_public_class;
	bool is_refused; /* no connection to it is allowed */
};

/* What `callgate why` is asked about the network, and the answer. */
struct net_question {
	const struct policy *policy;
	char host[NET_HOST_SIZE];
	unsigned port;
	char endpoint[NET_HOST_SIZE + 16]; /* HOST:PORT, with brackets around an IPv6 address */
	bool uses_udp;
	bool is_request, wants_upgrade, uses_tls; /* asked about: a request, an upgrade to WebSocket, TLS */
	char http_method[NET_METHOD_SIZE];
	char url_path[NET_PATH_SIZE];
	struct net_verdict verdict;  /* the answer */
	const struct net_rule *rule; /* the rule that allows the endpoint, also if the request is refused; NULL: none */
	bool callgate_sees_requests; /* callgate would see the requests: TLS interception, or plain HTTP */
	struct net_known_address known_addresses[NET_ADDRESSES_MAX];
	size_t known_address_count;
	const char *mistake; /* why the question is malformed; static */
	/* why no rule can allow one of the addresses; NULL: a rule can, or no address is known */
	const char *why_never_allowed;
};

static const char not_a_port[] = "is no port from 0 to 65535";

/* ---- parsing the question ---- */

/* Keeps what is wrong with the question, for a message. Returns -EINVAL. */
static int why_set_mistake(struct net_question *asked, const char *why)
{
	asked->mistake = why;
	return -EINVAL;
}

/* Parses HOST[:PORT]. With `default_port` 0 the port must be given. */
static int why_parse_authority(struct net_question *asked, const char *authority, size_t len, unsigned default_port)
{
	const char *colon = memrchr(authority, ':', len);
	size_t host_len = len;
	uint64_t port = default_port;
	char number[16];

	if (colon && authority[0] == '[' && colon[-1] != ']')
		colon = NULL; /* this colon is inside an IPv6 address */
	if (colon) {
		host_len = (size_t)(colon - authority);
		(void)snprintf(number, sizeof(number), "%.*s", (int)(len - host_len - 1), colon + 1);
		if (text_parse_number(number, 1, 65535, &port) < 0)
			return why_set_mistake(asked, "has no port from 1 to 65535");
	}
	if (port == 0)
		return why_set_mistake(asked, "names no port; write HOST:PORT");
	asked->port = (unsigned)port;
	if (net_host_canonicalise(authority, host_len, asked->host) < 0)
		return why_set_mistake(asked, "names no host that a program could ask for");
	(void)snprintf(asked->endpoint, sizeof(asked->endpoint), strchr(asked->host, ':') ? "[%s]:%u" : "%s:%u",
		       asked->host, asked->port);
	return 0;
}

static int why_parse_connect(struct net_question *asked, const char *text)
{
	const char *slash = strchrnul(text, '/');

	asked->uses_udp = strcmp(slash, "/udp") == 0;
	if (*slash && !asked->uses_udp && strcmp(slash, "/tcp") != 0)
		return why_set_mistake(asked, "is no endpoint; write HOST:PORT or HOST:PORT/udp");
	return why_parse_authority(asked, text, (size_t)(slash - text), 0);
}

/* Takes the scheme off a URL, and keeps what it says. 0 or -EINVAL. */
static int why_parse_scheme(struct net_question *asked, const char **url)
{
	static const struct {
		const char *name;
		bool tls, upgrade;
	} schemes[] = {
		{"https://", true, false}, {"http://", false, false}, {"wss://", true, true}, {"ws://", false, true}};

	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		if (strncmp(*url, schemes[i].name, strlen(schemes[i].name)) != 0)
			continue;
		*url += strlen(schemes[i].name);
		asked->uses_tls = schemes[i].tls;
		asked->wants_upgrade = schemes[i].upgrade;
		return 0;
	}
	return why_set_mistake(asked, "is no request; write 'GET https://HOST/PATH' (or http, wss, ws)");
}

/* Parses "GET https://host/path"; the method may be omitted. */
static int why_parse_url(struct net_question *asked, const char *text)
{
	const char *space = strchr(text, ' '), *url = space ? space + 1 : text, *end;
	size_t method = space ? (size_t)(space - text) : 0;

	asked->is_request = true;
	if (method >= sizeof(asked->http_method))
		return why_set_mistake(asked, "has a method that is too long to be one");
	(void)snprintf(asked->http_method, sizeof(asked->http_method), "%.*s", method ? (int)method : 3,
		       method ? text : "GET");
	if (why_parse_scheme(asked, &url) < 0)
		return -EINVAL;
	end = url + strcspn(url, "/?#");
	if (why_parse_authority(asked, url, (size_t)(end - url), asked->uses_tls ? 443 : 80) < 0)
		return -EINVAL;
	if (net_path_normalise(*end == '/' ? end : "/", *end == '/' ? strlen(end) : 1, asked->url_path, NULL) < 0)
		return why_set_mistake(asked, "has a path that is refused in every request (escaped dots or slashes, "
						 "spaces, \"#\", too long)");
	return 0;
}

/* ---- deciding ---- */

/* Judges the connection of the question and, if it is allowed, its request. */
static void why_judge_endpoint(struct net_question *asked)
{
	const struct policy *policy = asked->policy;
	struct net_verdict *verdict = &asked->verdict;

	if (!policy_net_is_enabled(policy)) {
		*verdict = (struct net_verdict){.reason = "no_network"};
		return;
	}
	*verdict = policy_net_judge_connect(policy, asked->host, asked->port, asked->uses_udp);
	asked->rule = verdict->rule;
	if (!verdict->is_allowed)
		return;
	asked->callgate_sees_requests = policy_net_judges_requests(policy, verdict->rule, asked->host, asked->port);
	if (asked->is_request)
		*verdict = policy_net_judge_url(policy, &(struct net_request){asked->host, asked->port, asked->uses_tls,
									      asked->wants_upgrade, asked->http_method,
									      asked->url_path});
}

static const char *why_get_proto_name(const struct net_question *asked)
{
	if (asked->verdict.rule)
		return net_proto_get_name(asked->verdict.rule->proto);
	if (asked->is_request)
		return net_proto_get_name(asked->uses_tls ? NET_HTTPS : NET_HTTP);
	return asked->uses_udp ? "udp" : "tcp";
}

/* Returns the object of the question: "GET https://host:port/path" or "host:port". Owned. */
static char *why_format_subject(const struct net_question *asked)
{
	if (asked->is_request)
		return text_format("%s %s%s://%s%s", asked->http_method, asked->wants_upgrade ? "ws" : "http",
				   asked->uses_tls ? "s" : "", asked->endpoint, asked->url_path);
	return text_format("%s%s", asked->endpoint, asked->uses_udp ? "/udp" : "");
}

/* Says whether callgate sees the requests of a connection, or passes its bytes on. */
static const char *why_describe_interception(const struct net_question *asked)
{
	const struct net_rule *rule = asked->verdict.rule;

	if (!rule || (rule->proto != NET_HTTPS && rule->proto != NET_HTTP))
		return "no: bytes pass as they are";
	if (rule->proto == NET_HTTP)
		return "yes: each request is judged";
	return asked->callgate_sees_requests ? "yes: TLS ends at callgate, each request is judged"
			     : "no: only the name in the TLS handshake is checked";
}

/* ---- judging the addresses of a host ---- */

/* The addresses that are known without a look-up: of "resolve", or the host itself. Returns how many. */
static size_t why_resolve_host(const struct net_question *asked, struct sockaddr_storage address[NET_ADDRESSES_MAX])
{
	size_t count = policy_net_get_fixed_addresses(asked->policy, asked->host, address, NET_ADDRESSES_MAX);
	struct sockaddr_in *v4 = (struct sockaddr_in *)(void *)address;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(void *)address;

	if (count)
		return count;
	if (inet_pton(AF_INET, asked->host, &v4->sin_addr) == 1)
		v4->sin_family = AF_INET;
	else if (inet_pton(AF_INET6, asked->host, &v6->sin6_addr) == 1)
		v6->sin6_family = AF_INET6;
	else
		return 0;
	return 1;
}

/* Resolves the host of the question, and judges each of its addresses. */
static void why_judge_addresses(struct net_question *asked)
{
	enum net_lifted_refusals lift =
		asked->rule && asked->rule->allows_private_addresses ? NET_LIFT_PRIVATE_AND_LOOPBACK : NET_LIFT_NONE;
	struct sockaddr_storage address[NET_ADDRESSES_MAX] = {0};

	asked->known_address_count = why_resolve_host(asked, address);
	for (size_t i = 0; i < asked->known_address_count; i++) {
		const struct sockaddr *at = (const struct sockaddr *)&address[i];
		bool denied = !policy_net_judge_address(asked->policy, at, asked->port).is_allowed;
		struct net_known_address *known = &asked->known_addresses[i];

		net_address_format(at, known->address_text);
		known->not_public_class = denied ? "denied_by_rule" : net_address_get_nonpublic_class(at);
		known->is_refused = denied || (known->not_public_class && net_address_get_refusal_reason(at, lift));
		if (!asked->why_never_allowed)
			asked->why_never_allowed = net_address_get_refusal_reason(at, NET_LIFT_PRIVATE_AND_LOOPBACK);
	}
}

/* Prints which addresses the connection may use. */
static void why_print_addresses(struct buf *text, const struct net_question *asked)
{
	bool private = asked->verdict.rule && asked->verdict.rule->allows_private_addresses;

	for (size_t i = 0; i < asked->known_address_count; i++) {
		const struct net_known_address *known = &asked->known_addresses[i];

		buf_printf(text, "  address   %s: %s%s%s\n", known->address_text,
			   known->not_public_class ? known->not_public_class : "", known->not_public_class ? ", " : "",
			   known->is_refused         ? "refused"
			   : known->not_public_class ? "permitted by \"private\""
						     : "public");
	}
	if (asked->known_address_count > 0 || !asked->verdict.is_allowed)
		return;
	if (private)
		buf_puts(text, "  addresses also private ones; loopback, link-local and metadata never\n");
	else
		buf_printf(text, "  addresses public ones only: others are dropped when the name is looked up; private "
				 "ones\n            need --allow-private %s\n",
			   asked->endpoint);
}

/* The option or rule that would allow the access, owned; NULL: it is allowed already. */
static char *why_suggest_rule(const struct net_question *asked)
{
	if (asked->verdict.is_allowed)
		return NULL;
	if (strcmp(asked->verdict.reason, "denied_by_rule") == 0)
		return text_format("no rule can: a deny beats everything; remove %s", asked->verdict.label);
	if (asked->why_never_allowed)
		return text_format("no rule can: the address is never connected to (%s)", asked->why_never_allowed);
	if (strcmp(asked->verdict.reason, "proto_not_granted") == 0)
		return strdup("one endpoint has one protocol; change the rule's \"proto\"");
	if (asked->is_request &&
	    !net_http_rule_can_name(asked->wants_upgrade ? NULL : asked->http_method, asked->url_path))
		return strdup("no rule permits just this: its method or path would mean something else there");
	if (asked->is_request)
		return text_format("--allow '%s %s://%s%s'", asked->wants_upgrade ? "WEBSOCKET" : asked->http_method,
				   asked->uses_tls ? "https" : "http", asked->endpoint, asked->url_path);
	if (asked->uses_udp)
		return text_format("in a policy {\"version\": 1, \"network\": {\"allow\": [{\"host\": \"%s\", "
				   "\"port\": %u, \"proto\": \"udp\"}]}}",
				   asked->host, asked->port);
	if (asked->known_address_count > 0 && asked->known_addresses[0].not_public_class &&
	    strcmp(asked->known_addresses[0].not_public_class, "loopback") == 0)
		return text_format("--listen %u for a server of the run's own, or --allow-host %s for one of the host",
				   asked->port, asked->endpoint);
	return text_format("--allow-host %s, or in a policy {\"version\": 1, \"network\": {\"allow\": "
			   "[{\"host\": \"%s\", \"port\": %u}]}}",
			   asked->endpoint, asked->host, asked->port);
}

/* Whether a denied request is asked about. */
static bool why_request_is_asked_about(const struct net_question *asked)
{
	return asked->is_request && asked->callgate_sees_requests &&
	       strcmp(asked->verdict.reason, "proto_not_granted") != 0 &&
	       policy_net_judge_asked_request(asked->policy, asked->host, asked->port, asked->http_method,
					      asked->url_path, asked->wants_upgrade)
		       .is_allowed;
}

/* What a denial leads to, besides the errno: "ask", "kill" …; NULL: nothing. */
static const char *why_get_effect_of_denial(const struct net_question *asked)
{
	const enum policy_on_deny mode = policy_find_on_deny(asked->policy, asked->verdict.label);

	if (!asked->verdict.is_allowed && why_request_is_asked_about(asked))
		return policy_on_deny_get_name(ON_DENY_ASK);
	if (asked->verdict.is_allowed || mode == ON_DENY_ERRNO || !policy_net_is_enabled(asked->policy))
		return NULL;
	if (policy_on_deny_asks(mode) &&
	    (mode == ON_DENY_ASK_FILE || asked->callgate_sees_requests ||
	     !policy_net_judge_answered_connect(asked->policy, asked->host, asked->port, asked->uses_udp).is_allowed))
		return NULL;
	return policy_on_deny_get_name(mode);
}

static int why_print_text(const struct net_question *asked)
{
	const struct net_verdict *verdict = &asked->verdict;
	_cleanup_free_ char *what = why_format_subject(asked), *suggestion = why_suggest_rule(asked);
	_cleanup_buf_ struct buf text = {0};

	buf_printf(&text, "%s %s %s\n", verdict_get_name(verdict->is_allowed ? VERDICT_ALLOW : VERDICT_DENY),
		   asked->is_request ? "request" : "connect", what ? what : "");
	buf_printf(&text, "  rule      %s\n", verdict->label ? verdict->label : "none: what no rule allows is refused");
	buf_printf(&text, "  reason    %s\n", verdict->reason);
	buf_printf(&text, "  proto     %s\n", why_get_proto_name(asked));
	if (verdict->is_allowed)
		buf_printf(&text, "  opened    %s\n", why_describe_interception(asked));
	else
		buf_printf(&text, "  answer    %s\n",
			   asked->callgate_sees_requests ? "status 403 to the request" : "ECONNREFUSED to the connect");
	if (why_get_effect_of_denial(asked))
		buf_printf(&text, "  then      %s\n", why_get_effect_of_denial(asked));
	if (verdict->rule && verdict->rule->credential_header)
		buf_printf(&text, "  header    %s: %s\n", verdict->rule->credential_header,
			   verdict->rule->credential_value);
	why_print_addresses(&text, asked);
	if (suggestion)
		buf_printf(&text, "  to allow  %s\n", suggestion);
	return cli_print_buf("why", &text);
}

static json_t *why_make_addresses_json(const struct net_question *asked)
{
	json_t *list = json_array();

	for (size_t i = 0; i < asked->known_address_count; i++)
		(void)json_array_append_new(list, json_pack("{s:s, s:s?, s:b}", "address",
							    asked->known_addresses[i].address_text, "kind",
							    asked->known_addresses[i].not_public_class, "refused",
							    (int)asked->known_addresses[i].is_refused));
	return list;
}

static int why_print_json(const struct net_question *asked)
{
	const struct net_verdict *verdict = &asked->verdict;
	const struct net_rule *rule = verdict->rule;
	_cleanup_free_ char *suggestion = why_suggest_rule(asked);
	json_t *object = json_pack(
		"{s:s, s:s, s:s, s:i, s:s, s:s?, s:s?, s:s?, s:s, s:s?, s:b, s:s?, s:o, s:s?, s:s?}", "verdict",
		verdict_get_name(verdict->is_allowed ? VERDICT_ALLOW : VERDICT_DENY), "op",
		asked->is_request ? "request" : "connect", "host", asked->host, "port", (int)asked->port, "proto",
		why_get_proto_name(asked), "method", asked->is_request ? asked->http_method : NULL, "path",
		asked->is_request ? asked->url_path : NULL, "rule", verdict->label, "reason", verdict->reason, "errno",
		verdict->is_allowed || asked->callgate_sees_requests ? NULL : "ECONNREFUSED", "opened",
		asked->callgate_sees_requests, "header", rule ? rule->credential_header : NULL, "addresses",
		why_make_addresses_json(asked), "suggest", suggestion, "then", why_get_effect_of_denial(asked));

	return cli_print_json("why", object);
}

int why_answer_net(const struct policy *policy, const char *text, bool url, bool json)
{
	struct net_question asked = {.policy = policy};
	int exit_code;

	if ((url ? why_parse_url : why_parse_connect)(&asked, text) < 0) {
		cli_print_error("why", "%s: %s", text, asked.mistake);
		return CLI_EXIT_ERROR;
	}
	why_judge_endpoint(&asked);
	why_judge_addresses(&asked);
	exit_code = json ? why_print_json(&asked) : why_print_text(&asked);
	return exit_code == CLI_EXIT_OK && !asked.verdict.is_allowed ? 1 : exit_code;
}

/* ---- questions about listening ---- */

/* Decides about listening at the port that `text` names. 0, or -EINVAL: it names no port. */
static int why_decide_listen(const struct policy *policy, const char *text, uint64_t *ret_port,
			     struct net_verdict *ret_verdict)
{
	if (text_parse_number(text, 0, 65535, ret_port) < 0)
		return -EINVAL;
	*ret_verdict = policy_net_is_enabled(policy) ? policy_net_judge_listen(policy, (unsigned)*ret_port)
						     : (struct net_verdict){.reason = "no_network"};
	return 0;
}

int why_decide_net(const struct policy *policy, enum why_kind kind, const char *text, struct net_verdict *ret_verdict,
		   struct policy_question *ret_question, const char **ret_wrong)
{
	struct net_question asked = {.policy = policy, .mistake = not_a_port};
	uint64_t port = 0;
	int ret;

	if (kind == WHY_LISTEN)
		ret = why_decide_listen(policy, text, &port, &asked.verdict);
	else
		ret = (kind == WHY_URL ? why_parse_url : why_parse_connect)(&asked, text);
	*ret_wrong = asked.mistake;
	if (ret < 0)
		return ret;
	if (kind == WHY_LISTEN)
		asked.port = (unsigned)port;
	else
		why_judge_endpoint(&asked);
	*ret_verdict = asked.verdict;
	ret_question->kind = kind == WHY_LISTEN ? POLICY_QUESTION_LISTEN
			     : kind == WHY_URL  ? POLICY_QUESTION_REQUEST
						: POLICY_QUESTION_CONNECT;
	ret_question->port = asked.port;
	ret_question->udp = asked.uses_udp;
	ret_question->asks_for_websocket = asked.wants_upgrade;
	memcpy(ret_question->host, asked.host, sizeof(asked.host));
	memcpy(ret_question->method, asked.http_method, sizeof(asked.http_method));
	memcpy(ret_question->path, asked.url_path, sizeof(asked.url_path));
	return 0;
}

int why_answer_listen(const struct policy *policy, const char *text, bool json)
{
	_cleanup_free_ char *suggestion = NULL;
	_cleanup_buf_ struct buf answer = {0};
	struct net_verdict verdict;
	const char *name;
	uint64_t port;
	int exit_code;

	if (why_decide_listen(policy, text, &port, &verdict) < 0) {
		cli_print_error("why", "%s: %s", text, not_a_port);
		return CLI_EXIT_ERROR;
	}
	name = verdict_get_name(verdict.is_allowed ? VERDICT_ALLOW : VERDICT_DENY);
	suggestion = verdict.is_allowed ? NULL : text_format("--listen %s", text);
	if (json) {
		exit_code = cli_print_json(
			"why", json_pack("{s:s, s:s, s:i, s:s?, s:s, s:s?, s:s?}", "verdict", name, "op", "listen",
					 "port", (int)port, "rule", verdict.label, "reason", verdict.reason, "errno",
					 verdict.is_allowed ? NULL : "EACCES", "suggest", suggestion));
		return exit_code == CLI_EXIT_OK && !verdict.is_allowed ? 1 : exit_code;
	}
	buf_printf(&answer, "%s listen %s\n  rule      %s\n  reason    %s\n", name, text,
		   verdict.label ? verdict.label : "none: what no rule allows is refused", verdict.reason);
	if (!verdict.is_allowed)
		buf_printf(&answer, "  to allow  %s\n", suggestion ? suggestion : "");
	exit_code = cli_print_buf("why", &answer);
	return exit_code == CLI_EXIT_OK && !verdict.is_allowed ? 1 : exit_code;
}
