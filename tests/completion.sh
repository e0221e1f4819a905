#!/bin/bash
# The bash completion offers the verbs, each verb's options, profiles, and files behind "--".
set -u

callgate=${CALLGATE:-callgate}
command -v "$callgate" >/dev/null || {
	echo "SKIP: no program to test: $callgate"
	exit 77
}
# shellcheck source=doc/callgate.bash-completion
. "${top_srcdir:-.}/doc/callgate.bash-completion"
export CALLGATE_PROFILES=${CALLGATE_PROFILES:-${top_srcdir:-.}/policy/profiles} # none need be installed
passed=0 failed=0

# offers WANTED WORD...: with these words typed, the last one unfinished, WANTED is among what is offered.
offers()
{
	local wanted=$1 word
	shift
	COMP_WORDS=("$callgate" "$@")
	COMP_CWORD=$#
	_callgate 2>/dev/null # compopt complains outside of a completion
	for word in "${COMPREPLY[@]}"; do
		[ "$word" = "$wanted" ] || continue
		passed=$((passed + 1))
		return
	done
	failed=$((failed + 1))
	echo "FAIL: '$*' does not offer $wanted but: ${COMPREPLY[*]}" >&2
}

for verb in run check show why policy audit replay compare experiment libraries learn serve doctor; do
	offers "$verb" ''
	offers --help "$verb" --h
done
offers --version --v
for option in -p --policy --profile --allow-read --workdir --json --audit --input --output --timeout --; do
	[ "$option" = -- ] || offers "$option" run "${option%?}"
done
offers --open why --o
offers --exec why --e
offers --connect why --c
offers --url why --u
offers --allow-host run --allow-h
offers --no-net show --no
offers --secret run --secr
offers --setup run --set
offers setup show --phase s
offers changes run --judge c
offers kernel-reads run --require kern
offers github-read run --profile gith
offers stats audit st
offers report audit rep
offers --records audit report --rec
offers export audit ex
offers --tree audit show --t
offers --errno audit stats --er
offers perfetto audit export --format p
offers deny audit top --verdict d
offers diff policy d
offers --flatten policy minimise --fl
offers denied replay --fail-on d
offers new key n
offers discard ws dis
offers diff ws d
offers --patch ws diff --p
offers --theirs ws apply --t
offers recover ws r
offers --label ws keep --l
offers --all ws discard --a
offers --json ws list --j
offers --cow run --co
offers verify attest v
offers --attest run --att
offers --sign-key run --sig
offers --key audit verify --k
offers --check policy fmt --ch
offers --coverage policy test --cov
offers junit policy test --format j
offers --no-new-access policy diff --no-n
offers --workdir policy diff --wo
offers python run --profile py
offers blocked run --events b
offers landlock run --require la
offers landlock,pidns run --without landlock,pi
offers namespaces run --require na
offers cgroups run --require cgroups
offers --json doctor --j
offers --run-option compare --run
offers ls compare l
offers --static learn --st
offers --merge learn --me
offers --node libraries --no
offers @analysis libraries @a
offers --json inspect --js
offers --inspect run --insp
offers warning inspect --fail-on w
offers python inspect --type p
offers python learn --profile py
offers ls learn -o policy.json -- l
offers report experiment rep
offers --shard experiment run --sh
offers ls run -- l
offers /etc/passwd run -- cat /etc/pass
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
