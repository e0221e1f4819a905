#!/bin/sh
# callgate check, show and why; the policies of the manual; how interpreters are found.
set -u

top=${top_srcdir:-$(cd "$(dirname "$0")/.." && pwd)}
callgate=${CALLGATE:-callgate}
manual=$top/doc/callgate-policy.5
failed=0
ran=0

command -v "$callgate" >/dev/null || { echo "no program to test: $callgate" >&2; exit 77; }
callgate=$(command -v "$callgate")
case $callgate in /*) ;; *) callgate=$PWD/$callgate ;; esac
export CALLGATE_PROFILES="$top/policy/profiles"
dir=$(mktemp -d) || exit 99
dir=$(cd "$dir" && pwd -P)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 99

# expect STATUS TEXT ARGUMENT...: callgate ends so, and its output holds the text.
expect()
{
	status=$1 text=$2
	shift 2
	ran=$((ran + 1))
	out=$("$callgate" "$@" 2>&1 </dev/null)
	got=$?
	case $out in
	*"$text"*) [ "$got" -eq "$status" ] && return ;;
	esac
	echo "callgate $*: status $got for $status, or no \"$text\" in: $(printf '%s' "$out" | head -c 600)" >&2
	failed=$((failed + 1))
}

# expect_no TEXT: the last output does not hold it.
expect_no()
{
	ran=$((ran + 1))
	case $out in
	*"$1"*)
		echo "\"$1\" should not be in the output" >&2
		failed=$((failed + 1))
		;;
	esac
}

# ---- every mistake at once: of form, of meaning, and of each phase ----
cat >mistakes.json <<'EOT'
{ "version": 1, "limits": {"wall": "5x"},
  "filesystem": {"read": ["rel/path"], "redirect": [{"from": "/r", "to": "/none/there"}]},
  "phases": {"setup": {"filesystem": {"write": ["${UNSET_HERE}/x"]}}} }
EOT
expect 125 'mistakes.json:1: limits.wall: "5x" is no time' check ./mistakes.json
expect 125 'mistakes.json:2: filesystem.read[0]: "rel/path" is relative' check ./mistakes.json
expect 125 'mistakes.json:2: filesystem.redirect[0]: leads to /none/there' check ./mistakes.json
# shellcheck disable=SC2016 # the message has the variable
expect 125 'mistakes.json:3: phases.setup.filesystem.write[0]: ${UNSET_HERE} is not set' check ./mistakes.json
ran=$((ran + 1))
[ "$(printf '%s\n' "$out" | wc -l)" = 4 ] || { echo "each mistake once: $out" >&2; failed=$((failed + 1)); }

# ---- the manual's policies: its other literal text does not begin with a brace ----
awk -v dir="$dir" '/^\.Bd -literal/ { n++; on = 1; next } /^\.Ed/ { on = 0 } on { gsub(/\\e/,
	"\\"); print > (dir "/man" n ".json") }' "$manual"
: >known_hosts # that one of them names
for policy in man*.json; do
	[ "$(head -c 1 "$policy")" = '{' ] || continue
	expect 0 "$policy: good" check "./$policy"
done
[ -f man3.json ] || { echo "the manual has lost its examples" >&2; failed=$((failed + 1)); }
jq -r '.. | objects | keys[]' "$top/policy/schema.json" >/dev/null 2>&1 &&
	for key in $(jq -r '.properties | to_entries[] | .key, (.value.properties // {} |
	keys[])' "$top/policy/schema.json"); do
		ran=$((ran + 1))
		grep -qF -- "$key" "$manual" || { echo "the manual lacks $key" >&2; failed=$((failed + 1)); }
	done

# ---- require: united; --without is no part of the policy ----
printf '%s' '{"version": 1, "extends": ["minimal"], "require": ["landlock"]}' >require.json
expect 0 '"landlock",
    "pidns"' show --policy ./require.json --require pidns --without cgroups
expect 0 '"require"' show --policy ./require.json
expect_no pidns
expect 0 provide why --policy ./require.json --without landlock --open /etc/passwd

# ---- check ----
for profile in minimal python data extended pypi npm debian github-read; do
	expect 0 "$profile: good" check "$profile"
done
printf '{\n  "filesystm": {},\n  "limits": {"wall": "soon"}\n}\n' >bad.json
expect 125 './bad.json:2: filesystm: unknown key; did you mean "filesystem"?' check ./bad.json
expect 125 './bad.json:3: limits.wall: "soon" is no time' check man1.json ./bad.json
printf 'a\0b' >nul.json
expect 125 'NUL byte' check ./nul.json
expect 125 'cannot read ./none.json: No such file' check ./none.json
expect 125 'no profile "none"' check none
expect 125 'cannot read ./dir.json' check ./dir.json
mkdir d.json
expect 125 'cannot read ./d.json' check ./d.json
expect 125 'no policy given' check
expect 0 'Usage' check --help
expect 0 'callgate' check --version
expect 125 'Try' check --nonsense

# ---- show: what it prints is a policy that says the same ----
for profile in minimal python data extended pypi npm debian github-read; do
	ran=$((ran + 1))
	"$callgate" show --profile $profile -- sh >"$profile.shown.json" 2>&1
	"$callgate" show -p "$profile.shown.json" -- sh >again.json 2>&1
	cmp -s "$profile.shown.json" again.json || { echo "show of $profile changes" >&2; failed=$((failed + 1)); }
done
mkdir work read
expect 0 '"wall": "90s"' show -w work -r read -t 90 -e A=b
expect 0 "\"$dir/read\"" show -w work -r ./work/../read
expect 0 "\"workdir\": \"$dir/work\"" show -w work
expect 0 '"workdir": "/work"' show
# shellcheck disable=SC2016 # no shell is to expand these
expect 0 '"A": "b$${c}"' show -e 'A=b${c}'
expect 125 'unknown key' show -p bad.json
expect 125 'name a directory that exists' show -w nowhere
expect 125 '-t soon: is no time; write a time' show -t soon
expect 125 '--output-limit 0: is out of range; write a size from 1' show --output-limit 0
expect 125 '--output-limit none: is no size' show --output-limit none
expect 125 '-m 10K: is out of range; write a size from 1M to 1048576T, or "none"' show -m 10K
expect 125 '--pids 0: is out of range; write a number from 1 to 4194304, or "none"' show --pids 0
expect 125 '--disk lots: is no size' why --disk lots --open /a
expect 0 '"memory": 536870912' show -m 512M
expect 0 '"cpu": "1500.000000ms"' show --cpu 1.5s
expect 0 '"pids": 64' show --pids 64
expect 0 '"open_files": 256' show --open-files 256
expect 0 '"file_size": 104857600' show --file-size 100M
expect 0 '"disk": 1073741824' show --disk 1G
expect 0 '"audit": 65536' show --audit-limit 64K
expect 0 '"stderr": 7' show --output-limit 7
printf '{"limits": {"wall": 9, "cpu": 8, "memory": "9M", "pids": 7, "open_files": 9, "file_size": 3, "disk": "1M",
	"stdout": 1, "stderr": 2, "audit": "1M"}}' >lim.json
expect 0 '"audit": 1048576' show -p lim.json
printf '%s\n' "$out" >lim.shown.json
expect 0 "$out" show -p lim.shown.json
expect 0 '"pids": 3' show -p lim.json --pids 3
expect 0 '"stdout": 1' show -p lim.json -m none --pids none
expect_no '"memory"'
expect_no '"pids"'
expect 125 "not a profile's name" show --profile ./x
expect 0 'Usage' show --help
expect 125 'Try' show --nonsense

# ---- why ----
expect 0 'host      none: the run has it for itself' why --profile extended --open /tmp/venv/bin/python
expect_no callgate-scratch
expect 0 '"host": null' why --profile extended --json --open /tmp/venv/bin/python
printf '{"filesystem": {"read": ["/usr"], "write": ["@workdir"], "exec": ["/usr/bin"], "deny": ["**/.env"]},
	"exec": {"deny": ["**/env"]}}' >why.json
expect 0 'allow read /usr/x' why -p why.json --open /usr/x
expect 1 'EROFS' why -p why.json --open /usr/x:w
expect 1 'to allow  nothing is suggested: ' why -p why.json --open /usr/x:w
expect 1 'to allow  -r /etc/hostname, or in a policy' why -p why.json --open /etc/hostname
expect 1 'EACCES' why -p why.json --open /usr/lib:x
expect 1 'why.json: filesystem.deny[0] **/.env' why -p why.json --open /work/.env:w
expect 1 'a deny beats everything; remove why.json: exec.deny[0]' why -p why.json --exec /usr/bin/env
expect 0 'host      /usr/bin/' why -p why.json --exec /usr/bin/sh
expect 1 'ENOENT' why -p why.json --open /etc/shadow
expect 1 'none: what no rule grants does not exist' why -p why.json --open /etc/shadow
expect 0 'allow write /work/a' why -p why.json --open a:w
expect 0 '"verdict": "redirect"' why --json --open /tmp/x
expect 0 '"rule": "command line: -r /etc/hostname"' why --json -r /etc/hostname --open /etc/hostname
expect 0 '"verdict": "provide"' why --json --open /etc/passwd
expect 125 'nothing asked' why -p why.json
expect 125 'more than one question' why --open /a --open /b
expect 125 'an empty path' why --open ''

# ---- the network ----
cat >net.json <<'EOF'
{"version": 1, "network": {"allow": [
  {"host": "api.test.example", "http": ["GET /repos/**", "WEBSOCKET /chat"]},
  {"host": "d1.cloudfront.net"},
  {"host": "db.test", "port": 5432, "private": true}, {"host": "plain.example", "port": 80}],
  "deny": [{"host": "**.evil.example"}], "resolve": {"db.test": ["127.0.0.1"]}},
 "secrets": {"T": {"from": "env:T", "hosts": ["api.test.example"]}}}
EOF
expect 0 'net.json:3: network.allow[1]: warning: d1.cloudfront.net is served' check ./net.json

# ---- questions that no answer can permit, because a file before denies what they are about ----
cat >never.json <<'EOT'
{ "version": 1, "filesystem": {"read": ["/usr"], "deny": ["**/.env"]}, "exec": {"deny": ["/usr/bin/id"]},
  "network": {"deny": [{"host": "**.test"}, {"host": "a.example", "port": 1}]} }
EOT
cat >asks.json <<'EOT'
{ "version": 1, "extends": ["./never.json"], "filesystem": {"ask": ["**/.env", "/usr/x"]},
  "exec": {"ask": ["/usr/bin/id"]}, "network": {"ask": [{"host": "b.test"}, {"host": "a.example"}]} }
EOT
echo '{"version": 1, "inspect": {"refuse": ["dynamic"], "modules": ["os"]}}' >modules.json
expect 0 'modules.json:1: inspect.modules[0]: warning: limits nothing: neither inspect.refuse nor inspect.warn' \
	check ./modules.json
for lists in '' '"warn": ["module"], ' '"refuse": ["alarm"], '; do
	echo "{\"version\": 1, \"inspect\": {$lists\"modules\": [\"os\"]}}" >modules.json
	expect 0 'modules.json: good' check ./modules.json
	expect_no 'warning'
done
expect 0 'asks.json:1: filesystem.ask[0]: warning: asks about nothing: no answer beats never.json: filesystem.deny[0]' \
	check ./asks.json
expect 0 'asks.json:2: exec.ask[0]: warning: asks about nothing' check ./asks.json
expect 0 'asks.json: network.ask[0] b.test: warning: asks about nothing' check ./asks.json
expect_no 'ask[1]'
expect 0 './net.json: good' check ./net.json
expect 0 'allow connect db.test:5432' why -p net.json --connect db.test:5432
expect 0 '127.0.0.1: loopback, permitted by "private"' why -p net.json --connect db.test:5432
expect 0 'opened    no: only the name' why -p net.json --connect D1.cloudfront.net.:443
expect 0 'opened    yes: TLS ends' why -p net.json --connect api.test.example:443
expect 1 'no_rule' why -p net.json --connect test.example:443
expect 1 'port_not_granted' why -p net.json --connect db.test:22
expect 1 'no rule can: a deny beats everything; remove net.json: network.deny[0]' why -p net.json \
	--connect a.evil.example:443
expect 1 'never connected to (metadata)' why -p net.json --connect 169.254.169.254:80
expect 1 'never connected to (metadata)' why -p net.json --connect '[::ffff:169.254.169.254]:80'
expect 1 'proto_not_granted' why -p net.json --connect db.test:5432/udp
expect 0 'allow request GET https://api.test.example:443/repos/x' why -p net.json \
	--url 'GET https://api.test.example/repos/a/../x?y'
expect 1 'method_not_granted' why -p net.json --url 'POST https://api.test.example/repos/x'
expect 1 'status 403 to the request' why -p net.json --url 'GET https://api.test.example/repo'
expect 0 'allow' why -p net.json --url wss://api.test.example/chat
expect 1 'upgrade_not_granted' why -p net.json --url wss://api.test.example/repos/x
expect 1 'proto_not_granted' why -p net.json --url https://plain.example:80/
expect 0 'allow' why -p net.json --url 'DELETE http://plain.example/x'
expect 0 '"opened": true' why -p net.json --json --url 'GET https://api.test.example/repos/x'
expect 1 '"reason": "path_not_granted"' why -p net.json --json --url 'GET https://api.test.example/'
expect 1 '"kind": "metadata"' why -p net.json --json --connect 169.254.169.254:80
expect 1 no_network why --connect a.example:443
expect 1 no_network why -p net.json --no-net --connect db.test:5432
expect 125 'has a path that is refused' why -p net.json --url 'GET https://api.test.example/%2e%2e/x'
expect 125 'is no request' why -p net.json --url 'GET ftp://api.test.example/'
expect 125 'no host that a program could ask for' why -p net.json --url 'GET https://a_b/'
expect 125 'no host that' why -p net.json --connect 127.1:80
expect 125 'names no port' why -p net.json --connect db.test
expect 125 'no port from 1' why -p net.json --connect db.test:0
expect 125 'more than one question' why --connect a.example:1 --open /a
expect 0 'command line: --allow-host *.a.example' why --allow-host '*.a.example' --connect x.a.example:443
expect 0 'command line: --allow GET,POST b.example/x/**' why --allow 'GET,POST b.example/x/**' \
	--url 'POST https://b.example/x/y'
expect 1 'path_not_granted' why --allow 'GET,POST b.example/x/**' --url 'POST https://b.example/y'
expect 0 '"from": "env:TOKEN"' show --allow-host b.example --secret TOKEN@b.example
expect 0 '"network": "none"' show -p net.json --no-net
expect 125 'would be the hosts of anybody' show --allow-host '*.com'
expect 125 '--no-net: contradicts' show --no-net --allow-host a.example
"$callgate" show -p net.json --allow 'GET b.example/x' >net.shown.json
expect 0 "$(cat net.shown.json)" show -p net.shown.json
expect 0 'allow' why --profile npm --url 'GET https://registry.npmjs.org/@types%2fnode'
expect 1 'method_not_granted' why --profile npm --url 'PUT https://registry.npmjs.org/left-pad'
expect 0 'allow' why --profile pypi --url 'GET https://files.pythonhosted.org/packages/a/b.whl'
expect 0 'allow' why --profile debian --url 'GET http://deb.debian.org/debian/dists/stable/InRelease'
expect 0 'allow' why --profile github-read --url 'POST https://github.com/acme/app.git/git-upload-pack'
expect 1 'method_not_granted' why --profile github-read --url 'POST https://github.com/acme/app.git/git-receive-pack'

# ---- interpreters ----
fake()
{
	mkdir -p "$(dirname "$1")" && printf '#!/bin/true\n' >"$1" && chmod 755 "$1"
}
fake py/versions/3.9.1/bin/python3
fake py/versions/3.10.2/bin/python3
fake py/libexec/pyenv
fake py/shims/python3
fake conda/bin/python3.12
ln -s python3.12 conda/bin/python3
mkdir -p venv/bin && ln -s "$dir/conda/bin/python3" venv/bin/python3 &&
	printf 'home = %s/conda/bin\n' "$dir" >venv/pyvenv.cfg
fake nvm/versions/node/v20/bin/node
fake rb/versions/3.2.0/bin/ruby
fake rb/libexec/rbenv
fake rb/shims/ruby
printf '3.9.1\n' >py/version
printf '3.2.0\n' >rb/version
printf '#!%s/conda/bin/python3\n' "$dir" >script && chmod 755 script
printf '#!/usr/bin/env -S node --x\n' >nodescript && chmod 755 nodescript
unset PYENV_VERSION RBENV_VERSION
# Where their users say that they are; what no policy names is no place of a manager.
export PYENV_ROOT="$dir/py" RBENV_ROOT="$dir/rb" NVM_DIR="$dir/nvm" CONDA_PREFIX="$dir/conda" VIRTUAL_ENV="$dir/venv"
PATH=$dir/py/shims:$dir/rb/shims:$dir/nvm/versions/node/v20/bin:$PATH

expect 0 "\"$dir/py/versions/3.9.1\"" show --profile python -- python3
expect_no "$dir/nvm"
expect_no "$dir/py/shims"
expect 0 "\"PATH\": \"$dir/py/versions/3.9.1/bin:" show --profile python -- python3
printf '3.10\n' >.python-version
expect 0 "\"$dir/py/versions/3.10.2\"" show --profile python -- python3
PYENV_VERSION=3.9.1 expect 0 "\"$dir/py/versions/3.9.1\"" show --profile python -- python3
rm .python-version
expect 0 "\"$dir/conda\"" show --profile python -- "$dir/conda/bin/python3"
expect 0 "\"$dir/venv\"" show --profile python -- "$dir/venv/bin/python3"
expect 0 "\"$dir/conda\"" show --profile python -w "$dir" -- ./venv/bin/python3
expect 0 "\"$dir/conda\"" show --profile python -- "$dir/script"
expect_no "$dir/py"
expect 0 "\"$dir/nvm/versions/node/v20\"" show --profile python -- "$dir/nodescript"
expect 0 "\"$dir/rb/versions/3.2.0\"" show --profile python -- ruby
expect 0 "\"$dir/rb/versions/3.2.0\"" show --profile python
expect 0 "\"$dir/nvm/versions/node/v20\"" show --profile python -- sh
if [ -x /usr/bin/python3 ]; then
	expect 0 '"/usr/bin/python3"' show --profile python -- /usr/bin/python3
	expect_no '"/usr",'
fi

# ---- the dispatcher ----
expect 125 'no verb given'
expect 125 'did you mean "check"?' chexk
expect 125 'unknown verb "frobnicate"' frobnicate
expect 0 'Usage' --help
expect 0 'callgate ' --version
(exec >&-; "$callgate" --version) 2>closed.txt && { echo "a closed stdout goes unnoticed" >&2; failed=$((failed + 1)); }

echo "$ran cases, $failed failed"
[ "$failed" -eq 0 ]
