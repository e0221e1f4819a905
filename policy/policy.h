/*
 * The policy: read once, compiled into an immutable structure, judged without allocation or I/O.
 * One precedence everywhere: deny > allow > default deny. What the policy does not mention does not exist.
 */
#ifndef CALLGATE_POLICY_POLICY_H
#define CALLGATE_POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum policy_right {
	POLICY_READ = 1 << 0,  /* see it, read it, list it */
	POLICY_WRITE = 1 << 1, /* change content, names below it, metadata; implies READ */
	POLICY_EXEC = 1 << 2,  /* execve it; implies READ */
};

enum verdict {
	VERDICT_DENY,
	VERDICT_ALLOW,
	VERDICT_REDIRECT, /* allowed, on another host object than the one named */
	VERDICT_PROVIDE,  /* allowed, on content the policy supplies (provide, decoy, the run's own /proc and /dev) */
	VERDICT_KILL,     /* the program was killed: an exec that loaded something else than was approved */
	VERDICT_MAX,
};

/* The verdict's name as the audit record and `callgate why` print it. */
const char *verdict_name(enum verdict verdict);

struct policy_decision {
	enum verdict verdict;
	int error;          /* errno for the program when denied, else 0 */
	/* e.g. "python.json: filesystem.read[2] /usr"; NULL for the default. Lives as long as the policy */
	const char *rule;
	const char *reason; /* static code: not_granted read_only denied_by_rule not_executable … */
};

struct policy;

/* Everything the compiler may not find out by itself: policy code does no I/O. */
struct policy_host {
	void *ctx;
	/*
	 * Finds a policy named by `extends`, --profile or -p: a name with a "/" or ending in ".json" is a file
	 * (relative to the naming file `from`, or to the current directory when that is NULL), any other a profile.
	 * Also reads what provide's "file:PATH" names, always with a "/", and makes up "account:passwd" and
	 * "account:group": files that know root, nobody and the caller. Returns 0 with owned text and the owned path
	 * for messages, or
	 * -errno; -EILSEQ when there is a NUL in the text, -EFBIG when it is larger than any policy should be.
	 */
	int (*load)(void *ctx, const char *name, const char *from, char **ret_text, char **ret_path);
	/*
	 * The canonical host path of an existing object, owned by the caller; NULL when there is none (the rule then
	 * grants nothing but keeps denying).
	 */
	char *(*realpath)(void *ctx, const char *path);
	/*
	 * True for a path as a rule names it whose grant is void, although it is there: see policy/paths/ways.h. NULL:
	 * none is.
	 */
	bool (*refused)(void *ctx, const char *path);
	/*
	 * The paths `@interpreter` stands for (NULL-ended, borrowed): roots of installed interpreters named by the
	 * program.
	 */
	const char *const *(*interpreter)(void *ctx);
	/* A variable of the caller's environment for ${NAME}; NULL when unset. */
	const char *(*env)(void *ctx, const char *name);
	const char *home;         /* "~" */
	const char *workdir;      /* host directory of the workdir, canonical */
	const char *workdir_virt; /* NULL: the policy's "workdir" or, failing that, workdir_virt_default */
	const char *workdir_virt_default;
	const char *scratch;      /* host directory "@scratch" stands for, canonical */
};

/* One message: where and what to do. `text` reads "file:line: key: what is wrong; what to do". */
struct policy_error {
	char text[1024];
};

/* A list of messages, because `callgate check` shows every error of a file, not the first. */
struct policy_errors {
	struct policy_error *item; /* owned */
	size_t count;
};
void policy_errors_done(struct policy_errors *errors);

/* ---- limits ---- */

struct policy_limits {
	uint64_t wall_ns;      /* 0: none */
	uint64_t stdout_bytes; /* captured in memory and shown; past it drained, spilled and counted. 0: not said */
	uint64_t stderr_bytes;
	uint64_t cpu_ns;          /* user and system time of the whole run. From here on 0: none */
	uint64_t memory_bytes;    /* of the whole run, tmpfs and memfds included */
	uint64_t pids;            /* processes and threads at a time */
	uint64_t open_files;      /* descriptors of one process */
	uint64_t file_size_bytes; /* the largest file */
	uint64_t disk_bytes;      /* what the run adds to all granted trees and its scratch space */
	uint64_t audit_bytes;     /* of the log */
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

/* As in a policy's "limits" and a result's. Static. */
const char *policy_limit_name(enum policy_limit which);

/* True for a time, false for a size or a number. */
bool policy_limit_is_time(enum policy_limit which);

/* Its field. Borrows. */
uint64_t *policy_limit_field(struct policy_limits *limits, enum policy_limit which);

/*
 * Reads what a user wrote: "10s", "512M", "64", "none" (0; not for stdout and stderr). 0, or -EINVAL with what is wrong
 * in `why`: "is no size; write …".
 */
int policy_limit_parse(enum policy_limit which, const char *text, uint64_t *ret_value, char *why, size_t cap);

/* A run's two phases, each judged by the policy with what "phases" adds for it; see callgate-policy(5). */
enum policy_phase {
	POLICY_PHASE_RUN,   /* the program; also what is meant where nobody names a phase */
	POLICY_PHASE_SETUP, /* the command of --setup */
	POLICY_PHASE_MAX,
};

/* "run", "setup". Static. */
const char *policy_phase_name(enum policy_phase phase);

/*
 * Grants from the command line, judged like a last file named "command line" that extends the others. NULL-ended lists.
 */
struct policy_cli {
	const char *const *read;  /* -r */
	const char *const *write; /* -W */
	const char *const *exec;  /* -x */
	const char *const *env;   /* -e NAME or NAME=VALUE */
	struct policy_limits limits; /* -t, -m, --cpu, --pids, … */
	unsigned limits_given;    /* which of them: POLICY_LIMIT_BITs */
	const char *user;         /* --user, NULL: not given */
	unsigned required;        /* --require: LAYER_BITs of policy/parse/layer-names.h */
	const char *const *allow_host;    /* --allow-host HOST[:PORT] */
	const char *const *allow_request; /* --allow 'METHOD,... HOST[:PORT]/PATH' */
	const char *const *secret;        /* --secret NAME@HOST[,HOST] */
	bool no_net;              /* --no-net */
	enum policy_phase phase;  /* which of the two the policy is for */
	struct policy_draft *draft; /* what policy_peek read of the same names for the same host; NULL: nothing */
};

/*
 * Loads `names` (profiles and files, NULL-ended, in order), composes them with the command line, compiles.
 * Returns 0 with an owned policy, or -EINVAL with at least one message in errors, or -ENOMEM.
 */
int policy_load(const char *const *names, const struct policy_cli *cli, const struct policy_host *host,
		struct policy **ret_policy, struct policy_errors *errors);
void policy_free(struct policy *policy);

/*
 * What policy_user() would say, before the rest can be known: only reads the files. *ret_user is owned by the caller;
 * NULL: nothing, or no memory, or a mistake, which policy_load tells about. The draft is what was read, for the first
 * policy_load that gets it, so that it does not read all of it again; NULL: there is none.
 */
struct policy_draft *policy_peek(const char *const *names, const struct policy_host *host, char **ret_user);
void policy_draft_free(struct policy_draft *draft);

/* ---- judging: pure, no allocation ---- */

/* The rights on a canonical virtual path: the union of all matching grants, 0 when a deny rule matches. */
unsigned policy_rights(const struct policy *policy, const char *path, size_t len);

/*
 * Judges `want` (POLICY_* bits) on a canonical virtual path. Not granted at all: ENOENT. Granted for reading only and
 * writing wanted: EROFS. A deny rule: EACCES. Exec wanted without exec right: EACCES.
 */
struct policy_decision policy_decide(const struct policy *policy, const char *path, size_t len, unsigned want);

/* True when something at or below this directory may be granted by a glob: it must then be visible as a directory. */
bool policy_may_hold(const struct policy *policy, const char *path, size_t len);

/* ---- what the view is built from ---- */

enum policy_mount_kind {
	POLICY_MOUNT_TREE,    /* a host directory or file appears at virt */
	POLICY_MOUNT_PROVIDE, /* a file with this text appears at virt */
};

struct policy_mount {
	enum policy_mount_kind kind;
	const char *written; /* as the rule wrote it, variables expanded, globs cut at their last literal directory */
	const char *virt;    /* canonical virtual path */
	const char *host;    /* canonical host path (TREE) */
	const char *text;    /* content (PROVIDE) */
	size_t text_len;
	bool filtered;       /* only globs grant here: names that match nothing must not be seen */
	bool redirect;       /* virt and host differ by a redirect rule: verdict REDIRECT */
	/* the host directory is the run's own and is made when missing (@scratch, @workdir targets) */
	bool create;
	const char *rule;    /* for the record */
};

/* All mounts, parents before children, one per virtual path. Borrows. */
const struct policy_mount *policy_mounts(const struct policy *policy, size_t *ret_count);

/* What one rule of filesystem.exec (or -x) names. */
struct policy_exec {
	const char *virt;        /* canonical virtual path: a file, or a directory with all below it */
	const struct glob *glob; /* not NULL: only what matches it below virt; see policy/paths/glob.h */
};

/*
 * Steps through what may be executed: deny rules and what borders hide are not taken out, ask policy_rights. *at starts
 * with 0. False at the end. Borrows.
 */
bool policy_next_exec(const struct policy *policy, size_t *at, struct policy_exec *ret_exec);

/* A name that rules used and that is a symbolic link on the host (/lib -> /usr/lib): the view shows it as a link. */
struct policy_link {
	const char *path;   /* virtual, the shortest one that explains the difference */
	const char *target; /* canonical virtual path */
};

/* One per path; each is the `written` form of some rule, also of rules whose mount was dropped as covered. Borrows. */
const struct policy_link *policy_links(const struct policy *policy, size_t *ret_count);

/* ---- the rest of what a policy says ---- */

struct policy_env {
	const char *name;  /* with value NULL it may end in "*": all variables that begin so */
	const char *value; /* NULL: pass the caller's value, if set */
};
const struct policy_env *policy_env(const struct policy *policy, size_t *ret_count);

/* True when the caller's variable of this name is passed on (policy_env has it without a value, or a "*" for it). */
bool policy_env_passes(const struct policy *policy, const char *name);

const struct policy_limits *policy_limits(const struct policy *policy);

/* LAYER_BITs of policy/parse/layer-names.h: those that any of the files or the command line insists on. */
unsigned policy_required(const struct policy *policy);

const char *policy_workdir(const struct policy *policy); /* virtual path */
const char *policy_name(const struct policy *policy);    /* "name" of the last file, else its file name */
/* of the effective policy's text: hex; "" before policy_seal() */
const char *policy_sha256(const struct policy *policy);
const char *policy_user(const struct policy *policy);    /* "USER[:GROUP]"; NULL: not said */
/* What is wrong with the form of a "USER[:GROUP]" (its names are not looked up), or NULL. */
const char *policy_user_error(const char *text);
const char *policy_audit_file(const struct policy *policy); /* NULL: not said */
bool policy_audit_allowed(const struct policy *policy);  /* record allows too (default) */
bool policy_audit_compact(const struct policy *policy);  /* records leave out what earlier ones say */
bool policy_audit_fstat(const struct policy *policy);    /* fstat by newfstatat and statx is judged wherever it runs */

/* What is permitted and probably not meant, one line each: "file:line: key: warning: ...". */
const char *const *policy_warnings(const struct policy *policy, size_t *ret_count);

/* Makes the digest, a fifth of what loading takes, and needed later. 0 or -ENOMEM. */
int policy_seal(struct policy *policy);

/* The effective policy as a JSON file that -p accepts and that yields the same decisions. Owned by the caller. */
char *policy_show(const struct policy *policy);

#endif
