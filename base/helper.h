/*
 * Starts callgate-egress, the second executable. It has what needs shared libraries (TLS, HTTP/2, NSS): callgate itself
 * starts without them. Each role (argv[1]) is a process of its own, connected to its parent by one socket.
 */
#ifndef CALLGATE_BASE_HELPER_H
#define CALLGATE_BASE_HELPER_H

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#define HELPER_FILE_NAME "callgate-egress" /* the second executable: egress, resolver, account service */
#define HELPER_SOCKET_FD 3 /* the descriptor of the socket in the started process */
#define HELPER_VERSION_SIZE 32 /* buffer for the version text that callgate-egress sends */

/* A running process of callgate-egress, the executable for what needs shared libraries. */
struct helper {
	pid_t pid; /* the helper process; 0: none is running */
	int fd;    /* the parent's end of the socket to the helper: AF_UNIX, SOCK_SEQPACKET */
};
/* No helper process is running. */
#define HELPER_INIT {.fd = -1}

#define HELPER_VARIABLES_MAX 16 /* environment variables passed on to callgate-egress */

/* callgate-egress in a role, opened while the caller may still do so, to be executed later. */
struct helper_program {
	int fd;
	char *role;                            /* owned */
	char *envp[HELPER_VARIABLES_MAX + 1]; /* owned */
};
/* callgate-egress is not open. */
#define HELPER_PROGRAM_INIT {.fd = -1}

/*
 * In callgate-egress, a note of its ELF file (elf(5)) tells its version: a run that needs the file later is refused at
 * once when the file is another program, or of another version.
 */
#define HELPER_ELF_NOTE_OWNER "callgate"
#define HELPER_ELF_NOTE_TYPE_VERSION 1 /* n_type of the note whose content is the version text */

/*
 * Starts callgate-egress in a role, with no environment but `variables` (NULL-ended), as far as they are set. It is
 * started only from a path that installed_find_file() trusts. Not thread-safe. 0, or -errno with *ret_why (static), the
 * end of a message whose beginning names what needs the process: "needs FILE, which cannot be started: …".
 */
int helper_start(const char *role, const char *const *variables, struct helper *ret_helper, const char **ret_why);

/*
 * Opens callgate-egress under the conditions of helper_start(), and compares its version. Returns as helper_start.
 * helper_close_program() releases.
 */
int helper_open_program(const char *role, const char *const *variables, struct helper_program *ret_program,
			const char **ret_why);
/* Executes `program` in this process, with socket_fd as HELPER_SOCKET_FD. Returns only on failure: -errno. */
int helper_execute(struct helper_program *program, int socket_fd, const char **ret_why);
void helper_close_program(struct helper_program *program);

/* Waits for the version that the helper sends first, and compares it with callgate's. Returns as helper_start. */
int helper_await_equal_version(const struct helper *helper, const char **ret_why);
/* Called in callgate-egress, before anything else is sent: sends its version. 0 or -errno. */
int helper_send_version(void);

/* Closes the socket, kills the helper and waits until it has ended. */
void helper_stop(struct helper *helper);

/* ---- the role "accounts": one query, one reply ---- */

enum account_lookup {
	ACCOUNT_LOOKUP_BY_UID,   /* finds an account by its id */
	ACCOUNT_LOOKUP_BY_NAME,  /* finds an account by its name */
	ACCOUNT_LOOKUP_GROUP_BY_NAME, /* finds a group's id by its name */
	ACCOUNT_LOOKUP_MAX,
};

#define ACCOUNT_TEXT_SIZE 1024 /* buffer for an account's or group's name */

/* What the account service is asked: an account by uid or name, or a group by name. */
struct account_query {
	uint32_t kind, id;
	char text[ACCOUNT_TEXT_SIZE]; /* the name that is looked up; "": by uid */
};

/* The account service's answer to one account_query. */
struct account_reply {
	uint32_t was_found;           /* 0: no such account or group */
	uint32_t uid, gid;            /* ids of the account; `gid` alone for a group */
	char account_name[ACCOUNT_TEXT_SIZE]; /* the account's name */
	char home[PATH_MAX];          /* the account's home directory */
};

#endif
