EXTRA_DIST += policy/README.md
libcallgate_policy_a_SOURCES += policy/policy.h \
	policy/arena.c policy/arena.h policy/below.c policy/below.h policy/borders.c policy/canon.c policy/decide.c policy/decoy.c policy/decoy.h \
	policy/errors.c policy/errors.h policy/explain.c policy/explain.h policy/glob.c policy/glob.h policy/index.c policy/keys.c policy/keys.h \
	policy/layer-names.c policy/layer-names.h \
	policy/limits.c policy/load.c policy/locate.c policy/locate.h policy/model.h policy/mounts.c policy/move.c policy/move.h policy/net.h policy/parse-limits.c policy/parse-lists.c policy/parse.c policy/parser.c policy/parser.h policy/policy.c \
	policy/rules.c policy/settings.c policy/show.c policy/source.c policy/source.h policy/tree.c policy/tree.h \
	policy/vars.c policy/ways.c policy/ways.h
libcallgate_policy_a_SOURCES += policy/network.h policy/net-address.c policy/net-idna.c policy/net-judge.c policy/net-path.c \
	policy/net-agree.c policy/net-check.c policy/net-cli.c policy/net-compile.c policy/net-compile.h policy/net-http.c \
	policy/net-names.c policy/net-names.h \
	policy/net-pattern.c policy/net-show.c policy/net-text.c policy/net-warn.c policy/parse-net-rule.c policy/parse-net.h \
	policy/parse-network.c policy/parse-secrets.c
dist_profiles_DATA += policy/profiles/data.json policy/profiles/extended.json policy/profiles/minimal.json \
	policy/profiles/python.json
dist_profiles_DATA += policy/profiles/debian.json policy/profiles/github-read.json policy/profiles/npm.json \
	policy/profiles/pypi.json
dist_pkgdata_DATA += policy/schema.json
