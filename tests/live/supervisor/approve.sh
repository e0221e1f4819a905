#!/bin/bash
# "on_deny": "ask" with --approve: questions to a socket and to a command, their answers and scopes, no approver.
. "$(dirname "$0")/../lib.sh"
need jq python3
. "$(dirname "$0")/approve-lib.sh"

# ---- names that would mean others in a rule ----
# shellcheck disable=SC2016 # names of files
names=('**' '*' $'bad\xff' '${HOME}' 'a\b')
printf 'x\n' | (cd "$H" && mkdir names && tee -- "${names[@]/#/names/}" >names/other)
approver no no no no no no
# shellcheck disable=SC2016 # the program's shell expands it
asks "socket:$T/s" -- sh -c 'for f; do cat "$f"; done; echo y >"$1"' - "${names[@]/#/$H/names/}"
ended '.stdout == ""'
# shellcheck disable=SC2016
question '(.[0:3] + .[5:] | all(.rule_to_add == null and (.rule_would_open | test("mean something else")) and
	all(.shown[]; startswith("rule for this") | not))) and (.[3:5] | map(.rule_to_add.filesystem.read[0])) ==
	["'"$H"'/names/$${HOME}", "'"$H"'/names/a\\b"] and .[5].right == "w"'
jq -s 'map(select(.type == "question"))[3,4].rule_to_add + {version: 1}' "$T/asked" | jq -c . |
	while read -r rule; do
		printf '%s\n' "$rule" >"$T/rule.json"
		for name in "${names[@]}"; do
			cg why -p "$T/rule.json" --open "$H/names/$name" >/dev/null && printf '%s\n' "$name"
		done
	done >"$T/opened"
# shellcheck disable=SC2016
[ "$(cat "$T/opened")" = '${HOME}
a\b' ] || fail "the rules open $(cat "$T/opened")"

# ---- once: the question, the record, and that it is asked again ----
approver once no
asks "socket:$T/s" -- sh -c "cat '$H/a'; cat '$H/a'"
ended '.status == "denied" and .stdout == "text a\n" and .calls.approved == 1 and .denials[0].answer == "no" and
	.denials[0].on_deny == "ask"'
question 'length == 2 and .[0].id != .[1].id and (.[0] | (.id | test("^[0-9a-f]{64}$")) and
	.answers == ["once", "run", "no", "stop"] and .command == ["cat", "'"$H/a"'"] and (.exe | endswith("/cat")) and
	.resolved == "'"$H/a"'" and .right == "r" and .syscall == "openat" and .policy == "asks" and
	.rule_to_add == {"filesystem": {"read": ["'"$H/a"'"]}} and (.rule_would_open | test("every program")) and
	(.processes_above[0].shown | test("sh -c cat")) and any(.shown[]; . == "wants to: read"))'
[ "$(jq -r '.policy.sha256' "$T/result")" = "$(jq -r 'select(.seq == 1) | .policy_sha256' "$T/asked")" ] ||
	fail "another policy"
record '.answer == "once" and .answered_how == "socket" and .answered_by == '"$(id -u)"' and .on_deny == "ask" and
	.verdict == "ask" and .effect == "performed" and .asked_ns > 0'
record '.answer == "no" and .verdict == "deny" and .errno == "ENOENT"'
"$CALLGATE" audit show "$T/audit" | grep -q "  answer: once, by uid $(id -u), how: socket\$" ||
	fail "audit show: $("$CALLGATE" audit show "$T/audit")"
for answers in once=1 no,once=2 stop=0 any=2; do
	[ "$("$CALLGATE" audit show --json --answer "${answers%=*}" "$T/audit" | wc -l)" = "${answers#*=}" ] ||
		fail "audit show --answer $answers"
done
jq -se 'map(select(.type == "closed")) | map(.why) == ["answered", "answered"]' "$T/asked" >/dev/null || fail "closed"
"$CALLGATE" replay "$T/audit" -p "$T/p.json" -w "$T/w" --json >"$T/replay" 2>&1
jq -e 'any(.not_replayable.groups[]; .class == "answered" and .count == 2)' "$T/replay" >/dev/null ||
	fail "replay: $(cat "$T/replay")"

# ---- run: this object by this name, for the same right, by any call; nothing else ----
approver run no
asks "socket:$T/s" -- sh -c "cat '$H/a'; stat -c %s '$H/a'; cat '$H/a'; echo >>'$H/a'; cat '$H/b'"
ended '.stdout == "text a\n7\ntext a\n" and .calls.approved >= 3'
question 'map(.right + .resolved) == ["r'"$H"'/a", "w'"$H"'/a", "r'"$H"'/b"]'
# Another object by that name is another question.
approver run no
asks "socket:$T/s" -- sh -c "cat '$H/c'; : >swap; while [ -e swap ]; do sleep 0.01; done; cat '$H/c'" &
run=$!
await "the first read" test -e "$T/w/swap"
mv "$H/c" "$H/c.old" && echo other >"$H/c" && rm "$T/w/swap"
wait $run
ended '.stdout == "text c\n"'
question 'length == 2'
# What has two names has no scope of its own.
approver no
asks "socket:$T/s" -- sh -c "mv '$H/a' '$H/d'"
ended '.exit_code == 1'
question '.[0].answers == ["once", "no", "stop"] and .[0].path2 == "'"$H/d"'"'
approver run
asks "socket:$T/s" -- sh -c "mv '$H/a' '$H/d'"
ended '.exit_code == 1 and .denials[0].answer == "malformed"'

# ---- remember: for later runs with this policy, until it expires ----
approver remember
asks "socket:$T/s" -- cat "$H/a"
ended '.denials[0].answer == "malformed"' # not offered without a file
approver remember
asks "socket:$T/s" --approvals "$T/kept" -- cat "$H/a"
ended '.stdout == "text a\n"'
question '.[0].answers == ["once", "run", "remember", "no", "stop"]'
[ "$(stat -c %a "$T/kept")" = 600 ] || fail "the mode of the file"
jq -e '.path == "'"$H/a"'" and .right == "r" and .expires > now + 80000 and .expires < now + 90000' "$T/kept" \
	>/dev/null || fail "$(cat "$T/kept")"
approver no
asks "socket:$T/s" --approvals "$T/kept" -- sh -c "cat '$H/a'; cat '$H/a'; cat '$H/b'"
ended '.stdout == "text a\ntext a\n"'
question 'length == 1'
record '.answer == "remember" and .answered_how == "remembered" and .asked_ns > 0'
[ "$(grep -c closed "$T/asked")" = 1 ] || fail "closed, but never asked: $(cat "$T/asked")"
# Not with another policy, and not when it has expired.
sed -i.old 's/"asks"/"asks too"/' "$T/p.json"
approver no
asks "socket:$T/s" --approvals "$T/kept" -- cat "$H/a"
ended '.exit_code == 1'
mv "$T/p.json.old" "$T/p.json"
jq -c '.expires = (now | floor) - 1' "$T/kept" >"$T/kept2" && cat "$T/kept2" >"$T/kept"
approver no
asks "socket:$T/s" --approvals "$T/kept" -- cat "$H/a"
ended '.exit_code == 1'
approver remember:99999h
asks "socket:$T/s" --approvals "$T/kept" -- cat "$H/a"
ended '.denials[0].answer == "malformed"'

# ---- stop ----
approver stop
asks "socket:$T/s" -- sh -c "(sleep 30; echo late) & cat '$H/a'; echo after; sleep 30"
ended '.status == "killed" and .exit_code == 137 and .stdout == "" and .termination.cause == "answer" and
	.denials[0].answer == "stop"'

# ---- one rule that denies: no rule that is added permits it ----
jq '.on_deny = "errno" | .filesystem.deny = [{path: "**/*.rule", on_deny: "ask"}]' "$T/p.json" >"$T/p2.json"
echo ruled >"$T/w/x.rule"
mv "$T/p.json" "$T/p1.json" && mv "$T/p2.json" "$T/p.json"
approver once
asks "socket:$T/s" -- sh -c "cat '$H/a'; cat x.rule"
ended '.stdout == "ruled\n" and .calls.approved == 1'
question 'length == 1 and (.[0] | .rule_to_add == null and .reason == "denied_by_rule" and
	(.rule_would_open | test("narrowed")))'
[ "$("$CALLGATE" why -p "$T/p.json" -w "$T/w" --open "$T/w/x.rule" --json | jq -r .then)" = ask ] || fail "why"
mv "$T/p1.json" "$T/p.json"
for wrong in '"network": {"deny": [{"host": "a.test", "on_deny": "ask-file"}]}' \
	'"on_deny": "ask", "after_read": [{"paths": ["/a"], "then": {"network": "none"}}]'; do
	echo "{\"version\": 1, $wrong}" >"$T/wrong.json"
	"$CALLGATE" check "$T/wrong.json" >"$T/out" 2>&1 && fail "$wrong is no error"
done

# ---- another user's run: the approver stays the caller's ----
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$T" "$T/w" "$H" && chmod 1777 "$T/tmp"
	approver once
	asks "socket:$T/s" --user 54321 -- sh -c "cat '$H/a'; id -u"
	ended '.stdout == "text a\n54321\n"'
	record '.answer == "once" and .answered_by == 0'
	# What that user may not read, no answer gives.
	chmod 600 "$H/b"
	approver once
	asks "socket:$T/s" --user 54321 -- cat "$H/b"
	ended '.exit_code == 1 and .calls.approved == 0'
fi

# ---- a command ----
# shellcheck disable=SC2016 # the command's
asks "command:jq -c '{id, answer: (if .resolved == \"$H/a\" then \"once\" else \"no\" end)}'" -- \
	sh -c "cat '$H/a'; cat '$H/b'"
ended '.stdout == "text a\n" and .denials[0].answer == "no"'
record '.answer == "once" and .answered_how == "command"'
asks "command:exit 1" -- cat "$H/a"
ended '.denials[0].answer == "approver_gone"'
grep -q 'the command gave no answer, which refuses: exit 1' "$T/err" || fail "not said: $(cat "$T/err")"
asks "command:echo yes" -- cat "$H/a"
ended '.denials[0].answer == "malformed"'
asks "command:jq -c '{id: \"other\", answer: \"once\"}'" -- cat "$H/a"
ended '.denials[0].answer == "malformed"'
mark=61.$$$RANDOM # of no other process, also where this test runs twice
asks "command:sleep $mark & wait" --ask-timeout 300ms -- cat "$H/a"
ended '.denials[0].answer == "timeout"'
# What it has started is killed, and waited for by another process.
awaited not pgrep -f "sleep ${mark/./[.]}" >/dev/null || fail "the command is left"

# ---- no approver: denied at once, and said ----
rm -rf "$T/audit"
cg run -p "$T/p.json" --audit "$T/audit" -e PATH=/usr/bin:/bin --json -w "$T/w" -- cat "$H/a" >"$T/result" 2>"$T/err"
# shellcheck disable=SC2034 # of approve-lib.sh: none to wait for
approver=
ended '.denials[0] | .errno == "ENOENT" and (has("answer") | not)'
grep -q 'add --approve' "$T/err" || fail "no note: $(cat "$T/err")"
refused()
{
	local text=$1

	shift
	cg run -p "$T/p.json" -w "$T/w" "$@" -- true >"$T/out" 2>"$T/err"
	[ $? = 125 ] || fail "$*: not refused"
	grep -q -- "$text" "$T/err" || fail "$*: $(cat "$T/err")"
}
refused 'there is no such socket' --approve "socket:$T/none"
python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$T/dead"
refused 'no process listens' --approve "socket:$T/dead"
refused 'must be socket:PATH' --approve nobody
[ -t 0 ] || refused 'has no terminal' --approve tty
refused 'two ways' --approve "command:true" --ask "$T/q"
refused 'add that' --approvals "$T/kept"
refused 'lets the program reach it\|may write' --approve "command:true" --approvals "$T/w/kept"
chmod 666 "$T/kept"
refused 'others could write' --approve "command:true" --approvals "$T/kept"

# No answer beats a rule that does not ask, also where one that asks names the directory above, or the other path; and
# where a policy asks about what the one that it extends denies.
echo '{"version": 1, "filesystem": {"deny": ["'"$H"'/c"]}, "exec": {"deny": ["/usr/bin/id"]}}' >"$T/never.json"
mkdir "$H/d"
echo plain >"$H/d/plain"
mkdir -p "$H/g/x" "$H/p/.git"
echo HARD | tee "$H/d/hard" "$H/p/.git/config" >"$H/g/x/hard"
jq --arg h "$H" '.on_deny = "errno" | .extends = ["./never.json"] | .exec.ask = ["/usr/bin/id"] |
	.filesystem.read += [$h] | .filesystem.ask = [$h + "/**", $h + "/c"] |
	.filesystem.deny += [$h + "/d/hard", $h + "/g/*/hard", "**/.git/config"]' "$T/p.json" >"$T/p2.json" &&
	mv "$T/p2.json" "$T/p.json"
asks "command:jq -c '{id, answer: \"once\"}'" -- /bin/sh -c "cat $H/d/plain; cat $H/c; id -u; cat $H/d/hard
	ln $H/d/hard l; cat l
	ln -s $H/d/hard s; cat s $H/d/../d/hard /proc/self/root$H/d/hard; mv $H/d/hard m; mv $H/d/plain $H/d/hard
	mv $H/d $H/e; cat $H/e/hard; mv $H/g $H/f; cat $H/f/x/hard; mv $H/p/.git $H/p/x; cat $H/p/x/config"
approver=
[ "$(jq -r .stdout "$T/result") $(cat "$H/d/hard")" = "plain HARD" ] ||
	fail "beaten: $(jq -c '[.stdout, .stderr]' "$T/result"), $(cat "$H/d/hard")"
exit 0
