#!/bin/bash
# Files that a run with a network adds to the view: host names, trust in the run's authority (in place, by environment
# variables, for Java), and their precedence over rules of the policy. Also with `minimal`, which grants nothing in
# /etc.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need curl jq openssl
net_ca open.test
net_servers https http
https=$(net_port https)
network="{\"allow\": [{\"host\": \"open.test\", \"port\": $https, \"proto\": \"https\", \"private\": true,
	\"http\": [\"GET /ok\"]},
		{\"host\": \"other.test\"}, {\"host\": \"*.wild.test\"}],
	\"resolve\": {\"open.test\": \"127.0.0.1\"}, \"upstream_ca\": \"$NET/ca.pem\"}"

cat >"$T/Fetch.java" <<'END'
import java.net.HttpURLConnection;
import java.net.URI;

public class Fetch {
	public static void main(String[] urls) throws Exception {
		for (String url : urls) {
			HttpURLConnection connection = (HttpURLConnection) new URI(url).toURL().openConnection();
			connection.setConnectTimeout(30000);
			System.out.println(new String(connection.getInputStream().readAllBytes()).trim());
		}
	}
}
END

# says WHAT EXPECTED OPTION… -- COMMAND…
says()
{
	local what=$1 expected=$2 got
	shift 2
	got=$(net_run "$@" 2>"$T/err")
	[ "$got" = "$expected" ] ||
		fail "${where}$what: $(head -c 600 <<<"$got") instead of $expected; $(tail -n 3 "$T/err")"
}

mapfile -t sets < <(differing "" netns namespaces)
for way in "${sets[@]}" changes; do
	net_take_way "$way" || continue
	net_policy "$network"
	says "hosts" "fd00:5a::11 198.18.0.17" -- sh -c "grep -w other.test /etc/hosts | sort -r | sed 's/ .*//' |
		xargs"
	says "no name of a wildcard in hosts" 0 -- sh -c "grep -c wild /etc/hosts; true"
	says "nsswitch" "hosts: files dns" -- grep hosts: /etc/nsswitch.conf
	says "one server of names" 1 -- grep -c nameserver /etc/resolv.conf
	says "in place" ok -- env -u SSL_CERT_FILE -u CURL_CA_BUNDLE curl -sS "https://open.test:$https/ok"
	says "by the variable" ok -- sh -c "curl -sS --cacert \"\$SSL_CERT_FILE\" https://open.test:$https/ok"
	says "the authority alone" ok -- sh -c "curl -sS --cacert \"\$NODE_EXTRA_CA_CERTS\" https://open.test:$https/ok"
	# All that the system trusts stays trusted.
	says "the system's" "$(grep -c BEGIN /etc/ssl/certs/ca-certificates.crt 2>/dev/null)" -- \
		sh -c "head -n -1 /etc/ssl/certs/ca-certificates.crt | grep -c BEGIN | { read n; echo \$((n - 1)); }"
	for file in /etc/hosts /etc/ssl/certs/ca-certificates.crt; do
		says "written: $file" refused -W /etc -- sh \
			-c "if echo x >>$file; then echo done; else echo refused; fi 2>/dev/null"
		says "removed: $file" refused -W /etc -- sh \
			-c "if rm -f $file; then echo done; else echo refused; fi 2>/dev/null"
		says "executed: $file" 126 -x /etc -- sh -c "$file 2>/dev/null; echo \$?"
	done
	says "nothing of callgate's in /proc" none -- sh -c \
		'grep -l "[c]allgate run" /proc/[0-9]*/cmdline 2>/dev/null || echo none'

	NET_MORE='{"filesystem": {"deny": ["/etc/ssl/certs/ca-certificates.crt"],
		"provide": {"/etc/resolv.conf": "mine"}},
		"env": {"set": {"SSL_CERT_FILE": "/mine"}}}' net_policy "$network"
	says "a rule denies it" denied -- sh -c "cat /etc/ssl/certs/ca-certificates.crt >/dev/null 2>&1 || echo denied"
	says "the policy's own resolv.conf" 1 -- grep -c nameserver /etc/resolv.conf
	says "the policy's variable" /mine -- printenv SSL_CERT_FILE

	jq -n --argjson network "$network" '{version: 1, extends: ["minimal"], network: $network}' >"$NET/policy.json"
	says "minimal" ok -x /usr/bin -r /usr/lib -- curl -sS "https://open.test:$https/ok"
	says "minimal: nothing else of /etc" "" -x /usr/bin -r /usr/lib \
		-- sh -c 'ls /etc/shadow /etc/ssl/openssl.cnf 2>/dev/null'

	# Nothing is opened: then there is no authority, and the system's list is provided as it is.
	net_policy '{"allow": [{"host": "other.test"}]}'
	says "no authority" "" -- printenv SSL_CERT_FILE
	says "the system's list as it is" "$(grep -c BEGIN /etc/ssl/certs/ca-certificates.crt)" -- \
		grep -c BEGIN /etc/ssl/certs/ca-certificates.crt
	# No network: nothing of it.
	jq -n '{version: 1, extends: ["extended"]}' >"$NET/policy.json"
	says "no network" "$(cat /etc/hosts)" -r /etc/hosts -- cat /etc/hosts
	says "no network: variables" "" -- printenv SSL_CERT_FILE

	[ "$way" != netns ] || continue
	for java in /usr/lib/jvm/*/bin/java; do
		home=$(dirname "$(dirname "$java")")
		if [ -L "$home" ] || ! [ -x "$home/bin/javac" ] || ! [ -e "$home/lib/security/cacerts" ]; then
			continue
		fi
		rm -rf "$T/w" && mkdir "$T/w"
		"$home/bin/javac" -d "$T/w" "$T/Fetch.java" 2>"$T/err" || die "javac: $(cat "$T/err")"
		net_policy "$network"
		options=(-w "$T/w")
		for conf in /etc/java*; do # Debian's have parts of their own there
			[ -d "$conf" ] && options+=(-r "$conf")
		done
		says "$java" ok "${options[@]}" -- "$java" -XX:TieredStopAtLevel=1 \
			-cp "$T/w" Fetch "https://open.test:$https/ok"
		net_run "${options[@]}" -- "$home/bin/keytool" -J-XX:TieredStopAtLevel=1 -list -cacerts \
			-storepass changeit >"$T/out" 2>&1
		[ "$(grep -c trustedCertEntry "$T/out")" -gt 1 ] || fail "${where}keytool: $(head -n 5 "$T/out")"
	done
done
