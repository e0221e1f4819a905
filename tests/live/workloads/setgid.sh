#!/bin/bash
# The set-group-ID bit of directories, by which groups share them: git init --shared, mkdir -m, chmod g+s, install, tar.
# shellcheck disable=SC2016 # the programs inside expand these
. "$(dirname "$0")/../lib.sh"
need git tar
same git bash -c 'git init -q --shared shared && git -C shared config core.sharedRepository &&
	stat -c "%A %n" shared/.git shared/.git/refs shared/.git/objects && cd shared && echo x >file && git add file &&
	GIT_AUTHOR_DATE="1 +0000" GIT_COMMITTER_DATE="1 +0000" git -c user.name=u -c user.email=e commit -q -m m &&
	find .git/objects -type d -exec stat -c %A {} + | sort | uniq -c; rm -rf .git'
same coreutils bash -c 'umask 027; mkdir -m 2775 a; mkdir -m 7777 b; mkdir -p c/d; chmod g+s c; mkdir c/e c/f c/f/g
	echo >c/e/file; install -d -m 2750 i/j; chmod 6755 c/d; chmod u-s,g-s c/d; chmod 00755 a; chmod =rx b
	mkdir t && tar -C c -cf - . | tar -C t -xpf -; cp -a c k; find . -exec stat -c "%A %a %n" {} + | sort'
same modes "$PYTHON" -c '
import os
os.umask(0o022)
for mode in (0o755, 0o2755, 0o4755, 0o6777, 0o7777, 0o1777, 0o177777):
    os.mkdir("d", mode)
    made = os.stat("d").st_mode
    shown = []
    for other in (0o2755, 0o4755, 0o7777, 0o755):
        os.chmod("d", other)
        shown.append(oct(os.stat("d").st_mode))
        fd = os.open("d", os.O_RDONLY)
        os.fchmod(fd, other & 0o2777)
        os.close(fd)
        shown.append(oct(os.stat("d").st_mode))
        os.mkdir("d/below", mode)
        shown.append(oct(os.stat("d/below").st_mode))
        os.rmdir("d/below")
    print(oct(mode), oct(made), shown)
    os.rmdir("d")
'
