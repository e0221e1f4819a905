#!/bin/bash
# Leak checks by LeakSanitizer, which traces its own process, and debuggers that attach to a running program.
. "$(dirname "$0")/../lib.sh"
layer landlock || layer pidns || skip "ptrace is refused without a pid namespace and without Landlock"

cat >"$T/leak.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	void *volatile block = malloc(100);

	(void)argv;
	if (argc > 1)
		block = NULL;
	free(block);
	puts("done");
	return 0;
}
END
cat >"$T/wait.c" <<'END'
#include <fcntl.h>
#include <unistd.h>
int deep(int n)
{
	if (n > 0)
		return deep(n - 1) + 1;
	close(creat("there", 0600));
	for (;;)
		pause();
}
int main(void)
{
	return deep(3);
}
END
prepare() { cp "$T/leak.c" "$T/wait.c" "$1"; }

tried=
for compiler in gcc clang; do
	$compiler -fsanitize=address -o "$T/probe" "$T/leak.c" 2>"$T/err" || continue
	tried=1
	# shellcheck disable=SC2016 # the inner shell's
	same "leaks, $compiler" sh -c '$0 -g -fsanitize=address -o leak leak.c && ./leak && ./leak x 2>err
		echo status $?; sed "s/==[0-9]*==//; s/0x[0-9a-f]*/ADDRESS/g" err; rm err leak' $compiler
done
if command -v gdb gcc >/dev/null; then
	tried=1
	# shellcheck disable=SC2016
	same "gdb -p" sh -c 'gcc -g -O0 -o wait wait.c && { ./wait & } && pid=$!
		until [ -e there ]; do sleep 0.05; done
		gdb -nx -q -batch -ex bt -p $pid 2>/dev/null | grep -c "deep (n=.) at wait.c"
		kill $pid; rm wait there'
fi
if command -v strace >/dev/null; then
	tried=1
	# shellcheck disable=SC2016
	same "strace -p" sh -c 'sleep 600 & pid=$!
		strace -o calls -p $pid 2>said & tracer=$!
		until grep -qs attached said || ! kill -0 $tracer; do sleep 0.05; done
		kill $pid; wait $tracer; grep -o "killed by SIGTERM" calls; rm calls said'
	cg_run extended -w "$T/w" --json -- strace true >"$T/json" 2>"$T/err"
	jq -e '.denials[] | select(.reason == "exec_of_traced") | .suggest | contains("attach")' "$T/json" >"$T/out" ||
		fail "strace of a new program: no advice in $(jq -c .denials "$T/json")"
fi
[ -n "$tried" ] || skip "no compiler with a leak check, no gdb, no strace"
