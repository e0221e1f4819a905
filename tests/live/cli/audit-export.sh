#!/bin/bash
# Exports of logs of a program with hostile paths and arguments, read by Python's own readers: nothing is lost, nothing
# added. Several logs, compact ones, damaged ones, rows of all sizes. Results appear by rename.
. "$(dirname "$0")/../lib.sh"
need jq sqlite3 "$PYTHON"
FORMATS="jsonl csv sqlite ocsf otlp-json perfetto"
mkdir "$T/w" "$T/refused"
cp "$SRC/tests/cases/audit-hostile.py" "$T/w/hostile.py"

audit()
{
	timeout 120 "$CALLGATE" audit "$@" </dev/null
}

# exported NAME LOG…: every format holds just what the logs hold.
exported()
{
	local name=$1 format
	shift
	for format in $FORMATS; do
		audit export --format "$format" -o "$T/$name.$format" "$@" 2>"$T/err" ||
			fail "$name $format: $(cat "$T/err")"
		"$PYTHON" "$SRC/tests/cases/audit-export.py" "$format" "$T/$name.$format" "$@" >"$T/out" 2>&1 ||
			fail "$name $format: $(tail -n 15 "$T/out")"
	done
}

echo '{"version": 1, "extends": ["python"], "audit": {"compact": true}}' >"$T/compact.json"
"$PYTHON" "$T/w/hostile.py" "$T/refused" --make
cg run --profile python --allow 'GET nowhere.invalid/x/**' -w "$T/w" -r "$T/refused" --audit "$T/plain.log" -- \
	"$PYTHON" hostile.py "$T/refused" --long >"$T/out" 2>&1 ||
	die "the program: $(tail -n 3 "$T/out")"
cg run -p "$T/compact.json" -w "$T/w" -r "$T/refused" --audit "$T/compact.log" -- \
	"$PYTHON" hostile.py "$T/refused" >"$T/out" 2>&1 ||
	die "the program: $(tail -n 3 "$T/out")"
[ "$(jq -s 'map(select(.verdict == "deny")) | length' "$T/plain.log")" -gt 30 ] || die "too few denials"
[ "$(jq -rs 'map(.path // "" | length) | max' "$T/plain.log")" -ge 4000 ] || die "no long path"
exported plain "$T/plain.log"
exported compact "$T/compact.log"
exported both "$T/plain.log" "$T/compact.log"
exported net "$SRC/tests/fuzz/corpus/audit/net"

# The texts come back as the program's bytes.
sqlite3 "$T/plain.sqlite" "SELECT resolved FROM records WHERE path LIKE '%DROP TABLE%' LIMIT 1" |
	grep -qxF "$T/w/'); DROP TABLE records;--" || fail "sqlite3 reads another path"
[ -n "$(jq -c 'select(.path == "new\nline")' "$T/plain.jsonl")" ] || fail "jq does not find the line break"

# Rows of all sizes around those at which SQLite moves a part of them to other pages; a table of several levels.
"$PYTHON" - >"$T/sizes.log" <<'EOF'
print('{"seq":0,"time":"2026-11-21T02:28:18.000000000Z","type":"header","run":"0123456789abcdef","command":[]}')
sizes = [*range(0, 60), *range(3700, 4100), 8000, 8100, 8150, *range(8190, 8210), 100000, 500000] + [300] * 6000
for i, size in enumerate(sizes, 1):
    print('{"seq":%d,"time":"2026-11-21T02:28:18.%09dZ","run":"01234567","pid":%d,"exe":"/x","syscall":"openat",'
          '"path":"%s","verdict":"allow","effect":"performed","ret":%d,"ns":%d}'
          % (i, i, (1, 127, 128, 255, 32767, 32768, 8388607, 8388608)[i % 8], "p" * size,
             (0, 1, -1, 2**31, 2**47, 2**62, -2**33, 127)[i % 8], i * i))
EOF
exported sizes "$T/sizes.log"
head -n 1 "$T/sizes.log" >"$T/none.log"
audit export --format sqlite -o "$T/none.sqlite" "$T/none.log" || fail "a log without records"
[ "$(sqlite3 "$T/none.sqlite" 'PRAGMA integrity_check; SELECT count(*) FROM records; SELECT count(*) FROM runs')" = \
	$'ok\n0\n1' ] || fail "an empty table"

# A filter; standard output; a pipe; a link stays a link; an existing file is replaced, and is left when nothing is
# written.
audit export --format csv --denied "$T/plain.log" | "$PYTHON" -c '
import csv, sys
rows = list(csv.DictReader(sys.stdin))
sys.exit(not rows or any(row["verdict"] != "deny" for row in rows))' || fail "--denied to a pipe"
audit export --format jsonl -o - "$T/plain.log" | cmp -s - "$T/plain.jsonl" || fail "-o -"
audit export --format jsonl -o /dev/stdout "$T/plain.log" | cmp -s - "$T/plain.jsonl" || fail "-o /dev/stdout"
echo old >"$T/target"
ln -s target "$T/link"
audit export --format csv -o "$T/link" "$T/nothing.log" 2>/dev/null && fail "no log, and no error"
[ "$(cat "$T/target")" = old ] || fail "an error replaced the file"
audit export --format csv -o "$T/link" "$T/plain.log" || fail "through a link"
[ -L "$T/link" ] || fail "the link was replaced"
cmp -s "$T/target" "$T/plain.csv" || fail "the target of the link"
[ "$(stat -c %a "$T/target")" = 600 ] || fail "others may read the export of a log that is mode 0600"
left=$(find "$T" -mindepth 1 -maxdepth 1 -name '*.??????' ! -name '*.sqlite')
[ -z "$left" ] || fail "a temporary file is left: $left"
[ ! -w /dev/full ] || ! audit export --format csv "$T/plain.log" >/dev/full 2>"$T/err" || fail "a full disk is no error"
grep -q 'cannot write' "$T/err" || fail "a full disk: $(cat "$T/err")"

# Damage: what can be read is exported, the exit status says that something is missing.
size=$(stat -c %s "$T/plain.log")
for i in $(seq 12); do
	cp "$T/plain.log" "$T/damaged.log"
	case $((i % 4)) in
	0) truncate -s $((size * i / 13)) "$T/damaged.log" ;;
	1) head -c 300 /dev/urandom | dd of="$T/damaged.log" bs=1 seek=$((size * i / 13)) conv=notrunc status=none ;;
	2) sed -i "$((i * 5 + 2))s/\"seq\"/\"seq/" "$T/damaged.log" ;;
	3) sed -i "$((i * 5 + 2))s/\$/ \x1b[2J\xe2\x80\xae/" "$T/damaged.log" ;;
	esac
	for format in $FORMATS; do
		rm -f "$T/x"
		audit export --format "$format" -o "$T/x" "$T/damaged.log" 2>"$T/err"
		status=$?
		[ $status = 0 ] || [ $status = 125 ] || fail "$format of damage $i: $status"
		[ -s "$T/x" ] || fail "$format of damage $i: nothing"
		case $format in
		sqlite) [ "$(sqlite3 "$T/x" 'PRAGMA integrity_check')" = ok ] || fail "damage $i: no database" ;;
		csv)
			"$PYTHON" -c 'import csv, sys
list(csv.reader(open(sys.argv[1], newline=""), strict=True))' "$T/x" ||
			fail "damage $i: no CSV"
			;;
		*) jq . "$T/x" >/dev/null 2>&1 || fail "damage $i: $format is no JSON" ;;
		esac
	done
done
for format in $FORMATS; do
	head -c 100000 /dev/urandom >"$T/garbage.log"
	rm -f "$T/x"
	audit export --format "$format" -o "$T/x" "$T/garbage.log" 2>/dev/null && fail "$format of garbage"
	[ ! -e "$T/x" ] || fail "$format of garbage left a file"
done
echo "6 formats, 5 sets of logs, 12 damages"
