#!/bin/bash
# The page of `callgate audit report` in headless Chromium, by Playwright and axe-core: it loads, filters, searches,
# compares, follows links to records, obeys the keyboard, runs no text of a log, and stays responsive with 500,000
# records. Takes half a minute and packages that are large, so it runs on request:
#   CALLGATE_BROWSER=1 tests/live/cli/report-browser.sh
# with Debian's chromium and npm. CALLGATE_NODE_MODULES: a directory with playwright-core and axe-core that are
# installed already. SCREENSHOTS: a directory for pictures.
. "$(dirname "$0")/../lib.sh"
[ -n "${CALLGATE_BROWSER:-}" ] || skip "only on request: CALLGATE_BROWSER=1 (needs chromium and npm)"
need chromium node npm
modules=${CALLGATE_NODE_MODULES:-$T/node/node_modules}
if [ ! -d "$modules/playwright-core" ]; then
	mkdir -p "$T/node"
	(cd "$T/node" && npm install --no-audit --no-fund --no-save playwright-core axe-core) >"$T/npm" 2>&1 ||
		skip "npm cannot install playwright-core and axe-core: $(tail -n 1 "$T/npm")"
fi
P=$T/pages W=$T/w
mkdir -p "$P" "$W"

# run NAME COMMAND: a run with denials, files, processes and requests.
run()
{
	cg run --json --profile extended -w "$W" -t 60s -m 512M --audit "$T/$1.log" \
		--allow 'GET nowhere.invalid:80/x/**' -- \
		/bin/sh -c "$2" "$SRC" >"$T/$1.json" 2>"$T/err" || fail "$1: $(cat "$T/err")"
}

# shellcheck disable=SC2016 # expanded inside
common='for i in 1 2 3 4 5; do mkdir -p out/$i; seq $i | sort >out/$i/sorted; cat /etc/shadow "$0"/README.md
	done 2>/dev/null
	ls /home /root 2>/dev/null; grep root /etc/passwd >found
	/usr/bin/python3 -c "import urllib.request as u; u.urlopen(\"http://nowhere.invalid/no\")" 2>/dev/null; true'
run one "$common"
run two "$common; echo x >only-b"
"$CALLGATE" audit report -o "$P/real.html" --result "$T/one.json" "$T/one.log" || fail "one run"
"$CALLGATE" audit report -o "$P/two.html" "$T/one.log" "$T/two.log" || fail "two runs"
"$PYTHON" "$SRC/tests/cases/report-log.py" strings >"$P/strings.json"
"$PYTHON" "$SRC/tests/cases/report-log.py" hostile "$T/hostile.log"
"$PYTHON" "$SRC/tests/cases/report-log.py" strange "$T/strange.log"
"$PYTHON" "$SRC/tests/cases/report-log.py" large "$T/large.log" 500000
"$CALLGATE" audit report -o "$P/hostile.html" "$T/hostile.log" || fail "hostile texts"
"$CALLGATE" audit report -o "$P/strange.html" "$T/strange.log" || fail "JSON of other types"
"$CALLGATE" audit report -o "$P/many.html" "$T/strange.log" "$T/one.log" "$T/two.log" || fail "three runs"
"$CALLGATE" audit report -o "$P/large.html" "$T/large.log" || fail "500,000 records"
NODE_PATH=$modules timeout 300 node "$SRC/tests/cases/report-browser.js" "$P" || fail "in the browser"
