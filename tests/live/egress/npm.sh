#!/bin/bash
# npm with a registry of the test's own, TLS interception and the profile `npm`: packages with dependencies, a scoped
# package (an encoded slash in the path); publishing is denied.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need jq node npm
net_ca registry.test
"$PYTHON" "$SRC/tests/cases/net-packages.py" "$NET" >"$NET/log" 2>&1 &
live_kept+=($!)
net_await "the registry" test -s "$NET/packages-port"
port=$(cat "$NET/packages-port")
NET_MORE='{"extends": ["extended", "npm"]}' net_policy "{
	\"allow\": [{\"host\": \"registry.test\", \"port\": $port, \"proto\": \"https\", \"private\": true,
	\"http\": [\"GET,HEAD /**\"]}],
	\"resolve\": {\"registry.test\": \"127.0.0.1\"}, \"upstream_ca\": \"$NET/ca.pem\"}"
cat >"$T/w.sh" <<'END'
echo '{"name": "mine", "version": "1.0.0"}' >package.json
npm install --silent --no-progress tree @scope/twig 2>&1
node -e 'for (const name of ["leaf", "tree", "@scope/twig"]) console.log(require(name))'
npm publish --no-progress >out 2>err || { grep -om1 E403 err || cat err; }
END
cat >"$T/expected" <<END
hello from leaf
hello from tree
hello from @scope/twig
E403
END

for way in "" netns changes; do
	net_take_way "$way" || continue
	rm -rf "$T/w" && mkdir "$T/w"
	echo "//registry.test:$port/:_authToken=none" >"$T/w/.npmrc" # else it would not even ask
	: >"$NET/packages-access"
	net_run -r "$T/w.sh" -w "$T/w" -e "npm_config_registry=https://registry.test:$port/" -- sh "$T/w.sh" \
		>"$T/out" 2>"$T/err"
	cmp -s "$T/expected" "$T/out" ||
		fail "${where}$(diff "$T/expected" "$T/out" | head -n 20); $(tail -n 5 "$T/err")"
	net_check_served true <"$NET/packages-access"
	audit_has '.event == "request" and .method == "PUT" and .verdict == "deny" and .reason == "method_not_granted"'
	audit_has '.event == "request" and .path == "/@scope%2Ftwig" and .ret == 200'
done
