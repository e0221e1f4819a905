#!/bin/bash
# --cow-dir leaves several directories as they are, each with a layer of its own: callgate ws lists, shows, applies,
# recovers and discards all of them, paths are absolute, and a path of one is of that one alone. Also /usr/local, into
# which a program installs. What would write past a layer is refused.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/workspace-lib.sh"
need jq
D=$T/d
mkdir -p "$D/w" "$D/a/sub" "$D/b" "$D/.run"
export TMPDIR=$D/.run
echo w >"$D/w/w"
echo one >"$D/a/one"
echo two >"$D/b/two"
pictures() { (cd "$D" && find w a b /usr/local -printf '%p %y %m %s %T@ %C@ %l\n' | sort); }

# cow OPTION… -- PROGRAM…
cow()
{
	cg run -q --json --profile minimal -r /usr -x /usr/bin "$@" >"$T/result" 2>"$T/err"
}

ws() { "$CALLGATE" ws "$@"; }

discard_all()
{
	for id in $(ws list --json | jq -r .id); do ws discard "$id" || fail "discard"; done
}

pictures >"$T/before"
cow --cow --cow-dir="$D/a" --cow-dir="$D/b" -W "$D/a" -W "$D/b" -w "$D/w" -- /bin/sh -c "echo n >new
	echo more >>$D/a/one; rm $D/b/two; mv $D/a/one $D/a/sub/; echo b >$D/b/b; cat $D/a/sub/one"
if [ "$(jq -r .error.code "$T/result")" = view_failed ]; then
	grep -q 'cannot be kept as it is' "$T/err" || fail "$(cat "$T/err")"
	pictures | cmp -s - "$T/before" || fail "changed"
	live_done
fi
pictures | cmp -s - "$T/before" || fail "changed: $(pictures | diff - "$T/before")"
jq -e --arg d "$D" '.stdout == "one\nmore\n" and
	(.workspace.directories | map(.dir)) == [$d + "/w", $d + "/a", $d + "/b"]' "$T/result" >/dev/null ||
	fail "$(head -c 500 "$T/result") $(cat "$T/err")"
id=$(jq -r .workspace.id "$T/result")
by=$(jq -r .workspace.by "$T/result")
[ "$(ws list --json | jq -c '.directories | map(.dir)')" = "[\"$D/w\",\"$D/a\",\"$D/b\"]" ] ||
	fail "list: $(ws list --json)"
ws diff "$id" >"$T/diff"
[ $? = 1 ] || fail "the status of diff"
printf '%s\n' "A  $D/w/new" "D  $D/a/one" "A  $D/a/sub/one" "A  $D/b/b" "D  $D/b/two" | cmp -s - "$T/diff" ||
	fail "diff: $(cat "$T/diff")"
ws diff --json "$id" | jq -es --arg d "$D" 'map(.dir) | unique == [$d + "/a", $d + "/b", $d + "/w"]' >/dev/null ||
	fail "json: $(ws diff --json "$id")"
[ "$(ws diff "$id" "$D/b" | wc -l)" = 2 ] || fail "diff of one: $(ws diff "$id" "$D/b")"
ws diff "$id" sub/one >"$T/out" 2>&1
grep -q 'not an absolute path' "$T/out" || fail "relative: $(cat "$T/out")"
ws diff "$id" /usr >"$T/out" 2>&1
[ $? = 125 ] || fail "a path of none: $(cat "$T/out")"

# A conflict in one directory leaves the others to be applied. Then what is left is applied.
echo outside >"$D/b/b"
ws apply "$id" >"$T/out" 2>"$T/err"
[ $? = 3 ] || fail "apply: $(cat "$T/out" "$T/err")"
grep -qF "$D/b/b: conflict" "$T/err" || fail "conflict: $(cat "$T/err")"
[ "$(cat "$D/b/b")" = outside ] || fail "a conflict was applied"
[ "$(cat "$D/a/sub/one" "$D/w/new")" = "$(printf 'one\nmore\nn')" ] || fail "not applied: $(ls -R "$D")"
ws apply --theirs "$id" "$D/b" >"$T/out" 2>&1 || fail "apply --theirs: $(cat "$T/out")"
[ "$(cd "$D/b" && echo *)" = 'b b.ours b.theirs' ] || fail "not applied: $(ls "$D/b")"

# A journal of any directory is recovered, and asked for before a discard.
place=$(find "$TMPDIR" -type d -path "*/$id/2" 2>/dev/null)
printf '"x"\n' >"$place/journal"
: >"$D/b/.callgate-$id"
ws discard "$id" 2>"$T/err" && fail "discarded, though interrupted"
ws recover "$id" >"$T/out" || fail "recover"
grep -q 'interrupted at x' "$T/out" || fail "recover: $(cat "$T/out")"
[ ! -e "$D/b/.callgate-$id" ] || fail "half-made, and left"
ws discard "$id" || fail "discard"
[ -z "$(ws list)" ] || fail "left: $(ws list)"

# A program installs into /usr/local, below a /usr that it may only read; then all is as it was.
mkdir "$D/src"
printf 'install:\n\tinstall -D -m 755 tool /usr/local/bin/cg-tool\n' >"$D/src/Makefile"
printf '#!/bin/sh\necho installed\n' >"$D/src/tool"
pictures >"$T/before"
if [ "$by" = overlay ] && command -v make >/dev/null; then
	cow --cow-dir=/usr/local -W /usr/local -x /usr/local -w "$D/src" -- /bin/sh -c 'make -s install && cg-tool'
	if [ -w /usr/local/bin ]; then
		[ "$(jq -r .stdout "$T/result")" = installed ] || fail "not installed: $(cat "$T/result" "$T/err")"
		id=$(jq -r .workspace.id "$T/result")
		ws diff "$id" >"$T/diff"
		grep -qx 'A  bin/cg-tool' "$T/diff" || fail "/usr/local: $(cat "$T/diff")"
		ws apply "$id" >"$T/out" 2>"$T/err"
		[ $? = 3 ] || fail "applied to /usr/local, where all is run outside: $(cat "$T/out" "$T/err")"
		grep -q '^callgate ws apply: /usr/local: .* the system runs or obeys' "$T/err" || fail "$(cat "$T/err")"
	else
		jq -e '.stdout == "" and (.stderr | test("Permission denied"))' "$T/result" >/dev/null ||
			fail "without permission: $(cat "$T/result" "$T/err")"
	fi
	discard_all
fi

# A package, by dpkg(1): into a database of its own and, where nothing is mounted there, into the system's. dpkg keeps
# its database, and each file that it replaces, by a second name.
if [ "$by" = overlay ] && [ -w /usr/bin ] && command -v dpkg-deb >/dev/null; then
	mkdir -p "$D/deb/DEBIAN" "$D/deb/usr/bin" "$D/deb/etc/cg-tool" "$D/db/info" "$D/db/updates" "$D/db/triggers"
	cp "$D/src/tool" "$D/deb/usr/bin/cg-tool"
	chmod 755 "$D/deb/usr/bin/cg-tool"
	printf 'Package: cg-tool\nVersion: 1\nArchitecture: all\nMaintainer: x <x@x.test>\nDescription: x\n' \
		>"$D/deb/DEBIAN/control"
	printf '#!/bin/sh\necho ran >/etc/cg-tool/made\n' >"$D/deb/DEBIAN/postinst"
	echo conf >"$D/deb/etc/cg-tool/conf"
	echo /etc/cg-tool/conf >"$D/deb/DEBIAN/conffiles"
	chmod 755 "$D/deb/DEBIAN/postinst"
	touch "$D/db/status" "$D/db/available"
	dpkg-deb --root-owner-group -b "$D/deb" "$D/tool.deb" >"$T/log" 2>&1 || fail "$(cat "$T/log")"
	cat >"$T/dpkg.json" <<-END
		{"version": 1, "workspace": {"directories": ["/usr", "/etc", "/var"]}, "filesystem": {
			"write": ["@workdir", "/usr", "/etc", "/var"], "read": ["$D/*.deb"],
			"exec": ["/usr", "/var/lib/dpkg"], "deny": ["$T/dpkg.json"],
			"redirect": [{"from": "/tmp", "to": "@scratch/tmp"}]},
		"env": {"set": {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}}}
	END
	admin=/var/lib/dpkg
	if grep -qE '^([^ ]+ ){4}/(usr|etc|var)/' /proc/self/mountinfo || [ ! -w $admin/status ] ||
		[ "$(stat -c %d /tmp)" != "$(stat -c %d "$D")" ]; then
		admin=$D/db
		sed -i "s:\"/var\":\"$D/db\":g; s:/var/lib/dpkg:$D/db:" "$T/dpkg.json"
	fi
	database=$(stat -c '%i %s %y %z' "$admin/status")
	if [ "$admin" != "$D/db" ]; then # TMPDIR must not be in /var
		TMPDIR=$(mktemp -d /tmp/cg-live.XXXXXX) || die "no directory in /tmp"
		trap 'rm -rf "$TMPDIR"; live_done' EXIT
	fi
	cg run -q --json -p "$T/dpkg.json" -- /bin/sh -c "dpkg --admindir=$admin -i $D/tool.deb && cg-tool &&
		dpkg --admindir=$admin -i $D/tool.deb && dpkg --admindir=$admin -L cg-tool" >"$T/result" 2>"$T/err"
	jq -r .stdout "$T/result" | grep -qx installed || fail "dpkg: $(cat "$T/result" "$T/err")"
	id=$(jq -r .workspace.id "$T/result")
	ws diff "$id" /usr/bin /etc/cg-tool >"$T/diff"
	printf 'A  %s\n' /usr/bin/cg-tool /etc/cg-tool/ /etc/cg-tool/conf /etc/cg-tool/made | cmp -s - "$T/diff" ||
		fail "a package: $(cat "$T/diff")"
	ws diff "$id" | grep -q "^M  $admin/status  content" || fail "a package: $(ws diff "$id")"
	discard_all
	[ "$TMPDIR" = "$D/.run" ] || rm -rf "$TMPDIR"
	TMPDIR=$D/.run
	trap live_done EXIT
	{ [ ! -e /usr/bin/cg-tool ] && [ ! -e /etc/cg-tool ]; } || fail "/usr or /etc was written"
	[ "$(stat -c '%i %s %y %z' "$admin/status")" = "$database" ] || fail "the database of packages was written"
fi
pictures | cmp -s - "$T/before" || fail "/usr/local: changed: $(pictures | diff - "$T/before")"

# With a copy a user writes also where that takes root; natively and in an overlay it is denied, with a warning.
if [ "$(id -u)" != 0 ] && [ -r /usr/local/sbin ] && [ ! -w /usr/local/sbin ]; then
	run=(cg run --profile minimal -r /usr -x /usr/bin --cow-dir /usr/local/sbin -W /usr/local/sbin)
	"${run[@]}" --cow=copy -- /bin/sh -c "echo b >/usr/local/sbin/copied" >"$T/out" 2>"$T/err" ||
		fail "by a copy: $(cat "$T/err")"
	ws diff "$(ws list --json | jq -r .id)" | grep -qx 'A  copied' || fail "by a copy: $(ws list)"
	ws apply --allow-executed "$(ws list --json | jq -r .id)" >"$T/out" 2>&1 && fail "applied without permission"
	discard_all
	"${run[@]}" -- /bin/sh -c "echo b >/usr/local/sbin/copied" >"$T/out" 2>"$T/err"
	grep -q '/usr/local/sbin: user .* may not write there' "$T/err" || fail "no warning: $(cat "$T/err")"
	discard_all
fi

# The same by a policy; its directories add up with those of the command line.
printf '{"version": 1, "extends": ["minimal"], "filesystem": {"read": ["/usr"], "exec": ["/usr/bin"],
	"write": ["%s", "%s"]}, "workspace": {"directories": ["%s"]}}' "$D/a" "$D/b" "$D/a" >"$T/p.json"
cow -p "$T/p.json" --cow-dir="$D/b" -- /bin/sh -c "echo p >$D/a/p; echo p >$D/b/p" || fail "policy: $(cat "$T/err")"
{ [ ! -e "$D/a/p" ] && [ ! -e "$D/b/p" ]; } || fail "policy: written"
discard_all

# A checkpoint of a session is of all directories, and so are its diff, and a restore. What cannot be kept is named.
for how in --cow --cow=copy; do
	# shellcheck disable=SC2016 # the inner shell expands it
	look='for each in . '"$D/a $D/b"'; do find "$each" -type f -printf "%P %s %T@\n" | sort; done'
	inside() { cg session exec "$id" -- /bin/sh -c "$1"; }
	id=$(cg session create "$how" --cow-dir "$D/a" --cow-dir "$D/b" -W "$D/a" -W "$D/b" \
		-w "$D/w" --profile minimal -r /usr -x /usr/bin -- /bin/sh)
	inside "echo 1 >s1; echo 1 >$D/a/s1; rm $D/b/b; echo 1 >$D/b/s1"
	[ "$(cg session checkpoint "$id")" = 1 ] || fail "$how: checkpoint"
	inside "$look" >"$T/seen"
	inside "echo 2 >s1; rm $D/a/s1; mkdir $D/b/new; echo 2 >$D/b/new/s2; echo b >$D/b/b"
	[ "$(cg session checkpoint "$id")" = 2 ] || fail "checkpoint 2"
	ws diff --checkpoint 1 "$id" >"$T/diff"
	printf '%s\n' "A  $D/w/s1" "A  $D/a/s1" "D  $D/b/b" "A  $D/b/s1" | cmp -s - "$T/diff" ||
		fail "$how: diff --checkpoint: $(cat "$T/diff")"
	[ "$(ws diff --checkpoint 1 "$id" "$D/a")" = "A  $D/a/s1" ] || fail "diff --checkpoint of one"
	cg session restore "$id" 1 || fail "restore"
	inside "$look" | diff - "$T/seen" || fail "$how: restored"
	cg session restore "$id" 2 || fail "restore 2"
	[ "$(inside "cat s1 $D/b/new/s2 $D/b/b; ls $D/a")" = "$(printf '2\n2\nb\nsub')" ] ||
		fail "restored: $(inside "$look")"
	cg session checkpoint --json "$id" three | jq -e '.copied_files == 0 and .kept_files > 3' >/dev/null ||
		fail "$how: copied again"
	cg session restore "$id" 1 || fail "restore again"
	cg session stop "$id" >/dev/null || fail "stop"
	ws diff "$id" | diff - "$T/diff" || fail "after the session"
	discard_all
done

refuses "$D/a/past" 'are in one another' --cow-dir="$D/a" --cow-dir="$D/a/sub" -W "$D"
refuses "$D/a/past" 'are in one another' --cow --cow-dir="$D/a/sub" -w "$D/a"
refuses "$D/a/past" 'does not grant writing there' --cow-dir="$D/a" -r "$D/a"
refuses "$D/a/past" 'it would be written through the grant of' --cow-dir="$D/a" -W "$D"
refuses "$D/a/past" 'cannot be used' --cow-dir="$D/none"
refuses "$D/a/past" 'leave out one of them' --cow-dir="$D/a" -W "$D/a" --dry-run

# mv from one directory to another copies: the old name stays while the new one is left out, for whatever reason.
for change in "mv old $D/a/got" "mv old $D/a/Makefile" "mv old $D/a/got; echo new >old" "mv $D/b/old $D/w/got" \
	"mv $D/b/old $D/w/Makefile" "mv old $D/a/got; mkdir old; echo new >old/new" "mv sub $D/a/got"; do
	for options in "" --ours; do
		rm -rf "$D/w" "$D/a" "$D/b"
		mkdir -p "$D/w/sub" "$D/a" "$D/b"
		for name in w/old b/old w/sub/old w/gone; do echo "old $name" >"$D/$name"; done
		: >"$D/a/before"
		until : >"$D/a/now" && [ "$D/a/now" -nt "$D/a/before" ]; do :; done
		cow "${WORKSPACE_COW:---cow}" --cow-dir="$D/a" --cow-dir="$D/b" -W "$D/a" -W "$D/b" -w "$D/w" -- \
			/bin/sh -c "$change; rm $D/w/gone"
		id=$(jq -r .workspace.id "$T/result")
		case "$change" in
		*got/*) ;;
		*' sub '*) mkdir "$D/a/got" && echo outside >"$D/a/got/old" ;;
		*a/got*) echo outside >"$D/a/got" ;;
		*w/got*) echo outside >"$D/w/got" ;;
		esac
		(cd "$D" && grep -rh '^old [wb]/' w a b | grep -v gone | sort) >"$T/before"
		ws apply "$id" ${options:+"$options"} >"$T/out" 2>"$T/err"
		[ $? = 3 ] || fail "$change $options: $(cat "$T/out" "$T/err")"
		grep -q 'left out in another directory' "$T/err" || fail "$change $options: not said: $(cat "$T/err")"
		(cd "$D" && grep -rh --exclude='*.theirs' '^old [wb]/' w a b | sort) | cmp -s - "$T/before" ||
			fail "$change $options: lost: $(ls -R "$D") $(cat "$T/out" "$T/err")"
		[ ! -e "$D/w/gone" ] || fail "$change $options: not deleted: $(cat "$T/out" "$T/err")"
		ws apply --theirs --allow-executed "$id" >"$T/out" 2>"$T/err" || fail "$change: theirs: $(cat "$T/err")"
		ws diff "$id" || fail "$change: left: $(ws diff "$id")"
		discard_all
	done
done

# If all of it is applied, so is the deletion, at once.
echo moved >"$D/w/moved"
cow "${WORKSPACE_COW:---cow}" --cow-dir="$D/a" -W "$D/a" -w "$D/w" -- /bin/sh -c "mv moved $D/a/moved"
ws apply "$(jq -r .workspace.id "$T/result")" >"$T/out" 2>"$T/err" || fail "moved: $(cat "$T/out" "$T/err")"
{ [ ! -e "$D/w/moved" ] && [ "$(cat "$D/a/moved")" = moved ]; } || fail "moved: $(ls -R "$D")"

# Nothing is applied where one of them cannot be.
cow "${WORKSPACE_COW:---cow}" --cow-dir="$D/a" -W "$D/a" -w "$D/w" -- /bin/sh -c "mv $D/a/moved moved"
mv "$D/w" "$D/was"
ws apply "$(jq -r .workspace.id "$T/result")" >"$T/out" 2>"$T/err"
[ $? = 125 ] || fail "without a directory: $(cat "$T/out" "$T/err")"
[ "$(cat "$D/a/moved")" = moved ] || fail "without a directory: $(ls -R "$D")"
mv "$D/was" "$D/w"
discard_all
