#!/bin/bash
# Files with capabilities of their own, such as ping(8), in a workspace: writing takes the capabilities, and chmod,
# rename and link keep them, as natively, also after ws apply.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/workspace-lib.sh"
need jq setcap getcap
[ "$(id -u)" = 0 ] || skip "only root may give files capabilities"
W=$T/w
user=${LIVE_USER:-54321}

# shellcheck disable=SC2016 # the inner shell expands it
change='set -e; echo x >>written; chmod 700 closed; mv moved there; echo y >>plain; ln linked second; ln again third
chmod 711 third; [ "$(stat -c %i%a%h again)" = "$(stat -c %i%a%h third)" ]
ln upgraded upgraded.tmp; echo new >upgraded.new; mv upgraded.new upgraded; rm upgraded.tmp' # as dpkg(1) does
fresh() # DIR OWNER
{
	rm -rf "$1"
	mkdir "$1"
	for name in written closed moved kept linked again upgraded plain; do
		{ cat /usr/bin/true && echo "$name"; } >"$1/$name" || die "files"
		chmod 755 "$1/$name"
	done
	chown -R "$2:$2" "$1"
	for name in written closed moved kept linked again upgraded; do
		setcap cap_net_raw+ep "$1/$name" 2>/dev/null || skip "no capabilities of files here"
	done
}
show() { (cd "$1" && getcap -- * && find . -type f -printf '%P %m %s %n\n') | sort; }

fresh "$T/native" 0
(cd "$T/native" && /bin/sh -c "$change") || die "natively"
show "$T/native" >"$T/expected"
for how in --cow --cow=copy; do
	fresh "$W" 0
	cg run --json $how --profile minimal -w "$W" -r /usr -x /usr/bin -- /bin/sh -c "$change" \
		>"$T/result" 2>"$T/err"
	jq -e '.exit_code == 0' "$T/result" >/dev/null || fail "$how: $(jq -r '.stderr, .error.message' "$T/result")"
	id=$(jq -r .workspace.id "$T/result")
	ws diff "$id" >"$T/diff"
	printf '%s\n' 'M  again  mode 0755 -> 0711' 'M  closed  mode 0755 -> 0700' 'M  plain  content, time' \
		'A  second' 'R  moved -> there' 'A  third' \
		'M  upgraded  content, mode 0755 -> 0644, attributes, time' \
		'M  written  content, attributes, time' | diff - "$T/diff" >"$T/differs" ||
		fail "$how: $(cat "$T/differs")"
	ws apply --allow-executed "$id" >"$T/out" 2>&1 || fail "$how: apply: $(cat "$T/out")"
	show "$W" | diff "$T/expected" - >"$T/differs" || fail "$how: $(cat "$T/differs")"
	discard_all
done

# With --user, a run has all numbers as well.
fresh "$W" "$user"
chmod 711 "$T"
chmod 1777 "$TMPDIR"
cg run --json --cow --user "$user" --profile minimal -w "$W" -r /usr -x /usr/bin -- /bin/sh -c "$change" \
	>"$T/result" 2>"$T/err"
if [ "$(jq -r .workspace.by "$T/result")" = overlay ]; then
	jq -e '.exit_code == 0' "$T/result" >/dev/null || fail "--user: $(jq -r .stderr "$T/result")"
	show "$TMPDIR/callgate-$user/workspaces/$(jq -r .workspace.id "$T/result")/0/upper" |
		diff - <(grep -v kept "$T/expected") >"$T/differs" || fail "--user: $(cat "$T/differs")"
fi
