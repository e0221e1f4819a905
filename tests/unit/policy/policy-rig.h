/* A made-up machine for policy tests: no file of the real one is looked at. */
#ifndef CALLGATE_TESTS_POLICY_RIG_H
#define CALLGATE_TESTS_POLICY_RIG_H

#include <jansson.h>
#include <stddef.h>

#include "policy/parse/load.h"
#include "policy/policy.h"

/* A file the rig can load: profiles by name, files by path. NULL-named entry ends a list. */
struct rig_file {
	const char *name;
	const char *text; /* NULL: loading it fails */
};

struct rig {
	const struct rig_file *files;
	const char *workdir_virt_default; /* NULL: "/work" */
	const char *workdir;              /* NULL: "/scratch/run/work" */
	int error;                        /* of loading a file without text; 0: -EILSEQ */
	const char *refused;              /* a host path whose grants are dropped; NULL: none */
	unsigned reads;                   /* of files, so far */
	struct policy_errors errors;
};

/*
 * Everything exists but paths with "missing" in them. Links: /lib, /lib64, /bin lead to /usr/...; /home/u/link to
 * /srv/target; /home/u/.ssh to /vault/keys; /scratch/run/work/out and /home/u/proj/out to /etc; /scratch/run/work/in to
 * real beside it; /home/u/bytes to a name that is not UTF-8. HOME is /home/u, SET is "/srv/set", STAR "/a*b", BYTES not
 * UTF-8, "@interpreter" is /opt/py and /opt/venv. The default set of files is { "p.json": text }.
 */
int rig_load(struct rig *rig, const char *text, const struct policy_cli *cli, struct policy **ret_policy);
int rig_load_names(struct rig *rig, const char *const *names, const struct policy_cli *cli, struct policy **ret_policy);
/* Makes text of a shorter one: ' is written for ", and #N# for N times "a". Owned by the caller. */
#define RIG_TEXT_MAX 200000
char *rig_make_text(const char *text);
/* Likewise, without #N#, for a text below RIG_QUOTED_MAX bytes; it lasts for three further calls. */
#define RIG_QUOTED_MAX 65536
const char *rig_quote(const char *text);
/* Loads a text, which must be a good policy. */
struct policy *rig_load_good(const char *text);
/* Likewise rig_quote() of a text. cli: may be NULL. */
struct policy *rig_load_text(const char *text, const struct policy_cli *cli);
/* Loads what policy_make_json() prints for a policy, which it frees: every case is checked with both. */
struct policy *rig_reload(struct policy *policy);
/* Loads a policy that need not be good. NULL: it is not. */
struct policy *rig_load_json(const json_t *json);
/* policy_format_text() of a good policy. Owned by the caller. */
char *rig_format_text(const char *text);
/* policy_find_user of them. */
struct policy_draft *rig_peek(struct rig *rig, const char *const *names, char **ret_user);
void rig_done(struct rig *rig);

#endif
