#!/bin/bash
# What is suggested for a refused access can be granted as it stands, and is never a secret or a whole part of the
# machine. A refused program is suggested by its file.
. "$(dirname "$0")/../lib.sh"
need jq
mkdir -p "$T/data/sub" "$T/it's a dir"
echo x >"$T/data/file"
cp /bin/true "$T/data/tool"
# without redirects, because what is suggested here is below /var/tmp
cat >"$T/base.json" <<'JSON'
{"version": 1, "filesystem": {"read": ["/usr/lib", "/lib", "/lib64", "/etc/ld.so.cache"], "write": ["@workdir"],
	"exec": ["/bin/sh", "/usr/bin/dash", "/usr/bin/cat", "/usr/bin/touch", "/usr/bin/ls"]},
	"env": {"set": {"PATH": "/usr/bin:/bin"}}}
JSON
never='^(/|/etc|/run|/var|/home|/root|/usr|/bin|/dev|/proc|/sys|/tmp|.*/\.ssh.*|/etc/shadow.*|/etc/ssl/private.*)$'

# suggestion TEXT: "OPTION PATH, or in a policy {...}" as why prints it
suggestion()
{
	local option=${1%%, or in a policy *} json=${1#*, or in a policy }
	eval "set -- $option"
	[[ $2 =~ $never ]] && fail "suggests $option"
	timeout 100 "$CALLGATE" show "$@" >"$T/out" 2>&1 || fail "$option: $(cat "$T/out")"
	printf '%s\n' "$json" >"$T/suggested.json"
	timeout 100 "$CALLGATE" check "$T/suggested.json" >"$T/out" 2>&1 || fail "$json: $(cat "$T/out")"
	grep -q warning "$T/out" && fail "$json: $(cat "$T/out")"
}

count=0
for path in / /etc /etc/shadow /etc/ssl /etc/ssl/private/x /etc/passwd- /run /run/docker.sock /var /var/log/x /home \
	/home/nobody /root /root/.ssh/id_rsa "$HOME" "$HOME/none" /usr /usr/bin /usr/bin/env /usr/bin/none /opt \
	/opt/none/x /none /none/x /dev/sda /proc/1/environ /sys/power/state /tmp "$T/data" "$T/data/file" \
	"$T/data/none/deeper" \
	"$T/data/tool" "$T/it's a dir" "$T/it's a dir/none" "$T/data/.env" /boot/vmlinuz; do
	for want in r w x; do
		timeout 100 "$CALLGATE" why -p "$T/base.json" --json --open "$path:$want" >"$T/why" 2>"$T/err"
		[ $? = 1 ] || continue
		text=$(jq -r '.suggest // empty' "$T/why")
		if [ -n "$text" ]; then
			suggestion "$text"
			count=$((count + 1))
		else
			jq -e '.suggest_reason | length > 10' "$T/why" >/dev/null || fail "$path:$want: no reason"
		fi
	done
done
[ $count -ge 10 ] || fail "only $count suggestions"
for question in 'api.test:443' 'api.test:53/udp' '[2606:4700::1]:80'; do
	text=$(timeout 100 "$CALLGATE" why --json --connect "$question" | jq -r .suggest)
	printf '%s\n' "${text#*in a policy }" >"$T/suggested.json"
	timeout 100 "$CALLGATE" check "$T/suggested.json" >"$T/out" 2>&1 || fail "$question: $text: $(cat "$T/out")"
done
text=$(timeout 100 "$CALLGATE" why -p "$T/base.json" --json --open "$T/data/none/deeper" | jq -r .suggest)
[ "${text%%,*}" = "-r $T/data" ] || fail "a name that does not exist: $text"

# a name that would mean others in a rule
mkdir "$T/names"
printf 'x\n' | tee "$T/names/*" "$T/names/"$'bad\xff' "$T/names/a\\b" "$T/names/\${HOME}" >"$T/names/other"
for name in '*' $'bad\xff'; do
	timeout 20 "$CALLGATE" why -p "$T/base.json" --open "$T/names/$name" >"$T/why" 2>&1
	grep -q "no rule permits just this" "$T/why" || fail "$name: $(cat "$T/why")"
	timeout 20 "$CALLGATE" run --json -p "$T/base.json" -- /bin/cat "$T/names/$name" >"$T/result" \
		2>"$T/err" </dev/null
	jq -e '.denials[0] | .suggest == null and (.suggest_reason | test("no rule permits just this"))' "$T/result" \
		>/dev/null || fail "$name: $(cat "$T/result")"
done
# shellcheck disable=SC2016 # the name of a file
for name in 'a\b' '${HOME}'; do
	text=$(timeout 20 "$CALLGATE" why -p "$T/base.json" --json --open "$T/names/$name" | jq -r .suggest)
	suggestion "$text"
	timeout 20 "$CALLGATE" why -p "$T/base.json" -p "$T/suggested.json" --open "$T/names/$name" >"$T/why" ||
		fail "$name: $(cat "$T/suggested.json" "$T/why")"
done

# the same of a run's denials
timeout -k 5 300 "$CALLGATE" run --json -p "$T/base.json" -- \
	/bin/sh -c "cat '$T/data/file' /etc/shadow /root/.ssh/id_rsa; ls / /etc /run /root '$T/data/sub'
	touch '$T/data/new' /usr/new; /bin/id; '$T/data/tool'" >"$T/result" 2>"$T/err" </dev/null
jq -r '.denials[].suggest // empty' "$T/result" >"$T/suggests"
while read -r line; do
	eval "set -- $line"
	[[ $2 =~ $never ]] && fail "a denial suggests $line"
	timeout 100 "$CALLGATE" show "$@" >"$T/out" 2>&1 || fail "$line: $(cat "$T/out")"
done <"$T/suggests"
for want in "-r $T/data/file" "-W $T/data" "-x $T/data/tool"; do
	grep -qxF -- "$want" "$T/suggests" || fail "$want is not suggested: $(cat "$T/suggests")"
done
jq -e '.denials[] | select(.target == "/etc/shadow" and .suggest == null) | .suggest_reason | test("secrets")' \
	"$T/result" >/dev/null || fail "/etc/shadow: $(jq -c '.denials[]' "$T/result")"
timeout 100 "$CALLGATE" run -p "$T/base.json" -- "$T/data/tool" 2>"$T/err" </dev/null
grep -q "to allow it: -x $T/data/tool$" "$T/err" || fail "a refused program: $(cat "$T/err")"
exit 0
