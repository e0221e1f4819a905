#include "policy/paths/secrets.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"

/* clang-format off */
static const struct secret_pattern patterns[] = {
	{SECRET_CERTAIN, ".ssh", "ssh"},
	{SECRET_CERTAIN, "id_rsa", "ssh key"},
	{SECRET_CERTAIN, "id_dsa", "ssh key"},
	{SECRET_CERTAIN, "id_ecdsa", "ssh key"},
	{SECRET_CERTAIN, "id_ecdsa_sk", "ssh key"},
	{SECRET_CERTAIN, "id_ed25519", "ssh key"},
	{SECRET_CERTAIN, "id_ed25519_sk", "ssh key"},
	{SECRET_CERTAIN, "/etc/ssh/ssh_host_*_key", "ssh host key"},
	{SECRET_CERTAIN, ".gnupg", "gpg"},
	{SECRET_CERTAIN, "private-keys-v1.d", "gpg keys"},
	{SECRET_CERTAIN, ".password-store", "password store"},
	{SECRET_CERTAIN, ".aws", "cloud credentials"},
	{SECRET_CERTAIN, ".azure", "cloud credentials"},
	{SECRET_CERTAIN, ".boto", "cloud credentials"},
	{SECRET_CERTAIN, ".s3cfg", "cloud credentials"},
	{SECRET_CERTAIN, ".oci", "cloud credentials"},
	{SECRET_CERTAIN, "~/.config/gcloud", "cloud credentials"},
	{SECRET_CERTAIN, "~/.config/doctl", "cloud credentials"},
	{SECRET_CERTAIN, "~/.config/rclone", "cloud credentials"},
	{SECRET_CERTAIN, "~/.terraform.d", "cloud credentials"},
	{SECRET_CERTAIN, ".kube", "cluster credentials"},
	{SECRET_CERTAIN, "/etc/kubernetes", "cluster credentials"},
	{SECRET_CERTAIN, "/etc/rancher", "cluster credentials"},
	{SECRET_CERTAIN, ".docker", "registry credentials"},
	{SECRET_CERTAIN, "~/.config/containers/auth.json", "registry credentials"},
	{SECRET_CERTAIN, "~/.config/gh", "forge token"},
	{SECRET_CERTAIN, "~/.config/hub", "forge token"},
	{SECRET_CERTAIN, "~/.config/glab-cli", "forge token"},
	{SECRET_CERTAIN, ".git-credentials", "forge token"},
	{SECRET_CERTAIN, "~/.config/git/credentials", "forge token"},
	{SECRET_CERTAIN, ".vault-token", "vault token"},
	{SECRET_CERTAIN, ".netrc", "passwords"},
	{SECRET_CERTAIN, "_netrc", "passwords"},
	{SECRET_CERTAIN, ".pgpass", "database password"},
	{SECRET_CERTAIN, ".my.cnf", "database password"},
	{SECRET_CERTAIN, ".mylogin.cnf", "database password"},
	{SECRET_CERTAIN, ".htpasswd", "passwords"},
	{SECRET_CERTAIN, ".smbcredentials", "passwords"},
	{SECRET_CERTAIN, ".msmtprc", "mail password"},
	{SECRET_CERTAIN, ".fetchmailrc", "mail password"},
	{SECRET_CERTAIN, ".pypirc", "package registry token"},
	{SECRET_CERTAIN, ".npmrc", "package registry token"},
	{SECRET_CERTAIN, "~/.cargo/credentials", "package registry token"},
	{SECRET_CERTAIN, "~/.cargo/credentials.toml", "package registry token"},
	{SECRET_CERTAIN, "~/.gem/credentials", "package registry token"},
	{SECRET_CERTAIN, "~/.m2/settings.xml", "package registry token"},
	{SECRET_CERTAIN, "~/.gradle/gradle.properties", "package registry token"},
	{SECRET_CERTAIN, "~/.composer/auth.json", "package registry token"},
	{SECRET_CERTAIN, "~/.config/composer/auth.json", "package registry token"},
	{SECRET_CERTAIN, ".mozilla", "browser profile"},
	{SECRET_CERTAIN, ".thunderbird", "mail profile"},
	{SECRET_CERTAIN, "~/.config/google-chrome", "browser profile"},
	{SECRET_CERTAIN, "~/.config/chromium", "browser profile"},
	{SECRET_CERTAIN, "~/.config/BraveSoftware", "browser profile"},
	{SECRET_CERTAIN, "~/.config/microsoft-edge", "browser profile"},
	{SECRET_CERTAIN, "~/.config/vivaldi", "browser profile"},
	{SECRET_CERTAIN, "~/.config/opera", "browser profile"},
	{SECRET_CERTAIN, "~/snap/firefox", "browser profile"},
	{SECRET_CERTAIN, "~/.local/share/keyrings", "keyring"},
	{SECRET_CERTAIN, "~/.local/share/kwalletd", "keyring"},
	{SECRET_CERTAIN, "~/.config/op", "password manager"},
	{SECRET_CERTAIN, "~/.config/Bitwarden", "password manager"},
	{SECRET_CERTAIN, "~/.electrum", "wallet"},
	{SECRET_CERTAIN, "~/.bitcoin", "wallet"},
	{SECRET_CERTAIN, "~/.ethereum", "wallet"},
	{SECRET_CERTAIN, ".env", ".env file"},
	{SECRET_CERTAIN, ".env.*", ".env file"},
	{SECRET_CERTAIN, ".envrc", ".env file"},
	{SECRET_CERTAIN, ".bash_history", "history"},
	{SECRET_CERTAIN, ".zsh_history", "history"},
	{SECRET_CERTAIN, ".sh_history", "history"},
	{SECRET_CERTAIN, ".histfile", "history"},
	{SECRET_CERTAIN, ".python_history", "history"},
	{SECRET_CERTAIN, ".node_repl_history", "history"},
	{SECRET_CERTAIN, ".psql_history", "history"},
	{SECRET_CERTAIN, ".mysql_history", "history"},
	{SECRET_CERTAIN, ".sqlite_history", "history"},
	{SECRET_CERTAIN, ".rediscli_history", "history"},
	{SECRET_CERTAIN, "fish_history", "history"},
	{SECRET_CERTAIN, "/etc/shadow", "password hashes"},
	{SECRET_CERTAIN, "/etc/shadow-", "password hashes"},
	{SECRET_CERTAIN, "/etc/gshadow", "password hashes"},
	{SECRET_CERTAIN, "/etc/gshadow-", "password hashes"},
	{SECRET_CERTAIN, "/etc/security/opasswd", "password hashes"},
	{SECRET_CERTAIN, "/etc/sudoers", "who may become root"},
	{SECRET_CERTAIN, "/etc/sudoers.d", "who may become root"},
	{SECRET_CERTAIN, "/etc/krb5.keytab", "Kerberos key"},
	{SECRET_CERTAIN, "/etc/ssl/private", "TLS key"},
	{SECRET_CERTAIN, "/etc/pki/tls/private", "TLS key"},
	{SECRET_CERTAIN, "/etc/letsencrypt", "TLS key"},
	{SECRET_CERTAIN, "/etc/wireguard", "network key"},
	{SECRET_CERTAIN, "/etc/openvpn", "network key"},
	{SECRET_CERTAIN, "/etc/ipsec.secrets", "network key"},
	{SECRET_CERTAIN, "/etc/ppp", "network password"},
	{SECRET_CERTAIN, "/etc/wpa_supplicant", "network password"},
	{SECRET_CERTAIN, "/etc/NetworkManager/system-connections", "network password"},
	{SECRET_CERTAIN, "/etc/crypttab", "disk key"},
	{SECRET_CERTAIN, "/etc/credstore", "credentials"},
	{SECRET_CERTAIN, "/etc/credstore.encrypted", "credentials"},
	{SECRET_CERTAIN, "/etc/apt/auth.conf", "credentials"},
	{SECRET_CERTAIN, "/etc/apt/auth.conf.d", "credentials"},
	{SECRET_CERTAIN, "/var/lib/systemd/credential.secret", "credentials"},
	{SECRET_POSSIBLE, "credentials", "credentials"},
	{SECRET_POSSIBLE, "gcloud", "cloud credentials"},
	{SECRET_POSSIBLE, "gh", "forge token"},
	{SECRET_POSSIBLE, "private", "private files"},
	{SECRET_POSSIBLE, "machine-id", "the machine's identity"},
	{SECRET_POSSIBLE, "*.sock", "socket of a service"},
	{SECRET_POSSIBLE, "*.kdbx", "password store"},
	{SECRET_POSSIBLE, "/etc/ssh", "ssh"},
};
/* clang-format on */

const struct secret_pattern *secrets_get_patterns(size_t *ret_count)
{
	*ret_count = sizeof(patterns) / sizeof(patterns[0]);
	return patterns;
}

/* True when the first components of `path` match the whole pattern. Neither begins with a slash. */
static bool secret_pattern_matches_prefix(const char *pattern, const char *path)
{
	char wanted[NAME_MAX + 1], name[NAME_MAX + 1];

	for (;;) {
		size_t wanted_len = strcspn(pattern, "/"), len = strcspn(path, "/");

		if (len == 0 || len > NAME_MAX)
			return false;
		(void)snprintf(wanted, sizeof(wanted), "%.*s", (int)wanted_len, pattern);
		(void)snprintf(name, sizeof(name), "%.*s", (int)len, path);
		if (fnmatch(wanted, name, 0) != 0)
			return false;
		if (!pattern[wanted_len])
			return true;
		pattern += wanted_len + 1;
		path += len + (path[len] == '/');
	}
}

/* True when the pattern matches the path from its beginning or from behind one of its slashes. */
static bool secret_pattern_matches_inside_path(const char *pattern, const char *path)
{
	for (const char *at = path; *at; at += strcspn(at, "/")) {
		at += strspn(at, "/");
		if (secret_pattern_matches_prefix(pattern, at))
			return true;
	}
	return false;
}

/* True when the path matches `rest`, a pattern below a home directory, in some home directory. */
static bool secret_matches_in_home(const char *rest, const char *home, const char *path)
{
	const char *in_own = home ? path_get_rest_below(path, home) : NULL;
	const char *in_root = path_get_rest_below(path, "/root"), *in_homes = path_get_rest_below(path, "/home");
	const char *slash = in_homes ? strchr(in_homes, '/') : NULL;

	return (in_own && secret_pattern_matches_prefix(rest, in_own)) ||
	       (in_root && secret_pattern_matches_prefix(rest, in_root)) ||
	       (slash && secret_pattern_matches_prefix(rest, slash + 1));
}

/*
 * Whether a pattern of secrets matches: "/..." from the root, "~..." in any home directory, others anywhere in the
 * path.
 */
static bool secret_matches_path(const char *pattern, const char *home, const char *path)
{
	if (pattern[0] == '/')
		return secret_pattern_matches_prefix(pattern + 1, path + 1);
	if (pattern[0] == '~')
		return secret_matches_in_home(pattern + 2, home, path);
	return secret_pattern_matches_inside_path(pattern, path);
}

const struct secret_pattern *secret_find_pattern(const char *home, const char *path)
{
	for (size_t i = 0; path[0] == '/' && i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (secret_matches_path(patterns[i].pattern, home, path))
			return &patterns[i];
	return NULL;
}
