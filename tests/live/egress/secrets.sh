#!/bin/bash
# Secrets from every source: the server receives the values, the program placeholders. No value is in the memory or
# environment of any process but egress, in the log, the result, messages or any file.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../net.sh"
need jq
net_ca open.test other.test both.test
net_servers https http
https=$(net_port https) http=$(net_port http)

# A value each, of a form by which a search finds all of them; the program knows no more than that and their hashes.
form='cgvalue-[0-9a-f]{40}'
declare -A value
for name in ENVIRON FILED OPENED ASKED PINNED GIVEN; do
	value[$name]=cgvalue-$(od -An -N20 -tx1 /dev/urandom | tr -d ' \n')
done
mkdir -m 700 "$T/sources"
echo "${value[FILED]}" >"$T/sources/filed"
echo "${value[OPENED]}" >"$T/sources/opened"
echo "${value[ASKED]}" >"$T/sources/asked"
echo "${value[PINNED]}" >"$T/sources/pinned"

NET_MORE="{\"secrets\": {
	\"ENVIRON\": {\"from\": \"env:SOURCE\", \"hosts\": [\"open.test\"]},
	\"FILED\": {\"from\": \"file:$T/sources/filed\", \"hosts\": [\"open.test\", \"both.test\"]},
	\"OPENED\": {\"from\": \"fd:7\", \"hosts\": [\"open.test\"]},
	\"ASKED\": {\"from\": \"command:cat $T/sources/asked\", \"hosts\": [\"open.test\"]},
	\"PINNED\": {\"from\": \"file:$T/sources/pinned\", \"hosts\": [\"open.test\"]}}}"
net_policy "{
	\"allow\": [
		{\"host\": \"open.test\", \"port\": $https, \"proto\": \"https\", \"private\": true,
		\"http\": [\"GET /ok\"],
			\"credential\": {\"header\": \"X-Key\", \"value\": \"Key {PINNED}\"}},
		{\"host\": \"other.test\", \"port\": $https, \"proto\": \"https\", \"private\": true,
		\"http\": [\"GET /ok\"]},
		{\"host\": \"both.test\", \"port\": $https, \"proto\": \"https\", \"private\": true,
		\"http\": [\"GET /ok\"]},
		{\"host\": \"both.test\", \"port\": $http, \"proto\": \"http\", \"private\": true,
		\"http\": [\"GET /ok\"]}],
	\"resolve\": {\"open.test\": \"127.0.0.1\", \"other.test\": \"127.0.0.1\", \"both.test\": \"127.0.0.1\"},
	\"upstream_ca\": \"$NET/ca.pem\"}"

cat >"$T/home/program.py" <<PY
import base64, ctypes, os, re, sys, time, urllib.request

e = os.environ
names = [n for n in ("ENVIRON", "FILED", "OPENED", "ASKED", "PINNED", "GIVEN") if n in e]
for n in names:
    assert re.fullmatch("callgate-secret-%s-[0-9a-f]{32}" % n, e[n]), n
assert "SOURCE" not in e

def get(url, headers):
    request = urllib.request.Request(url, headers=headers)
    assert urllib.request.urlopen(request, timeout=60).read() == b"ok\n"

headers = {"X-" + n: "<%s>" % e[n] for n in names if n != "PINNED"}
for own in ("X-Key", "X_Key", "X.Key"): # one variable to a server behind CGI
    headers[own] = "Key of the program's own"
headers["X-All"] = ",".join(e[n] for n in names)
headers["Authorization"] = "Basic " + base64.b64encode(b"user:" + os.fsencode(e[names[0]])).decode()
for url in ("https://open.test:$https/ok?a", "https://other.test:$https/ok", "https://both.test:$https/ok",
            "http://both.test:$http/ok"):
    get(url, headers)

form = re.compile(rb"cgvalue-[0-9a-f]{40}")
assert not any(form.search(os.fsencode(text)) for pair in e.items() for text in pair)

def search():
    for line in open("/proc/self/maps"):
        where, rights = line.split()[:2]
        start, end = (int(x, 16) for x in where.split("-"))
        if rights.startswith("rw") and "[v" not in line:
            while start < end:
                size = min(1 << 20, end - start)
                for found in form.findall(ctypes.string_at(start, size)):
                    yield found
                start += size - 47 if start + size < end else size

for found in search():
    sys.exit("a value is in the program's memory")
planted = [b"cgval", b"ue-" + b"0a" * 20]
there = b"".join(planted)  # so that the search is known to find something
assert list(search())
del there
open("ready", "w").close()
while not os.path.exists("go"):
    time.sleep(0.05)
print("done")
PY

# Who has a value in memory or environment: how many there are of callgate and the program below a process, how many do.
cat >"$T/who.py" <<'PY'
import os, sys

root, needles = int(sys.argv[1]), [v.encode() for v in sys.stdin.read().split()]
parents = {}
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        parents[int(pid)] = int(open("/proc/%s/stat" % pid, errors="replace").read().rsplit(")", 1)[1].split()[1])
    except OSError:
        pass

def below(pid):
    while pid in parents and pid != root:
        pid = parents[pid]
    return pid == root

def has(pid):
    found = any(n in open("/proc/%d/environ" % pid, "rb").read() for n in needles)
    mem = open("/proc/%d/mem" % pid, "rb", 0)
    for line in open("/proc/%d/maps" % pid):
        where, rights = line.split()[:2]
        start, end = (int(x, 16) for x in where.split("-"))
        if not rights.startswith("rw") or "[v" in line:
            continue
        try:
            mem.seek(start)
            data = mem.read(end - start)
        except OSError:
            continue
        found = found or any(n in data for n in needles)
    return found

# the test's own shell and timeout know them
seen = [pid for pid in sorted(parents)
        if below(pid) and os.path.basename(os.readlink("/proc/%d/exe" % pid)) not in ("bash", "timeout")]
print(len(seen), sum(has(pid) for pid in seen))
PY

lookup()
{
	jq -rs --arg host "$1" --arg name "$2" \
		'[.[] | select(.host == $host)] | last | [.headers[] | select((.[0] | ascii_downcase) == ($name |
		ascii_downcase))[1]] | join("|")' \
		"$NET/access"
}

# nowhere WHEN: no file of the test's has a value, but for the sources and what the server wrote down.
nowhere()
{
	local found
	found=$(grep -rlE -- "$form" "$T" 2>/dev/null)
	grep -qx "$T/sources/filed" <<<"$found" || fail "the search does not even find the sources"
	found=$(grep -v -e "^$T/sources/" -e "^$T/net/access$" <<<"$found")
	[ -z "$found" ] || fail "$1: a value is in $found"
}

# run_it OPTION…: the program in the background, whose JSON result goes to $T/out. Sets run.
run_it()
{
	rm -f "$T/home/go" "$T/home/ready" "$NET/access"
	: >"$NET/access"
	SOURCE=${value[ENVIRON]} GIVEN=${value[GIVEN]} net_run --json -W "$T/home" -w "$T/home" "$@" -- \
		"$PYTHON" "$T/home/program.py" >"$T/out" 2>"$T/err" 7<"$T/sources/opened" &
	run=$!
	for _ in $(seq 600); do
		if [ -e "$T/home/ready" ] || ! kill -0 $run 2>/dev/null; then
			break
		fi
		sleep 0.1
	done
}

end_it()
{
	local status
	touch "$T/home/go"
	wait $run
	status=$?
	[ $status = 0 ] || fail "${where}exit status $status: $(head -c 3000 "$T/out" "$T/err")"
}

for without in "" netns namespaces; do
	export LIVE_WITHOUT=$without
	where=${without:+without $without: }
	run_it
	# Only one process may have them. Another user's memory, or that of a process without dumps, only root can read.
	if [ "$(id -u)" = 0 ] && [ -e "$T/home/ready" ]; then
		read -r processes having < <("$PYTHON" "$T/who.py" $run \
			<<<"${value[ENVIRON]} ${value[FILED]} ${value[OPENED]} ${value[ASKED]} ${value[PINNED]}")
		{ [ "$processes" -ge 4 ] && [ "$having" = 1 ]; } ||
			fail "${where}of $processes processes $having have a value"
	fi
	nowhere "${where}during the run"
	end_it
	for name in ENVIRON FILED OPENED ASKED; do
		[ "$(lookup "open.test:$https" "X-$name")" = "<${value[$name]}>" ] ||
			fail "${where}$name: $(lookup "open.test:$https" "X-$name")"
	done
	[ "$(lookup "open.test:$https" X-Key)" = "Key ${value[PINNED]}" ] ||
		fail "${where}the credential: $(lookup "open.test:$https" X-Key)"
	for own in X_Key X.Key; do
		[ -z "$(lookup "open.test:$https" $own)" ] ||
			fail "${where}beside the credential: $own: $(lookup "open.test:$https" $own)"
	done
	[ "$(lookup "open.test:$https" Authorization)" = "Basic $(printf 'user:%s' "${value[ENVIRON]}" |
		base64 -w 0)" ] ||
		fail "${where}Basic: $(lookup "open.test:$https" Authorization)"
	[ "$(lookup "open.test:$https" X-All)" \
		= "${value[ENVIRON]},${value[FILED]},${value[OPENED]},${value[ASKED]},${value[PINNED]}" ] ||
		fail "${where}several: $(lookup "open.test:$https" X-All)"
	# No other host gets one: another host, and the named one without TLS.
	for host in "other.test:$https" "both.test:$http"; do
		[[ $(lookup "$host" X-All) = callgate-secret-*,*,*,*,callgate-secret-PINNED-* ]] ||
			fail "${where}$host: $(lookup "$host" X-All)"
	done
	[[ \
		$(lookup "both.test:$https" X-All) \
		= callgate-secret-*,${value[FILED]},callgate-*,callgate-*,callgate-secret-PINNED-* ]] ||
		fail "${where}both.test: $(lookup "both.test:$https" X-All)"
	if jq -c --arg both "both.test:$https" 'select((.host | startswith("open.test") or . == $both) | not)' \
		"$NET/access" |
		grep -qE -- "$form"; then
		fail "${where}a value went elsewhere"
	fi
	audit_has '.event == "request" and .host == "open.test" and .verdict == "allow" and (.credential |
		test("PINNED"))'
	nowhere "${where}afterwards"
done

# One on the command line; and what is wrong is told without the value.
unset LIVE_WITHOUT
where="--secret: "
run_it --secret GIVEN@open.test
end_it
[ "$(lookup "open.test:$https" X-GIVEN)" = "<${value[GIVEN]}>" ] ||
	fail "--secret: $(lookup "open.test:$https" X-GIVEN)"
nowhere --secret
for broken in "${value[GIVEN]}"$'\n'x ""; do
	GIVEN=$broken SOURCE=x net_run --secret GIVEN@open.test -- true >"$T/out" 2>"$T/err" 7<"$T/sources/opened"
	[ $? = 125 ] || fail "a broken secret: it runs"
	grep -q "secret GIVEN" "$T/err" || fail "a broken secret: $(cat "$T/err")"
	nowhere "a broken secret"
done
