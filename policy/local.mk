libcallgate_policy_a_SOURCES += \
	policy/arena.c \
	policy/arena.h \
	policy/diff/diff.c \
	policy/diff/diff.h \
	policy/diff/endpoints.c \
	policy/diff/paths.c \
	policy/diff/settings.c \
	policy/diff/witness.c \
	policy/diff/walk.c \
	policy/diff/walk.h \
	policy/findings.c \
	policy/findings.h \
	policy/limits.c \
	policy/match.c \
	policy/match.h \
	policy/modes.c \
	policy/model.h \
	policy/network/address.c \
	policy/network/agree.c \
	policy/network/check.c \
	policy/network/cli.c \
	policy/network/compile.c \
	policy/network/http-parse.c \
	policy/network/judge.c \
	policy/network/net.h \
	policy/network/network.h \
	policy/network/pack.c \
	policy/network/pack.h \
	policy/network/observe.c \
	policy/network/path.c \
	policy/network/pattern.c \
	policy/network/show.c \
	policy/network/text.c \
	policy/network/warn.c \
	policy/parse/after.c \
	policy/parse/errors.c \
	policy/parse/format.c \
	policy/parse/format.h \
	policy/parse/keys.c \
	policy/parse/keys.h \
	policy/parse/layer-names.c \
	policy/parse/layer-names.h \
	policy/parse/lists.c \
	policy/parse/load.c \
	policy/parse/locate.c \
	policy/parse/locate.h \
	policy/parse/net-rule.c \
	policy/parse/network.c \
	policy/parse/observe.c \
	policy/parse/parse.c \
	policy/parse/parser.c \
	policy/parse/parser.h \
	policy/parse/rules.c \
	policy/parse/secrets.c \
	policy/parse/settings.c \
	policy/parse/source.c \
	policy/parse/source.h \
	policy/parse/vars.c \
	policy/paths/after.c \
	policy/paths/after-rules.c \
	policy/paths/below.c \
	policy/paths/below.h \
	policy/paths/canon.c \
	policy/paths/decide.c \
	policy/paths/decoy.c \
	policy/paths/explain.c \
	policy/paths/explain.h \
	policy/paths/shown.h \
	policy/paths/suggest-grant.c \
	policy/paths/suggest.c \
	policy/paths/suggest.h \
	policy/paths/glob.c \
	policy/paths/glob.h \
	policy/paths/index.c \
	policy/paths/libraries.c \
	policy/paths/mounts.c \
	policy/paths/reads.c \
	policy/paths/reads.h \
	policy/paths/move.c \
	policy/paths/move.h \
	policy/paths/remaps.c \
	policy/paths/secrets.c \
	policy/paths/secrets.h \
	policy/paths/tree.c \
	policy/paths/tree.h \
	policy/paths/host-paths.c \
	policy/paths/host-paths.h \
	policy/policy.c \
	policy/policy.h \
	policy/show.c
EXTRA_DIST += policy/README.md
dist_profiles_DATA += policy/profiles/data.json policy/profiles/extended.json policy/profiles/minimal.json \
	policy/profiles/python.json
dist_profiles_DATA += policy/profiles/debian.json policy/profiles/github-read.json policy/profiles/npm.json \
	policy/profiles/pypi.json
dist_library_sets_DATA += policy/profiles/libraries/sets.json
dist_pkgdata_DATA += policy/schema.json
