/*
 * callgate serve: checks the command line, makes the listening socket, and executes callgate-agents in place of this
 * program. Lists of processes then show the arguments of callgate-agents, which have no API key.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agents/e2b/e2b.h"
#include "base/cleanup.h"
#include "base/installed.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/agents/agents.h"

#define SERVE_LISTEN_BACKLOG 512
#define SERVE_KEY_FILE_BYTES_MAX (1u << 20)

/* Options of `callgate serve`. */
struct serve_options {
	const char *listen, *api_key, *key_file, *port_file, *templates, *audit_dir, *sandboxes;
	const char *approve, *approvals_file, *ask_timeout;
};

#define FIELD_OFFSET(member) offsetof(struct serve_options, member)

static const struct cli_option serve_table[] = {
	CLI_TEXT("listen", "ADDRESS",
		 "127.0.0.1:PORT, [::1]:PORT (0: any free port) or unix:PATH; no other machine\n"
		 "reaches it (default 127.0.0.1:0)",
		 FIELD_OFFSET(listen)),
	CLI_TEXT("key-file", "FILE",
		 "API keys and what each may use, as JSON, or one key in a line; no user but its\n"
		 "owner may read it",
		 FIELD_OFFSET(key_file)),
	CLI_TEXT("api-key", "KEY", "one API key; other users see it in a list of processes: better is --key-file",
		 FIELD_OFFSET(api_key)),
	CLI_TEXT("port-file", "FILE", "write the port, or the socket's path, to FILE when clients can connect",
		 FIELD_OFFSET(port_file)),
	{"templates", 0, "DIR", "directory of templates, beside base and code-interpreter-v1", cli_set_directory,
	 FIELD_OFFSET(templates), 0},
	{"audit-dir", 0, "DIR", "keep the audit log of each sandbox in DIR, as ID.jsonl", cli_set_directory,
	 FIELD_OFFSET(audit_dir), 0},
	{"approve", 0, "WHERE",
	 "ask there about each call that a template's policy denies with \"on_deny\": \"ask\":\n"
	 "socket:/PATH or command:COMMAND",
	 agents_set_approve, FIELD_OFFSET(approve), 0},
	CLI_TEXT("approvals", "FILE", "with --approve: keep answers that are to be remembered in FILE",
		 FIELD_OFFSET(approvals_file)),
	{"ask-timeout", 0, "TIME", "with --approve: deny what is not answered after TIME (default 60s)",
	 agents_set_ask_timeout, FIELD_OFFSET(ask_timeout), 0},
	CLI_TEXT("sandboxes", "N", "at most N sandboxes at a time (default 200)", FIELD_OFFSET(sandboxes)),
	{0},
};

/* ---- the listening socket ---- */

/* Reports what --listen may name. Returns CLI_EXIT_ERROR. */
static int serve_refuse_address(const char *text)
{
	cli_print_error("serve",
			"--listen %s: write 127.0.0.1:PORT, [::1]:PORT or unix:PATH; other machines reach a "
			"server by a proxy or ssh",
			text);
	return CLI_EXIT_ERROR;
}

/* Parses "ADDRESS:PORT". False: invalid, or not an address of the loopback interface. */
static bool serve_parse_address(const char *text, struct sockaddr_storage *ret_address, socklen_t *ret_len)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret_address;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret_address;
	const char *colon = strrchr(text, ':');
	char host[64];
	uint64_t port;

	if (!colon || (size_t)(colon - text) >= sizeof(host) || text_parse_number(colon + 1, 0, UINT16_MAX, &port) < 0)
		return false;
	memcpy(host, text, (size_t)(colon - text));
	host[colon - text] = '\0';
	memset(ret_address, 0, sizeof(*ret_address));
	if (strcmp(host, "[::1]") == 0) {
		*v6 = (struct sockaddr_in6){.sin6_family = AF_INET6,
					    .sin6_port = htons((uint16_t)port),
					    .sin6_addr = IN6ADDR_LOOPBACK_INIT};
		*ret_len = sizeof(*v6);
		return true;
	}
	*v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	*ret_len = sizeof(*v4);
	return inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, &v4->sin_addr) == 1 &&
	       ntohl(v4->sin_addr.s_addr) >> 24 == 127;
}

/* Removes a unix socket if no process listens on it any more. */
static void serve_remove_stale_socket(const struct sockaddr_un *address)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct stat st;

	if (fd >= 0 && lstat(address->sun_path, &st) == 0 && S_ISSOCK(st.st_mode) &&
	    connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 && errno == ECONNREFUSED)
		(void)unlink(address->sun_path);
}

/* Listens on a unix socket. A descriptor owned by the caller; -1: failed, and an error was printed. */
static int serve_listen_at_path(const char *path)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	mode_t mask;
	int r;

	if (strlen(path) >= sizeof(address.sun_path) || !*path) {
		cli_print_error("serve", "--listen unix:%s: the path must have from 1 to %zu bytes", path,
				sizeof(address.sun_path) - 1);
		return -1;
	}
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	serve_remove_stale_socket(&address);
	mask = umask(0177); /* only this user may connect */
	r = fd < 0 ? -1 : bind(fd, (struct sockaddr *)&address, sizeof(address));
	(void)umask(mask);
	if (r == 0 && listen(fd, SERVE_LISTEN_BACKLOG) == 0)
		return steal_fd(&fd);
	cli_print_error("serve", "cannot listen at %s: %s", path, strerror(errno));
	return -1;
}

/* Listens at a unix socket or a loopback address. Returns the socket, or -1 after a message. */
static int serve_listen_at_address(const char *text)
{
	_cleanup_close_ int fd = -1;
	struct sockaddr_storage address;
	socklen_t len = 0;
	const int on = 1;

	if (strncmp(text, "unix:", 5) == 0)
		return serve_listen_at_path(text + 5);
	if (!serve_parse_address(text, &address, &len)) {
		(void)serve_refuse_address(text);
		return -1;
	}
	fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd >= 0 && bind(fd, (struct sockaddr *)&address, len) == 0 && listen(fd, SERVE_LISTEN_BACKLOG) == 0)
		return steal_fd(&fd);
	cli_print_error("serve", "cannot listen at %s: %s", text, strerror(errno));
	return -1;
}

/* Writes the port, or the unix socket's path, to a file, which appears when it is complete. 0 or -errno. */
static int serve_write_port(const char *path, const char *listen_text, int fd)
{
	_cleanup_free_ char *new_path = text_format("%s.new", path), *text = NULL;
	_cleanup_close_ int file_fd = -1;
	union {
		struct sockaddr any;
		struct sockaddr_in v4; /* v4.sin_port is used for IPv6, too: sin6_port has the same offset */
		struct sockaddr_in6 v6;
		struct sockaddr_un local;
	} address = {.v6 = {0}};
	socklen_t len = sizeof(address);

	if (getsockname(fd, &address.any, &len) < 0)
		return -errno;
	text = address.any.sa_family == AF_UNIX ? text_format("%s\n", listen_text + 5)
						: text_format("%d\n", ntohs(address.v4.sin_port));
	if (!new_path || !text)
		return -ENOMEM;
	file_fd = open(new_path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (file_fd < 0)
		return -errno;
	if (io_write_all(file_fd, text, strlen(text)) < 0 || rename(new_path, path) < 0)
		return -errno;
	return 0;
}

/* ---- API keys ---- */

/* The JSON of a keys file that has only this key. */
static json_t *serve_make_list_of_one_key(const char *key)
{
	return json_pack("{s:[{s:s, s:s}]}", "keys", "name", "default", "key", key);
}

/* Reads API keys from a file: JSON, or one key in a line. A new reference; NULL: failed, and an error was printed. */
static json_t *serve_read_keys(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	_cleanup_free_ char *text = NULL;
	json_error_t error = {.text = "it holds neither JSON nor a key"};
	json_t *keys = NULL;
	struct stat st;
	size_t len = 0;

	if (fd < 0 || fstat(fd, &st) < 0 || io_read_fd(fd, SERVE_KEY_FILE_BYTES_MAX, &text, &len) < 0) {
		cli_print_error("serve", "cannot read %s: %s", path, strerror(errno));
		return NULL;
	}
	if (S_ISREG(st.st_mode) && st.st_mode & 077) {
		cli_print_error("serve", "%s: others may read the keys; say: chmod 600 %s", path, path);
		return NULL;
	}
	if (len > 0 && text[0] != '{') {
		text[strcspn(text, "\r\n")] = '\0';
		keys = serve_make_list_of_one_key(text);
	} else if (len > 0) {
		keys = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	}
	explicit_bzero(text, len);
	if (!keys)
		cli_print_error("serve", "%s:%d: %s", path, error.line, error.text);
	return keys;
}

/* ---- options of callgate-agents ---- */

/* The options of approval, for `callgate session create`. A new reference. */
static json_t *serve_make_approval(const struct serve_options *options)
{
	const char *const given[][2] = {{"--approve", options->approve},
					{"--approvals", options->approvals_file},
					{"--ask-timeout", options->ask_timeout}};
	json_t *list = json_array();

	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
		for (size_t part = 0; given[i][1] && part < 2; part++)
			(void)json_array_append_new(list, json_string(given[i][part]));
	return list;
}

/* Makes the options of callgate-agents. A new reference; NULL: failed, and an error was printed. */
static json_t *serve_make_options(const struct serve_options *options)
{
	char tree[PATH_MAX] = "";
	json_t *keys_and_limits =
		options->key_file ? serve_read_keys(options->key_file) : serve_make_list_of_one_key(options->api_key);
	const char *templates = PKGDATADIR "/templates";
	uint64_t count;

	if (!keys_and_limits)
		return NULL;
	if (options->sandboxes) {
		if (text_parse_number(options->sandboxes, 1, 10000, &count) < 0) {
			cli_print_error("serve", "--sandboxes %s: must be a number from 1 to 10000",
					options->sandboxes);
			json_decref(keys_and_limits);
			return NULL;
		}
		(void)json_object_set_new(keys_and_limits, "sandboxes", json_integer((json_int_t)count));
	}
	if (installed_get_sibling_path("agents/templates", tree) && access(tree, F_OK) == 0)
		templates = tree; /* callgate runs from a build directory, where configure has made this link */
	return json_pack("{s:s, s:s*, s:s*, s:o, s:o}", "templates", templates, "own_templates", options->templates,
			 "audit_dir", options->audit_dir, "approval", serve_make_approval(options), "limits",
			 keys_and_limits);
}

/* Writes the options to a memfd, since they have API keys. A descriptor owned by the caller, or -errno. */
static int serve_write_options_to_memfd(const json_t *options)
{
	_cleanup_close_ int fd = memfd_create("callgate-options", MFD_CLOEXEC);
	_cleanup_free_ char *text = json_dumps(options, JSON_COMPACT);
	int r;

	if (fd < 0 || !text)
		return fd < 0 ? -errno : -ENOMEM;
	r = io_write_all(fd, text, strlen(text));
	explicit_bzero(text, strlen(text));
	if (r < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return r < 0 ? r : -errno;
	return steal_fd(&fd);
}

/*
 * Executes callgate-agents, with the options and the listening socket at fixed descriptors. Returns only if it fails.
 */
static int serve_execute_agents(int options_fd, int listen_fd)
{
	const struct cli_list no_arguments = {0};
	/* Numbers from 10 on, so that neither dup2(2) closes the other descriptor. */
	int high_options = fcntl(options_fd, F_DUPFD_CLOEXEC, 10), high_listen = fcntl(listen_fd, F_DUPFD_CLOEXEC, 10);

	if (high_options >= 0 && high_listen >= 0 && dup2(high_options, E2B_OPTIONS_FD) >= 0 &&
	    dup2(high_listen, E2B_LISTEN_FD) >= 0)
		return agents_execute("serve", &no_arguments);
	cli_print_error("serve", "cannot hand over the options: %s", strerror(errno));
	return CLI_EXIT_ERROR;
}

static int serve_start(const struct serve_options *options)
{
	_cleanup_json_ json_t *given = serve_make_options(options);
	_cleanup_close_ int listen_fd = given ? serve_listen_at_address(options->listen) : -1;
	_cleanup_close_ int options_fd = -1;
	int r = 0;

	if (listen_fd < 0)
		return CLI_EXIT_ERROR;
	if (options->port_file)
		r = serve_write_port(options->port_file, options->listen, listen_fd);
	if (r < 0) {
		cli_print_error("serve", "cannot write %s: %s", options->port_file, strerror(-r));
		return CLI_EXIT_ERROR;
	}
	options_fd = serve_write_options_to_memfd(given);
	if (options_fd < 0) {
		cli_print_error("serve", "cannot hand over the options: %s", strerror(-options_fd));
		return CLI_EXIT_ERROR;
	}
	return serve_execute_agents(options_fd, listen_fd);
}

int cli_main_serve(int argc, char **argv)
{
	struct serve_options options = {.listen = "127.0.0.1:0"};
	const struct cli_syntax syntax = {
		.verb = "serve",
		.usage = "Usage: callgate serve [OPTION...]\n\n"
			 "Makes sandboxes for agents that speak the protocol of E2B: set E2B_API_URL, E2B_SANDBOX_URL\n"
			 "and E2B_API_KEY for its SDKs. Ends, with all sandboxes, when it gets SIGINT or SIGTERM.\n\n",
		.table = {{NULL, serve_table, &options}},
	};
	int status = cli_parse_options(argc, argv, &syntax);

	if (status != CLI_OPTIONS_PARSED)
		return status;
	if (argc != optind) {
		cli_print_error("serve", "takes no arguments: %s", argv[optind]);
		return cli_fail_usage("serve");
	}
	if (!options.key_file == !options.api_key) {
		cli_print_error("serve", "name the keys of the clients: --key-file FILE, or --api-key KEY");
		return cli_fail_usage("serve");
	}
	if ((options.approvals_file || options.ask_timeout) && !options.approve) {
		cli_print_error("serve", "--approvals and --ask-timeout are for --approve; add that");
		return CLI_EXIT_ERROR;
	}
	return serve_start(&options);
}
