#!/bin/bash
# Runs the examples of callgate(1) literally, with callgate in PATH and the files that they name.
. "$(dirname "$0")/../lib.sh"
need mandoc jq
/usr/bin/python3 -c 'import pandas, matplotlib' 2>/dev/null || skip "python3 lacks pandas or matplotlib"
mkdir "$T/bin" "$T/dir"
ln -s "$CALLGATE" "$T/bin/callgate"
cp "$SRC"/examples/analysis/sales.csv "$T/dir"
cp "$SRC"/examples/analysis/analyse.py "$T/dir"
cp -r "$SRC"/examples/experiment/. "$T/dir"
chmod -R u+w "$T/dir" # make distcheck has a read-only source tree
printf 'all:\n\t@echo made\n' >"$T/dir/Makefile"
# joins continued lines, drops the prompt
mandoc -T ascii "$SRC/doc/callgate.1" | sed $'s/.\b//g' | sed -n '/^EXAMPLES/,/^SEE/p' |
	sed -e :a -e '/\\$/N; s/\\\n *//; ta' | sed -n 's/^ *\$ //p' >"$T/examples"
[ "$(wc -l <"$T/examples")" -ge 5 ] || die "found only: $(cat "$T/examples")"
cd "$T/dir" || die cd
while IFS= read -r example; do
	example=${example/\/var\/tmp\/log/$T/log} # the only name outside of the directory
	example=${example//api.github.com/127.0.0.1} # nothing leaves this machine
	env PATH="$T/bin:/usr/local/bin:/usr/bin:/bin" timeout 300 bash -o pipefail -c "$example" \
		>"$T/out" 2>"$T/err" </dev/null
	status=$?
	case $example in
	*why* | *compare*) [ $status = 1 ] ;;
	*jq*) [ $status = 1 ] && grep -q /etc/shadow "$T/out" ;;
	*) [ $status = 0 ] ;;
	esac || fail "$example: status $status: $(tail -n 5 "$T/err")"
done <"$T/examples"
ls "$T"/dir/out/*.png >/dev/null || fail "no chart was kept"
