#include "tests/unit/policy/generate.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define PICK(state, list) (list)[generate_number((state), sizeof(list) / sizeof((list)[0]))]

static const char *const hosts[] = {"a.test",     "b.a.test",   "c.b.a.test",  "*.a.test",
				    "**.a.test",  "*.b.a.test", "**.b.a.test", "192.0.2.1"};
static const char *const plain_hosts[] = {"a.test", "b.a.test", "c.b.a.test", "x.a.test", "x.y.a.test", "192.0.2.1"};
static const char *const requests[] = {"GET /**",      "GET /a/**",       "POST /a/*",         "GET,POST /a/*/b",
				       "* /b/**/a",    "WEBSOCKET /b/**", "DELETE /a*/b*/**", "PUT /a/"};
static const char *const request_paths[] = {"/", "/a", "/a/", "/a/b", "/a/b/b", "/b", "/b/a", "/b/x/y/a", "/ax/bx/c"};
static const int ports[] = {443, 80, 8443};

static uint64_t start; /* 0: the usual seeds */

int generate_count(int usual)
{
	const char *times = getenv("CALLGATE_SEEDS"), *given = getenv("CALLGATE_START");

	if (!times)
		return usual;
	if (given)
		start = strtoull(given, NULL, 0);
	else if (getrandom(&start, sizeof(start), 0) != (ssize_t)sizeof(start))
		abort();
	printf("CALLGATE_START=%#" PRIx64 "\n", start);
	(void)fflush(stdout);
	return usual * (int)strtoul(times, NULL, 10);
}

uint64_t generate_seed(uint64_t salt, int index)
{
	return ((salt ^ start) | 1) * (uint64_t)(index + 1);
}

unsigned generate_number(uint64_t *state, unsigned bound)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (unsigned)((*state * UINT64_C(0x2545f4914f6cdd1d) >> 33) % bound);
}

void generate_path(uint64_t *state, char ret_path[GENERATED_PATH_MAX])
{
	static const char *const names[] = {"a", "b", "ab", "a1", "1b", "c", "z", "aXb"};
	size_t len = 0;

	for (unsigned depth = generate_number(state, 5); depth > 0; depth--)
		len += (size_t)snprintf(ret_path + len, GENERATED_PATH_MAX - len, "/%s", PICK(state, names));
	if (len == 0)
		(void)snprintf(ret_path, GENERATED_PATH_MAX, "/");
}

static void generate_rule_path(uint64_t *state, bool globs, bool anywhere, char path[GENERATED_PATH_MAX])
{
	static const char *const names[] = {"a", "b", "c", "ab", "a", "b", "*", "a*", "*b", "a*b", "**"};
	size_t len = anywhere && generate_number(state, 3) == 0
			     ? (size_t)snprintf(path, GENERATED_PATH_MAX, "**")
			     : 0;

	for (unsigned depth = 1 + generate_number(state, 3); depth > 0; depth--)
		len += (size_t)snprintf(path + len, GENERATED_PATH_MAX - len, "/%s",
					names[generate_number(state, globs ? 11 : 6)]);
}

static void generate_list(uint64_t *state, json_t *section, const char *key, unsigned most, bool globs, bool anywhere)
{
	json_t *list = json_array();
	char path[GENERATED_PATH_MAX];

	for (unsigned count = generate_number(state, most + 1); count > 0; count--) {
		generate_rule_path(state, globs, anywhere, path);
		json_array_append_new(list, generate_number(state, 8) == 0
						    ? json_pack("{s:s, s:s}", "path", path, "because", "a reason")
						    : json_string(path));
	}
	json_object_set_new(section, key, list);
}

static json_t *generate_redirects(uint64_t *state)
{
	json_t *list = json_array();
	char from[GENERATED_PATH_MAX], to[GENERATED_PATH_MAX];

	for (unsigned count = generate_number(state, 6) / 4; count > 0; count--) {
		generate_rule_path(state, false, false, from);
		generate_rule_path(state, false, false, to);
		json_array_append_new(list, generate_number(state, 2)
						    ? json_pack("{s:s, s:s}", "from", from, "to", to)
						    : json_pack("{s:s, s:s}", "from", from, "to", "@scratch/r"));
	}
	return list;
}

static json_t *generate_filesystem(uint64_t *state)
{
	json_t *section = json_object();
	char path[GENERATED_PATH_MAX];

	generate_list(state, section, "read", 4, true, false);
	generate_list(state, section, "write", 2, true, false);
	generate_list(state, section, "exec", 2, true, false);
	generate_list(state, section, "deny", 3, true, true);
	generate_list(state, section, "public", 1, false, false);
	generate_list(state, section, "private", 2, true, true);
	json_object_set_new(section, "redirect", generate_redirects(state));
	generate_rule_path(state, false, false, path);
	if (generate_number(state, 4) == 0)
		json_object_set_new(section, "provide", json_pack("{s:s}", path, "content\n"));
	return section;
}

static json_t *generate_allow(uint64_t *state)
{
	int port = PICK(state, ports);
	json_t *rule = json_pack("{s:s, s:i}", "host", PICK(state, hosts), "port", port), *http = json_array();

	if (port == 8443)
		json_object_set_new(rule, "proto", json_string(generate_number(state, 2) ? "https" : "udp"));
	for (unsigned count = generate_number(state, 3); count > 0; count--)
		json_array_append_new(http, json_string(PICK(state, requests)));
	if (json_array_size(http) && strcmp("udp", json_string_value(json_object_get(rule, "proto"))
							   ? json_string_value(json_object_get(rule, "proto"))
							   : "") != 0)
		json_object_set(rule, "http", http);
	json_decref(http);
	return rule;
}

static json_t *generate_network(uint64_t *state)
{
	static const char *const ranges[] = {"8000-8010", "8005-9000", "80-8005", "*"};
	json_t *allow = json_array(), *deny = json_array(), *listen = json_array();

	for (unsigned count = generate_number(state, 4); count > 0; count--)
		json_array_append_new(allow, generate_allow(state));
	for (unsigned count = generate_number(state, 2); count > 0; count--)
		json_array_append_new(deny, generate_number(state, 2)
						    ? json_pack("{s:s}", "host", PICK(state, hosts))
						    : json_pack("{s:s, s:i}", "host", PICK(state, hosts), "port",
								PICK(state, ports)));
	if (generate_number(state, 2))
		json_array_append_new(listen, json_string(PICK(state, ranges)));
	return json_pack("{s:o, s:o, s:o}", "allow", allow, "deny", deny, "listen", listen);
}

json_t *generate_policy(uint64_t *state)
{
	json_t *policy = json_pack("{s:i, s:o}", "version", 1, "filesystem", generate_filesystem(state)), *exec;

	exec = json_object();
	generate_list(state, exec, "deny", 1, true, true);
	json_object_set_new(policy, "exec", exec);
	if (generate_number(state, 4))
		json_object_set_new(policy, "network", generate_network(state));
	if (generate_number(state, 2))
		json_object_set_new(policy, "limits", json_pack("{s:i}", "pids", 1 + generate_number(state, 3)));
	if (generate_number(state, 2))
		json_object_set_new(policy, "env", json_pack("{s:[s]}", "pass", generate_number(state, 2) ? "A" : "B"));
	return policy;
}

static void shuffle(uint64_t *state, json_t *value);

static void shuffle_members(uint64_t *state, json_t *object)
{
	for (size_t left = json_object_size(object); left > 0; left--) {
		void *at = json_object_iter(object);
		json_t *member;
		char name[GENERATED_PATH_MAX];

		for (unsigned skip = generate_number(state, (unsigned)left); skip > 0; skip--)
			at = json_object_iter_next(object, at);
		(void)snprintf(name, sizeof(name), "%s", json_object_iter_key(at));
		member = json_incref(json_object_iter_value(at));
		shuffle(state, member);
		json_object_del(object, name);
		json_object_set_new(object, name, member); /* behind all others */
	}
}

static void shuffle(uint64_t *state, json_t *value)
{
	if (json_is_object(value))
		shuffle_members(state, value);
	for (size_t left = json_is_array(value) ? json_array_size(value) : 0; left > 0; left--) {
		size_t at = generate_number(state, (unsigned)left);

		shuffle(state, json_array_get(value, at));
		json_array_append(value, json_array_get(value, at));
		json_array_remove(value, at);
	}
}

json_t *generate_shuffled(uint64_t *state, const json_t *policy)
{
	json_t *copy = json_deep_copy(policy);

	shuffle(state, copy);
	return copy;
}

void generate_endpoint(uint64_t *state, char ret_text[GENERATED_TEXT_MAX])
{
	(void)snprintf(ret_text, GENERATED_TEXT_MAX, "%s:%d%s", PICK(state, plain_hosts),
		       generate_number(state, 6) ? PICK(state, ports) : 5, generate_number(state, 4) ? "" : "/udp");
}

void generate_url(uint64_t *state, char ret_text[GENERATED_TEXT_MAX])
{
	static const char *const methods[] = {"GET", "POST", "PUT", "DELETE", "PATCH"};
	static const char *const schemes[] = {"https", "http", "https", "wss"};

	const char *scheme = PICK(state, schemes);

	(void)snprintf(ret_text, GENERATED_TEXT_MAX, "%s %s://%s:%d%s",
		       *scheme == 'w' ? "GET" : PICK(state, methods), scheme, PICK(state, plain_hosts),
		       PICK(state, ports), PICK(state, request_paths));
}
