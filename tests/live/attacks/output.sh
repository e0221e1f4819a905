#!/bin/bash
# A copy of a hostile workdir by --output takes no more space than the workdir: sparse files stay sparse, and hard links
# stay links to one file.
. "$(dirname "$0")/../lib.sh"
kept()
{
	rm -rf "$T/w" "$T/kept"
	mkdir "$T/w" "$T/kept"
	[ $# = 0 ] || chown "$2" "$T/w"
	# shellcheck disable=SC2016 # the inner shell's
	cg_run extended "$@" -w "$T/w" --output "$T/kept" -- /bin/sh -c 'truncate -s 900G hole; truncate -s 5M mixed
		for at in 0 1000000 4000000; do printf data | dd of=mixed bs=1 seek=$at conv=notrunc 2>/dev/null; done
		printf x >full; truncate -s 3M cut; : >empty
		head -c 300000 /dev/urandom >first; mkdir d;
		for i in $(seq 50); do ln first d/link$i; done; mkdir e; ln first e/link' 2>"$T/err" ||
		fail "the run: $(cat "$T/err")"
	[ "$(stat -c %s "$T/kept/hole")" = $((900 << 30)) ] || fail "its size: $(stat "$T/kept/hole")"
	[ "$(du -sk "$T/kept" | cut -f1)" -lt 1000 ] || fail "it takes $(du -sk "$T/kept")"
	for name in mixed full cut empty first d/link7 e/link; do
		cmp "$T/w/$name" "$T/kept/$name" || fail "$name differs"
	done
}
kept
[ "$(id -u)" != 0 ] || { chmod 755 "$T" && chmod 1777 "$T/tmp" && kept --user 54321; }
