#!/bin/bash
# Every row of the syscall table that can reach the supervisor does, and is on record under its name. Every row that is
# performed has cases of its own. The list of rows is generated from the table.
. "$(dirname "$0")/../lib.sh"

"$CASES/cases-rows" list >"$T/rows" || die "cannot list the table"
[ "$(wc -l <"$T/rows")" -ge 200 ] || fail "the table has only $(wc -l <"$T/rows") rows that are notified"

# shellcheck disable=SC2046 # numbers
timeout "$LIVE_TIMEOUT" "$CALLGATE" run --profile minimal -x "$CASES/cases-rows" --audit "$T/log" -- \
	"$CASES/cases-rows" call $(awk '{ print $2 }' "$T/rows") || fail "the calls ended with $?"
"$PYTHON" - "$T/rows" "$T/log" "$SRC/tests" <<'CHECK' || fail "see above"
import glob, json, re, sys

rows = [line.split() for line in open(sys.argv[1])]
seen, errors = {}, 0
for line in open(sys.argv[2]):
    record = json.loads(line)
    if record.get("type") == "header":
        private = record["layers"]["ipcns"]["active"]
    if "syscall" in record:
        seen.setdefault(record["syscall"], []).append(record)
sources = "".join(open(path).read()
                  for path in glob.glob(sys.argv[3] + "/**/*.c", recursive=True) +
                  glob.glob(sys.argv[3] + "/cases/*.py"))
for kind, number, name in rows:
    if kind == "private" and private:
        # Native in an ipc namespace of the run's own: not on record.
        if name in seen:
            print(f"{name} ({number}): on record")
            errors += 1
        continue
    if name not in seen:
        print(f"{name} ({number}): not on record")
        errors += 1
    elif kind in ("refuse", "private") and not any(record["verdict"] == "deny" for record in seen[name]):
        print(f"{name} ({number}): not recorded as denied")
        errors += 1
    if kind == "notify" and not re.search(rf"(SYS_|__NR_|NR_|\"|sys_|\b){name}\b", sources):
        print(f"{name} ({number}): no case of its own in tests")
        errors += 1
print(f"{len(rows)} rows, {errors} missing")
sys.exit(errors != 0)
CHECK
