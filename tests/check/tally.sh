#!/bin/sh
# tally.sh DIR: counts what `make check` left in DIR's .trs and .log files. A log may count its own cases, in check's
# way ("100%: Checks: 5, Failures: 0, Errors: 0") or in a last line "5 passed, 0 failed, 1 skipped"; otherwise each
# result of the .trs file is one. Prints "PASSED FAILED SKIPPED", then one line for each failure and each skip.
set -u

cd "$1" || exit 99
find . -path ./cross -prune -o -name '*.trs' -print | LC_ALL=C sort | while read -r trs; do
	log=${trs%.trs}.log
	name=${trs#./}
	awk -v name="${name%.trs}" '
		FILENAME ~ /\.trs$/ {
			if ($1 != ":test-result:") next
			if ($2 == "PASS" || $2 == "XFAIL") pass++
			else if ($2 == "SKIP") skip++
			else fail++
			next
		}
		/^[0-9]+%: Checks: [0-9]+, Failures: [0-9]+, Errors: [0-9]+/ {
			gsub(",", "")
			own = 1; own_pass += $3 - $5 - $7; own_fail += $5 + $7
		}
		/^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ {
			own = 1; own_pass = $1; own_fail = $3; own_skip = $5
		}
		/^SKIP/ { sub(/^SKIP[^ ]* */, ""); reasons[++count] = $0 }
		/^ok .*# *(SKIP|skip)/ { sub(/.*# *(SKIP|skip) */, ""); reasons[++count] = $0 }
		END {
			# A test that failed although its own count says otherwise died before or after counting.
			if (own && fail && !own_fail) own_fail = 1
			if (own && !(skip && !pass && !fail)) { pass = own_pass; fail = own_fail; skip = own_skip }
			print "count", pass + 0, fail + 0, skip + 0
			if (fail) print "FAIL " name
			if (skip && !count) reasons[++count] = "no reason given"
			for (i = 1; skip && i <= count; i++) print "SKIP " name ": " reasons[i]
		}' "$trs" "$log"
done | awk '
	$1 == "count" { pass += $2; fail += $3; skip += $4; next }
	{ lines[++n] = $0 }
	END { print pass + 0, fail + 0, skip + 0; for (i = 1; i <= n; i++) print lines[i] }'
