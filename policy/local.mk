libcallgate_policy_a_SOURCES += policy/policy.h
# Installed profiles: "dist_profiles_DATA += policy/profiles/NAME.json"; the schema: "dist_pkgdata_DATA += policy/schema.json".
