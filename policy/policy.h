/*
 * The compiled policy. parse/load.h compiles JSON files and the command line into a struct policy, which does not
 * change afterwards. The keeper and the verbs of cli/ load it; the supervisor and egress judge by it. Judging neither
 * allocates nor does I/O. A struct policy owns what its functions return, unless a comment says otherwise. A deny rule
 * wins over a grant. What no rule mentions is denied with ENOENT, as if the path did not exist.
 */
#ifndef CALLGATE_POLICY_POLICY_H
#define CALLGATE_POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sha256.h"
#include "policy/limits.h"
#include "policy/modes.h"

enum policy_right {
	POLICY_READ = 1 << 0,  /* see, read or list the object */
	POLICY_WRITE = 1 << 1, /* change its content, its metadata and names below it; implies READ */
	POLICY_EXEC = 1 << 2,  /* execute it by execve(2); implies READ */
	POLICY_PUBLIC = 1 << 3, /* result of policy_get_rights, with READ: only what everybody on the host may read */
};

enum verdict {
	VERDICT_DENY,
	VERDICT_ALLOW,
	VERDICT_REDIRECT, /* allowed, but performed on another host object than the named one */
	VERDICT_PROVIDE,  /* allowed, on content of callgate (provide, decoy, the /proc and /dev of the run) */
	VERDICT_KILL,     /* the program was killed: execve loaded another file than the approved one */
	VERDICT_ASK,      /* in records only: the policy denies the call, and the answer to a question allowed it */
	VERDICT_MAX,
};

/* The name of a verdict in audit records and in `callgate why`. Static. */
const char *verdict_get_name(enum verdict verdict);

/*
 * The verdict of the judged policy, in a run with --mode observe, on an access that is performed all the same. error:
 * the errno with which that policy denies it; 0: it grants the access.
 */
struct policy_observed_denial {
	int error;
	const char *rule, *reason; /* label of the rule that denies it (NULL: none), and code of the reason */
};

/* What a policy decides about an access to a path. */
struct policy_decision {
	enum verdict verdict;
	int error;          /* errno for the program when denied, else 0 */
	const char *rule;   /* the rule, "python.json: filesystem.read[2] /usr"; NULL: no rule. Owned by the policy */
	const char *reason; /* not_granted, private, read_only, denied_by_rule, not_executable, decoy …; static */
	unsigned wanted_rights;      /* the POLICY_ rights that rules were asked for; 0: no rule about a path decided */
	struct policy_observed_denial observed_denial;
};

struct policy;

/* The phases of a run: a setup (optional), then the program. "phases" has rules for each; see callgate-policy(5). */
enum policy_phase {
	POLICY_PHASE_RUN,   /* the program; used when no phase is given */
	POLICY_PHASE_SETUP, /* the command that --setup gives */
	POLICY_PHASE_MAX,
};

/* The name of a phase: "run", "setup". Static. */
const char *policy_phase_get_name(enum policy_phase phase);

/* Frees what policy_load() (parse/load.h) has made. NULL: does nothing. */
void policy_free(struct policy *policy);

/* Returns the policy of the user: for an observing policy the judged one, else the policy itself. */
const struct policy *policy_get_judged_policy(const struct policy *policy);

/*
 * The policy that judges an exec which an answer permits: this one without the rules of exec.deny that ask. Without
 * such rules, the policy itself.
 */
const struct policy *policy_get_with_asked_execs(const struct policy *policy);

/* True for the observing policy of a run with --mode observe. */
bool policy_is_observing(const struct policy *policy);

/* ---- judging ---- */

/* The rights on a canonical virtual path: those of all matching grants together; 0 when a deny rule matches. */
unsigned policy_get_rights(const struct policy *policy, const char *path, size_t len);

/*
 * Judges access to a canonical virtual path; `want` is a set of POLICY_READ, WRITE, EXEC. Errors: EACCES when a deny
 * rule matches or the right to execute is missing; EROFS when the right to write is missing; ENOENT without any grant.
 * The reason "public" allows to open the object only if everybody on the host may read it.
 */
struct policy_decision policy_decide_access(const struct policy *policy, const char *path, size_t len, unsigned want);

/*
 * As policy_decide_access(), but a path below which something is granted may also be read ("ancestor"); writing it is
 * EROFS, executing it EACCES. shown: the path is such a directory of the view, whatever the rules say.
 */
struct policy_decision policy_decide_place(const struct policy *policy, const char *path, size_t len, unsigned want,
					      bool shown);

/* True when a glob grants something at or below this directory, or could: then the directory must be visible. */
bool policy_may_grant_below(const struct policy *policy, const char *path, size_t len);

/* ---- what the view is built from ---- */

enum policy_mount_kind {
	POLICY_MOUNT_TREE,    /* the virtual path shows a directory or file of the host */
	POLICY_MOUNT_PROVIDE, /* the virtual path shows a file with a text that the policy provides */
};

/* A mount of the view. */
struct policy_mount {
	enum policy_mount_kind kind;
	const char *virt;    /* canonical virtual path */
	const char *host_path;    /* POLICY_MOUNT_TREE: canonical host path */
	const char *provided_text;    /* POLICY_MOUNT_PROVIDE: the content */
	size_t provided_text_len;
	/* only globs grant at `virt`: names that match no glob must stay invisible */
	bool is_granted_by_globs_only;
	bool is_interpreter;       /* granted by @interpreter */
	bool is_redirect;    /* made by a redirect rule: the verdict is VERDICT_REDIRECT */
	/* create the host directory when it is missing: a target below @scratch or @workdir */
	bool creates_host_path;
	const char *rule; /* label of the rule that made the mount; owned by the policy */
};

/* All mounts, each before the mounts below it, one for each virtual path. Borrowed. */
const struct policy_mount *policy_get_mounts(const struct policy *policy, size_t *ret_count);

/* One path that a rule of filesystem.exec (or -x) makes executable. */
struct policy_exec {
	const char *virt;        /* canonical virtual path of a file or directory */
	const struct glob *glob; /* NULL: all below virt; else only what matches this glob (paths/glob.h) below virt */
};

/*
 * Iterates over the rules that grant execution. A deny rule or an inner mount may exclude part of such a path: ask
 * policy_get_rights. *at starts with 0. False at the end. Borrowed.
 */
bool policy_get_next_exec(const struct policy *policy, size_t *at, struct policy_exec *ret_exec);

/* A symbolic link that the view shows, because the path of a rule leads through it on the host: /lib -> /usr/lib. */
struct policy_link {
	const char *path;   /* virtual path of the link: the shortest prefix that differs from its canonical form */
	const char *target; /* canonical virtual path */
};

/* All links, one for each path. A rule whose mount is redundant still has its link. Borrowed. */
const struct policy_link *policy_get_links(const struct policy *policy, size_t *ret_count);

/* ---- settings ---- */

/* A variable, or all with a prefix, that the program gets. */
struct policy_env {
	const char *name;  /* the variable; without a value the name may end in "*": all variables with that prefix */
	const char *value; /* the variable's value; NULL: pass the user's value, if set */
};
const struct policy_env *policy_get_env(const struct policy *policy, size_t *ret_count);

/* True when the program gets this variable of the user's environment. Always false for the variable of a secret. */
bool policy_env_passes_variable(const struct policy *policy, const char *name);

/* What a policy says besides rules. */
struct policy_settings {
	const char *name;    /* the key "name" of the last file, else the name of that file */
	const char *workdir; /* virtual path of the working directory */
	const char *home;    /* what "~" expands to; NULL: unknown */
	const char *user;    /* "USER[:GROUP]"; NULL: not set */
	enum policy_on_deny on_deny; /* ON_DENY_UNSET: as ON_DENY_ERRNO */
	struct policy_limits limits;
	/* LAYER_BITs of policy/parse/layer-names.h: "require" of all files, and --require */
	unsigned required_layers;
	uint32_t refused_findings, warned_findings; /* "inspect" of all files: INSPECT_BITs of policy/findings.h */
	const char **modules;                       /* "inspect.modules" of all files */
	size_t module_count;                        /* 0: any module may be imported */
	const char *audit_file; /* NULL: not set */
	bool audits_allowed_calls; /* record allowed calls as well as denied ones (default: true) */
	bool audit_is_compact;     /* leave out of a record what earlier records have */
	enum policy_judge judge;   /* the key "judge"; POLICY_JUDGE_UNSET: no file has it */
	const char **workspace_dir; /* "workspace.directories" and --cow-dir of all files; canonical host paths */
	size_t workspace_dir_count;
	enum policy_workspace workspace; /* the key "workspace.mode" of the last file that has it */
	bool audits_fstat;       /* judge and record each newfstatat and statx used as fstat */
	bool allows_unix_datagrams;   /* the run's processes may send datagrams to each other by unix sockets */
	char sha256[SHA256_HEX_SIZE]; /* digest of the text of policy_make_json(); "" until policy_compute_sha256() */
};
const struct policy_settings *policy_get_settings(const struct policy *policy);

/* Warnings about valid rules that are probably a mistake, one line each: "file:line: key: warning: ...". Borrowed. */
const char *const *policy_get_warnings(const struct policy *policy, size_t *ret_count);

/*
 * Computes policy_settings.sha256; for an observing policy that of the judged one. Takes a fifth of the time of
 * loading, so call it only when it is needed. 0 or -ENOMEM.
 */
int policy_compute_sha256(struct policy *policy);

/* Makes the effective policy as JSON: given to -p, it decides the same. Owned by the caller; NULL: out of memory. */
char *policy_make_json(const struct policy *policy);

#endif
