/*
 * What the runs of a program asked for: each path with the rights that it takes, and each endpoint, once, with who
 * asked first and how often. read.c fills it from logs and elf.c from files; the rest of learn/ reads it.
 */
#ifndef CALLGATE_CLI_LEARN_NEEDS_H
#define CALLGATE_CLI_LEARN_NEEDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/query.h"

#define NEEDS_PATHS_MAX 1000000u
#define NEEDS_NETS_MAX 10000u

/* Who asked, and how often: the text of "because". */
struct need_origin {
	char *call, *exe;    /* of the first record; owned. exe NULL: unknown */
	uint64_t count, first; /* how many records; the seq of the first one */
	char *text;          /* said instead; owned. NULL: made of the members above */
};

/* A canonical path in the view of the run. */
struct need {
	char *path;     /* owned */
	char *path_as_written;  /* the program's name for it, where that leads through a link; owned; NULL: the same */
	unsigned rights;  /* POLICY_ rights */
	unsigned strongest_right; /* the right that `origin` asked for */
	bool entries_were_read;    /* by open(2) and its like, or watched: the names in a directory were read */
	struct need_origin origin;
};

/* An endpoint, a request, or a port that was listened on. */
struct network_need {
	enum query_kind kind; /* QUERY_CONNECT, QUERY_REQUEST, QUERY_LISTEN */
	char *host;           /* owned; "" for a port */
	unsigned port;
	bool udp, upgrade, any_port, plain; /* see struct query */
	bool granted;         /* by the draft: set by learn_mark_granted */
	char *method, *request; /* QUERY_REQUEST; owned */
	struct need_origin origin;
};

struct needs {
	struct need *need;
	size_t count, room;
	struct network_need *net;
	size_t nets, net_room;
	bool needs_socket; /* a socket was refused because the policy has no network at all */
	void *index; /* a tsearch(3) tree of needs by their paths */
};

/*
 * Adds what a record asked for. seq, call and exe are of the record. 0, -ENOMEM, or -E2BIG: more than NEEDS_PATHS_MAX
 * paths or NEEDS_NETS_MAX requests.
 */
int needs_add_query(struct needs *needs, const struct query *query, uint64_t seq, const char *call, const char *exe);

/* Adds a path for a reason of its own. written: the name that leads there by a link, or NULL. 0 or -ENOMEM. */
int needs_add_path(struct needs *needs, const char *path, const char *written, unsigned want, const char *because);

/* "openat by /usr/bin/git, 214 times, first at record 120". Owned by the caller; NULL: no memory. */
char *need_explain(const struct need_origin *origin);

/* True when a program asked for this very path. */
bool needs_have_path(const struct needs *needs, const char *path);

/* True when a program asked for this path or for one below it. */
bool needs_have_path_below(const struct needs *needs, const char *path);

void needs_release(struct needs *needs);

#endif
