#!/bin/bash
# Programs that make terminals: python's pty, script, expect, tmux, screen, vim, sshd; and what they see of them.
# shellcheck disable=SC2016 # the programs inside expand these
. "$(dirname "$0")/../lib.sh"
need script expect tmux screen vim ssh
live_env+=(TERM=xterm)
prepare()
{
	cp "$SRC/tests/cases/terminals.py" "$1"
	mkdir -m 700 "$1/screens" "$1/tmux"
}

SAME_STDERR=no same python "$PYTHON" -u terminals.py
same script bash -c 'script -qec "tty | sed s/[0-9]*\$/N/; echo typed >/dev/tty; exit 4" /dev/null; echo $?'
same expect expect -c 'spawn -noecho sh -c {stty -echo; printf "name? "; read n </dev/tty; echo "hello $n"; exit 6}
	expect "name? "; send "bob\r"; expect "hello bob"; expect eof; puts [lindex [wait] 3]'
same vim bash -c 'script -qec "vim -u NONE -i NONE -n -c \"normal ihello\" -c wq made" /dev/null >/dev/null; cat made'
same tmux bash -c 'export TMUX_TMPDIR=$PWD/tmux
	tmux -f /dev/null new-session -d -x 80 -y 24 "tty | sed s/[0-9]*\$/N/; echo >/dev/tty in tmux; sleep 60"
	tmux split-window "echo second; sleep 60"
	for _ in $(seq 600); do
		shown=$(tmux capture-pane -p -t 0; tmux capture-pane -p -t 1)
		[[ $shown = *"in tmux"*second* ]] && break
		sleep 0.1
	done
	grep . <<<"$shown"; tmux list-panes -a | wc -l; tmux kill-server; rm -rf tmux'

# screen changes the owner of its terminals, which root without capabilities may not where they have another group.
in_screen='export SCREENDIR=$PWD/screens
	timeout 100 screen -c /dev/null -DmS one sh -c "(tty | sed s/[0-9]*\$/N/; echo x >/dev/tty && echo mine) >said"
	cat said'
rm -rf "$T/w" && mkdir "$T/w" && prepare "$T/w"
if (cd "$T/w" && [ "$(native bash -c "$in_screen" 2>/dev/null)" != "" ]) || layer mountns; then
	rm -rf "$T/w" && mkdir "$T/w" && prepare "$T/w"
	said=$(cd "$T/w" && cg_run extended -w "$T/w" -- bash -c "$in_screen" 2>&1)
	[ "$said" = $'/dev/pts/N\nmine' ] || fail "screen: $said"
fi

# A terminal by ssh, from an sshd that runs inside as well. Both ends are the same user, who must have a name and a
# shell and not be root: root's sshd needs capabilities.
sshd_user()
{
	if [ "$(id -u)" = 0 ]; then
		getent passwd | awk -F: '$3 > 0 && $7 ~ "/(ba)?sh$" { print $1; exit }'
	else
		getent passwd "$(id -u)" | cut -d: -f1
	fi
}
user=$(sshd_user)
if [ -n "$user" ] && [ -x /usr/sbin/sshd ]; then
	as=()
	[ "$(id -u)" != 0 ] || as=(--user "$user")
	mkdir -m 700 "$T/ssh"
	ssh-keygen -q -t ed25519 -N "" -C host -f "$T/ssh/host"
	ssh-keygen -q -t ed25519 -N "" -C client -f "$T/ssh/client"
	printf '%s\n' "HostKey $T/ssh/host" "AuthorizedKeysFile $T/ssh/client.pub" 'PidFile none' 'StrictModes no' \
		'UsePAM no' 'PrintMotd no' 'PrintLastLog no' >"$T/ssh/config"
	[ "$(id -u)" != 0 ] || chown -R "$user" "$T/ssh"
	mkdir -m 1777 "$T/ssh/tmp"
	chmod 711 "$T"
	TMPDIR=$T/ssh/tmp cg run "${as[@]}" --profile extended -w "$T/ssh" -e TERM=xterm -e HOME="$T/ssh" -- \
		ssh -q -tt -F none -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
		-i "$T/ssh/client" -o ProxyCommand="/usr/sbin/sshd -i -f $T/ssh/config -E $T/ssh/log" "$user@inside" \
		'tty | sed "s/[0-9]*$/N/"; echo x >/dev/tty; test -t 0 && test -t 1 && echo both; exit 7' \
		>"$T/ssh.out" 2>"$T/ssh.err"
	status=$?
	[ "$status $(tr -d '\r' <"$T/ssh.out")" = $'7 /dev/pts/N\nx\nboth' ] ||
		fail "ssh -tt: $status, $(cat "$T/ssh.out" "$T/ssh.err" "$T/ssh/log")"
fi
