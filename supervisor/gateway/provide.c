#include "supervisor/gateway/provide.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hostname.h"
#include "base/io.h"
#include "egress/conn/pool.h"
#include "egress/control.h"

/*
 * The file with the certificate of the run's authority alone, for clients that add it to certificates of their own. It
 * is in /run because few policies grant that. In a granted directory of the host, the view needs an overlay to add a
 * name that the host lacks (view/attach/names.c).
 */
#define RUN_CA_PATH "/run/callgate-run.pem"

/* Certificate bundles of Debian, Alpine, Arch; Fedora; newer Fedora; openSUSE; a default of OpenSSL and LibreSSL. */
static const char *const ca_bundle_paths[] = {
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
};
#define CA_BUNDLE_PATHS_COUNT (sizeof(ca_bundle_paths) / sizeof(ca_bundle_paths[0]))

char *egress_read_system_roots(size_t *ret_len)
{
	char *text = NULL;

	for (size_t i = 0; i < CA_BUNDLE_PATHS_COUNT; i++)
		if (io_read_file(AT_FDCWD, ca_bundle_paths[i], CA_CERTIFICATES_BYTES_MAX, &text, ret_len) == 0)
			return text;
	return NULL;
}

static void provide_write_hosts_line(struct buf *buf, const struct pool *pool, uint32_t index, int family,
				     const char *host)
{
	struct sockaddr_storage address;
	char text[NET_ADDRESS_TEXT_SIZE];

	pool_make_address(pool, index, family, 0, &address);
	net_address_format((const struct sockaddr *)&address, text);
	buf_printf(buf, "%s %s\n", text, host);
}

static bool provide_name_has_real_dns(const struct policy *policy, const char *host)
{
	size_t count;
	const struct net_rule *rule = policy_net_get_rules(policy, &count);

	for (size_t i = 0; i < count; i++)
		if (rule[i].uses_real_dns && strcmp(rule[i].host, host) == 0)
			return true;
	return false;
}

/*
 * Provides /etc/hosts with every exact name that may be resolved, except names with real addresses, which egress
 * resolves.
 */
static int provide_hosts_file(const struct policy *policy, const struct pool *pool, struct egress_process *egress)
{
	_cleanup_buf_ struct buf buf = {0};
	char own[HOSTNAME_LINE_MAX];
	const char *host;

	buf_puts(&buf, "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n");
	hostname_make_hosts_line(own);
	buf_puts(&buf, own);
	for (uint32_t index = POOL_FIRST_NAME_INDEX; (host = pool_get_policy_name(pool, index)); index++) {
		if (provide_name_has_real_dns(policy, host) || !policy_net_judge_name(policy, host).is_allowed)
			continue;
		provide_write_hosts_line(&buf, pool, index, AF_INET, host);
		provide_write_hosts_line(&buf, pool, index, AF_INET6, host);
	}
	return buf.failed ? -ENOMEM : egress_process_add_file(egress, "/etc/hosts", buf.data, buf.len);
}

/* Resolves symlinks in the directory's path, as of /etc/ssl/certs on Fedora, but not in the file's name. */
static bool provide_resolve_path(const char *path, char ret_path[PATH_MAX])
{
	const char *name = strrchr(path, '/');
	_cleanup_free_ char *dir = strndup(path, (size_t)(name - path)), *real = dir ? realpath(dir, NULL) : NULL;

	return (size_t)snprintf(ret_path, PATH_MAX, "%s%s", real ? real : "", real ? name : path) < PATH_MAX;
}

static int provide_ca_bundles(const struct egress_provide_options *provide, struct egress_process *egress)
{
	const size_t len = strlen(provide->root_and_run_certificates_pem);
	char path[PATH_MAX];
	int error = 0;

	for (size_t i = 0; error == 0 && i < CA_BUNDLE_PATHS_COUNT; i++)
		if ((i == 0 || access(ca_bundle_paths[i], F_OK) == 0) && provide_resolve_path(ca_bundle_paths[i], path))
			error = egress_process_add_file_with_kept_text(egress, path,
								       provide->root_and_run_certificates_pem, len);
	return error;
}

/* Provides the run's CA certificates, if the run has an authority of its own; else programs use their defaults. */
static int provide_run_ca(const struct egress_provide_options *provide, struct egress_process *egress)
{
	static const char *const whole[] = {"SSL_CERT_FILE",      "CURL_CA_BUNDLE",
					    "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO",
					    "PIP_CERT",           "CARGO_HTTP_CAINFO",
					    "AWS_CA_BUNDLE",      "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"};
	/* For programs that add the certificates of the named file to those that they contain. */
	static const char *const further[] = {"NODE_EXTRA_CA_CERTS", "DENO_CERT"};
	char bundle[PATH_MAX], own[PATH_MAX];
	int error;

	if (!provide_resolve_path(ca_bundle_paths[0], bundle) || !provide_resolve_path(RUN_CA_PATH, own))
		return -ENOMEM;
	error = egress_process_add_file(egress, own, provide->ca, strlen(provide->ca));
	for (size_t i = 0; error == 0 && i < sizeof(whole) / sizeof(whole[0]); i++)
		error = egress_process_add_variable(egress, whole[i], bundle, false);
	for (size_t i = 0; error == 0 && i < sizeof(further) / sizeof(further[0]); i++)
		error = egress_process_add_variable(egress, further[i], own, false);
	return error < 0 || !provide->java_truststores
		       ? error
		       : egress_finish_java_truststores(provide->java_truststores, provide->ca, egress);
}

/*
 * Makes provide->root_and_run_certificates_pem. The run's certificate is added to the text of the system's in place:
 * that text takes 200 kB.
 */
static int provide_join_certificates(struct egress_provide_options *provide)
{
	char *roots = provide->root_certificates_pem, *text, *end;
	const size_t roots_len = roots ? strlen(roots) : 0, ca_len = provide->ca ? strlen(provide->ca) : 0;

	provide->root_certificates_pem = NULL;
	text = realloc(roots, roots_len + 1 + ca_len + 1);
	if (!text) {
		free(roots);
		return -ENOMEM;
	}
	end = text + roots_len;
	if (roots_len)
		*end++ = '\n';
	if (provide->ca)
		end = mempcpy(end, provide->ca, ca_len);
	*end = '\0';
	provide->root_and_run_certificates_pem = text;
	return 0;
}

static int provide_all_ca_certificates(struct egress_provide_options *provide, struct egress_process *egress)
{
	int error;

	if (!provide->root_certificates_pem && !provide->ca)
		return 0;
	error = provide_join_certificates(provide);
	if (error == 0)
		error = egress_process_keep_text(egress, provide->root_and_run_certificates_pem);
	if (error == 0)
		error = provide_ca_bundles(provide, egress);
	return error < 0 || !provide->ca ? error : provide_run_ca(provide, egress);
}

static int provide_secret_placeholders(const struct secrets *secrets, struct egress_process *egress)
{
	int error = 0;

	for (size_t i = 0; secrets && error == 0 && i < secrets_get_count(secrets); i++)
		error = egress_process_add_variable(egress, secrets_get_name(secrets, i),
						 secrets_get_placeholder(secrets, i), true);
	return error;
}

static int provide_proxy_variables(const struct pool *pool, struct egress_process *egress)
{
	static const char *const http[] = {"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"};
	static const char *const any[] = {"ALL_PROXY", "all_proxy"};
	static const char *const none[] = {"NO_PROXY", "no_proxy"};
	char text[NET_ADDRESS_TEXT_SIZE], http_url[80], any_url[80];
	struct sockaddr_storage own;
	int error = 0;

	pool_make_address(pool, POOL_INDEX_OF_PROXIES, AF_INET, 0, &own);
	net_address_format((const struct sockaddr *)&own, text);
	(void)snprintf(http_url, sizeof(http_url), "http://%s:%d", text, CONTROL_PORT_HTTP_PROXY);
	(void)snprintf(any_url, sizeof(any_url), "socks5h://%s:%d", text, CONTROL_PORT_SOCKS);
	for (size_t i = 0; error == 0 && i < 4; i++)
		error = egress_process_add_variable(egress, http[i], http_url, false);
	for (size_t i = 0; error == 0 && i < 2; i++)
		error = egress_process_add_variable(egress, any[i], any_url, false);
	for (size_t i = 0; error == 0 && i < 2; i++)
		error = egress_process_add_variable(egress, none[i], "localhost,127.0.0.1,::1", false);
	return error;
}

int egress_provide_files_and_variables(struct egress_provide_options *provide, struct egress_process *egress)
{
	static const char nsswitch[] = "passwd: files\ngroup: files\nshadow: files\ngshadow: files\nhosts: files dns\n"
				       "networks: files\nprotocols: files\nservices: files\nethers: files\nrpc: files\n"
				       "netgroup: files\n";
	struct pool *pool = NULL;
	int error = pool_create(provide->policy, &pool);

	if (error == 0)
		error = egress_process_add_file(egress, "/etc/nsswitch.conf", nsswitch, sizeof(nsswitch) - 1);
	if (error == 0)
		error = provide_hosts_file(provide->policy, pool, egress);
	if (error == 0)
		error = provide_all_ca_certificates(provide, egress);
	if (error == 0)
		error = provide_secret_placeholders(provide->secrets, egress);
	if (error == 0 && policy_net_sets_proxy_variables(provide->policy))
		error = provide_proxy_variables(pool, egress);
	pool_free(pool);
	free(provide->root_certificates_pem);
	provide->root_certificates_pem = NULL;
	egress_free_java_truststores(provide->java_truststores);
	provide->java_truststores = NULL;
	return error;
}
