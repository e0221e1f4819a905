#!/bin/bash
# A restriction that a program sets on itself also holds for the calls that the supervisor performs for it, or is
# refused. Each refusal is on record. doc/security.md, "What a program restricts itself by". Its own seccomp filters:
# threats/05-nested.sh.
. "$(dirname "$0")/../lib.sh"
mkdir "$T/w"
echo mine >"$T/w/file"
hostile cases-threat promises "$T/w/file"
for name in landlock_create_ruleset landlock_add_rule landlock_restrict_self; do
	audit_has ".syscall == \"$name\" and .verdict == \"deny\" and .errno == \"EOPNOTSUPP\" and
		.reason == \"refused_syscall\""
done
audit_has '.syscall == "pkey_alloc" and .verdict == "deny" and .errno == "ENOSPC"'
# where fallocate is performed
CG_OPTIONS=(--disk 64M)
hostile cases-threat promises "$T/w/file"
CG_OPTIONS=(--without namespaces)
hostile cases-threat promises "$T/w/file"

# Programs that would like to restrict themselves go on without: xz since 5.6, which asks Landlock before it reads.
[ -x /usr/bin/xz ] || skip "no xz"
CG_OPTIONS=()
SAME_STDERR=no
same xz sh -c 'seq 10000 | xz >x && xz -dc x | tail -n 1 && xz -t x && xz -d <x | wc -l'
