#!/bin/bash
# The table of doc/kernels.md is that of the results on record, in which everything is as it must be; and matrix.py
# notices what is not.
set -u

cd "${top_srcdir:-$(dirname "$0")/..}" || exit 99
command -v python3 >/dev/null || {
	echo "SKIP: python3 is not installed"
	exit 77
}
T=$(mktemp -d) || exit 99
trap 'rm -rf "$T"' EXIT
failed=0
fail()
{
	echo "FAIL: $*"
	failed=1
}

matrix=tests/vm/matrix.py
"$matrix" --check >"$T/said" || fail "doc/kernels.md: $(cat "$T/said")"

# A serial line may lose some of its characters.
printf 'vm: %s\n' 'kernel 6.1 x86_64, 2 CPUs' 'ok root' 'ok roo a.sh 1' 'ok root b.sh x' 'answer root doctor' \
	'ok root c.sh 3' >"$T/log"
python3 -B - "$T/log" >"$T/said" 2>&1 <<'END' || fail "torn lines: $(cat "$T/said")"
import sys

sys.path.insert(0, "tests/vm")
import matrix

results, torn = matrix.read_results(matrix.SMOKE, sys.argv[1])
assert len(torn) == 4, torn
assert list(results["surroundings"]["root"]["tests"]) == ["c.sh"], results
END

# noticed TEXT PROGRAM: with the results that jq's program makes of those on record, the check says the text.
noticed()
{
	jq "$2" tests/vm/kernels.json >"$T/changed.json" || fail "jq: $2"
	cp doc/kernels.md "$T/document.md"
	"$matrix" --table "$T/changed.json" "$T/document.md" || fail "$2: no table"
	if "$matrix" --check "$T/changed.json" "$T/document.md" >"$T/said"; then
		fail "not noticed: $2"
	fi
	grep -qF "$1" "$T/said" || fail "not '$1' of $2: $(cat "$T/said")"
}

command -v jq >/dev/null || {
	[ $failed = 0 ] || exit 1
	echo "SKIP: jq is not installed, which changes results to see what is noticed"
	exit 77
}
user='.machines["6.1"].surroundings.user'
noticed 'threats/02-exec.sh fails' "$user.tests[\"threats/02-exec.sh\"].result = \"fail\""
noticed 'threats/02-exec.sh is skipped' "$user.tests[\"threats/02-exec.sh\"].result = \"skip\""
noticed 'threats/02-exec.sh was not run' "del($user.tests[\"threats/02-exec.sh\"])"
noticed 'doctor tells' "$user.doctor.layers.pidns.active = false"
noticed 'pidns is lacking' "$user.doctor.layers.pidns.active = false | $user.run.layers.pidns = false"
noticed 'cgroups is there' "$user.doctor.layers.cgroups.active = true | $user.run.layers.cgroups = true"
noticed 'no run works' "$user.doctor.works = false | $user.doctor.reason = \"why\""
noticed 'a run works' '.machines["6.1, kernel.yama.ptrace_scope=3"] = .machines["6.1"]'
noticed 'no machine any more' '.machines["2.4"] = .machines["6.1"]'
noticed 'no answer' "del($user.doctor.works)"
noticed 'no answer' "del($user.doctor)"
sed 's/^| 6.1 /| 6.2 /' doc/kernels.md >"$T/document.md"
"$matrix" --check tests/vm/kernels.json "$T/document.md" >"$T/said" && fail "another table is not noticed"
grep -q 'matrix.py --table' "$T/said" || fail "another table: $(cat "$T/said")"
exit $failed
