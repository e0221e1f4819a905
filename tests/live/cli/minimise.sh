#!/bin/bash
# callgate policy minimise: what recorded runs did not need is dropped or narrowed, what they used stays granted, and
# the programs run under the result without a denial.
. "$(dirname "$0")/../lib.sh"
need jq git tar
W=$T/w
mkdir -p "$W" "$T/lib/a/b" "$T/lib/c" "$T/unused" "$T/out"
echo x | tee "$T/lib/a/b/x" "$T/lib/c/y" "$T/lib/z" "$T/unused/u" >/dev/null

minimise()
{
	timeout 120 "$CALLGATE" policy minimise "$@" </dev/null
}

# minimised NAME POLICY -- PROGRAM…: runs the program, minimises the policy to $T/NAME.json, and runs it again.
minimised()
{
	local name=$1 policy=$2
	shift 3
	rm -f "$T/$name.log" "$T/$name.log2"
	cg run -p "$policy" -w "$W" --audit "$T/$name.log" -- "$@" >"$T/$name.out" 2>"$T/err" ||
		fail "$name: $(tail -n 3 "$T/err")"
	minimise -w "$W" -o "$T/$name.json" "$policy" "$T/$name.log" 2>"$T/$name.said" ||
		fail "$name: $(cat "$T/$name.said")"
	timeout 300 "$CALLGATE" check "$T/$name.json" >"$T/check" 2>&1 || fail "$name: $(cat "$T/check")"
	timeout 300 "$CALLGATE" replay -p "$T/$name.json" -w "$W" --fail-on denied --json "$T/$name.log" >"$T/replay" ||
		fail "$name: $(jq -c .newly_denied "$T/replay")"
	cg run -p "$T/$name.json" -w "$W" --json --audit "$T/$name.log2" -- "$@" >"$T/again" 2>"$T/err"
	jq -e '.exit_code == 0' "$T/again" >/dev/null ||
		fail "$name again: $(cat "$T/err") $(jq -c .denials "$T/again")"
	jq -j .stdout "$T/again" | cmp -s - "$T/$name.out" ||
		fail "$name: another output: $(jq -j .stdout "$T/again")"
	# The calls that the first run was granted are granted again.
	jq -rs '.[] | select(.syscall and .path and (.verdict | IN("allow", "redirect", "provide"))) |
		"\(.syscall) \(.path)"' "$T/$name.log" | sort -u >"$T/granted"
	jq -rs '.[] | select(.syscall and .path and .verdict == "deny") | "\(.syscall) \(.path)"' "$T/$name.log2" |
		sort -u | comm -12 "$T/granted" - >"$T/lost"
	[ ! -s "$T/lost" ] || fail "$name lost: $(head -n 5 "$T/lost")"
	# A second time nothing is found any more.
	minimise -w "$W" "$T/$name.json" "$T/$name.log" >"$T/twice" 2>"$T/err" || fail "$name twice: $(cat "$T/err")"
	grep -q ' 0 rules dropped, 0 narrowed' "$T/err" || fail "$name twice: $(cat "$T/err")"
	cmp -s "$T/twice" "$T/$name.json" || fail "$name twice: another policy"
}

cat >"$T/wide.json" <<JSON
{"version": 1, "name": "wide", "filesystem": {
 "read": ["/etc", {"path": "/usr", "because": "libraries, 214 times", "also_grants": {"count": 9, "names": ["/usr/x"]}},
  "/lib", "/lib64", "/bin", "$T/unused", {"path": "$T/lib/c", "because": "the data"},
  {"path": "/srv", "disabled": "no"}],
 "write": ["@workdir", "$T/out", "$T/lib"], "exec": ["/usr/bin", "/usr/lib", "/opt"],
 "deny": ["**/.env", "$T/lib/secret"], "redirect": [{"from": "/tmp", "to": "@scratch/tmp"}]},
 "network": {"allow": [{"host": "a.invalid", "http": ["GET /x", "POST /y"]}, {"host": "b.invalid"}], "listen": [8000]},
 "env": {"set": {"PATH": "/usr/bin:/bin", "HOME": "/work"}}}
JSON
# shellcheck disable=SC2016 # expanded inside
minimised shell "$T/wide.json" -- /bin/sh -c '
	cat "$0"/lib/a/b/x "$0"/lib/c/y; ls /usr/share/doc >/dev/null; cat /etc/passwd >/dev/null
	rm -rf "$0"/out/made; mkdir "$0"/out/made && echo y >"$0"/out/made/f; : >/tmp/t; rm -rf d; mkdir d; exit 0' "$T"
jq -e --arg t "$T" '.filesystem as $fs |
	($fs.read | map(.path? // .)) as $read | ($fs.write | map(.path? // .)) as $write |
	($fs.exec | index("/opt") == null and all(startswith("/usr/bin/"))) and
	($read | index("/usr") == null and index("/etc") == null and index($t + "/unused") == null) and
	($write | index($t + "/lib") == null and index("@workdir") != null) and
	$fs.deny == ["**/.env", $t + "/lib/secret"] and ($fs.redirect | length == 1) and
	([$fs.read[] | select(.because? == "libraries, 214 times" and (has("also_grants") | not))] | length > 0) and
	([$fs.read[] | select(.disabled?)] | length == 1) and
	.network.allow == [] and .env.set.PATH == "/usr/bin:/bin"' "$T/shell.json" >/dev/null ||
	fail "shell: $(cat "$T/shell.json")"

cat >"$T/git.json" <<JSON
{"version": 1, "extends": ["extended"], "filesystem": {"read": ["$T"], "write": ["$T/out", "/var/lib"]}}
JSON
minimised git "$T/git.json" -- /bin/sh -c 'rm -rf repo && git init -q repo && cd repo && echo x >f && git add f &&
	git -c user.name=a -c user.email=a@b commit -qm one && git status --short && git gc -q'
minimised tar "$T/git.json" -- /bin/sh -c 'echo x >f; tar cf x.tar f && tar tf x.tar && rm x.tar'
minimised python "$T/git.json" -- /usr/bin/python3 -c '
import json, os, sqlite3, subprocess
print(sqlite3.connect(":memory:").execute("select 1").fetchone())
print(subprocess.run(["/usr/bin/python3", "-c", "print(2)"], capture_output=True).stdout)'

# Several logs: what any of them used stays. The policy may be replaced; what it extends may be minimised, too.
cp "$T/wide.json" "$T/both.json"
cg run -p "$T/wide.json" -w "$W" --audit "$T/second.log" -- /bin/cat "$T/unused/u" >/dev/null 2>&1
minimise -w "$W" -o "$T/both.json" "$T/both.json" "$T/shell.log" "$T/second.log" 2>"$T/err" ||
	fail "both: $(cat "$T/err")"
jq -e --arg t "$T" '[.filesystem.read[] | .path? // .] | any(startswith($t + "/unused"))' "$T/both.json" >/dev/null ||
	fail "both: $(cat "$T/both.json")"
minimise --flatten -w "$W" -o "$T/flat.json" "$T/git.json" "$T/python.log" 2>"$T/err" || fail "flat: $(cat "$T/err")"
jq -e 'has("extends") | not' "$T/flat.json" >/dev/null || fail "flat: $(cat "$T/flat.json")"
cg run -p "$T/flat.json" -w "$W" -- /usr/bin/python3 -c 'import sqlite3; print(1)' >"$T/out/o" 2>&1 ||
	fail "flat: $(cat "$T/out/o")"

# refused WANTED ARGUMENT…: exit status 125, this message alone, nothing written.
refused()
{
	local wanted=$1
	shift
	rm -f "$T/new.json"
	minimise -w "$W" -o "$T/new.json" "$@" >"$T/said" 2>"$T/err"
	if [ $? != 125 ] || [ -s "$T/said" ] || [ -e "$T/new.json" ] || ! grep -qE "$wanted" "$T/err" ||
		[ "$(grep -c . "$T/err")" -gt 2 ]; then
		fail "$*: $(cat "$T/err")"
	fi
}
refused 'no policy given'
refused 'no log given' "$T/wide.json"
refused 'none.json' "$T/none.json" "$T/shell.log"
refused 'nothing.log: No such file' "$T/wide.json" "$T/nothing.log"
head -n 9 "$T/shell.log" >"$T/cut.log"
refused 'cut.log:10: there is no trailer' "$T/wide.json" "$T/cut.log"
echo '{"version": 1, "filesystem": {"raed": []}}' >"$T/bad.json"
refused 'bad.json:1: filesystem.raed' "$T/bad.json" "$T/shell.log"
minimise -w "$W" -o "$T/none/x.json" "$T/wide.json" "$T/shell.log" 2>&1 | grep -q -- '-o .*: cannot be written' ||
	fail "an -o in a directory that does not exist"
left=$(find "$T" -maxdepth 1 -name '*.json.*')
[ -z "$left" ] || fail "left behind: $left"
exit 0
