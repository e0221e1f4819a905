#!/bin/bash
# Programs that meet by unix sockets: a D-Bus session at a path and at an abstract name, syslog, sd_notify.
. "$(dirname "$0")/../lib.sh"
need dbus-daemon dbus-send logger systemd-notify

prepare()
{
	cat >"$1/bus" <<'EOS'
set -e
# $1: the address. The bus tells which process a client is, by SO_PEERCRED.
dbus-daemon --session --nofork --nopidfile --nosyslog --address="$1" --print-address=3 3>bus-address 2>bus-log &
bus=$!
until [ -s bus-address ]; do sleep 0.05; done
read -r DBUS_SESSION_BUS_ADDRESS <bus-address
export DBUS_SESSION_BUS_ADDRESS
call()
{
	dbus-send --session --print-reply=literal --dest=org.freedesktop.DBus / "org.freedesktop.DBus.$@"
}
call Peer.Ping
[ "$(call GetConnectionUnixProcessID string:org.freedesktop.DBus)" = "   uint32 $bus" ] && echo "the bus is itself"
call GetConnectionUnixUser string:org.freedesktop.DBus
dbus-monitor --session --profile >seen & # a client that stays; it gives its name up when it begins to monitor
until grep -qs NameLost seen; do sleep 0.05; done
call ListNames | tr -s ' ' '\n' | grep -c ':1[.]'
kill %2 "$bus"
wait
rm -f bus-address bus-log seen bus-socket
EOS
	cat >"$1/receive.py" <<'EOS'
import os, socket, subprocess, sys
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.settimeout(10)
for name in ("notify", "@callgate-test-notify-%d" % os.getpid()):
    if name.startswith("@"):
        receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    receiver.bind(name.replace("@", "\0"))
    path = name if name.startswith("@") else os.path.abspath(name)
    done = subprocess.run(["systemd-notify", "--no-block", "STATUS=going", "X_MORE=1"],
                          env=dict(os.environ, NOTIFY_SOCKET=path))
    print(done.returncode, receiver.recv(4096))
log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
log.bind("log")
done = subprocess.run(["logger", "--socket", "log", "--socket-errors=on", "-t", "tag", "a message"])
print(done.returncode, log.recv(4096).split(b"tag")[1])
os.unlink("notify")
os.unlink("log")
EOS
}

# dbus-daemon does not start for a user who is in no file.
same_bus()
{
	! getent passwd "$(id -u)" >/dev/null || same "$1" bash bus "$2"
}

same_bus "a bus at a path" "unix:path=bus-socket"
same_bus "a bus at an abstract name" "unix:abstract=callgate-test-$$"
CG_OPTIONS=(--without netns)
same_bus "a bus at a name of the table" "unix:abstract=callgate-test-$$-table"
[ -z "${OUTER_FILTER:-}" ] || exit "$live_failed" # there are no datagram sockets
echo '{"version": 1, "process": {"unix_datagrams": true}}' >"$T/datagrams.json"
CG_OPTIONS=(-p "$T/datagrams.json")
same "notifications and logs" "$PYTHON" receive.py
same_bus "a bus with datagrams" "unix:abstract=callgate-test-$$-datagrams"
