#!/bin/bash
# --mode observe performs what the policy denies and says so; secrets stay unread, and files outside the workdir stay as
# they are. --dry-run changes no file at all.
. "$(dirname "$0")/../lib.sh"
need jq
echo '{"version": 1, "name": "nothing", "env": {"set": {"PATH": "/usr/bin:/bin"}}}' >"$T/nothing.json"
mkdir "$T/w" "$T/outside"
echo before >"$T/outside/file"
echo before >"$T/outside/gone"
echo token >"$T/w/.env"
echo key >"$T/home/.netrc"

# observe OPTION… -- PROGRAM…: the result in $T/result, the log in $T/log
observe()
{
	rm -f "$T/log"
	(cd "$T/w" && HOME=$T/home cg run --json --mode observe -p "$T/nothing.json" -w "$T/w" --audit "$T/log" "$@") \
		>"$T/result" 2>"$T/err"
}

holds() # WHAT FILTER: of the result
{
	jq -e "$2" "$T/result" >/dev/null ||
		fail "$1: $(jq -c '[.status, .mode, .calls, .denials[0:4], .error]' "$T/result") $(cat "$T/err")"
}

recorded() # WHAT FILTER: some record of the log
{
	jq -es "any(.[]; $2)" "$T/log" >/dev/null || fail "$1: not on record"
}

# Can the run keep writes apart here?
observe -- /bin/sh -c "echo x >$T/outside/try && cat $T/outside/try"
[ -e "$T/outside/try" ] && fail "wrote outside the workdir"
if [ "$(jq -r .stdout "$T/result")" = x ]; then overlay=yes; else overlay=no; fi
if [ $overlay = no ] && layer userns && layer mountns; then
	fail "no overlay, although there are namespaces: $(jq -c '.denials' "$T/result")"
fi

# what a policy that grants nothing would deny
observe -- /bin/sh -c 'cat /etc/os-release; ls -d /usr/share; echo made >made; exit 3'
holds "observed" '.mode == "observe" and .dry_run == false and .exit_code == 3 and .status == "failed" and
	(.stdout | contains("/usr/share")) and .calls.observed > 5 and .calls.denied == .calls.expected and
	any(.denials[]; .observed == true and .op == "exec" and .reason == "not_granted") and
	(.denials | all(.observed == true))'
recorded "a performed denial" '.verdict == "deny" and .effect == "performed" and .observed == true and
	.path == "/etc/os-release" and .reason == "not_granted" and .ret != null'
recorded "a continued one" '.syscall == "execve" and .verdict == "deny" and .effect == "continued" and .observed'
jq -es '(map(select(.verdict == "deny")) | length) == (.[-1].denied) and
	.[-1].judged == .[-1].allowed + .[-1].denied' "$T/log" >/dev/null ||
	fail "the trailer does not count the log's verdicts: $(tail -n 1 "$T/log")"
jq -es 'any(.[]; .observed and (.path == "/etc/ld.so.preload"))' "$T/log" >/dev/null &&
	fail "what does not exist is on record as denied"
[ "$(cat "$T/w/made")" = made ] || fail "did not write in the workdir"

# writing outside the workdir
if [ $overlay = yes ]; then
	observe -- /bin/sh -c "cd $T/outside && echo after >file && rm gone && mkdir -p d/e && echo new >d/e/f &&
		mv d/e/f d/g && ln -s g d/l && cat file d/l && ls"
	holds "reads what it wrote" '.stdout == "after\nnew\nd\nfile\n"'
	holds "lists what it wrote" "[.changes[] | select(.path | startswith(\"$T/outside\")) |
		[.kind, (.path | ltrimstr(\"$T/outside/\"))]] == [[\"added\", \"d\"], [\"added\", \"d/e\"],
		[\"added\", \"d/g\"], [\"added\", \"d/l\"], [\"modified\", \"file\"], [\"deleted\", \"gone\"]]"
	recorded "the write" '.path == "file" and .observed and .effect == "performed" and .reason == "not_granted"'
	# For a user, directories of others on the way to the home directory are replaced; a closed one stays closed.
	closed=/var/cache/ldconfig
	if [ -d $closed ] && [ ! -x $closed ]; then
		(HOME=$closed/home cg run --json --mode observe -p "$T/nothing.json" -w "$T/w" -- \
			/bin/sh -c "ls $closed; echo x >$closed/x; [ ! -e $closed/aux-cache ] || echo found") \
			>"$T/result" 2>"$T/err"
		holds "a closed directory" '.stdout == "" and (.stderr | contains("Permission denied"))'
	fi
else
	observe -- /bin/sh -c "echo after >$T/outside/file"
	holds "no overlay" 'any(.denials[]; .observed == null and .op == "write")'
fi
[ "$(ls "$T/outside")" = $'file\ngone' ] || fail "changed files outside the workdir: $(ls "$T/outside")"
[ "$(cat "$T/outside/file")" = before ] || fail "changed the content of a file outside the workdir"

# ... but really, where that is asked for
observe --really -- /bin/sh -c "echo after >$T/outside/file"
[ "$(cat "$T/outside/file")" = after ] || fail "--really does not write: $(jq -c .denials "$T/result")"

# secrets
observe -- /bin/sh -c "cat .env; cat $T/home/.netrc; mv $T/home/.netrc $T/home/other; cat $T/home/other
	ln -s $T/home/.netrc l; cat l; rm l"
holds "reads no secret" '.stdout == "" and any(.denials[]; .reason == "not_observed" and .observed == null and
	.suggest == "--allow-risky" and (.rule | startswith("observe: secret ")))'
observe --allow-risky -- /bin/sh -c "cat .env $T/home/.netrc"
holds "reads secrets when asked" '.stdout == "token\nkey\n" and any(.denials[]; .observed)'

# the log is not the program's
observe --really -- /bin/sh -c "cat $T/log; rm $T/log; mv $T/log $T/log2; echo x >$T/log"
holds "the log" '.stdout == ""'
jq -es '.[-1].type == "trailer"' "$T/log" >/dev/null || fail "the log was changed"

# addresses that are not public; processes outside
if [ -x "$PYTHON" ]; then
	cat >"$T/w/net.py" <<'EOF2'
import os, socket, sys
for host in ("10.255.255.1", "127.0.0.1", "169.254.169.254"):
    try:
        socket.create_connection((host, 9), 5).close()
        print("connected", host)
    except OSError as e:
        print("refused")
try:
    os.kill(int(sys.argv[1]), 0)
    print("reached a process")
except OSError:
    pass
EOF2
	observe -- "$PYTHON" net.py $$
	holds "private addresses" '.stdout == "refused\nrefused\nrefused\n" and
		any(.denials[]; .reason == "denied_addr" and .observed == null)'
fi

# --dry-run: under a policy that grants writing
tree_times()
{
	find "$1" -printf '%P %y %m %s %T@ %C@ %i\n' | sort
}
tree_times "$T/outside" >"$T/before"
tree_times "$T/w" >>"$T/before"
cg run --json --dry-run --profile extended -w "$T/w" -W "$T/outside" -- /bin/sh -c "echo new >new; echo more >>made
	cat made; chmod 700 net.py; mkdir d; mv made d/; rm -f $T/outside/gone; echo x >$T/outside/file
	touch -d 2001-01-01 d; ls" >"$T/result" 2>"$T/err"
if [ $overlay = yes ]; then
	holds "a dry run" '.dry_run and .status == "ok" and .stdout == "made\nmore\nd\nnet.py\nnew\n" and
		([.changes[] | .kind] | sort) ==
		["added", "added", "added", "deleted", "deleted", "modified", "modified"]'
else
	holds "no dry run" '.error.code == "view_failed" and
		(.error.message | startswith("--dry-run: what is written to "))'
fi
{
	tree_times "$T/outside"
	tree_times "$T/w"
} >"$T/after"
cmp -s "$T/before" "$T/after" || fail "a dry run changed: $(diff "$T/before" "$T/after")"

# what goes together
says() # MESSAGE OPTION…
{
	local message=$1
	shift
	cg run "$@" -- /bin/true 2>"$T/err" && fail "$*: runs"
	grep -qF -- "$message" "$T/err" || fail "$*: $(cat "$T/err")"
}
says 'run: --mode watch: must be enforce or observe' --mode watch
says '--really is for --mode observe' --really
says '--allow-risky is for --mode observe' --allow-risky
says '--really writes files and --dry-run does not' --mode observe --really --dry-run
says '--dry-run leaves nothing that --output could keep' --dry-run --output "$T/kept"
says 'would not see what --setup has written' --dry-run --setup true
