/*
 * The needs of a program: each path with the rights on it, and each endpoint, with the first call that needed it and
 * the number of such calls. runs.c adds needs from logs, and elf.c from ELF files.
 */
#ifndef CALLGATE_CLI_LEARN_NEEDS_H
#define CALLGATE_CLI_LEARN_NEEDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/query.h"

#define NEEDS_PATHS_MAX 1000000u /* most paths that may be learnt */
#define NEEDS_NETS_MAX 10000u    /* most endpoints and requests that may be learnt */

/* Which call caused a need, and how often: the text of "because". */
struct need_origin {
	char *call, *exe;      /* call and program of the first record; owned. exe NULL: unknown */
	uint64_t count, first; /* number of records, and sequence number of the first one */
	char *reason;          /* a reason that replaces the text made of the members above; owned; NULL: none */
};

/* A path that the program needs: canonical, in the view of the run. */
struct need {
	char *path;     /* owned */
	/* the path as the program wrote it, if a link leads from there to `path`; owned; NULL: equals `path` */
	char *path_as_written;
	unsigned rights;  /* POLICY_ rights */
	unsigned strongest_right; /* the right that the call of `origin` needed */
	bool names_in_dir_were_read; /* the directory was opened or watched, so the names in it were read */
	struct need_origin origin;
};

/* An endpoint, a request, or a port to listen on that the program needs. */
struct network_need {
	enum query_kind kind; /* QUERY_CONNECT, QUERY_HTTP_REQUEST, QUERY_LISTEN */
	char *host;           /* name or address of the host; owned; "": the need is a port to listen on */
	unsigned port;
	bool uses_udp;            /* QUERY_CONNECT: datagrams; false: TCP */
	bool upgrade;             /* QUERY_HTTP_REQUEST: an upgrade to WebSocket */
	bool is_http_without_tls; /* QUERY_HTTP_REQUEST: the request is not in TLS */
	bool any_port;            /* QUERY_LISTEN: the call was listen(2), which a rule for port 0 allows, too */
	bool is_granted;                    /* the draft grants it: set by learn_mark_granted_endpoints */
	char *method, *request;             /* QUERY_HTTP_REQUEST; owned */
	struct need_origin origin;
};

/* All needs that `callgate learn` saw. */
struct needs {
	struct need *need;
	size_t count, room;
	struct network_need *net;
	size_t nets, net_room;
	bool refused_socket_without_network; /* a socket was refused because the policy has no network at all */
	void *index; /* a tsearch(3) tree of needs by their paths */
};

/*
 * Adds the needs of a record. seq, call, exe: the record's sequence number, system call and program. 0, -ENOMEM, or
 * -E2BIG: more than NEEDS_PATHS_MAX paths or NEEDS_NETS_MAX requests.
 */
int needs_add_query(struct needs *needs, const struct query *query, uint64_t seq, const char *call, const char *exe);

/*
 * Adds a path that is needed for the reason `because`. written: a name that leads to the path through a link, or NULL.
 * 0 or -ENOMEM.
 */
int needs_add_path(struct needs *needs, const char *path, const char *written, unsigned want, const char *because);

/*
 * Describes the origin of a need: "openat by /usr/bin/git, 214 times, first at record 120". Owned by the caller; NULL:
 * no memory.
 */
char *need_origin_describe(const struct need_origin *origin);

/* True when the program used this path itself. */
bool needs_have_path(const struct needs *needs, const char *path);

/* True when the program used this path or one below it. */
bool needs_have_path_below(const struct needs *needs, const char *path);

void needs_release(struct needs *needs);

#endif
