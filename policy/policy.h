/*
 * The interface of the policy. Loading compiles JSON files and the command line into a struct policy, which does not
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

/* What a denial does to the process that made the call: "on_deny". The call fails, unless an answer allows it. */
enum policy_on_deny {
	ON_DENY_UNSET,
	ON_DENY_ERRNO, /* nothing */
	ON_DENY_KILL,  /* SIGKILL */
	ON_DENY_STOP,  /* SIGSTOP: the user may look at the process with a debugger, and continue it */
	/* a call that names files waits for the answer to a question file (supervisor/ask/); other calls fail */
	ON_DENY_ASK_FILE,
	ON_DENY_ASK, /* as ON_DENY_ASK_FILE, but an approver is asked, not a directory (approval/) */
	ON_DENY_MAX,
};

/* Whether a denial of this mode is a question to an approver. */
static inline bool policy_on_deny_asks(enum policy_on_deny mode)
{
	return mode == ON_DENY_ASK_FILE || mode == ON_DENY_ASK;
}

/* Who judges calls that only read: "judge". */
enum policy_judge {
	POLICY_JUDGE_UNSET,   /* a file does not say; as POLICY_JUDGE_ALL */
	POLICY_JUDGE_ALL,     /* the supervisor judges and records each call with a path */
	POLICY_JUDGE_CHANGES, /* where possible, calls that only read are left to the kernel: paths/reads.h */
	POLICY_JUDGE_MAX,
};

/* The words of "judge", NULL-ended: those of enum policy_judge from POLICY_JUDGE_ALL on. */
extern const char *const policy_judge_names[];
const char *policy_judge_get_name(enum policy_judge judge);

/* POLICY_JUDGE_ALL or POLICY_JUDGE_CHANGES, as the policy asks. */
enum policy_judge policy_get_judge_mode(const struct policy *policy);

/* Where what the program writes to the directory of -w goes: "workspace.mode". */
enum policy_workspace {
	POLICY_WORKSPACE_UNSET,  /* a file does not say; as POLICY_WORKSPACE_DIRECT */
	POLICY_WORKSPACE_DIRECT, /* there */
	POLICY_WORKSPACE_COW,    /* to a workspace; the directory stays as it is */
	POLICY_WORKSPACE_MAX,
};

/* The words of "workspace.mode", NULL-ended: those of enum policy_workspace from POLICY_WORKSPACE_DIRECT on. */
extern const char *const policy_workspace_names[];

/* The words of the policy, NULL-ended: those of enum policy_on_deny from ON_DENY_ERRNO on; those of "on_read". */
extern const char *const policy_on_deny_names[], *const policy_on_read_names[];
const char *policy_on_deny_get_name(enum policy_on_deny mode);

/*
 * The mode of a denial: that of its rule, else that of the policy. `rule` is the rule's name in the record; NULL: no
 * rule denied. Never ON_DENY_UNSET.
 */
enum policy_on_deny policy_find_on_deny(const struct policy *policy, const char *rule);

/*
 * Whether a rule of filesystem.deny whose denials do not have this mode denies something below a canonical virtual
 * directory that it would not deny if the directory had another name. What "**" alone leads to is denied in every
 * directory.
 */
bool policy_has_deny_below(const struct policy *policy, const char *dir, enum policy_on_deny mode);

/* Whether some denial does more to the process than the errno. */
bool policy_has_on_deny_actions(const struct policy *policy);

/* Whether some denial has this mode. */
bool policy_asks_in_mode(const struct policy *policy, enum policy_on_deny mode);
/* Whether some denial has the mode ON_DENY_ASK_FILE or ON_DENY_ASK. */
bool policy_asks_about_denials(const struct policy *policy);

/* Whether reading the decoy of this rule, named as in a record, ends the run. */
bool policy_decoy_read_ends_run(const struct policy *policy, const char *rule);

/* Languages whose installed packages a policy can choose: the keys of "libraries". */
enum policy_language {
	POLICY_PYTHON,
	POLICY_NODE,
	POLICY_LANGUAGE_MAX,
};

/* The key of a language in "libraries". Static. */
const char *policy_language_get_name(enum policy_language language);
/* Whether a text can be the name of a package: letters, digits and "._-@/", so that messages need no quoting. */
bool policy_library_name_is_valid(const char *name);

/* What "libraries" names for a language: NULL-ended, of all files together. NULL: it says nothing of this language. */
const char *const *policy_get_libraries(const struct policy *policy, enum policy_language language);

/* A path that "libraries" hides. */
struct policy_hidden_path_of_library {
	const char *path;    /* host path of a file or directory of the package */
	const char *library; /* the name for "libraries" that would show it; NULL: none would */
	/* listings have the name all the same: Python asks for a module by its path only if a listing has it */
	bool is_listed;
};

/* What "libraries" comes to on this host. Borrowed from the host. */
struct policy_library_answer {
	const struct policy_hidden_path_of_library *hidden;
	size_t hidden_count;
	const char *const *missing;      /* names that nothing installed has, NULL-ended */
	const char *const *unknown_sets; /* names of sets that do not exist, such as "@analysys", NULL-ended */
};

/* What the host supplies while a policy is loaded. Loading does no other I/O. */
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
	/* realpath(3), owned by the caller. NULL: no such file. Grants of that path are dropped, denies are kept. */
	char *(*realpath)(void *ctx, const char *path);
	/* True: grants of this path, as the rule writes it, are dropped (paths/host-paths.h). NULL: none is. */
	bool (*refused)(void *ctx, const char *path);
	/* What @interpreter expands to: the directories where the interpreter is installed. NULL-ended, borrowed. */
	const char *const *(*interpreter)(void *ctx);
	/*
	 * Finds which installed packages of a language do not belong to `names` (NULL-ended) and what these need. 0 or
	 * -errno. NULL: "libraries" hides nothing.
	 */
	int (*libraries)(void *ctx, enum policy_language language, const char *const *names,
			 struct policy_library_answer *ret_answer);
	/* getenv(3) in the environment of the user who started callgate, for ${NAME}. */
	const char *(*env)(void *ctx, const char *name);
	const char *home;         /* what "~" expands to */
	const char *workdir;      /* canonical host path of the working directory */
	/* the working directory's path in the view; NULL: that of the policy's "workdir", else workdir_virt_default */
	const char *workdir_virt;
	const char *workdir_virt_default;
	const char *scratch_path;      /* canonical host path that "@scratch" expands to */
};

/* One message: "file:line: key: what is wrong; what to do". */
struct policy_error {
	char text[1024];
};

/* All messages of one load: `callgate check` shows every error of a file, not just the first. */
struct policy_errors {
	struct policy_error *item; /* owned */
	size_t count;
};
/*
 * Adds one message, cut to its buffer. Control bytes become '?', so that a message stays one line. Only the first
 * hundred messages are kept: later errors mostly follow from earlier ones.
 */
void policy_errors_add(struct policy_errors *errors, const char *format, ...) __attribute__((format(printf, 2, 3)));
void policy_errors_release(struct policy_errors *errors);

/* ---- limits ---- */

#define POLICY_DISK_BYTES_PER_NAME 1024      /* limits.disk: counted for an inode and its name */
#define POLICY_DISK_BYTES_PER_DIRECTORY 4096 /* counted for a directory's first block, in addition to its name */

/* The limits of a run. 0: no limit; for stdout_bytes and stderr_bytes 0 means that the policy does not set them. */
struct policy_limits {
	uint64_t wall_ns;      /* time that the run may take */
	uint64_t stdout_bytes; /* output that is shown; the rest is written to a file and counted */
	uint64_t stderr_bytes;
	uint64_t cpu_ns;          /* user and system time of the whole run */
	uint64_t memory_bytes;    /* memory of the whole run, with tmpfs and memfds */
	uint64_t pids;            /* processes and threads that exist at a time */
	uint64_t open_files;      /* open descriptors of one process */
	uint64_t file_size_bytes; /* size of the largest file */
	uint64_t disk_bytes;      /* what the run adds to all granted trees and its scratch directory */
	uint64_t audit_log_bytes;     /* size of the audit log */
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

/* The name of a limit: the key in "limits" of policies and results. Static. */
const char *policy_limit_get_name(enum policy_limit which);

/* True for a limit in nanoseconds, false for one in bytes or a count. */
bool policy_limit_is_time(enum policy_limit which);

/* The field of a limit in `limits`. Borrowed. */
uint64_t *policy_limit_get_field(struct policy_limits *limits, enum policy_limit which);

/*
 * Parses the value of a limit: "10s", "512M", "64" or "none" (0; not for stdout and stderr). 0, or -EINVAL with the end
 * of a message in `why` (`cap` bytes): "is no size; write …".
 */
int policy_limit_parse_value(enum policy_limit which, const char *text, uint64_t *ret_value, char *why, size_t cap);

/* The phases of a run: a setup (optional), then the program. "phases" has rules for each; see callgate-policy(5). */
enum policy_phase {
	POLICY_PHASE_RUN,   /* the program; used when no phase is given */
	POLICY_PHASE_SETUP, /* the command that --setup gives */
	POLICY_PHASE_MAX,
};

/* The name of a phase: "run", "setup". Static. */
const char *policy_phase_get_name(enum policy_phase phase);

/*
 * --mode observe has two policies. The program runs under an *observing* policy: it grants everything that the user may
 * do, except secrets and `hidden_paths`. The *judged* policy, that of the user, judges each access for the record.
 */
struct policy_observe {
	/* the policy of the user; owned by the observing policy once that policy is loaded */
	struct policy *judged_policy;
	const char *const *hidden_paths; /* canonical host paths that are denied, such as the log; NULL-ended */
	bool may_read_secrets;                /* secrets may be read */
	bool reaches_public_endpoints;              /* every public endpoint may be reached */
};

/* The policy options of the command line. They act like a last file that extends the others. Lists are NULL-ended. */
struct policy_cli {
	const char *const *read;  /* the paths of option -r */
	const char *const *write; /* the paths of option -W */
	const char *const *exec;  /* the paths of option -x */
	const char *const *env;   /* the arguments of option -e: NAME or NAME=VALUE */
	struct policy_limits limits; /* values of the options -t, -m, --cpu, --pids, … */
	unsigned given_limits_mask;  /* POLICY_LIMIT_BITs of the limits that were given */
	const char *const *workspace_dirs; /* the directories of --cow-dir */
	enum policy_workspace workspace;   /* --cow; POLICY_WORKSPACE_UNSET: not given */
	const char *user;            /* value of --user; NULL: not given */
	enum policy_judge judge;  /* --judge */
	unsigned required_layers;        /* --require: LAYER_BITs of policy/parse/layer-names.h */
	const char *const *allow_host;    /* --allow-host HOST[:PORT] */
	const char *const *allow_private; /* --allow-private HOST[:PORT] */
	const char *const *listen;        /* --listen PORT|FIRST-LAST|* */
	const char *const *allow_request; /* --allow 'METHOD,... HOST[:PORT]/PATH' */
	const char *const *secret;        /* --secret NAME@HOST[,HOST] */
	bool denies_network;              /* --no-net */
	enum policy_phase phase;  /* the phase that the policy is compiled for */
	const struct policy_observe *observe; /* NULL: the policy is enforced */
	/* from policy_find_user() for the same names and host; policy_load() empties it. NULL: none */
	struct policy_draft *draft;
};

/*
 * Loads `names` (profiles and files, NULL-ended, in order), composes them with `cli` (may be NULL) and compiles them.
 * Returns 0 with a policy for policy_free, -EINVAL with at least one message in errors, or -ENOMEM.
 */
int policy_load(const char *const *names, const struct policy_cli *cli, const struct policy_host *host,
		struct policy **ret_policy, struct policy_errors *errors);
void policy_free(struct policy *policy);

/*
 * Only parses the files, to find "user" before anything that depends on the user is known. *ret_user is owned by the
 * caller, or NULL: "user" is not set, out of memory, or an error that policy_load will report. Returns the parsed files
 * for policy_cli.draft, which spares policy_load the parsing, or NULL. policy_draft_free frees them, used or not.
 */
struct policy_draft *policy_find_user(const char *const *names, const struct policy_host *host, char **ret_user);
void policy_draft_free(struct policy_draft *draft);

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

/*
 * ---- after_read: what the run loses when one of its processes has read a file (paths/after.c) ----
 *
 * A set of entries has the bit 1 << index of each. An entry fires once, for the whole run, and nothing takes that back.
 * The set of fired entries is the only part of a policy that changes after loading: the functions that judge apply it.
 */

#define POLICY_AFTER_ENTRIES_MAX 32 /* most entries of "after_read" in a policy */

/* The number of entries of "after_read". */
size_t policy_count_after_entries(const struct policy *policy);
/* The name of an entry of "after_read" in records: "data.json: after_read[0]". Owned by the policy. */
const char *policy_get_after_label(const struct policy *policy, unsigned index);
/* "because" of an entry of "after_read": why the entry exists, for people; NULL: the policy does not say. */
const char *policy_get_after_because_text(const struct policy *policy, unsigned index);

/* The entries that reading a canonical virtual path fires, whether they have fired already or not. */
uint32_t policy_find_entries_fired_by_read(const struct policy *policy, const char *path, size_t len);
/*
 * The entries that reading the path, or anything that could be below it, fires: a directory that is renamed takes
 * everything below it along.
 */
uint32_t policy_find_entries_fired_by_read_below(const struct policy *policy, const char *path, size_t len);

/* Marks entries as fired. In a run with --mode observe: those of the judged policy. */
void policy_fire_after_entries(const struct policy *policy, uint32_t entries);
uint32_t policy_get_fired_after_entries(const struct policy *policy);

/*
 * The entries that close this path to writing once they have fired. A file may be renamed or linked only between paths
 * for which they are the same.
 */
uint32_t policy_find_entries_that_can_close_writing(const struct policy *policy, const char *path, size_t len);

/* The fired entries that close this path to writing. */
uint32_t policy_find_entries_that_closed_writing(const struct policy *policy, const char *path, size_t len);
/* The set of entries that have a "write", fired or not. */
uint32_t policy_get_entries_closing_writing(const struct policy *policy);
/* The set of entries that close the network, fired or not. */
uint32_t policy_get_entries_closing_network(const struct policy *policy);
/* The name of the fired entry that closes the network; NULL: none has. */
const char *policy_find_entry_that_closed_network(const struct policy *policy);

/* True when "libraries" hides something. */
bool policy_hides_names(const struct policy *policy);
/* True when "libraries" hides names in this directory from listings. The path is NUL-terminated. */
bool policy_hides_names_in(const struct policy *policy, const char *path);
/* True for a name that listings have although nothing exists there: that of a module that "libraries" hides. */
bool policy_lists_hidden_name(const struct policy *policy, const char *path, size_t len);

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

/* Checks the syntax of "USER[:GROUP]", looks up no names. Returns the end of a message, static, or NULL: correct. */
const char *policy_find_user_error(const char *text);

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
