#include <string.h>

#include "policy/parse/keys.h"
#include "policy/policy.h"

/* clang-format off */
static const struct policy_key keys[] = {
	{"", "$schema", KEY_STRING, KEY_ID_NONE, "for editors; ignored"},
	{"", "version", KEY_FORMAT_VERSION, KEY_ID_NONE, "version of the format: 1"},
	{"", "name", KEY_STRING, KEY_ID_NAME, "what results and records call the policy"},
	{"", "description", KEY_STRING, KEY_ID_NONE, "for people; ignored"},
	{"", "extends", KEY_STRING_LIST, KEY_ID_EXTENDS, "profiles and files this one builds on"},
	{"", "workdir", KEY_PATH, KEY_ID_WORKDIR, "name of the working directory in the view"},

	{"", "filesystem", KEY_OBJECT, KEY_ID_NONE, "the files that the program sees"},
	{"paths[]", "path", KEY_PATH, KEY_ID_NONE, "a path or glob, as without the object"},
	{"paths[]", "because", KEY_STRING, KEY_ID_NONE, "for people: why the rule is there"},
	{"paths[]", "also_grants", KEY_OBJECT, KEY_ID_NONE, "for people: what the rule grants without need"},
	{"paths[].also_grants", "count", KEY_NUMBER, KEY_ID_NONE, "how many files"},
	{"paths[].also_grants", "names", KEY_STRING_LIST, KEY_ID_COMMENT, "the most sensitive of them"},
	{"paths[]", "disabled", KEY_STRING, KEY_ID_NONE, "why the rule is not applied"},
	{"paths[]", "on_deny", KEY_ON_DENY_WORD, KEY_ID_NONE, "what a denial by this rule does to the process"},
	{"paths[]", "on_read", KEY_ON_READ_WORD, KEY_ID_NONE, "decoys: what reading does to the run; default: flag"},
	{"filesystem", "read", KEY_PATH_LIST, KEY_ID_READ, "may be seen, read and listed"},
	{"filesystem", "write", KEY_PATH_LIST, KEY_ID_WRITE, "may be changed as well"},
	{"filesystem", "exec", KEY_PATH_LIST, KEY_ID_EXEC, "may be executed as well"},
	{"filesystem", "deny", KEY_PATH_LIST, KEY_ID_DENY, "EACCES at and below a match, whatever else is granted"},
	{"filesystem", "ask", KEY_PATH_LIST, KEY_ID_ASK, "denied, unless an approver permits the call"},
	{"filesystem", "public", KEY_PATH_LIST, KEY_ID_PUBLIC,
	 "may be seen, read and listed as far as everybody on the host may; no globs"},
	{"filesystem", "private", KEY_PATH_LIST, KEY_ID_PRIVATE, "not granted by public; other grants still apply"},
	{"filesystem", "redirect", KEY_OBJECT_LIST, KEY_ID_REDIRECT, "names that lead to another host path"},
	{"filesystem.redirect[]", "from", KEY_PATH, KEY_ID_NONE, "name in the view"},
	{"filesystem.redirect[]", "to", KEY_PATH, KEY_ID_NONE,
	 "host path: @workdir/..., @scratch/... or a granted path"},
	{"filesystem.redirect[]", "because", KEY_STRING, KEY_ID_NONE, "for people: why the rule is there"},
	{"filesystem.redirect[]", "disabled", KEY_STRING, KEY_ID_NONE, "why the rule is not applied"},
	{"filesystem", "provide", KEY_FILES_BY_PATH, KEY_ID_PROVIDE, "files whose content the policy supplies"},
	{"filesystem.provide{}", "from", KEY_STRING, KEY_ID_NONE,
	 "file:PATH (relative to the policy), account:passwd, account:group, machine:hostname or machine:hosts"},
	{"filesystem", "decoy", KEY_PATH_LIST, KEY_ID_DECOY, "files with plausible but invented content"},

	{"", "exec", KEY_OBJECT, KEY_ID_NONE, "limits on execution"},
	{"exec", "deny", KEY_PATH_LIST, KEY_ID_EXEC_DENY, "never executed, though it may be read"},
	{"exec", "ask", KEY_PATH_LIST, KEY_ID_EXEC_ASK, "not executed, unless an approver permits it"},

	{"", "env", KEY_OBJECT, KEY_ID_NONE, "the program's environment"},
	{"env", "pass", KEY_STRING_LIST, KEY_ID_ENV_PASS, "variables passed on when set; a name may end in *"},
	{"env", "set", KEY_STRINGS_BY_NAME, KEY_ID_ENV_SET, "variables with a value"},

	{"", "limits", KEY_OBJECT, KEY_ID_NONE, "bounds of a run"},
	{"limits", "wall", KEY_DURATION, KEY_ID_LIMIT, "wall-clock time"},
	{"limits", "cpu", KEY_DURATION, KEY_ID_LIMIT, "processor time of all processes together"},
	{"limits", "memory", KEY_SIZE_OR_NONE, KEY_ID_LIMIT, "memory of all processes together"},
	{"limits", "pids", KEY_NUMBER_OR_NONE, KEY_ID_LIMIT, "processes and threads at a time"},
	{"limits", "open_files", KEY_NUMBER_OR_NONE, KEY_ID_LIMIT, "descriptors of one process"},
	{"limits", "file_size", KEY_SIZE_OR_NONE, KEY_ID_LIMIT, "size of one file"},
	{"limits", "disk", KEY_SIZE_OR_NONE, KEY_ID_LIMIT, "what the run adds to the disk, wherever it may write"},
	{"limits", "stdout", KEY_SIZE, KEY_ID_LIMIT, "bytes shown; the rest is spilled and counted"},
	{"limits", "stderr", KEY_SIZE, KEY_ID_LIMIT, "bytes shown; the rest is spilled and counted"},
	{"limits", "audit", KEY_SIZE_OR_NONE, KEY_ID_LIMIT, "size of the audit log"},

	{"", "network", KEY_NETWORK_OR_NONE, KEY_ID_NONE,
	 "which endpoints exist; \"none\": no network, whatever extended files allow"},
	{"network", "default", KEY_NETWORK_DEFAULT_WORD, KEY_ID_NONE, "what is not allowed is denied"},
	{"network", "extends", KEY_STRING_LIST, KEY_ID_NET_EXTENDS,
	 "profiles and files of which only the network is taken"},
	{"network", "allow", KEY_OBJECT_LIST, KEY_ID_NET_ALLOW, "endpoints that may be reached"},
	{"network.allow[]", "host", KEY_STRING, KEY_ID_NONE,
	 "name, *.NAME (one label), **.NAME (any number) or address"},
	{"network.allow[]", "port", KEY_PORT_OR_PORT_LIST, KEY_ID_NONE, "port or ports; default: 443"},
	{"network.allow[]", "proto", KEY_PROTOCOL_WORD, KEY_ID_NONE, "protocol; default: by the port"},
	{"network.allow[]", "http", KEY_STRING_LIST, KEY_ID_NONE, "allowed requests: METHOD,... /path; default: all"},
	{"network.allow[]", "credential", KEY_OBJECT, KEY_ID_NONE, "header added to allowed requests"},
	{"network.allow[].credential", "header", KEY_STRING, KEY_ID_NONE, "its name"},
	{"network.allow[].credential", "value", KEY_STRING, KEY_ID_NONE, "its value with {NAME} for a secret"},
	{"network.allow[]", "any_body", KEY_BOOL, KEY_ID_NONE,
	 "GET, HEAD, DELETE and OPTIONS may have content as well"},
	{"network.allow[]", "private", KEY_BOOL, KEY_ID_NONE, "addresses that are not public are allowed, too"},
	{"network.allow[]", "dns", KEY_DNS_ANSWER_WORD, KEY_ID_NONE, "the answer the program gets for the name"},
	{"network.allow[]", "max_bytes_up", KEY_SIZE_OR_NONE, KEY_ID_NONE, "bytes the program may send"},
	{"network.allow[]", "max_bytes_down", KEY_SIZE_OR_NONE, KEY_ID_NONE, "bytes the program may receive"},
	{"network.allow[]", "max_bytes_per_second", KEY_SIZE_OR_NONE, KEY_ID_NONE, "both ways together"},
	{"network.allow[]", "requests_per_minute", KEY_NUMBER_OR_NONE, KEY_ID_NONE, "rate of requests"},
	{"network.allow[]", "max_requests", KEY_NUMBER_OR_NONE, KEY_ID_NONE, "requests of a run"},
	{"network.allow[]", "max_connections", KEY_NUMBER_OR_NONE, KEY_ID_NONE, "connections at a time"},
	{"network.allow[]", "reason", KEY_STRING, KEY_ID_NONE, "for people: why"},
	{"network.allow[]", "disabled", KEY_STRING, KEY_ID_NONE, "why the rule is not applied"},
	{"network.allow[]", "on_deny", KEY_ON_DENY_WORD_OF_NETWORK, KEY_ID_NONE,
	 "what a denial by this rule does to the process"},
	{"network", "deny", KEY_OBJECT_LIST, KEY_ID_NET_DENY, "endpoints that are denied, whatever is allowed"},
	{"network.deny[]", "host", KEY_STRING, KEY_ID_NONE, "name, wildcard or address"},
	{"network.deny[]", "port", KEY_PORT_OR_PORT_LIST, KEY_ID_NONE, "port or ports; default: all"},
	{"network.deny[]", "reason", KEY_STRING, KEY_ID_NONE, "for people: why not"},
	{"network.deny[]", "disabled", KEY_STRING, KEY_ID_NONE, "why the rule is not applied"},
	{"network.deny[]", "on_deny", KEY_ON_DENY_WORD_OF_NETWORK, KEY_ID_NONE,
	 "what a denial by this rule does to the process"},
	{"network", "ask", KEY_OBJECT_LIST, KEY_ID_NET_ASK, "endpoints that are denied, unless an approver permits it"},
	{"network.ask[]", "host", KEY_STRING, KEY_ID_NONE, "name, wildcard or address"},
	{"network.ask[]", "port", KEY_PORT_OR_PORT_LIST, KEY_ID_NONE, "port or ports; default: all; with http: 443"},
	{"network.ask[]", "proto", KEY_PROTOCOL_WORD, KEY_ID_NONE, "with http: protocol; default: by the port"},
	{"network.ask[]", "http", KEY_STRING_LIST, KEY_ID_NONE,
	 "requests that are asked about: METHOD,... /path; default: each connection is asked about"},
	{"network.ask[]", "any_body", KEY_BOOL, KEY_ID_NONE,
	 "with http: GET, HEAD, DELETE and OPTIONS may have content as well"},
	{"network.ask[]", "private", KEY_BOOL, KEY_ID_NONE,
	 "with http: addresses that are not public are allowed, too"},
	{"network.ask[]", "reason", KEY_STRING, KEY_ID_NONE, "for people: why it is asked about"},
	{"network.ask[]", "disabled", KEY_STRING, KEY_ID_NONE, "why the rule is not applied"},
	{"network", "listen", KEY_PORT_RANGE_LIST, KEY_ID_NONE,
	 "ports of the run's loopback that the program may listen on"},
	{"network", "resolve", KEY_ADDRESSES_BY_HOST, KEY_ID_NONE, "fixed addresses of names"},
	{"network", "upstream_ca", KEY_PATH, KEY_ID_NET_UPSTREAM_CA,
	 "PEM file with further root certificates to verify servers with"},
	{"network", "proxy", KEY_BOOL_OR_ENV, KEY_ID_NONE,
	 "offer an HTTP and SOCKS5 proxy; \"env\": and name it in the environment"},
	{"network", "pool", KEY_OBJECT, KEY_ID_NONE, "networks of the synthetic addresses of names"},
	{"network.pool", "v4", KEY_STRING, KEY_ID_NET_POOL_V4, "default: 198.18.0.0/15"},
	{"network.pool", "v6", KEY_STRING, KEY_ID_NET_POOL_V6, "default: fd00:5a::/32"},

	{"", "secrets", KEY_SECRETS_BY_NAME, KEY_ID_NONE, "values that replace placeholders in the program's requests"},
	{"secrets{}", "from", KEY_STRING, KEY_ID_NONE, "env:NAME, file:PATH, fd:N or command:..."},
	{"secrets{}", "hosts", KEY_STRING_LIST, KEY_ID_NONE, "hosts that it may be sent to"},

	{"", "process", KEY_OBJECT, KEY_ID_NONE, "processes of the run"},
	{"process", "max", KEY_NUMBER_OR_NONE, KEY_ID_PROCESS_MAX, "the same as limits.pids"},
	{"process", "unix_datagrams", KEY_BOOL, KEY_ID_PROCESS_DATAGRAMS,
	 "unix datagram sockets among the run's processes; every sendmsg is then judged"},

	{"", "audit", KEY_OBJECT, KEY_ID_NONE, "the audit log"},
	{"audit", "file", KEY_PATH, KEY_ID_AUDIT_FILE, "path of the log"},
	{"audit", "allowed", KEY_BOOL, KEY_ID_AUDIT_ALLOWED, "record allowed calls, too"},
	{"audit", "compact", KEY_BOOL, KEY_ID_AUDIT_COMPACT, "leave out of a record what earlier ones say"},
	{"audit", "fstat", KEY_BOOL, KEY_ID_AUDIT_FSTAT, "judge and record each fstat of C libraries, too"},

	{"", "user", KEY_STRING, KEY_ID_USER, "user of the run when root starts callgate"},
	{"", "require", KEY_LAYER_LIST, KEY_ID_REQUIRE, "layers without which nothing is run"},

	{"", "inspect", KEY_OBJECT, KEY_ID_NONE, "looking at the program before callgate run starts it"},
	{"inspect", "refuse", KEY_FINDING_LIST, KEY_ID_INSPECT_REFUSE,
	 "kinds or levels of findings with which it is not started"},
	{"inspect", "warn", KEY_FINDING_LIST, KEY_ID_INSPECT_WARN, "kinds or levels of findings that are printed"},
	{"inspect", "modules", KEY_STRING_LIST, KEY_ID_INSPECT_MODULES,
	 "what else than the language's library and files of its own may be imported; default: all"},

	{"", "workspace", KEY_OBJECT, KEY_ID_NONE, "where what the program writes to the host's directories goes"},
	{"workspace", "mode", KEY_WORKSPACE_WORD, KEY_ID_WORKSPACE_MODE,
	 "cow: the directory of -w stays as it is, as with --cow; default: direct"},
	{"workspace", "directories", KEY_STRING_LIST, KEY_ID_WORKSPACE_DIRECTORIES,
	 "further directories that stay as they are, as with --cow-dir; they grant nothing"},
	{"", "libraries", KEY_OBJECT, KEY_ID_NONE,
	 "the installed packages that exist for the program; the others do not"},
	{"libraries", "python", KEY_STRING_LIST, KEY_ID_LIBRARIES_PYTHON,
	 "distributions, modules or sets (@analysis) of Python, and what they need"},
	{"libraries", "node", KEY_STRING_LIST, KEY_ID_LIBRARIES_NODE,
	 "packages of node_modules, and what they need"},

	{"", "phases", KEY_OBJECT, KEY_ID_NONE, "further rules for one phase of a run"},
	{"phases", "setup", KEY_PHASE_OBJECT, KEY_ID_PHASE_SETUP, "for the command of --setup, which runs first"},
	{"phases", "run", KEY_PHASE_OBJECT, KEY_ID_PHASE_RUN, "for the program"},

	{"", "on_deny", KEY_ON_DENY_WORD, KEY_ID_ON_DENY, "what a denial does to the process; default: errno"},

	{"", "judge", KEY_JUDGE_WORD, KEY_ID_JUDGE,
	 "changes: leave calls that only read to the kernel, unrecorded, where it denies the same; default: all"},

	{"", "after_read", KEY_OBJECT_LIST, KEY_ID_AFTER,
	 "what the run loses once one of its processes has read a file"},
	{"after_read[]", "paths", KEY_PATH_LIST, KEY_ID_AFTER_READ,
	 "reading one of these, or listing it, fires the entry"},
	{"after_read[]", "then", KEY_OBJECT, KEY_ID_NONE, "what holds from then on; at least one of its keys"},
	{"after_read[].then", "network", KEY_WORD_NONE, KEY_ID_AFTER_NETWORK,
	 "\"none\": no network, open connections end"},
	{"after_read[].then", "write", KEY_PATH_LIST, KEY_ID_AFTER_WRITE,
	 "all that may still be written, of what filesystem.write grants; @scratch: what is redirected there"},
	{"after_read[]", "because", KEY_STRING, KEY_ID_NONE, "for people: why the entry is there"},
	{"after_read[]", "disabled", KEY_STRING, KEY_ID_NONE, "why the entry is not applied"},
};
/* clang-format on */

const struct policy_key *policy_key_get_all(size_t *ret_count)
{
	*ret_count = sizeof(keys) / sizeof(keys[0]);
	return keys;
}

const struct policy_key *policy_key_find(const char *section, const char *name)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].name[0] == name[0] && strcmp(keys[i].name, name) == 0 &&
		    strcmp(keys[i].section, section) == 0)
			return &keys[i];
	return NULL;
}

bool policy_key_may_be_in_phase(const struct policy_key *key)
{
	static const char *const names[] = {"filesystem", "exec", "env", "limits", "network", "process", "require"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!*key->section && strcmp(key->name, names[i]) == 0)
			return true;
	return false;
}

const char *const *policy_key_type_get_words(enum key_type type)
{
	static const char *const defaults[] = {"deny", NULL};
	static const char *const protos[] = {"https", "http", "tcp", "udp", NULL};
	static const char *const answers[] = {"synthetic", "real", NULL};
	static const char *const of_network[] = {"errno", "kill", "stop", "ask", NULL};
	static const char *const closed[] = {"none", NULL};
	static const char *const *const words[KEY_TYPE_MAX] = {
		[KEY_NETWORK_DEFAULT_WORD] = defaults,
		[KEY_PROTOCOL_WORD] = protos,
		[KEY_DNS_ANSWER_WORD] = answers,
		[KEY_ON_DENY_WORD] = policy_on_deny_names,
		[KEY_ON_DENY_WORD_OF_NETWORK] = of_network,
		[KEY_ON_READ_WORD] = policy_on_read_names,
		[KEY_WORD_NONE] = closed,
		[KEY_JUDGE_WORD] = policy_judge_names,
		[KEY_WORKSPACE_WORD] = policy_workspace_names,
	};

	return words[type];
}

const char *policy_key_type_describe_value(enum key_type type)
{
	static const char *const words[KEY_TYPE_MAX] = {
		[KEY_OBJECT] = "an object { ... }",
		[KEY_STRING] = "a string",
		[KEY_PATH] = "a string: one path",
		[KEY_FORMAT_VERSION] = "the number 1",
		[KEY_BOOL] = "true or false",
		[KEY_DURATION] = "a time such as \"10s\", \"2m\" or \"none\"",
		[KEY_SIZE] = "a size such as \"64K\" or \"1M\"",
		[KEY_SIZE_OR_NONE] = "a size such as \"64K\", \"1G\" or \"none\"",
		[KEY_NUMBER_OR_NONE] = "a number such as 64, or \"none\"",
		[KEY_NUMBER] = "a whole number, 0 or more",
		[KEY_STRING_LIST] = "a list of strings [\"...\"]",
		[KEY_PATH_LIST] = "a list of paths [\"/...\"]",
		[KEY_OBJECT_LIST] = "a list of objects [{ ... }]",
		[KEY_STRINGS_BY_NAME] = "an object of strings {\"NAME\": \"value\"}",
		[KEY_FILES_BY_PATH] = "an object of files {\"/path\": \"content\"}",
		[KEY_FINDING_LIST] = "a list of kinds or levels of findings [\"alarm\", \"secret\"]",
		[KEY_LAYER_LIST] = "a list of layers [\"landlock\", \"namespaces\"]",
		[KEY_NETWORK_OR_NONE] = "an object { ... } or \"none\"",
		[KEY_PORT_OR_PORT_LIST] = "a port such as 443, or a list of ports",
		[KEY_PORT_RANGE_LIST] = "a list of ports [8000, \"9000-9010\"]",
		[KEY_ADDRESSES_BY_HOST] = "an object of addresses {\"api.test\": \"192.0.2.1\"}",
		[KEY_BOOL_OR_ENV] = "true, false or \"env\"",
		[KEY_SECRETS_BY_NAME] = "an object of secrets {\"NAME\": {\"from\": \"env:NAME\", \"hosts\": [...]}}",
		[KEY_PHASE_OBJECT] = "an object { ... } with keys of a policy",
		[KEY_NETWORK_DEFAULT_WORD] = "\"deny\", the only default there is",
		[KEY_PROTOCOL_WORD] = "\"https\", \"http\", \"tcp\" or \"udp\"",
		[KEY_DNS_ANSWER_WORD] = "\"synthetic\" or \"real\"",
		[KEY_ON_DENY_WORD] = "\"errno\", \"kill\", \"stop\", \"ask-file\" or \"ask\"",
		[KEY_ON_DENY_WORD_OF_NETWORK] = "\"errno\", \"kill\", \"stop\" or \"ask\"",
		[KEY_ON_READ_WORD] = "\"flag\" or \"kill\"",
		[KEY_WORD_NONE] = "\"none\"",
		[KEY_JUDGE_WORD] = "\"all\" or \"changes\"",
		[KEY_WORKSPACE_WORD] = "\"direct\" or \"cow\"",
	};

	return words[type];
}
