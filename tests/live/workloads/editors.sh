#!/bin/bash
# vim -es and perl: edit files, swap files, sort, in-place, directory functions.
# shellcheck disable=SC2016 # the programs inside expand these
. "$(dirname "$0")/../lib.sh"
need vim perl
prepare()
{
	seq 1 200 >"$1/numbers"
	cp "$SRC/base/buf.c" "$1"
}
same vim vim -u NONE -es -c 'set swapfile backup' -c '%s/1/one/g' -c 'w! changed' -c 'e! buf.c' -c 'normal ggdd' \
	-c 'wq' numbers
same perl bash -c 'perl -i.bak -pe "s/2/two/" numbers && perl -e "
	use strict; use File::Find; use File::Temp; use File::Copy; use Cwd; use POSIX;
	mkdir q(d); open my \$f, q(>), q(d/f) or die; print \$f qq(x\n) x 100; close \$f; symlink q(f),
	q(d/l); rename q(d/f), q(d/g);
	print join(q( ), sort map { \$_ // q() } glob q(d/*)), qq(\n); print -s q(d/g), -l q(d/l) ? q(l) : q(),
	-e q(d/l) ? q(e) : q(), qq(\n);
	find(sub { print \$File::Find::name, qq(\n) }, q(d)); copy(q(d/g), q(d/h)); utime 1, 2,
	q(d/h); print ((stat q(d/h))[9], qq(\n));
	print getcwd() =~ /w\$/ ? 1 : 0, qq(\n); chmod 0600, q(d/h); printf qq(%o\n), (stat _)[2]; print qx(echo sub),
	system(q(false)) >> 8, qq(\n);
	local \$SIG{ALRM} = sub { die qq(alarm\n) }; eval { alarm 1; select undef, undef, undef,
	5 }; print \$@; open my \$p, q(-|), q(sort -r numbers) or die;
	print scalar(() = <\$p>), qq(\n); unlink glob q(d/*); rmdir q(d) or die; print POSIX::access(q(numbers), R_OK),
	qq(\n);"'
