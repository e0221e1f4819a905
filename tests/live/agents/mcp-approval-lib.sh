# shellcheck shell=bash
# Sourced after lib.sh: files in $T/host, and in asking the options of a policy that asks about them.
# shellcheck disable=SC2154,SC2034 # of lib.sh; for the tests
mkdir -p "$T/host" "$T/logs"
for name in a b $(seq -f many-%g 40); do
	echo "text $name" >"$T/host/$name"
done
cat >"$T/asks.json" <<END
{"version": 1, "name": "asks", "on_deny": "ask", "filesystem": {
"read": ["/usr", "/bin", "/lib", "/lib64", "/etc", "/run", "/sys/devices/system/cpu"],
"exec": ["/usr", "/bin", "/lib", "/lib64"], "write": ["@workdir"]}}
END
read -ra asking <<<"${LIVE_OPTIONS:-}"
asking=(-p "$T/asks.json" -e PATH=/usr/bin:/bin "${asking[@]}")
[ -z "${LIVE_WITHOUT:-}" ] || asking+=(--without "$LIVE_WITHOUT")
