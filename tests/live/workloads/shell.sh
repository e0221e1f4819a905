#!/bin/bash
# bash: pipes, jobs, traps, redirections, process substitution, here documents, globs; coreutils on files.
. "$(dirname "$0")/../lib.sh"
prepare()
{
	cat >"$1/shell.sh" <<'EOF'
seq 1 1000 | grep 7 | sort -r | head -n 3
cat <(echo one) <(echo two) | tee copy >/dev/null; cat copy
for i in 1 2 3; do sleep 0.0$i & done; wait; echo waited $?
(exit 4) & wait $!; echo $?
trap 'echo term' TERM; kill -TERM $$; trap - TERM
sleep 30 & pid=$!; kill $pid; wait $pid; echo $?
exec 5>out5; echo five >&5; exec 5>&-; cat out5
exec 6<>rw; echo six >&6; exec 6>&-; cat rw
cat <<X | wc -c
here
X
cat <<<"string"; echo "$(cat <<<inner)"
mkdir -p a/b/c && touch a/x a/b/y 'a/b/with space' && shopt -s globstar && printf '%s\n' a/**
mkfifo pipe && (echo through >pipe &) && cat pipe
set -o pipefail; false | true; echo $?; set +o pipefail
yes | head -n 1000 | wc -l
cd a/b && pwd && cd - && pwd -P && cd ..; echo "$OLDPWD" | sed 's/.*w/w/'
cd "$OLDPWD"; umask 077; touch private; stat -c %a private; umask
test -r private && test -w private && ! test -x private && [ a/x -ef a/../a/x ] && echo tests
ln -s a link; cd link; pwd; pwd -P; cd ..; rm link
coproc cat; echo co >&"${COPROC[1]}"; read -r -u "${COPROC[0]}" line; echo "$line"; kill $COPROC_PID
ls -la /proc/self/fd | wc -l; echo x >/dev/null; cat /dev/null; head -c 4 /dev/zero | od -c | head -n 1
nonexistent-command; echo $?; ./shell.sh; echo $?; . /nonexistent; echo $?
printf '#!/bin/sh\necho script "$0" "$@"\n' >s.sh; chmod +x s.sh; ./s.sh 1 2; PATH=$PWD:$PATH s.sh 3
time -p true 2>/dev/null; ulimit -c; type -t cd; command -v cat
find . -newer copy -name 'nothing'; stat -c '%n %F %s' a copy pipe; wc -c <copy; cmp copy copy && echo same
split -n 3 copy part; cat part*; truncate -s 100 copy; dd if=copy of=dd bs=10 count=3 status=none;
install -m 751 copy inst
mktemp -u x.XXXX | wc -c; readlink -f a/../a/x | sed 's/.*w/w/'; realpath --relative-to=. a/b;
df . >/dev/null 2>&1; echo $?
EOF
}
same shell bash shell.sh
