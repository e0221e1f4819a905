#!/bin/bash
# Every threat of doc/security.md's table that is not about the proxy, four ways: by root with both locks alone, by a
# user, by a user in a container without user namespaces and without pidfd_getfd, by root with all layers on. Prints the
# table. Not part of "make check", which runs the same tests as root, in as-user.sh and in in-container.sh: takes some
# minutes.
#
#   four-ways.sh [NUMBER…]      of these threats only
# shellcheck disable=SC2016 # the names of calls are in Markdown's quotes
set -u
here=$(cd "$(dirname "$0")" && pwd)
: "${CALLGATE:?names the program under test}"
top_srcdir=$(cd "$here/../.." && pwd)
top_builddir=$(dirname "$(readlink -f "$CALLGATE")")
export top_srcdir top_builddir CALLGATE
work=$(mktemp -d /var/tmp/four-ways.XXXXXX) && chmod 711 "$work" || exit 99
trap 'rm -rf "$work"' EXIT

threats='1|exec in a `CLONE_UNTRACED` child, new namespaces by clone
2|foreign loaders, `#!` chains, memfd and binfmt_misc exec
3|unreadable and undumpable programs
4|exec from a thread that is not the leader
5|seccomp filters of the program
6|the supervisor is killed
7|inherited descriptors
8|signals, limits and priorities of callgate itself
9|`kill(-1)` and process groups
10|file handles that are pidfds or namespaces
11|daemons, double forks, `setsid`
12|core dumps
13|`int 0x80`, i386, x32
14|high bits of integer arguments
15|calls nobody listed
16|another thread rewrites the argument
17|`PROT_NONE` and read-only memory
18|memory that stalls its reader
19|pointers and lengths at every edge
20|names swapped while they are resolved
21|spoofed names
22|hard links, renames and exchanges between grants
23|the supervisor'"'"'s own `/proc/self`
24|`/proc/PID` of others
25|a read-only descriptor reopened for writing
26|metadata through read-only descriptors
27|set-user-ID bits and device nodes
28|64 blocked opens
29|storms of signals
30|processes that die in the middle of a call
31|a full descriptor table
32|the listener is handed over under the filter
33|floods, fork bombs, descriptor bombs
34|`MSG_FASTOPEN`
35|MPTCP, `listen` without `bind`
36|datagrams to third parties
37|socket families 0-50
38|forms of addresses
39|unix sockets: `/proc/self/fd`, abstract names, descriptors from outside
41|`TIOCSTI` and its like
42|newlines, ANSI and broken UTF-8 in the log
43|the log edited, cut, reordered
44|ptrace as a way around the filter, the exec check or the end of the run'

tests_of()
{
	(cd "$here" && ls "threats/$(printf %02d "$1")"-*.sh 2>/dev/null)
}

wanted=" $* "
names=()
while IFS='|' read -r number title; do
	[ $# -eq 0 ] || [[ $wanted = *" $number "* ]] || continue
	# shellcheck disable=SC2207 # names without blanks
	names+=($(tests_of "$number"))
done <<<"$threats"
export CORE_TESTS="${names[*]}" CORE_TIMEOUT=200 LIVE_USER_TIMEOUT=1500 LIVE_CONTAINER_TIMEOUT=1500

export LIVE_TMP=$work
LIVE_WITHOUT=namespaces,cgroups "$here/core.sh" >"$work/root.log" 2>&1
"$here/as-user.sh" >"$work/user.log" 2>&1
"$here/in-container.sh" >"$work/container.log" 2>&1
LIVE_REQUIRE=namespaces,landlock,self_filter,cgroups "$here/core.sh" >"$work/layers.log" 2>&1

# result WAY TEST: as a word; of a skipped one why.
result()
{
	local line
	line=$(grep -E "^(ok  |skip|FAIL) $2(:|$)" "$work/$1.log" | head -n 1)
	case $line in
	ok*) echo holds ;;
	skip*) echo "skipped: ${line#*SKIP: }" ;;
	FAIL*) echo FAILS && echo "$1 $2" >>"$work/failed" ;;
	*) echo "not run" && echo "$1 $2" >>"$work/failed" ;;
	esac
}

echo "| # | threat | test | root, the two locks alone | user | user, container | root, all layers |"
echo "|---|---|---|---|---|---|---|"
while IFS='|' read -r number title; do
	[ $# -eq 0 ] || [[ $wanted = *" $number "* ]] || continue
	[ -n "$(tests_of "$number")" ] || echo "$number has no test" | tee -a "$work/failed"
	for name in $(tests_of "$number"); do
		echo "| $number | $title | \`$name\` | $(result root "$name") | $(result user "$name") |" \
			"$(result container "$name") |" \
			"$(result layers "$name") |"
	done
done <<<"$threats"
if [ -s "$work/failed" ]; then
	sed -n '/^---- /,/^failed: /p' "$work"/*.log >&2
	exit 1
fi
