#!/bin/bash
# pip with an index of the test's own, TLS interception and the profile `pypi`: installs a package with a dependency
# into a venv, and fails to install a package whose path is not granted into a directory.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need jq
"$PYTHON" -c 'import pip, venv' 2>/dev/null || skip "python3-pip or python3-venv is not installed"
net_ca index.test
"$PYTHON" "$SRC/tests/cases/net-packages.py" "$NET" >"$NET/log" 2>&1 &
live_kept+=($!)
net_await "the index" test -s "$NET/packages-port"
port=$(cat "$NET/packages-port")
NET_MORE='{"extends": ["extended", "pypi"]}' net_policy "{
	\"allow\": [{\"host\": \"index.test\", \"port\": $port, \"proto\": \"https\", \"private\": true,
		\"http\": [\"GET,HEAD /simple/**\", \"GET,HEAD /packages/**\"]}],
	\"resolve\": {\"index.test\": \"127.0.0.1\"}, \"upstream_ca\": \"$NET/ca.pem\"}"
index=https://index.test:$port/simple
cat >"$T/w.sh" <<END
pip="-m pip --isolated --disable-pip-version-check --no-cache-dir --quiet --retries 0 --timeout 60"
$PYTHON -m venv --without-pip v
$PYTHON \$pip --python v/bin/python install --index-url $index tree &&
	v/bin/python -c 'import leaf, tree; print(leaf.hello(), tree.hello())'
$PYTHON \$pip install --index-url $index --target there hidden 2>err ||
	{ grep -o 'ERROR: HTTP error 403' err; ls there 2>&1; }
END
cat >"$T/expected" <<END
hello from leaf hello from tree
ERROR: HTTP error 403
ls: cannot access 'there': No such file or directory
END

for way in "" netns changes; do
	net_take_way "$way" || continue
	rm -rf "$T/w" && mkdir "$T/w"
	: >"$NET/packages-access"
	net_run -r "$T/w.sh" -w "$T/w" -- sh "$T/w.sh" >"$T/out" 2>"$T/err"
	cmp -s "$T/expected" "$T/out" ||
		fail "${where}$(diff "$T/expected" "$T/out" | head -n 20); $(tail -n 5 "$T/err")"
	net_check_served true <"$NET/packages-access"
	audit_has '.event == "request" and .path == "/private/hidden-1.0-py3-none-any.whl" and
		.reason == "path_not_granted"'
done
