#!/bin/bash
# Programs that try to be granted more than they used: a secret, a home directory, another user's files. What callgate
# learn writes must not differ from what `callgate why` says, and learning must change nothing outside.
# shellcheck disable=SC2016 # the programs inside expand these
. "$(dirname "$0")/../lib.sh"
need jq

# Runs have a /tmp and a /var/tmp of their own, so what is beside the working directory must lie elsewhere.
D=$(mktemp -d "$BUILD/learn-attacks.XXXXXX") || skip "the build directory cannot be written"
D=$(cd "$D" && pwd -P)
trap 'rm -rf "$D"; live_done' EXIT
case $D in /tmp/* | /var/tmp/*) skip "the build directory is below /tmp" ;; esac

export HOME=$D/home
mkdir -p "$HOME/.ssh" "$HOME/docs" "$HOME/proj" "$HOME/data" "$HOME/.cache" "$D/work" "$D/data"
chmod 700 "$HOME/.ssh"
echo key >"$HOME/.ssh/id_rsa"
echo diary >"$HOME/docs/diary"
for n in 1 2 3 4 5 6; do
	echo $n | tee "$HOME/data/f$n.csv" "$HOME/doc$n.txt" "$D/data/f$n.csv" >/dev/null
done
echo SECRET=1 | tee "$HOME/data/.env.csv" "$D/data/.env" >/dev/null
ln "$HOME/.ssh/id_rsa" "$HOME/data/f9.csv"
ln "$HOME/.ssh/id_rsa" "$HOME/proj/innocent.txt"
ln "$HOME/.ssh/id_rsa" "$D/work/plain"
ln -s "$HOME/.ssh/id_rsa" "$HOME/data/f8.csv"
ln -s "$HOME/.ssh" "$D/work/dir"
secrets=("$HOME/.ssh/id_rsa" "$HOME/data/.env.csv" "$D/data/.env" "$HOME/data/f9.csv" "$HOME/data/f8.csv"
	"$HOME/proj/innocent.txt" "$D/work/plain" /etc/shadow)
unused=("$HOME/docs/diary" "$HOME/doc5.txt" "$HOME/docs" "$HOME/new" "$HOME/.profile" "$HOME")

# attack NAME PROGRAM: learns from a shell program. Whatever it does, nothing of these is granted, and no file changes.
attack()
{
	local name=$1 path
	find "$HOME" "$D/data" "$D/work" -printf '%p %m %s %T@\n' | sort >"$D/before"
	cg learn --json -o "$D/$name.json" -w "$D/work" -- sh -c "$2" >"$D/out" 2>"$D/err"
	[ $? -le 1 ] || fail "$name: $(cat "$D/err")"
	find "$HOME" "$D/data" "$D/work" -printf '%p %m %s %T@\n' | sort >"$D/after"
	diff "$D/before" "$D/after" >"$D/diff" || fail "$name: learning changed files: $(cat "$D/diff")"
	cg check "$D/$name.json" >"$D/err" 2>&1 || fail "$name: check refuses the policy: $(cat "$D/err")"
	for path in "${secrets[@]}" "${unused[@]}"; do
		cg why -p "$D/$name.json" -w "$D/work" --open "$path" >"$D/err" 2>&1 &&
			fail "$name: grants $path: $(cat "$D/err")"
		cg why -p "$D/$name.json" -w "$D/work" --open "$path:w" >/dev/null 2>&1 &&
			fail "$name: lets $path be written"
	done
}

# What the policy grants it may use, whatever the run of the attack was denied.
granted()
{
	cg why -p "$D/$1.json" -w "$D/work" --open "$2" >/dev/null 2>&1 || fail "$1: does not grant $2, which was used"
}

attack read 'cat ~/.ssh/id_rsa; cat '"$HOME"'/.ssh/id_rsa dir/id_rsa plain '"$D"'/data/.env /etc/shadow'
attack fold "cat $HOME/data/f1.csv $HOME/data/f2.csv $HOME/data/f3.csv $HOME/data/f4.csv
	cat $HOME/doc1.txt $HOME/doc2.txt $HOME/doc3.txt $HOME/doc4.txt $HOME/data/f8.csv $HOME/data/f9.csv"
granted fold "$HOME/data/f1.csv"
granted fold "$HOME/doc1.txt"
attack list "ls $HOME $HOME/docs $HOME/proj $HOME/.ssh $D/data / /etc /home /root; cat $D/data/.env; ls $D/data"
attack make "echo x >$HOME/.ss; echo x >$HOME/1; echo x >$HOME/n; echo x >$HOME/.profil; echo x >$HOME/d1
	mkdir -p $HOME/doc/x $HOME/id_rs; echo x >$HOME/.ssh/new; echo x >$D/data/.en; echo x >/etc/shado"
attack change "touch $HOME/docs; chmod 700 $HOME $HOME/proj $D/data; mv $HOME/doc6.txt $HOME/away; rm -r $HOME/data
	readlink $HOME/data/f8.csv dir; ls -l $HOME/data
	rm -f $D/data/f1.csv; touch $HOME/.profile"
attack link "ln -s $HOME/.ssh l1; ln -s $HOME l2; cat l1/id_rsa l2/docs/none l2/.ssh/id_rsa; ls l2
	ln $HOME/.ssh/id_rsa h; cat h; mkdir 2; mv dir 2/; cat 2/dir/id_rsa"
attack names 'for i in 1 2 3 4 5 6 7 8 9; do cat "'"$HOME"'/$i" "'"$HOME"'/.s$i" "/etc/shadow$i"; done
	printf x >"$(printf "new\nline")"; printf x >"$(printf "\377")"; printf x >"a*b"
	cat "$(printf "new\nline")" "a*b"'
attack env 'HOME=/; export HOME; cat ~/etc/shadow; cd /; cat '"$HOME"'/docs/none; cd '"$HOME"';
	cat .ssh/id_rsa ../home/.ssh/id_rsa'

# Ever new names that do not exist cost nothing.
cg learn --json -o "$D/probe.json" -w "$D/work" -- "$PYTHON" -c '
import os
for i in range(100000):
    try: os.stat(f"/data/none/{i}")
    except OSError: pass' >"$D/out" 2>"$D/err" || fail "100,000 names: $(cat "$D/err")"
jq -e '.rules < 20' "$D/out" >/dev/null || fail "100,000 names that do not exist: $(cat "$D/out")"

# With --allow-risky the secret that was used is granted, and no other.
cg learn --json --allow-risky -o "$D/risky.json" -w "$D/work" -- cat "$D/data/.env" >"$D/out" 2>"$D/err" ||
	fail "--allow-risky: $(cat "$D/err")"
granted risky "$D/data/.env"
for path in "${secrets[@]}"; do
	[ "$path" = "$D/data/.env" ] || ! cg why -p "$D/risky.json" -w "$D/work" --open "$path" >/dev/null 2>&1 ||
		fail "--allow-risky grants $path"
done
exit $live_failed
