/*
 * The interface of the policy. Loading compiles JSON files and the command line into an immutable struct policy.
 * Judging neither allocates nor does I/O. The keeper and the verbs of cli/ load; the supervisor and egress judge.
 * A struct policy owns what its functions return, unless they say otherwise.
 * Precedence: a deny rule, then a grant, then the default: denied with ENOENT, as if the path did not exist.
 */
#ifndef CALLGATE_POLICY_POLICY_H
#define CALLGATE_POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sha256.h"

enum policy_right {
	POLICY_READ = 1 << 0,  /* see it, read it, list it */
	POLICY_WRITE = 1 << 1, /* change content, names below it, metadata; implies READ */
	POLICY_EXEC = 1 << 2,  /* execve it; implies READ */
	POLICY_PUBLIC = 1 << 3, /* from policy_get_rights, with READ: only what everybody on the host may read */
};

enum verdict {
	VERDICT_DENY,
	VERDICT_ALLOW,
	VERDICT_REDIRECT, /* allowed, on another host object than the one named */
	VERDICT_PROVIDE,  /* allowed, on content from callgate (provide, decoy, the run's own /proc and /dev) */
	VERDICT_KILL,     /* the program was killed: execve loaded another file than the approved one */
	VERDICT_MAX,
};

/* The verdict's name in audit records and in `callgate why`. Static. */
const char *verdict_get_name(enum verdict verdict);

struct policy_decision {
	enum verdict verdict;
	int error;          /* errno for the program when denied, else 0 */
	const char *rule;   /* e.g. "python.json: filesystem.read[2] /usr"; NULL: the default. Owned by the policy */
	const char *reason; /* not_granted, private, read_only, denied_by_rule, not_executable …; static */
	unsigned want;      /* the POLICY_ rights that rules were asked for; 0: no rule about a path decided */
};

struct policy;

/* Callbacks and paths of the host: the only I/O while a policy is loaded. */
struct policy_host {
	void *ctx;
	/*
	 * Reads a file into memory. `name` is one of:
	 *   a file, when it has a "/" or ends in ".json": relative to the directory of the file `from`, or to the
	 *     current directory when `from` is NULL; a policy, or the PATH of provide's "file:PATH"
	 *   "account:passwd", "account:group": generated, with entries for root, nobody and the calling user
	 *   "machine:hostname", "machine:hosts": generated, with the name that uname(2) tells
	 *   any other: a profile
	 * Returns 0 with the text and, for messages, the path, both owned by the caller. Errors: -EILSEQ: the text has
	 * a NUL byte; -EFBIG: it is larger than a policy may be; else -errno.
	 */
	int (*load)(void *ctx, const char *name, const char *from, char **ret_text, char **ret_path);
	/* realpath(3), owned by the caller. NULL: no such file; its grants are dropped, its denials kept. */
	char *(*realpath)(void *ctx, const char *path);
	/* True: grants for this path, as the rule writes it, are dropped; see policy/paths/ways.h. NULL: never. */
	bool (*refused)(void *ctx, const char *path);
	/* What @interpreter expands to: the installation roots of the program's interpreter. NULL-ended, borrowed. */
	const char *const *(*interpreter)(void *ctx);
	/* getenv(3) for ${NAME}, in the environment of the user's shell. */
	const char *(*env)(void *ctx, const char *name);
	const char *home;         /* what "~" expands to */
	const char *workdir;      /* host directory of the workdir, canonical */
	const char *workdir_virt; /* name of the workdir in the view; NULL: the policy's "workdir", else the default */
	const char *workdir_virt_default;
	const char *scratch;      /* host directory that "@scratch" expands to, canonical */
};

/* One message: "file:line: key: what is wrong; what to do". */
struct policy_error {
	char text[1024];
};

/* All messages of one load: `callgate check` shows every error of a file, not only the first. */
struct policy_errors {
	struct policy_error *item; /* owned */
	size_t count;
};
/*
 * Adds one message, cut to its buffer. Control bytes become '?', so that a message stays one line. Messages after the
 * first hundred are dropped: mostly they follow from earlier ones.
 */
void policy_errors_add(struct policy_errors *errors, const char *format, ...) __attribute__((format(printf, 2, 3)));
void policy_errors_release(struct policy_errors *errors);

/* ---- limits ---- */

/* 0: no limit, except for stdout and stderr. */
struct policy_limits {
	uint64_t wall_ns;
	uint64_t stdout_bytes; /* shown; the rest is written to a file and counted. 0: the policy does not set it */
	uint64_t stderr_bytes;
	uint64_t cpu_ns;          /* user and system time of the whole run */
	uint64_t memory_bytes;    /* of the whole run, tmpfs and memfds included */
	uint64_t pids;            /* processes and threads at a time */
	uint64_t open_files;      /* descriptors of one process */
	uint64_t file_size_bytes; /* size of the largest file */
	uint64_t disk_bytes;      /* what the run adds to all granted trees and its scratch directory */
	uint64_t audit_bytes;     /* size of the audit log */
};

enum policy_limit {
	POLICY_LIMIT_WALL,
	POLICY_LIMIT_CPU,
	POLICY_LIMIT_MEMORY,
	POLICY_LIMIT_PIDS,
	POLICY_LIMIT_OPEN_FILES,
	POLICY_LIMIT_FILE_SIZE,
	POLICY_LIMIT_DISK,
	POLICY_LIMIT_STDOUT,
	POLICY_LIMIT_STDERR,
	POLICY_LIMIT_AUDIT,
	POLICY_LIMIT_MAX,
};

#define POLICY_LIMIT_BIT(which) (1u << (which))

/* The key in a policy's "limits" and in a result. Static. */
const char *policy_limit_get_name(enum policy_limit which);

/* True: in nanoseconds; false: in bytes, or a count. */
bool policy_limit_is_time(enum policy_limit which);

/* The limit's field in `limits`. Borrowed. */
uint64_t *policy_limit_get_field(struct policy_limits *limits, enum policy_limit which);

/*
 * Parses "10s", "512M", "64" or "none" (0; not for stdout and stderr). 0, or -EINVAL with the rest of a message in
 * `why` (`cap` bytes): "is no size; write …".
 */
int policy_limit_parse_value(enum policy_limit which, const char *text, uint64_t *ret_value, char *why, size_t cap);

/* The two phases of a run. "phases" adds rules for each; see callgate-policy(5). */
enum policy_phase {
	POLICY_PHASE_RUN,   /* the program; the default */
	POLICY_PHASE_SETUP, /* the command of --setup */
	POLICY_PHASE_MAX,
};

/* "run", "setup". Static. */
const char *policy_phase_get_name(enum policy_phase phase);

/* Options of the command line. They act like a last file that extends the others. Lists are NULL-ended. */
struct policy_cli {
	const char *const *read;  /* -r */
	const char *const *write; /* -W */
	const char *const *exec;  /* -x */
	const char *const *env;   /* -e NAME or NAME=VALUE */
	struct policy_limits limits; /* -t, -m, --cpu, --pids, … */
	unsigned limits_given;    /* the limits that were given: POLICY_LIMIT_BITs */
	const char *user;         /* --user, NULL: not given */
	unsigned required;        /* --require: LAYER_BITs of policy/parse/layer-names.h */
	const char *const *allow_host;    /* --allow-host HOST[:PORT] */
	const char *const *allow_private; /* --allow-private HOST[:PORT] */
	const char *const *listen;        /* --listen PORT|FIRST-LAST|* */
	const char *const *allow_request; /* --allow 'METHOD,... HOST[:PORT]/PATH' */
	const char *const *secret;        /* --secret NAME@HOST[,HOST] */
	bool no_net;              /* --no-net */
	enum policy_phase phase;  /* the phase that the policy is compiled for */
	struct policy_draft *draft; /* of policy_peek_user with the same names and host; emptied. NULL: none */
};

/*
 * Loads `names` (profiles and files, NULL-ended, in order), composes them with `cli` (NULL: nothing) and compiles.
 * Returns 0 with a policy for policy_free, -EINVAL with at least one message in errors, or -ENOMEM.
 */
int policy_load(const char *const *names, const struct policy_cli *cli, const struct policy_host *host,
		struct policy **ret_policy, struct policy_errors *errors);
void policy_free(struct policy *policy);

/*
 * Only parses the files, to find "user" before anything that depends on the user is known. *ret_user is owned by the
 * caller; NULL: not set, no memory, or an error that policy_load will report. Returns the parsed files for
 * policy_cli.draft, so that policy_load need not parse them again, or NULL. policy_draft_free frees them, used or not.
 */
struct policy_draft *policy_peek_user(const char *const *names, const struct policy_host *host, char **ret_user);
void policy_draft_free(struct policy_draft *draft);

/* ---- judging ---- */

/* The rights on a canonical virtual path: the union of all matching grants, 0 when a deny rule matches. */
unsigned policy_get_rights(const struct policy *policy, const char *path, size_t len);

/*
 * Judges access to a canonical virtual path; `want`: POLICY_READ|WRITE|EXEC. Errors: EACCES: a deny rule matches, or
 * there is no right to execute; EROFS: no right to write; ENOENT: no grant at all. The reason "public": the object is
 * opened only if everybody on the host may read it.
 */
struct policy_decision policy_decide_access(const struct policy *policy, const char *path, size_t len, unsigned want);

/* True when a glob may grant something at or below this directory, which must then be visible. */
bool policy_may_grant_below(const struct policy *policy, const char *path, size_t len);

/* ---- what the view is built from ---- */

enum policy_mount_kind {
	POLICY_MOUNT_TREE,    /* `virt` shows the host directory or file `host` */
	POLICY_MOUNT_PROVIDE, /* `virt` is a file with the content `text` */
};

struct policy_mount {
	enum policy_mount_kind kind;
	const char *written; /* the rule's path with variables expanded, globs cut after their last literal directory */
	const char *virt;    /* canonical virtual path */
	const char *host;    /* TREE: canonical host path */
	const char *text;    /* PROVIDE: content */
	size_t text_len;
	bool filtered;       /* only globs grant at `virt`: names that match none must stay invisible */
	bool redirect;       /* made by a redirect rule: verdict REDIRECT */
	bool create;         /* create the host directory when it is missing (targets below @scratch and @workdir) */
	const char *rule;    /* as in struct policy_decision */
};

/* All mounts, parents before children, one per virtual path. Borrowed. */
const struct policy_mount *policy_get_mounts(const struct policy *policy, size_t *ret_count);

/* One rule of filesystem.exec (or -x). */
struct policy_exec {
	const char *virt;        /* canonical virtual path: a file, or a directory with everything below it */
	const struct glob *glob; /* not NULL: only what matches this glob below virt; see policy/paths/glob.h */
};

/*
 * Iterates over the rules that grant execution. Paths that deny rules or inner mounts exclude are not removed: ask
 * policy_get_rights. *at starts with 0. False at the end. Borrowed.
 */
bool policy_get_next_exec(const struct policy *policy, size_t *at, struct policy_exec *ret_exec);

/* A path in a rule that leads through a symbolic link of the host (/lib -> /usr/lib): the view shows that link. */
struct policy_link {
	const char *path;   /* virtual: the shortest prefix that differs from its canonical form */
	const char *target; /* canonical virtual path */
};

/* One per path, also from rules without a mount of their own because another mount covers theirs. Borrowed. */
const struct policy_link *policy_get_links(const struct policy *policy, size_t *ret_count);

/* ---- settings ---- */

struct policy_env {
	const char *name;  /* when value is NULL, may end in "*" and then is a prefix */
	const char *value; /* NULL: pass the user's value, if set */
};
const struct policy_env *policy_env(const struct policy *policy, size_t *ret_count);

/* True when the program gets this variable of the user's environment. Never for the variable of a secret. */
bool policy_env_passes_variable(const struct policy *policy, const char *name);

struct policy_settings {
	const char *name;    /* "name" of the last file, else its file name */
	const char *workdir; /* virtual path */
	const char *home;    /* what "~" stands for; NULL: nothing */
	const char *user;    /* "USER[:GROUP]"; NULL: not set */
	struct policy_limits limits;
	unsigned required;      /* LAYER_BITs of policy/parse/layer-names.h: "require" of all files, and --require */
	const char *audit_file; /* NULL: not set */
	bool audit_allowed;     /* record allowed calls, too (default) */
	bool audit_compact;     /* leave out of a record what earlier ones have */
	bool audit_fstat;       /* judge and record each newfstatat and statx used as fstat */
	char sha256[SHA256_HEX_SIZE]; /* of policy_make_json's text; "" before policy_compute_sha256() */
};
const struct policy_settings *policy_settings(const struct policy *policy);

/* The rest of a message about the syntax of "USER[:GROUP]" (names are not looked up), static; NULL: it is correct. */
const char *policy_find_user_error(const char *text);

/* Valid rules that are probably a mistake, one line each: "file:line: key: warning: ...". Borrowed. */
const char *const *policy_warnings(const struct policy *policy, size_t *ret_count);

/* Computes the settings' sha256: a fifth of the time of loading, so done when it is needed. 0 or -ENOMEM. */
int policy_compute_sha256(struct policy *policy);

/* The effective policy as JSON that -p accepts and that decides the same. Owned by the caller; NULL: no memory. */
char *policy_make_json(const struct policy *policy);

#endif
