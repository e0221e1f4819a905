#!/bin/bash
# tar, cp -a, rm -r, find, rsync, zip, chmod -R, mv: trees moved about, compared to the last mode.
# shellcheck disable=SC2016 # the programs inside expand these
. "$(dirname "$0")/../lib.sh"
need rsync zip unzip
prepare()
{
	mkdir -p "$1/src/deep/er" "$1/src/empty"
	cp "$SRC"/base/*.c "$1/src"
	cp "$SRC"/syscalls/*.h "$1/src/deep"
	ln -s ../deep "$1/src/deep/loop"
	ln -s nowhere "$1/src/dangling"
	ln "$1/src/buf.c" "$1/src/deep/er/hard"
	mkfifo "$1/src/fifo"
	echo x >"$1/src/deep/er/name with space and ü"
	chmod 600 "$1/src/path.c"
	find "$1/src" -exec touch -h -d 2025-01-01 {} +
}
same tar bash -c 'tar --numeric-owner --sort=name -cf a.tar src && mkdir out && tar -C out -xpf a.tar && tar tvf a.tar |
	sha256sum && sha256sum a.tar &&
	tar --numeric-owner --sort=name -czf a.tgz --mtime=2025-01-01 src && tar -C out -xzf a.tgz &&
	tar -df a.tar && echo equal'
same cp bash -c \
	'cp -a src copy && diff -r --no-dereference src/deep copy/deep &&
	cp -r --preserve=mode,timestamps src/deep c2 && cp -al src links &&
	cp --sparse=always src/buf.c sparse && stat -c "%y %a %h" copy/path.c links/path.c && cp -u src/buf.c copy/ &&
	cp --reflink=auto src/buf.c r'
same rm bash -c \
	'rm -r src/deep && rm -rf src/empty src/nothing && rm -v src/dangling && rmdir src; ls src; rm -rf src && ls'
same find bash -c 'find src | sort && find src -type f -size +1k -name "*.c" |
	sort && find src -type l -printf "%p %l\n" && find -L src -maxdepth 2 2>&1 | sort &&
	find src -name "*.h" -exec wc -c {} + |
	tail -n 1 && find src -empty -delete -print && find src -perm 600 && find . -samefile src/buf.c | sort'
same rsync bash -c \
	'rsync -a src/ dst/ && rsync -a --delete --checksum src/ dst/ && echo y >>src/buf.c && rsync -ai src/ dst/ &&
	rm src/path.c &&
	rsync -ai --delete src/ dst/ && rsync -aH --link-dest="$PWD/dst" src/ third/'
same zip bash -c 'rm src/fifo; touch -d 2025-01-01 src; zip -Xqry a.zip src && unzip -l a.zip |
	tail -n 1 && unzip -qq a.zip -d out && zip -qd a.zip "src/deep/*" && unzip -Z1 a.zip | sort'
same mv bash -c \
	'mv src moved && mv moved/buf.c moved/deep/ && mv -n moved/path.c moved/deep && mv -T moved/deep moved/deeper &&
	chmod -R go-rwx moved &&
	chmod u+x moved/text.c && touch -d 2024-01-01 moved/text.c && stat -c "%Y %a" moved/text.c &&
	mv moved/text.c "moved/$(printf "new\nline")" && ls -b moved'
