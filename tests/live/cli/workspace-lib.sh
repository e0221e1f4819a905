# shellcheck shell=bash disable=SC2034,SC2154 # variables of lib.sh, and of the tests
# What the tests of workspaces share; sourced after lib.sh. $W is the directory of -w.

# Kind, mode, size, link target and times of everything in the directory, and of the directory itself. find(1) sets the
# access times of directories.
picture()
{
	(cd "$1" && find . \( -type f -printf '%A@ ' -o -true \) -printf '%P\t%y %m %s %l %T@ %C@\n' | sort)
}

ws()
{
	"$CALLGATE" ws "$@"
}

discard_all()
{
	for id in $(ws list --json | jq -r .id); do
		ws discard "$id" || fail "discard $id"
	done
}

later() # until a new file has another time than those that are there
{
	: >"$T/before"
	until : >"$T/now" && [ "$T/now" -nt "$T/before" ]; do :; done
}

run_in_workspace() # COMMAND: the result in $T/result, the workspace in $id
{
	cg run --json "${WORKSPACE_COW:---cow}" --profile minimal -w "$W" -r /usr -x /usr/bin -- /bin/sh -c "$1" \
		>"$T/result" 2>"$T/err"
	id=$(jq -r '.workspace.id // empty' "$T/result")
	[ "$(jq .exit_code "$T/result")" = 0 ] || fail "the program: $(cat "$T/result" "$T/err")"
}

applies() # STATUS WHAT ARGUMENT…
{
	local expected=$1 what=$2 status=0
	shift 2
	ws apply "$id" "$@" >"$T/out" 2>"$T/said" || status=$?
	[ $status = "$expected" ] || fail "$what: status $status, not $expected: $(cat "$T/out" "$T/said")"
}

says() # STATUS TEXT VERB ARGUMENT…: of callgate ws
{
	local expected=$1 text=$2 status=0
	shift 2
	ws "$@" >"$T/out" 2>&1 || status=$?
	[ $status = "$expected" ] || fail "ws $*: status $status, not $expected: $(cat "$T/out")"
	[ -z "$text" ] || grep -qF -- "$text" "$T/out" || fail "ws $*: not said: $text: $(cat "$T/out")"
}

has() # WHAT FILE TEXT
{
	[ "$(cat "$W/$2" 2>/dev/null)" = "$3" ] || fail "$1: $2: $(cat "$W/$2" "$T/out" "$T/said" 2>&1)"
}

# Starts a run that goes on until end_run. Its workspace is $id.
begin_run()
{
	rm -f "$T/go" "$T/up" # of an earlier one
	mkfifo "$T/go"
	"$CALLGATE" run "${WORKSPACE_COW:---cow}" -q --profile minimal -w "$W" -r /usr -x /usr/bin -i -- \
		/bin/sh -c 'echo up; read x' <"$T/go" >"$T/up" 2>"$T/err" &
	runner=$!
	exec 9>"$T/go"
	until [ -s "$T/up" ]; do kill -0 "$runner" 2>/dev/null || break; done
	id=$("$CALLGATE" ws list --json | jq -r 'select(.in_use).id')
}

end_run()
{
	exec 9>&-
	wait "$runner"
}

# begin_stopped CALL:N WORD…: `callgate WORD…`, which stops after its Nth such call until go_on. Its messages are in
# $T/out and $T/said.
begin_stopped()
{
	rm -f "$T/trace"
	strace -f -o "$T/trace" -e trace="${1%:*}" -e inject="${1%:*}:signal=STOP:when=${1#*:}" \
		"$CALLGATE" "${@:2}" >"$T/out" 2>"$T/said" &
	tracer=$!
	awaited stopped_or_ended
	! dead $tracer || fail "not stopped after $1: $(cat "$T/out" "$T/said")"
}
stopped_or_ended() { has_line "$T/trace" 'stopped by SIGSTOP' || dead "$tracer"; }

go_on() # returns the command's exit status
{
	kill -CONT "$(pgrep -P "$tracer")"
	wait "$tracer"
}

# refuses FILE TEXT OPTION…: a run with these options of the test's cow(), whose program would write to FILE past the
# workspace, is refused with the text, and leaves none.
refuses()
{
	local file=$1 text=$2
	shift 2
	cow "$@" -- /bin/sh -c "echo past >$file" && fail "$*: not refused"
	grep -qF -- "$text" "$T/err" || fail "$*: $(cat "$T/err")"
	[ ! -e "$file" ] || fail "$*: wrote"
	[ -z "$("$CALLGATE" ws list)" ] || fail "$*: left $("$CALLGATE" ws list)"
}
