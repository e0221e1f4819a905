#!/bin/bash
# "judge": "changes": a provided file or a redirect is where the policy says, also where the host's directory lacks the
# name, or has a link or something else there. The host's directories stay as they are, in every other respect also
# inside. Where names cannot be added, every call is judged, and the result says why.
# shellcheck disable=SC2016 # what is not expanded is the inner shell's
. "$(dirname "$0")/../lib.sh"
need jq
for kind in mountns pidns netns landlock; do
	layer $kind || skip "no run here leaves reading to the kernel"
done

mkdir -p "$T/w" "$T/other/below" "$T/tree/sub/deep" "$T/tree/inner" "$T/tree/dir" "$T/tree/plain" "$T/tree/to-dir" \
	"$T/kinds/locked" "$T/kinds/part/in"
echo other >"$T/other/below/file"
for file in tree/file tree/sub/file tree/sub/deep/file tree/plain/file tree/dir/file kinds/file kinds/locked/file \
	kinds/part/in/file kinds/part/.env tree/plain/.env; do
	echo "host $file" >"$T/$file"
done
cp /usr/bin/env "$T/tree/env" && cp /usr/bin/env "$T/tree/sub/env"
printf '#!/bin/sh\necho script "$0"\n' >"$T/tree/sub/script"
chmod 755 "$T/tree/sub/script"
ln -s file "$T/tree/link"
ln -s sub "$T/kinds/dir-link"
ln -s nowhere "$T/tree/dangling"
chmod 750 "$T/tree/sub" && chmod 711 "$T/tree/inner"
chmod 2751 "$T/kinds/part" && chmod 700 "$T/kinds/locked"
# In "kinds" the host has other kinds of objects at these names. In "tree" it has nothing, or a link.
cat >"$T/policy.json" <<END
{"version": 1,
 "filesystem": {
  "read": ["$T/tree", "$T/kinds", "$T/other", "/usr", "/lib", "/lib64", "/etc/ld.so.cache"], "write": ["@workdir"],
  "exec": ["/usr/bin", "/bin", "$T/tree"], "deny": ["**/.env"],
  "provide": {"$T/tree/new": "new\n", "$T/tree/link": "no link\n", "$T/tree/dangling": "not dangling\n",
	"$T/tree/a/b/c": "all of it\n", "$T/tree/sub/deep/new": "deep\n", "$T/tree/inner/one": "1\n",
	"$T/tree/inner/two": "2\n", "$T/kinds/locked": "a file\n", "$T/kinds/part/in/new": "beside\n"},
  "redirect": [{"from": "$T/tree/sub/of-other", "to": "$T/other"}, {"from": "$T/tree/x/y", "to": "$T/other/below/file"},
	{"from": "$T/kinds/dir-link", "to": "$T/other"}, {"from": "$T/kinds/file", "to": "$T/other/below"}]}}
END
cat >"$T/w/look.sh" <<'END'
cd "$1" || exit
for file in tree/new tree/link tree/dangling tree/a/b/c tree/sub/deep/new tree/inner/one tree/inner/two kinds/locked \
	kinds/part/in/new tree/sub/of-other/below/file tree/x/y kinds/dir-link/below/file kinds/file/file \
	tree/file tree/sub/file tree/sub/deep/file tree/plain/file tree/dir/file kinds/part/in/file tree/none \
	tree/inner/none tree/plain/.env kinds/part/.env; do
	stat -L -c '%n %F %a %u %g %s' $file
	[ -d $file ] || cat $file
done
stat -c '%n %F %a %u %g' tree kinds tree/sub tree/sub/deep tree/inner tree/plain kinds/part kinds/part/in
for file in tree/file tree/sub/file tree/new tree/link tree/made tree/sub/made tree/inner/made kinds/part/made; do
	true >>$file
	rm -f $file
	mv $file tree/moved
	ln $file tree/linked
done
tree/env echo by the root
tree/sub/env echo from below
tree/sub/script
cd tree/sub/deep && ../env cat new ../file ../../new && pwd -P && cd ../of-other/below && pwd -P && cat file
ls -d "$1"/tree/* "$1"/tree/sub/* "$1"/kinds/part/in/* | grep -v /a$ >"$2"
END
# shellcheck disable=SC2046 # numbers
before=$(tree "$T/tree" && tree "$T/kinds" && stat -c '%n %Y %Z' $(find "$T/tree" "$T/kinds"))

# look MODE: what the program sees, in $T/said.MODE
look()
{
	cg run --json --judge "$1" -p "$T/policy.json" -w "$T/w" -- /usr/bin/sh look.sh "$T" "$T/w/listed.$1" \
		>"$T/result" ||
		die "$1: $(jq -c "[.error, .stderr]" "$T/result")"
	jq -r '.stdout, .stderr' "$T/result" | sed 's/failed to access/failed to create hard link/; s/ => .*:/:/' \
		>"$T/said.$1"
}
look all
look changes
[ "$(jq -r .judge "$T/result")" = changes ] || fail "judged: $(jq -c '.enforcement["kernel-reads"]' "$T/result")"
diff "$T/said.all" "$T/said.changes" >"$T/diff" || fail "judged (<) and by the kernel (>): $(cat "$T/diff")"
grep -q '^all of it$' "$T/said.changes" || fail "a file three names deep is not there: $(cat "$T/said.changes")"
grep -q 'host .*\.env' "$T/said.changes" && fail "what is denied was read"
# The listings have the added names; the judged ones have the host's.
for name in tree/new tree/sub/of-other kinds/part/in/new; do
	grep -qx "$T/$name" "$T/w/listed.changes" || fail "not listed: $name"
done
grep -vxFf "$T/w/listed.changes" "$T/w/listed.all" >"$T/lacks" && fail "listings lack: $(cat "$T/lacks")"
# shellcheck disable=SC2046 # numbers
[ "$before" = "$(tree "$T/tree" && tree "$T/kinds" && stat -c '%n %Y %Z' $(find "$T/tree" "$T/kinds"))" ] ||
	fail "the host's directories have changed"

# judged WHY: with $T/other.json every call is judged, for this reason
judged()
{
	cg run --json --judge changes -p "$T/other.json" -w "$T/w" -- /usr/bin/true >"$T/result" 2>"$T/err"
	jq -r '.enforcement["kernel-reads"].why' "$T/result" | grep -qF -- "$1" ||
		fail "not judged because of '$1': $(jq -c '[.judge, .enforcement["kernel-reads"], .error]' "$T/result")"
}
# A directory in which the program writes is the host's own.
jq --arg w "$T/w" '.filesystem.provide = {($w + "/new"): "x"}' "$T/policy.json" >"$T/other.json"
judged "$T/w/new cannot be mounted where the view has it"
touch "$T/w/new"
cg run --judge changes --require kernel-reads -p "$T/other.json" -w "$T/w" -- /usr/bin/cat new >"$T/said" 2>&1
[ "$(cat "$T/said")" = x ] || fail "a name that the workdir has: $(cat "$T/said")"
rm "$T/w/new"

# ---- directories below, in which the program writes, as in a home directory that can be read ----
mkdir -p "$T/user" && cat >"$T/work.sh" <<'END'
cd "$1/user/work/sub" || exit
cat ../../config ../../.env ../.env ../app/.env ../file ../../notes ../../other/file
echo more >>../../notes
echo x >new && mkdir -p in/deeper && mv new in/deeper/ && ln in/deeper/new ../linked && cat ../linked
mv in ../there && ls ../there/deeper
mv ../app ../moved && cat ../moved/.env
echo x >../../made
mkdir ../../other2
echo "#!/bin/sh" >../script && echo "echo script" >>../script && chmod +x ../script && ../script
rm ../file ../../other/file
pwd
END
jq --arg d "$T/user" '.filesystem.read += [$d] | .filesystem.redirect = [] |
	.filesystem.write = [$d + "/work", $d + "/other", $d + "/notes", $d + "/work/sub/further"] |
	.filesystem.exec += [$d + "/work"] |
	.filesystem.provide = {($d + "/config"): "provided\n"}' "$T/policy.json" >"$T/other.json"
for mode in all changes; do
	rm -r "$T/user" && mkdir -p "$T/user/work/sub" "$T/user/work/app" "$T/user/other"
	for file in .env notes work/.env work/file work/app/.env other/file; do
		echo "host $file" >"$T/user/$file"
	done
	cg run --json --judge $mode -p "$T/other.json" -r "$T/work.sh" -w "$T/user/work" -- \
		/usr/bin/sh "$T/work.sh" "$T" >"$T/result"
	jq -r .stdout,.stderr "$T/result" >"$T/said.$mode"
	jq -c '.changes[]' "$T/result" | sort >"$T/changed.$mode"
	tree "$T/user" >"$T/tree.$mode"
done
[ "$(jq -r .judge "$T/result")" = changes ] ||
	fail "writing below: judged: $(jq -c '.enforcement["kernel-reads"]' "$T/result")"
diff "$T/said.all" "$T/said.changes" >"$T/diff" || fail "writing below: $(cat "$T/diff")"
diff "$T/changed.all" "$T/changed.changes" >"$T/diff" || fail "changes below: $(cat "$T/diff")"
diff "$T/tree.all" "$T/tree.changes" >"$T/diff" || fail "the tree after writing below: $(cat "$T/diff")"
for line in provided script "$T/user/work/sub"; do
	grep -qxF "$line" "$T/said.changes" || fail "writing below: no '$line': $(cat "$T/said.changes")"
done
grep -q 'host .*\.env' "$T/said.changes" && fail "what is denied below was read"
# A glob lets the program make names in the directory itself.
jq --arg d "$T/user" '.filesystem.write += ["@workdir", $d + "/*.log"]' "$T/other.json" >"$T/glob.json" &&
	mv "$T/glob.json" "$T/other.json"
judged "$T/user/config cannot be mounted where the view has it"

# As in a container, where /etc/hosts is a mount: an overlay would show what is below it. Mounting takes root.
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	mkdir -p "$T/mounts" && touch "$T/mounts/file"
	jq --arg d "$T/mounts" '.filesystem.read += [$d] | .filesystem.redirect = [] |
		.filesystem.provide = {($d + "/new"): "new\n"}' "$T/policy.json" >"$T/other.json"
	for mode in all changes; do
		unshare -m sh -c 'mount --bind "$1/tree/file" "$1/mounts/file" && shift && exec "$@"' sh "$T" \
			"$CALLGATE" run --json --judge $mode -p "$T/other.json" -w "$T/w" -- /usr/bin/sh -c \
			'cd "$1" && cat new file' sh "$T/mounts" </dev/null >"$T/result" 2>&1
		[ "$(jq -r .stdout "$T/result")" = "$(printf '%s\n' new 'host tree/file')" ] ||
			fail "a mount below, $mode: $(jq -c '[.stdout, .stderr, .error]' "$T/result")"
	done
	jq -r '.enforcement["kernel-reads"].why' "$T/result" | grep -qF "$T/mounts/new cannot be mounted where" ||
		fail "a mount below: judged because of $(jq -c '.enforcement["kernel-reads"]' "$T/result")"
fi

# Only its owner may enter "locked": that the host has a file in place of a directory there opens nothing below.
[ "$(id -u)" = 0 ] || exit "$live_failed"
mkdir -p "$T/theirs/private" "$T/theirs/other" && echo secret >"$T/theirs/private/secret"
chown -R 54321:54321 "$T/theirs/private" && chmod 700 "$T/theirs/private"
jq --arg d "$T/theirs" '.filesystem.read += [$d] | .filesystem.redirect = [] | .filesystem.provide =
	{($d + "/other"): "a file\n", ($d + "/private/new"): "new\n"}' "$T/policy.json" >"$T/other.json"
for mode in all changes; do
	cg run --judge $mode -p "$T/other.json" -w "$T/w" -- /usr/bin/sh -c 'exec 2>&1; cd "$1"
		cat other private/new private/secret; ls private; stat -c "%a %u" private' sh "$T/theirs" \
		>"$T/said.$mode" 2>"$T/err"
done
diff "$T/said.all" "$T/said.changes" >"$T/diff" || fail "another's directory: $(cat "$T/diff")"
grep -q '^secret$' "$T/said.changes" && fail "another's directory was entered"
exit "$live_failed"
