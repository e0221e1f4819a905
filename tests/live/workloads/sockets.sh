#!/bin/bash
# Programs that communicate over named unix sockets: servers and clients in python and node, agents, credential caches.
. "$(dirname "$0")/../lib.sh"
need node git ssh-agent

prepare()
{
	cp "$SRC/tests/cases/workload-sockets.py" "$1/servers.py"
	cp "$SRC/tests/cases/workload-sockets.js" "$1/servers.js"
	cat >"$1/agents" <<'EOF'
set -e
trap "ssh-agent -k >/dev/null 2>&1 || true" EXIT
mkdir -m 700 s g
eval "$(ssh-agent -a "$PWD/s/agent")" >/dev/null
ssh-keygen -q -t ed25519 -N '' -f s/key -C test
ssh-add -q s/key
ssh-add -l | cut -d ' ' -f 1,3-
ssh-agent -k >/dev/null
git config --global credential.helper "cache --socket $PWD/s/credentials"
printf 'protocol=https\nhost=example.test\nusername=u\npassword=p\n' | git credential approve
printf 'protocol=https\nhost=example.test\n' | git credential fill
git credential-cache --socket "$PWD/s/credentials" exit
if command -v gpg-connect-agent >/dev/null; then
	GNUPGHOME=$PWD/g gpg-connect-agent 'keyinfo --list' /bye 2>/dev/null
	GNUPGHOME=$PWD/g gpgconf --kill gpg-agent
fi
rm -rf s g
EOF
}

same python "$PYTHON" servers.py
same node node servers.js
# ssh-agent asks who its user is, natively in vain for one without a name.
if id -un >/dev/null 2>&1; then
	same agents bash agents
fi
