#!/bin/bash
# --input DIR: a tree arrives with its contents, permissions, times and inner links; nothing outside of it does.
. "$(dirname "$0")/../lib.sh"
need find
mkdir -p "$T/in/tree/sub/deep" "$T/out"
echo one >"$T/in/tree/a"
echo two >"$T/in/tree/sub/deep/b"
: >"$T/in/tree/-e"
ln -s sub/deep/b "$T/in/tree/link"
ln -s ../a "$T/in/tree/sub/up"
chmod 750 "$T/in/tree/sub"
chmod 640 "$T/in/tree/a"
touch -d '2001-02-03 04:05:06' "$T/in/tree/a" "$T/in/tree/sub/deep" "$T/in/tree/sub"
input() { timeout -k 5 300 "$CALLGATE" run --profile extended "$@" </dev/null >"$T/got" 2>"$T/err"; }
list='find tree | LC_ALL=C sort; stat -c "%n %a %s %Y %F" tree/a tree/sub tree/sub/deep/b; cat tree/link tree/sub/up'
(cd "$T/in" && sh -c "$list") >"$T/want"
for named in "$T/in/tree" "$T/in/tree/" "$T/in/tree/sub/.."; do
	input --input "$named" -- sh -c "$list" || fail "$named: $(cat "$T/err")"
	cmp -s "$T/want" "$T/got" || fail "$named: $(diff "$T/want" "$T/got")"
done
(cd "$T/in/tree" && input --input . -- sh -c "$list" && cmp -s "$T/want" "$T/got") ||
	fail ".: $(cat "$T/err" "$T/got")"
input --input "$T/in/tree" -- sh -c 'echo new >tree/sub/new && rm -r tree' || fail "not the program's: $(cat "$T/err")"
[ -e "$T/in/tree/a" ] || fail "the original is gone"
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$T" "$T/in"
	chmod 1777 "$T/tmp"
	input --user 54321 --input "$T/in/tree" -- \
		sh -c 'stat -c "%u:%g" tree tree/a tree/sub/deep tree/link | sort -u' ||
		fail "--user: $(cat "$T/err")"
	[ "$(cat "$T/got")" = 54321:54321 ] || fail "--user: the copies belong to $(cat "$T/got")"
fi

# refuses TEXT: the tree as it is now
refuses()
{
	input "${more[@]}" --input "$T/in/tree" -- true && fail "$1: it is taken"
	grep -q "$1" "$T/err" || fail "$1: says $(cat "$T/err")"
}
more=()
for target in /etc/passwd ../../x ../x sub/../../x; do
	ln -s "$target" "$T/in/tree/sub/bad"
	case $target in
	../x) input --input "$T/in/tree" -- true || fail "a link to $target within: $(cat "$T/err")" ;;
	sub/../../x) input --input "$T/in/tree" -- true || fail "a link to $target within: $(cat "$T/err")" ;;
	*) refuses 'bad: is a link that leads out' ;;
	esac
	rm "$T/in/tree/sub/bad"
done
ln -s .. "$T/in/tree/bad"
refuses 'bad: is a link that leads out'
rm "$T/in/tree/bad"
mkfifo "$T/in/tree/fifo"
refuses 'fifo: is neither a regular file nor a directory'
rm "$T/in/tree/fifo"
deep=$T/in/tree/deep
for _ in $(seq 70); do deep=$deep/d; done
mkdir -p "$deep"
refuses 'lies too deep'
rm -r "$T/in/tree/deep"
truncate -s 5G "$T/in/tree/large"
refuses 'large: does not fit'
rm "$T/in/tree/large"
mkdir -p "$T/in/tree/w"
more=(-w "$T/in/tree/w")
refuses 'contains the workdir'
more=(-w "$T/out")
mkdir "$T/out/tree"
refuses 'has a file of this name'
input --input / -- true && fail "/ is taken"
exit 0
