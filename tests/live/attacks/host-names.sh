#!/bin/bash
# Names on the host that the program could have written. Symbolic links and files that an earlier run, --setup or a
# concurrent run leaves in a writable place affect nothing outside of that place: no grant, no file that callgate reads
# or writes, no command, no interpreter. Links that lead elsewhere in the host, or stay within that place, keep working.
. "$(dirname "$0")/../lib.sh"
unset PYENV_ROOT PYENV_VERSION PYENV_DIR # of who runs the tests
need jq
[ -x "$PYTHON" ] || skip "no $PYTHON"
mkdir -p "$T/w" "$T/more" "$T/g" "$T/s" "$T/p" "$T/out/.ssh" "$T/out/bin" "$T/house/.local/bin" "$T/house/keys"
key=key-of-the-caller-$$
for file in "$T/out/key" "$T/house/ring" "$T/house/.local/ring"; do
	echo "$key" >"$file"
	chmod 600 "$file"
done
export HOME=$T/house
cd "$T" || die "cd"

# The first of the two runs: whatever a program may do with what it was given.
earlier()
{
	cg run --profile extended -w "$T/w" -W "$T/more" -W "$T/g" -W "$T/s" -- /bin/sh -ec "$1" 2>"$T/err" ||
		die "the earlier run: $(cat "$T/err")"
}

# policy JSON: writes $T/p/p.json; "extends" and "version" are given.
policy()
{
	jq -n --argjson more "$1" '{version: 1, extends: ["extended"]} * $more' >"$T/p/p.json" || die "policy $1"
}

# refused NAME WORDS run…: nothing runs, callgate says why, and the key is nowhere in what comes out.
refused()
{
	local name=$1 words=$2 status
	shift 2
	cg "$@" >"$T/stdout" 2>"$T/err"
	status=$?
	[ $status = 125 ] || fail "$name: ended with $status: $(head -c 300 "$T/stdout" "$T/err")"
	grep -q -- "$words" "$T/err" || fail "$name: says $(cat "$T/err")"
	grep -rqs "$key" "$T/stdout" "$T/w" "$T/more" && fail "$name: the key got out"
	[ -z "$(ls -A "$T/out/.ssh")" ] || fail "$name: wrote $(ls "$T/out/.ssh")"
	rm -f "$T/out/.ssh/"* "$T/out/ran" "$T/ran"
}

# works NAME OUTPUT run…
works()
{
	local name=$1 want=$2 out
	shift 2
	out=$(cg "$@" 2>"$T/err")
	[ "$out" = "$want" ] || fail "$name: $out $(cat "$T/err")"
}

link="by the symbolic link $T"
read_key=(-- /bin/cat "$T/out/key")
x=(-x /bin/cat)

# ---- grants ----
earlier "ln -s $T/out w/data 2>/dev/null || ln -s $T/out data; ln -s out-by-chain chain; ln -s ../out out-by-chain
	ln -s .. up
	ln -s $T/out/.ssh $T/more/l; ln -s $T $T/more/up; ln -s $T/out/key $T/g/x.log;
	ln -s $T/out $T/s/l; mkdir real; echo in >real/f; ln -s real near
	ln -s $T/w/real/f $T/more/across"
grants()
{
	local path
	for path in "$T/w/data" "$T/w/data/key" "$T/w/chain" "$T/w/chain/key" "$T/w/up/out" "$T/w/./data"; do
		refused "-r ${path#"$T/"}" "$link/w/" run "${x[@]}" -w "$T/w" -r "$path" "${read_key[@]}"
	done
	refused "-r of a relative name" "$link/w/data" run "${x[@]}" -w "$T/w" -r w/data "${read_key[@]}"
	refused "-r with .." "behind a symbolic link" run "${x[@]}" -w "$T/w" -r "$T/w/data/../out/key" "${read_key[@]}"
	refused "-r with .. to a link" "$link/w/data" run "${x[@]}" -w "$T/w" -r "$T/w/real/../data" "${read_key[@]}"
	refused "-W" "$link/more/l" run --profile extended -w "$T/w" -W "$T/more" -W "$T/more/l" \
		-- /bin/sh -c "echo $key >$T/out/.ssh/authorized_keys"
	refused "-W of what is above" "$link/more/up" run --profile extended -W "$T/more" -W "$T/more/up" \
		-- /bin/sh -c "echo $key >$T/out/.ssh/authorized_keys"
	refused "-w" "$link/more/up" run --profile extended -W "$T/more" -w "$T/more/up" -- /bin/cat out/key
	ln -s / "$T/more/root"
	refused "-r of a link to the root" "leads to / $link/more/root" run "${x[@]}" -W "$T/more" \
		-r "$T/more/root" "${read_key[@]}"
	rm "$T/more/root"
	refused "-x" "$link/w/data" run -w "$T/w" -x "$T/w/data" -- "$T/out/bin/tool"
	refused "a place of another" "$link/more/l" run "${x[@]}" -W "$T/more" -r "$T/more/l" "${read_key[@]}"
	policy "{\"filesystem\": {\"write\": [\"$T/g/*.log\"]}}"
	refused "a glob's place" "$link/g/x.log" run -p "$T/p/p.json" -r "$T/g/x.log" "${read_key[@]}"
	for rule in '"read": ["'"$T"'/w/data"]' '"write": ["'"$T"'/w/data/.ssh"]' '"exec": ["'"$T"'/w/data/bin/*"]' \
		'"read": ["'"$T"'/w/data/*"]' \
		'"redirect": [{"from": "/srv/x", "to": "'"$T"'/w/data"}]' \
		'"redirect": [{"from": "'"$T"'/w/data/x", "to": "@scratch/x"}]' \
		'"provide": {"'"$T"'/w/data/x": "text"}'; do
		policy "{\"filesystem\": {$rule}}"
		refused "$rule" "leads to $T/out" run -p "$T/p/p.json" -w "$T/w" "${read_key[@]}"
	done
	policy "{\"phases\": {\"setup\": {\"filesystem\": {\"write\": [\"$T/s\"]}},
		\"run\": {\"filesystem\": {\"read\": [\"$T/s/l\"]}}}}"
	refused "the other phase's place" "$link/s/l" run -p "$T/p/p.json" "${read_key[@]}"
}
grants
if [ -z "${LIVE_WITHOUT:-}" ]; then
	LIVE_WITHOUT=namespaces grants
fi
# Within the workdir, too: no link may lead out of what may be written to what may not.
mkdir -p "$T/w/part" "$T/w/kept" && echo "$key" >"$T/w/kept/key"
ln -s ../kept "$T/w/part/l"
for rules in '{"filesystem": {"write": ["@workdir/part"], "read": ["@workdir/part/l"]}}' \
	'{"filesystem": {"write": ["@workdir/part"], "exec": ["@workdir/part/l/*"]}}' \
	'{"filesystem": {"write": ["@workdir/part"], "redirect": [{"from": "/srv/x", "to": "@workdir/part/l/key"}]}}' \
	'{"phases": {"setup": {"filesystem": {"write": ["@workdir/part"]}},
	"run": {"filesystem": {"write": ["@workdir/part/l"]}}}}'; do
	jq -n --argjson more "$rules" '{version: 1} * $more' >"$T/p/p.json" || die "policy $rules"
	"$CALLGATE" show -p "$T/p/p.json" -w "$T/w" >"$T/stdout" 2>"$T/err" && fail "in the workdir: $rules"
	grep -q "leads to $T/w/kept.* $link/w/part/l" "$T/err" || fail "in the workdir: $rules: $(cat "$T/err")"
done
jq -n '{version: 1, filesystem: {read: ["/usr", "/lib", "/lib64", "@workdir/part/l"],
	exec: ["/bin/cat", "/usr/lib/**"]}}' >"$T/p/p.json"
works "a link that no user may write" "$key" run -p "$T/p/p.json" -w "$T/w" -- /bin/cat "$T/w/kept/key"
rm -r "$T/w/part" "$T/w/kept"
works "a link within the workdir" in run "${x[@]}" -w "$T/w" -r "$T/w/near" -- /bin/cat near/f
works "a plain directory there" in run "${x[@]}" -w "$T/w" -r "$T/w/real" -- /bin/cat real/f
works "a path with .." in run "${x[@]}" -w "$T/w" -r w/real/../real -- /bin/cat real/f
works "a link elsewhere" "$key" run "${x[@]}" -w "$T/w" -r "$T/out" -r /lib -r /etc/alternatives "${read_key[@]}"
ln -s out "$T/mine"
works "a link of the caller's own" "$key" run "${x[@]}" -w "$T/w" -r "$T/mine" -- /bin/cat "$T/mine/key"

# By --setup, after the first look.
mkdir -p "$T/w/later"
planted()
{
	local name=$1 plant=$2
	shift 2
	rm -rf "$T/w/later" && mkdir "$T/w/later"
	refused "$name, planted by --setup" "$link/w/later" run --profile extended -w "$T/w" "$@" \
		--setup "rm -r later; ln -s $plant later" \
		-- /bin/sh -c "cat $T/out/key; echo $key >$T/out/.ssh/authorized_keys"
}
planted -r "$T/out" -r "$T/w/later"
planted -W "$T/out/.ssh" -W "$T/w/later"
planted -x "$T/out/bin" -x "$T/w/later"
rm -rf "$T/w/later"

# ---- what callgate itself reads ----
lies="lies where a run may write"
by="is reached by the symbolic link $T"
echo '{"version": 1, "extends": ["extended"], "filesystem": {"read": ["/"]}}' >"$T/w/p.json"
mkdir -p "$T/w/profiles"
jq 'del(.extends)' "$T/w/p.json" >"$T/w/profiles/mine.json"
cp "$T/w/p.json" "$T/out/p.json"
refused "-p" "$T/w/p.json: $lies" run -p "$T/w/p.json" -w "$T/w" "${read_key[@]}"
refused "-p by a link" "$T/w/data/p.json: $by/w/data" run -p "$T/w/data/p.json" -w "$T/w" "${read_key[@]}"
refused "-p of the current directory" "$lies" run -p w/p.json -w w "${read_key[@]}"
CALLGATE_PROFILES=$T/w/profiles refused "a profile" "$T/w/profiles/mine.json: $lies" run --profile mine \
	-W "$T/w" "${read_key[@]}"
policy "{\"extends\": [\"$T/w/p.json\"]}"
refused "extends" "$T/w/p.json: $lies" run -p "$T/p/p.json" -w "$T/w" "${read_key[@]}"
policy "{\"filesystem\": {\"provide\": {\"/etc/x\": {\"from\": \"file:$T/w/data/key\"}}}}"
refused "provide by a link" "$T/w/data/key: $by/w/data" run -p "$T/p/p.json" -w "$T/w" -- /bin/cat /etc/x
policy "{\"filesystem\": {\"provide\": {\"/etc/x\": {\"from\": \"file:$T/w/p.json\"}}}}"
refused "provide" "$T/w/p.json: $lies" run -p "$T/p/p.json" -w "$T/w" -- /bin/cat /etc/x
"$CALLGATE" show -p "$T/p/p.json" -w "$T/w" >"$T/stdout" 2>&1 && fail "show of what a run may have written"

policy '{"filesystem": {"deny": ["@workdir/p.json"]}}'
jq '.filesystem.deny = ["@workdir/p.json"] | .filesystem.read = []' "$T/w/p.json" >"$T/w/~" && mv "$T/w/~" "$T/w/p.json"
works "a policy that denies itself" ok run -p "$T/w/p.json" -w "$T/w" \
	-- /bin/sh -c 'echo more >>p.json; rm p.json; mv p.json x; echo ok'
jq -e . "$T/w/p.json" >/dev/null || fail "a policy that denies itself was changed"

# secret FROM: a policy with one, and a network to send it to.
secret()
{
	policy "$(jq -n --arg from "$1" '{secrets: {TOK: {from: $from, hosts: ["a.test"]}},
		network: {allow: [{host: "a.test"}]}}')"
}
ran="touch $T/ran; echo token"
echo token >"$T/w/token"
printf '#!/bin/sh\n%s\n' "$ran" >"$T/w/tok.sh"
chmod +x "$T/w/tok.sh"
mkdir -p "$T/w/bin" && cp "$T/w/tok.sh" "$T/w/bin/tok-tool"
commands()
{
	secret "file:$T/w/token"
	refused "a secret's file" "$T/w/token $lies" run -p "$T/p/p.json" -w "$T/w" "$@" -- true
	secret "file:$T/w/data/key"
	refused "a secret by a link" "$T/w/data/key $by/w/data" run -p "$T/p/p.json" -w "$T/w" "$@" -- true
	cd "$T/w" || die "cd" # where commands are not run
	# shellcheck disable=SC2016 # the shell's that runs it
	for command in "$T/w/tok.sh" "sh $T/w/tok.sh" "cat <$T/w/token" "A=b $T/w/tok.sh" "true && $T/w/tok.sh" \
		"sh -c '. $T/w/tok.sh'" \
		"cat $T/w/data/key" "echo \`$T/w/tok.sh\`" '$HOME/../w/tok.sh' '"${HOME}"/../w/tok.sh' "'$T/w'/tok.sh" \
		"$T/\\w/tok.sh" \
		"'$T/w/a b/tok.sh'" "$T/w/*.sh" "$T/p/by-line"; do
		secret "command:$command"
		refused "command $command" "the command's .*\\($lies\\|$by\\)" run -p "$T/p/p.json" -w "$T/w" "$@" \
			-- true
		[ ! -e "$T/ran" ] || fail "command $command: was run"
	done
	for command in ./tok.sh "sh tok.sh" "cat token" "make" "python3 -m token_module"; do
		secret "command:$command"
		refused "command $command" "its command failed" run -p "$T/p/p.json" -w "$T/w" "$@" -- true
		[ ! -e "$T/ran" ] || fail "command $command: was run"
	done
	for path in "$T/w/bin:$PATH" "$PATH:$T/w/bin" "$T/w/none:$PATH" "$T/w/data/bin:$PATH"; do
		secret "command:cat $T/out/p.json"
		PATH=$path refused "PATH $path" "the command's .*\\($lies\\|$by\\)" run -p "$T/p/p.json" \
			-w "$T/w" "$@" -- true
	done
	for path in "bin:$PATH" ":$PATH"; do
		secret "command:tok-tool"
		PATH=$path refused "PATH $path" "its command failed" run -p "$T/p/p.json" -w "$T/w" "$@" -- true
		[ ! -e "$T/ran" ] || fail "PATH $path: was run"
	done
	cd "$T" || die "cd"
}
printf '#!%s/w/tok.sh\n' "$T" >"$T/p/by-line" && chmod +x "$T/p/by-line"
printf 'all:; touch %s/ran\n' "$T" >"$T/w/Makefile"
echo "open('$T/ran', 'w')" >"$T/w/token_module.py"
mkdir "$T/w/a b" && cp "$T/w/tok.sh" "$T/w/a b/tok.sh"
commands
commands --setup "printf '#!/bin/sh\ntouch $T/ran; cat $T/out/key\n' >tok.sh"
policy "{\"network\": {\"allow\": [{\"host\": \"a.test\"}], \"upstream_ca\": \"$T/w/token\"}}"
refused "upstream_ca" "$T/w/token $lies" run -p "$T/p/p.json" -w "$T/w" -- true

# Read before the setup, and once: what a command says the second time counts for nothing, and a descriptor has no
# second time.
cat >"$T/p/count.sh" <<'EOF2'
echo x >>"$1"
wc -l <"$1"
EOF2
policy "$(jq -n --arg from "command:sh $T/p/count.sh $T/p/counted" '{secrets: {TOK: {from: $from, hosts: ["a.test"]},
	FD: {from: "fd:9", hosts: ["a.test"]}},
	network: {allow: [{host: "a.test"}]}}')"
# shellcheck disable=SC2016 # the inner shell's
works "secrets with --setup" ok run -p "$T/p/p.json" -w "$T/w" \
	--setup "[ -n \"\$TOK\" ] && printf %s \"\$TOK\" >placeholder" \
	-- /bin/sh -c '[ -n "$TOK$FD" ] && [ "$TOK" != "$(cat placeholder)" ] && echo ok' 9< <(echo handed)
[ "$(wc -l <"$T/p/counted")" = 1 ] || fail "the command was run $(wc -l <"$T/p/counted") times"
rm -f "$T/w/placeholder"

# ---- what callgate copies and writes ----
refused "--input" "--input w/data/key leads to $T/out/key $link/w/data" run -w "$T/w" --input w/data/key -x /bin/cat \
	-- /bin/cat key
[ ! -e "$T/w/key" ] || fail "--input: the key lies in the workdir"
works "--input by a link of the caller's own" "$key" run --input mine/key -x /bin/cat -- /bin/cat key
refused "--output" "--output w/data leads to $T/out $link/w/data" run --profile extended -w "$T/w" --output w/data \
	-- true
refused "--output below" "leads to $T/out/.ssh/new $link/w/data" run --profile extended -w "$T/w" \
	--output w/data/.ssh/new -- true
refused "--audit" "its directory leads to $T/out/.ssh $link/w/data" run --profile extended -w "$T/w" \
	--audit w/data/.ssh/log -- true
works "--output and --audit by a link of the caller's own" ok run --profile extended --output mine/kept \
	--audit mine/log -- /bin/sh -c 'echo ok; touch new'
{ [ -s "$T/out/log" ] && [ -e "$T/out/kept/new" ]; } || fail "--output and --audit: $(ls "$T/out" "$T/out/kept")"

# ---- @interpreter ----
# shows NAME FILE PROGRAM: whether @interpreter grants the file
shows()
{
	cg why --profile python -w "$T/w" --open "$2" -- "$3" >"$T/stdout" 2>"$T/err"
	grep -q ^allow "$T/stdout" # "redirect": as all of /var/tmp
}
hides()
{
	shows "$@" && fail "$1: $(head -n 1 "$T/stdout")"
	grep -q "^callgate: @interpreter " "$T/err" || fail "$1: says nothing: $(cat "$T/err")"
}
mkdir -p "$T/house/bin" "$T/house/keys/bin"
for dir in "$T/house/bin" "$T/house/.local/bin" "$T/house/keys/bin"; do
	cp /bin/true "$dir/tool"
	cp /bin/true "$dir/python3"
done
cp "$T/house/ring" "$T/house/keys/ring"
interpreters()
{
	local target=$1 ring=$2
	rm -rf "$T/w/evil" "$T/w/venv" && mkdir -p "$T/w/evil" "$T/w/venv/bin"
	ln -s "$target" "$T/w/evil/python3"
	printf '#!/usr/bin/env -S -u evil/python3 python3\n' >"$T/w/s.py" && chmod +x "$T/w/s.py"
	cd "$T/w" || die "cd"
	shows "env -u of $target" "$ring" ./s.py && fail "env -u of $target: $(head -n 1 "$T/stdout")"
	for line in "/usr/bin/env -S evil/python3" "$T/w/evil/python3" "/usr/bin/env evil/python3" \
		"/usr/bin/env -S FOO=bar evil/python3"; do
		printf '#!%s\n' "$line" >s.py
		hides "#! $line" "$ring" ./s.py
	done
	printf '#!%s\n' "$target" >s.py
	# "tool" is no interpreter at all
	shows "#! $target" "$ring" ./s.py && fail "#! $target: $(head -n 1 "$T/stdout")"
	hides "a link to $target" "$ring" evil/python3
	ln -s "$target" venv/bin/python3
	printf 'home = %s\n' "${target%/*}" >venv/pyvenv.cfg
	hides "home = ${target%/*}" "$ring" venv/bin/python3
	PATH=$T/w/evil:$PATH hides "PATH" "$ring" true
	cd "$T" || die "cd"
}
interpreters "$T/house/bin/tool" "$T/house/ring"
interpreters "$T/house/bin/python3" "$T/house/ring"
interpreters "$T/house/.local/bin/python3" "$T/house/.local/ring"
interpreters "$T/house/keys/bin/python3" "$T/house/keys/ring"
cd "$T/w" || die "cd"
# shellcheck disable=SC2016 # env's
for line in "-x python3" "-S -Z python3" "-S PATH=/x python3" "-S 'python3'" '-S ${HOME}/python3' "-i" "python3 -u" \
	"-S -u PATH python3"; do
	printf '#!/usr/bin/env %s\n' "$line" >s.py
	hides "env $line" "$PYTHON" ./s.py
done
for line in "python3" "-S python3 -u" "-S -i A=b python3" "-S -u X -uY --unset=Z -- python3" \
	"--split-string=-C /tmp python3 -B" "-S -v - python3"; do
	printf '#!/usr/bin/env %s\n' "$line" >s.py
	PATH=/usr/bin:/bin shows "env $line" /usr/bin/python3 ./s.py || fail "env $line: $(cat "$T/stdout" "$T/err")"
done
cd "$T" || die "cd"
# The root of the workdir's own environment shows no more than the workdir's grants.
policy '{"extends": []}'
jq -n '{version: 1, filesystem: {read: ["@interpreter"], write: ["@workdir/out"]}}' >"$T/p/p.json"
mkdir -p "$T/w/out" "$T/w/pre/bin" && cp /bin/true "$T/w/pre/bin/python3" && cp "$T/out/p.json" "$T/w/pre/private"
cg why -p "$T/p/p.json" -w "$T/w" --open "$T/w/pre/private" -- "$T/w/pre/bin/python3" >"$T/stdout" 2>&1 &&
	fail "a prefix in the workdir: $(cat "$T/stdout")"
# A manager's place in a home directory that a run may write: it leads where an earlier run wanted it to.
mkdir -p "$T/app/bin" "$T/house/.rye" && cp /bin/true "$T/app/bin/python3" && cp "$T/house/ring" "$T/app/ring"
ln -s "$T" "$T/house/.rye/py"
printf '#!%s/app/bin/python3\n' "$T" >"$T/house/app.py" && chmod +x "$T/house/app.py"
cg why --profile python -W "$T/house" -w "$T/w" --open "$T/app/ring" -- "$T/house/app.py" >"$T/stdout" 2>"$T/err"
grep -q ^allow "$T/stdout" && fail "a manager's place by a link: $(cat "$T/stdout")"
grep -q "not granted: $T/app is in $T/house/.rye/py" "$T/err" || fail "a manager's place by a link: $(cat "$T/err")"
rm -r "$T/house/.rye" "$T/app"
# Version managers and environments work.
mkdir -p "$T/house/.pyenv/versions/3.99.1/bin" "$T/house/.pyenv/libexec" "$T/house/.pyenv/shims"
cp /bin/true "$T/house/.pyenv/versions/3.99.1/bin/python3" && cp /bin/true "$T/house/.pyenv/shims/python3"
touch "$T/house/.pyenv/libexec/pyenv" "$T/house/.pyenv/versions/3.99.1/lib" && echo 3.99.1 >"$T/house/.pyenv/version"
PATH=$T/house/.pyenv/shims:$PATH shows pyenv "$T/house/.pyenv/versions/3.99.1/lib" python3 ||
	fail "pyenv: $(cat "$T/stdout" "$T/err")"
PATH=$T/house/.pyenv/shims:$PATH shows pyenv "$T/house/.pyenv/version" python3 && fail "pyenv: more than a version"
rm -rf "$T/w/env"
"$PYTHON" -m venv --without-pip "$T/w/env" && works "an environment" "$T/w/env" run --profile python -w "$T/w" \
	-- "$T/w/env/bin/python3" -c \
	'import sys; print(sys.prefix)'

# ---- races: another run swaps what a grant names for a link, and back ----
cat >"$T/p/flip.py" <<'EOF2'
import os, sys, time
end = time.monotonic() + float(sys.argv[1])
os.makedirs("race", exist_ok=True)
open("race/key", "w").write("mine\n")
os.symlink(sys.argv[2], "swap")
open("flipping", "w").close()
while time.monotonic() < end:
    os.rename("race", "aside"); os.rename("swap", "race"); os.rename("race", "swap"); os.rename("aside", "race")
EOF2
race()
{
	local seconds=${FLIP_SECONDS:-4} got=0 tries=0
	rm -rf "$T/w/race" "$T/w/swap" "$T/w/aside" "$T/w/flipping"
	cg run --profile extended -w "$T/w" --input "$T/p/flip.py" -- "$PYTHON" flip.py "$seconds" "$T/out" &
	await "the program that swaps" test -e "$T/w/flipping"
	SECONDS=0
	while [ $SECONDS -lt "$seconds" ]; do
		tries=$((tries + 1))
		cg run -x /bin/cat -r "$T/w/race" -w "$T/w" "${read_key[@]}" 2>/dev/null | grep -q "$key" &&
			got=$((got + 1))
	done
	wait $!
	rm -f "$T/w/flip.py"
	[ $got = 0 ] || fail "a race${LIVE_WITHOUT:+ without $LIVE_WITHOUT}: the key in $got of $tries runs"
}
race
[ -n "${LIVE_WITHOUT:-}" ] || LIVE_WITHOUT=namespaces race
