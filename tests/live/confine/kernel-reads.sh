#!/bin/bash
# "judge": "changes": where the kernel judges reading, a program reads what it reads in a judged run, and gets the same
# errno for everything else, but for the differences below. What is covered stays covered, whatever the program tries.
# shellcheck disable=SC2016 # what is not expanded is awk's
. "$(dirname "$0")/../lib.sh"
need jq setpriv
reads=$CASES/cases-reads
attack=$CASES/cases-reads-attack
if [ ! -x "$reads" ] || [ ! -x "$attack" ]; then
	skip "cases-reads is not built"
fi
mkdir -p "$T/w/app/sub/.env" "$T/w/sdir" "$T/tree/sdir" "$T/tree/sub" "$T/pub/700" "$T/pub/711" "$T/pub/pdir" \
	"$T/pub/a/b"
for file in w/.env w/app/.env w/app/sub/.env/inner w/secret w/sdir/inner tree/.env tree/secret tree/sdir/inner \
	tree/sub/.env pub/mine pub/700/file pub/711/file pub/private.txt pub/pdir/file pub/a/b/c.key; do
	echo "SECRET $file" >"$T/$file"
done
echo open | tee "$T/w/open" "$T/tree/open" "$T/tree/sub/open" "$T/pub/open" "$T/pub/a/open" >/dev/null
echo linked >"$T/tree/linked"
ln -s linked "$T/tree/link"
ln -s secret "$T/tree/to-secret"
ln "$T/tree/open" "$T/tree/hard"
ln -s /etc/hostname "$T/w/.env.link"
chmod 755 "$T" "$T/pub" && chmod 600 "$T/pub/mine" && chmod 700 "$T/pub/700" && chmod 711 "$T/pub/711"

cat >"$T/policy.json" <<EOF
{"version": 1,
 "filesystem": {
  "read": ["$T/tree", "/usr", "/lib", "/lib64", "/etc/ld.so.cache"], "write": ["@workdir"], "public": ["$T/pub"],
  "private": ["$T/pub/private.txt", "$T/pub/pdir", "$T/pub/**/*.key"],
  "deny": ["**/.env", "$T/w/secret", "$T/w/sdir", "$T/tree/secret", "$T/tree/sdir", "$T/tree/link"],
  "redirect": [{"from": "/second", "to": "$T/tree"}]}}
EOF

# run_in MODE OPTION…: the answers of cases-reads for $T/list, in $T/out.MODE; sets how ("all" or "changes")
run_in()
{
	local mode=$1
	shift
	cp "$T/list" "$T/w/list"
	cg run --json --judge "$mode" -w "$T/w" -x "$reads" "$@" -- "$reads" "$T/w/list" "$T/w/out" >"$T/result" \
		2>"$T/err" || die "$mode $*: $(cat "$T/err" "$T/result")"
	mv "$T/w/out" "$T/out.$mode"
	rm "$T/w/list"
	how=all
	jq -e '.enforcement["kernel-reads"].active' "$T/result" >/dev/null && how=changes
}

# The differences that doc/security.md names. $1 path, $2 call, $3 judged, $4 by the kernel
known='
BEGIN { while ((getline directory <locked) > 0) is_locked[directory] = 1 }
function covered() { return $1 ~ covers }
function in_locked(   directory) { # the directory itself, and what is below it
	for (directory in is_locked)
		if ($1 == directory || index($1, directory "/") == 1) return 1
	return 0
}
in_locked() && $4 == "EACCES" { next } # what may not be listed is covered as a whole, or the kernel refuses it
$2 == "executable" && $3 == "EACCES" && $4 == "ok" { next }             # the mode says so, no exec rule does
$2 ~ /^(statfs|getxattr|listxattr)$/ { next }                           # of the cover, or of /proc
$2 ~ /^(lstat|readlink)$/ && covered() { next }                         # the link that is the cover
$2 ~ /^(stat|exists|writable)$/ && covered() && $3 != "ENOENT" { next } # a directory; what is not public
$1 ~ /\/711(\/|$)/ && $4 == "EACCES" { next }                          # what may not be listed is covered as a whole
$1 ~ /^\/proc(\/|$)|^\/dev\/(fd|std)|^\/etc\/mtab/ { next }             # see below
$1 == "/dev" && $2 == "list" || $1 == "/dev/pts" && $2 == "writable" { next }
{ print }'

# Directories of the host that not everybody may enter and list: packages and other tests make some.
find /etc /var/lib /var/cache -maxdepth 3 -type d ! -perm -005 >"$T/host-locked" 2>/dev/null

# compare WHAT COVERS: the answers of both runs; COVERS: a pattern of the names that are covered
compare()
{
	awk -F '\t' -v OFS='\t' 'NR == FNR { judged[$1 FS $2] = $3; next }
		{ was = ($1 FS $2) in judged ? judged[$1 FS $2] : "-"; if (was != $3) print $1, $2, was, $3 }' \
		"$T/out.all" "$T/out.changes" |
		awk -F '\t' -v covers="$2" -v locked="$T/host-locked" "$known" >"$T/differences"
	[ ! -s "$T/differences" ] || fail "$1: judged, then by the kernel: $(head -n 20 "$T/differences")"
}

# ---- a policy with all kinds of rules ----
find "$T/w" "$T/tree" "$T/pub" | sort >"$T/list"
find "$T/tree" | sort | sed "s|^$T/tree|/second|" >>"$T/list"
printf '%s\n' "$T" "$T/none" "$T/w/.env/x" "$T/pub/none" / /root/.ssh /etc/shadow "$T/tree/secret/" >>"$T/list"
run_in all -p "$T/policy.json"
run_in changes -p "$T/policy.json"
if [ $how = all ]; then
	layer landlock && layer mountns && layer pidns && layer netns &&
		fail "judged all the same: $(jq -r '.enforcement["kernel-reads"].why' "$T/result")"
	[ "$live_failed" = 0 ] && skip "no run here leaves reading to the kernel"
	exit "$live_failed"
fi
opened=$(jq '[.calls.by_syscall | .open, .openat, .newfstatat, .readlink] | add // 0' "$T/result")
[ "$opened" -lt 5 ] || fail "$opened calls that only read were judged"
compare "the policy" '/(\.env|secret|sdir|link|linked|to-secret|mine|700|711|private\.txt|pdir|c\.key)(/|$)'
grep -P '\sread\s' "$T/out.changes" | grep -P '(\.env|secret|/sdir/inner|/mine|700/file|private\.txt|c\.key)\t' &&
	fail "what is covered was read"
grep -qP "/second/open\sread\s5 bytes" "$T/out.changes" || fail "what is granted was not read"
for name in "/second/secret	open	EACCES" "/second/sub/.env	open	EACCES" \
	"$T/pub/a/b/c.key	open	ENOENT" "$T/pub/pdir/file	stat	ENOENT" \
	"$T/w/app/sub/.env/inner	open	EACCES" "$T/pub/mine	open	EACCES"; do
	grep -qxF "$name" "$T/out.changes" || fail "not so: $name"
done

# A symbolic link with a denied name.
mkdir -p "$T/w/kinds" && ln -s ../open "$T/w/kinds/.env"
cg run --judge changes -p "$T/policy.json" --require kernel-reads -w "$T/w" -x /usr/bin/cat -- /usr/bin/cat kinds/.env \
	>"$T/said" 2>"$T/err" && fail "a link with a denied name was followed: $(cat "$T/said")"
grep -q 'Permission denied' "$T/err" || fail "a link with a denied name: $(cat "$T/err")"

# A hidden name below a hidden directory has a cover as well, in whatever order the rules name them.
mkdir -p "$T/nested/sdir/deeper" && echo SECRET | tee "$T/nested/sdir/key" "$T/nested/sdir/deeper/key" >/dev/null
echo open >"$T/nested/open"
# nested GRANT RULE NAME…: the first name is hidden by RULE, the others by "deny". The kernel judges, no secret is read
nested()
{
	jq -n --arg d "$T/nested" --arg grant "$1" --arg rule "$2" '[$ARGS.positional[2:][] |
		if startswith("**") then . else $d + "/" + . end] as $names |
		{read: ["/usr", "/lib", "/lib64", "/etc/ld.so.cache"], write: ["@workdir"]} |
		.[$grant] += [$d] | .[$rule] += $names[:1] | .deny += $names[1:] |
		{version: 1, filesystem: .}' --args "$@" >"$T/nested.json"
	cg run --judge changes -p "$T/nested.json" --require kernel-reads -w "$T/w" -x /usr/bin -- /usr/bin/cat \
		"$T/nested/open" "$T/nested/sdir/key" "$T/nested/sdir/deeper/key" >"$T/said" 2>"$T/err"
	[ "$(cat "$T/said")" = open ] || fail "nested: $*: $(cat "$T/said" "$T/err")"
}
for rules in "write deny" "public deny" "public private"; do
	# shellcheck disable=SC2086 # two words
	{
		nested $rules sdir sdir/key
		nested $rules sdir sdir/none
		nested $rules sdir sdir/deeper sdir/deeper/key
	}
done
nested write deny sdir/key sdir
nested write deny sdir/none sdir
nested write deny sdir/deeper sdir sdir/deeper/key
nested write deny sdir sdir/key '**/key'
nested public private sdir/key sdir
# The view covers its scratch directories: here one is below a denied directory.
TMPDIR=$T/nested/sdir/deeper nested write deny sdir
[ "$(cat "$T/nested/sdir/key" "$T/nested/sdir/deeper/key")" = "$(printf 'SECRET\nSECRET')" ] ||
	fail "nested: the covered files have changed"

# ---- built-in profiles ----
{
	ls -d / /*
	find /etc /var/lib /var/cache -maxdepth 2 2>/dev/null | awk 'NR % 7 == 0'
	find /usr /sys /dev /opt -maxdepth 2 2>/dev/null | awk 'NR % 9 == 0 && !/dev\/(pts|shm)\//'
	printf '%s\n' /root/.ssh/id_rsa /home /boot /etc/shadow /etc/environment /etc/ssl/private /etc/machine-id \
		/var/lib/dpkg/status /etc/passwd /etc/hosts /tmp /var/tmp "$T/w" "$T/w/.env" "$T/w/app/sub/.env" \
		/proc/1 /proc/1/environ /proc/kcore /proc/cmdline /proc/fs /proc/bus /proc/sys/net/ipv4 \
		/proc/sys/kernel/random/entropy_avail /proc/sysvipc/shm /proc/keys /proc/modules /proc/kallsyms \
		/proc/partitions /proc/interrupts /proc/2/environ \
		/etc/resolv.conf /etc/nsswitch.conf /etc/ssl/certs /etc/ssl/certs/none.pem /run /run/none.pem
} 2>/dev/null | sort -u >"$T/list"
for profile in minimal python data extended "python --profile pypi" "python --profile npm" "extended --profile debian" \
	"extended --profile github-read"; do
	# shellcheck disable=SC2086 # profiles
	run_in all --profile $profile
	# shellcheck disable=SC2086
	run_in changes --profile $profile
	[ $how = changes ] || fail "$profile: $(jq -r '.enforcement["kernel-reads"].why' "$T/result")"
	compare "$profile" '/\.env|^/etc/|^/var/'
	# What /proc tells of the machine is an allowlist in both. With a network, process 2 is the program itself.
	others='[12]'
	[ "$profile" = "${profile#* }" ] || others=1
	awk -F '\t' -v others="$others" '$1 ~ "^/proc/(" others \
		"|kcore|cmdline|fs|bus|sys|keys|modules|kallsyms|partitions|interrupts)" &&
		$2 ~ /^(open|stat|exists|readable)$/ && $3 != "ENOENT"' "$T/out.changes" >"$T/told"
	[ ! -s "$T/told" ] || fail "$profile: /proc tells more: $(cat "$T/told")"
done

# ---- attacks ----
for names in "$T/w/app/.env $T/w/.env $T/w/secret $T/w/sdir/inner" \
	"$T/pub/mine $T/pub/700/file $T/pub/a/b/c.key $T/pub/private.txt" \
	"/second/secret /second/sub/.env $T/tree/.env"; do
	# shellcheck disable=SC2086 # a list
	cg run --judge changes -p "$T/policy.json" --require kernel-reads -w "$T/w" -x "$attack" -- "$attack" "$T/w" \
		$names >"$T/said" 2>"$T/err"
	grep -q '^tried ' "$T/said" || fail "the attack has ended: $(cat "$T/said" "$T/err")"
	grep '^GOT ' "$T/said" && fail "the secrets of $names were read"
done
# A cover stays behind when a directory goes to another mount of the run: such a rename is refused.
mkdir -p "$T/other"
cat >"$T/move.json" <<EOF
{"version": 1, "extends": ["$T/policy.json"], "filesystem": {"write": ["$T/other"], "exec": ["/usr/bin"]}}
EOF
cg run --judge changes -p "$T/move.json" --require kernel-reads -w "$T/w" -- /usr/bin/python3 -c '
import os, sys
try:
    os.rename("app", sys.argv[1] + "/app")
    print("renamed", os.path.exists(sys.argv[1] + "/app/.env"))
except OSError as error:
    print(error.strerror)
for name in "app/.env", sys.argv[1] + "/app/.env":
    try:
        print("GOT", open(name).read())
    except OSError:
        pass' "$T/other" >"$T/said" 2>"$T/err"
[ "$(cat "$T/said")" = "Invalid cross-device link" ] || fail "a move to another mount: $(cat "$T/said" "$T/err")"
# One that shows a part of another by its own path makes the run judge everything.
mkdir -p "$T/w/part"
cat >"$T/part.json" <<EOF
{"version": 1, "extends": ["$T/policy.json"], "filesystem": {"redirect": [{"from": "/part", "to": "$T/w/part"}]}}
EOF
cg run --json --judge changes -p "$T/part.json" -w "$T/w" -- true >"$T/result" 2>"$T/err"
jq -r '.enforcement["kernel-reads"].why' "$T/result" | grep -q '/part shows a part of' ||
	fail "a part of the workdir by another path: $(cat "$T/result" "$T/err")"

# Where denied names cannot be looked for, but the program could get at them, the run judges everything: in directories
# whose mode it can change, by a glob or a name, and on paths longer than PATH_MAX.
mkdir -p "$T/locked/in" "$T/deep" && echo SECRET >"$T/locked/in/.env" && chmod 0 "$T/locked/in"
(cd "$T/deep" && for _ in {1..20}; do mkdir "$(printf '%0250d' 0)" && cd -P "$(printf '%0250d' 0)" || exit; done)
for deny in '**/.env' "$T/locked/in/.env"; do
	echo '{"version": 1, "filesystem": {"read": ["/usr"], "write": ["@workdir"], "deny": ["'"$deny"'"]}}' \
		>"$T/locked.json"
	cg run --json --judge changes -p "$T/locked.json" -w "$T/locked" -x /usr/bin -- true >"$T/result" 2>"$T/err"
	jq -r '.enforcement["kernel-reads"].why' "$T/result" | grep -q "/locked/in cannot be looked into" ||
		fail "$deny in a directory of mode 0: $(cat "$T/result" "$T/err")"
done
chmod 700 "$T/locked/in"
cg run --json --judge changes --profile extended -w "$T/deep" -- true >"$T/result" 2>"$T/err"
jq -r '.enforcement["kernel-reads"].why' "$T/result" | grep -q '/deep has too long paths' ||
	fail "long paths: $(cat "$T/result" "$T/err")"
jq -r '.enforcement["kernel-reads"].why' "$T/result" | grep -q 'installed programs' &&
	fail "a run that judges everything says that it does not look into installed programs"
cg run --json --judge changes --profile extended -w "$T/w" -- true >"$T/result" 2>"$T/err"
jq -r '.enforcement["kernel-reads"].why' "$T/result" | grep -qF 'nor one that a glob (**/NAME) denies in installed' ||
	fail "it does not say that it does not look into installed programs: $(cat "$T/result")"
# A tree that the program may write is not one of installed programs, wherever it is.
if opt=$(mktemp -d /opt/callgate-test.XXXXXX 2>"$T/err"); then
	echo SECRET >"$opt/.env"
	cg run --judge changes --profile extended --require kernel-reads -w "$opt" -- cat .env >"$T/said" 2>"$T/err"
	rm -r "$opt"
	grep -q SECRET "$T/said" && fail "a denied file of a workdir in /opt was read"
	grep -q 'Permission denied' "$T/err" || fail "a workdir in /opt: $(cat "$T/err")"
fi

# A cover is there until the end, also when its directory is renamed.
[ "$(cat "$T/w/app/.env")" = "SECRET w/app/.env" ] || fail "the covered file has changed"

# ---- without the first lock: mounts and Landlock hold; last, because without both the attack changes the files ----
open=$CASES/callgate-open
if [ -x "$open" ]; then
	for without in "" landlock; do
		timeout -k 5 "$LIVE_TIMEOUT" "$open" run --judge changes ${without:+--without $without} \
			-p "$T/policy.json" -w "$T/w" -x "$attack" -- "$attack" "$T/w" "$T/w/app/.env" /second/secret \
			"$T/pub/mine" >"$T/said" 2>"$T/err" </dev/null
		grep -q '^tried ' "$T/said" || fail "open filter: the attack has ended: $(cat "$T/said" "$T/err")"
		got=$(grep -c '^GOT ' "$T/said")
		[ -n "$without" ] || [ "$got" = 0 ] || fail "open filter: the secrets were read: $(head "$T/said")"
		[ -z "$without" ] || [ "$got" -gt 0 ] || fail "the attack reads nothing even where nothing holds it"
	done
fi

exit "$live_failed"
