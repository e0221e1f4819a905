#!/bin/bash
# git over https and over ssh, with a plain `git clone URL`. Over https the policy grants fetching and denies pushing;
# over ssh it grants both, and supplies the host keys and the client's key.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need git jq
[ -x "$(git --exec-path)/git-http-backend" ] || skip "there is no git http-backend"
net_ca git.test pass.test
export GIT_CONFIG_GLOBAL=$NET/gitconfig GIT_CONFIG_NOSYSTEM=1
git config --file "$NET/gitconfig" user.name Me
git config --file "$NET/gitconfig" user.email me@git.test
git config --file "$NET/gitconfig" safe.directory '*'
git init -q -b main "$T/from" || die "git init"
head -c 2000000 /dev/urandom >"$T/from/big"
for i in $(seq 12); do
	echo "file $i" >"$T/from/$i"
	git -C "$T/from" add -A || die "git add"
	git -C "$T/from" commit -q -m "number $i" || die "git commit"
done
git clone -q --bare "$T/from" "$NET/repos/one.git" || die "git clone"
git -C "$NET/repos/one.git" config http.receivepack true || die "git config"
head=$(git -C "$T/from" rev-parse HEAD)
"$PYTHON" "$SRC/tests/cases/net-git.py" "$NET" >"$NET/log" 2>&1 &
live_kept+=($!)
net_await "git http-backend" test -s "$NET/git-port"
https=$(cat "$NET/git-port")

# ---- an sshd, as the user who runs this, if it has a name ----
mkdir -m 700 "$NET/ssh"
name=$(id -un 2>/dev/null)
start_sshd()
{
	local prepare=true
	[ -n "$name" ] && [ -x /usr/sbin/sshd ] || return
	ssh-keygen -q -t ed25519 -N "" -C host -f "$NET/ssh/host" &&
		ssh-keygen -q -t ed25519 -N "" -C client -f "$NET/ssh/client" || return
	# An empty directory of root's, which Debian makes when the service starts.
	# shellcheck disable=SC2209 # a command's name
	[ "$(id -u)" != 0 ] || prepare="mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd"
	for _ in 1 2 3 4 5; do
		ssh=$((RANDOM % 20000 + 20000))
		cat >"$NET/ssh/config" <<-EOF
			ListenAddress 127.0.0.1:$ssh
			HostKey $NET/ssh/host
			AuthorizedKeysFile $NET/ssh/client.pub
			PidFile none
			StrictModes no
			UsePAM no
			PermitRootLogin prohibit-password
			PasswordAuthentication no
			SetEnv GIT_CONFIG_GLOBAL=$NET/gitconfig
		EOF
		if [ "$(id -u)" = 0 ]; then
			unshare -m sh -c "$prepare && exec /usr/sbin/sshd -D -e -f $NET/ssh/config" \
				>"$NET/ssh/log" 2>&1 &
		else
			/usr/sbin/sshd -D -e -f "$NET/ssh/config" >"$NET/ssh/log" 2>&1 &
		fi
		sshd=$!
		for _ in $(seq 100); do
			kill -0 "$sshd" 2>/dev/null || continue 2
			ssh -q -F none -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
				-i "$NET/ssh/client" \
				-p "$ssh" "$name@127.0.0.1" true 2>/dev/null && live_kept+=("$sshd") && return
			sleep 0.1
		done
		kill "$sshd"
		break
	done
	return 1
}
ssh=
sshd=
start_sshd || ssh=
if [ -n "$ssh" ]; then
	echo "[ssh.test]:$ssh $(cat "$NET/ssh/host.pub")" >"$NET/ssh/known_hosts"
	printf 'IdentityFile %s\nBatchMode yes\n' "$NET/ssh/client" >"$NET/ssh/ssh_config"
	NET_MORE="{\"filesystem\": {\"read\": [\"$NET/ssh/client\"], \"provide\": {
		\"/etc/ssh/ssh_known_hosts\": {\"from\": \"file:ssh/known_hosts\"},
		\"/etc/ssh/ssh_config\": {\"from\": \"file:ssh/ssh_config\"}}}}"
fi
net_policy "{
	\"allow\": [
		{\"host\": \"git.test\", \"port\": $https, \"proto\": \"https\", \"private\": true,
		\"http\": [\"GET /one.git/**\", \"POST /one.git/git-upload-pack\"]},
		{\"host\": \"pass.test\", \"port\": $https, \"proto\": \"https\", \"private\": true},
		{\"host\": \"ssh.test\", \"port\": ${ssh:-22}, \"proto\": \"tcp\", \"private\": true}],
	\"resolve\": {\"git.test\": \"127.0.0.1\", \"pass.test\": \"127.0.0.1\", \"ssh.test\": \"127.0.0.1\"},
	\"upstream_ca\": \"$NET/ca.pem\"}"
cp "$NET/ca.pem" "$T/home/ca.pem"

cat >"$T/home/https" <<EOF
export GIT_AUTHOR_NAME=Me GIT_AUTHOR_EMAIL=me@git.test GIT_COMMITTER_NAME=Me GIT_COMMITTER_EMAIL=me@git.test
git clone -q https://git.test:$https/one.git opened && git -C opened rev-parse HEAD && git -C opened fsck --no-progress
git clone -q --depth 1 https://git.test:$https/one.git shallow && git -C shallow rev-list --count HEAD
git -C shallow fetch -q --unshallow && git -C shallow rev-list --count HEAD
git ls-remote -q -h https://git.test:$https/one.git | cut -f 2
git -C opened commit -q --allow-empty -m more
git -C opened push -q 2>&1 | grep -o 'returned error: 403'
git clone -q https://git.test:$https/two.git 2>&1 | grep -o 'returned error: 403'
git clone -q https://elsewhere.test/one.git 2>&1 | grep -o 'Could not resolve host'
GIT_SSL_CAINFO=$T/home/ca.pem git clone -q https://pass.test:$https/one.git passed && git -C passed rev-parse HEAD
EOF
cat >"$T/https.expected" <<EOF
$head
1
12
refs/heads/main
returned error: 403
returned error: 403
Could not resolve host
$head
EOF
cat >"$T/home/ssh" <<EOF
export GIT_AUTHOR_NAME=Me GIT_AUTHOR_EMAIL=me@git.test GIT_COMMITTER_NAME=Me GIT_COMMITTER_EMAIL=me@git.test
u=ssh://$name@ssh.test:$ssh$NET/repos/one.git
git clone -q \$u by-ssh && git -C by-ssh rev-parse HEAD && git -C by-ssh fsck --no-progress
git -C by-ssh commit -q --allow-empty -m more && git -C by-ssh push -q origin HEAD:refs/heads/new-\$1 && echo pushed
git ls-remote -q -h \$u new-\$1 | cut -f 2
git clone -q ssh://$name@ssh.test:1/x 2>&1 | grep -o 'Connection refused'
git clone -q ssh://$name@elsewhere.test/x 2>&1 | grep -io 'could not resolve hostname'
EOF
for way in "" netns changes; do
	net_take_way "$way" || continue
	tag=new-${way:-all}
	printf '%s\n' "$head" pushed "refs/heads/$tag" 'Connection refused' 'Could not resolve hostname' \
		>"$T/ssh.expected"
	for how in https ${ssh:+ssh}; do
		rm -rf "$T/w"
		mkdir "$T/w"
		: >"$NET/git-access"
		net_run -r "$T/home" -w "$T/w" -- bash "$T/home/$how" "${tag#new-}" >"$T/out" 2>"$T/err"
		cmp -s "$T/$how.expected" "$T/out" ||
			fail "${where}$how: $(diff "$T/$how.expected" "$T/out" | head -n 20); $(head -n 5 "$T/err")
			$(jq -c 'select(.verdict == "deny") |
			[.event, .syscall, .host, .path, .reason]' "$T/audit" | sort | uniq -c | head -n 20)"
		if [ "$how" = ssh ]; then
			audit_has ".event == \"close\" and .host == \"ssh.test\" and .bytes_down > 2000000"
			[ -n "$(git -C "$NET/repos/one.git" rev-parse -q --verify "refs/heads/$tag")" ] ||
				fail "${where}nothing was pushed"
		else
			audit_has '.event == "request" and .path == "/one.git/git-upload-pack" and .method == "POST" and
				.verdict == "allow"'
			audit_has '.event == "request" and (.path | startswith("/two.git/info/refs")) and
				.reason == "path_not_granted"'
			audit_none '.event == "request" and (.path | test("receive-pack$")) and .verdict == "allow"'
			grep -q 'receive-pack [0-9]' "$NET/git-access" &&
				fail "${where}pushed by https: $(cat "$NET/git-access")"
		fi
	done
	git -C "$NET/repos/one.git" update-ref -d "refs/heads/$tag"
done
[ -n "$ssh" ] || echo "without ssh: ${name:-no user of this number}: $(tail -n 1 "$NET/ssh/log" 2>/dev/null)"
