/*
 * A record of the log as a question to a policy, and the answer. Called by the verbs that judge recorded runs again
 * (replay, policy minimise, learn), after the run and perhaps on another machine: nothing is opened, resolved or run.
 *
 * A question about paths holds what the rules were asked for in the run: the canonical paths, and the right that the
 * record names. The answer comes from the functions that the supervisor and egress ask (policy_decide_access,
 * policy_net_judge_*) and from the names that the policy's view would show.
 *
 * What rests on more than the rules is QUERY_RULES_DO_NOT_DECIDE, or an answer without is_certain, each with a word
 * that says why.
 */
#ifndef CALLGATE_REPLAY_QUERY_H
#define CALLGATE_REPLAY_QUERY_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "audit/scan.h"
#include "policy/network/net.h"
#include "policy/policy.h"

enum query_kind {
	QUERY_RULES_DO_NOT_DECIDE, /* no question to the rules; why_not_judged says why */
	QUERY_PATHS,               /* all of paths[] must be allowed */
	QUERY_CONNECT,             /* host_name, port_number, uses_udp */
	QUERY_LISTEN,       /* port_number; any_port: the call was listen(2), which a rule for port 0 allows, too */
	QUERY_HTTP_REQUEST, /* host_name, port_number, http_method, request_path, upgrade */
	QUERY_RESOLVE_NAME, /* whether host_name may be resolved */
	QUERY_KIND_MAX,
};

#define QUERY_PATHS_MAX 4 /* a script, its interpreter, its loader; one more if a walk was refused before its end */
#define QUERY_REASON_SIZE 40 /* a reason */

/* A path of a recorded call, and the right that the call needs on it. */
struct query_path {
	unsigned wanted_rights;      /* one POLICY_ right */
	size_t len;
	size_t path_as_written_len;     /* 0: path_as_written is not set, because it tells nothing about links */
	char canonical_path[PATH_MAX];  /* in the view of the run */
	char path_as_written[PATH_MAX]; /* absolute, normalised; set if it differs from canonical_path */
};

/* A question to a policy. The struct is large: keep one, and fill it anew for each record. */
struct query {
	enum query_kind kind;
	char why_not_judged
		[QUERY_REASON_SIZE]; /* QUERY_RULES_DO_NOT_DECIDE: the reason on record, or "no_path", "close" */
	bool was_allowed;           /* verdict on record */
	bool was_found_absent;   /* the run found that no such file exists */
	/* the call failed with EEXIST (making a file) or EISDIR (writing to a directory) */
	bool failed_because_file_exists;
	bool was_redirected; /* the name led to a file at another host path */
	bool was_read_as_public;   /* the file was read by a "public" rule: everybody on the host may read it */
	bool is_no_longer_public; /* a "public" rule matched, but not everybody on the host may read the file */
	bool is_file_of_callgate; /* callgate provided the file for the network, whatever rules say */
	bool is_open_call;    /* the call opened the file: if it is a directory, it may have been listed */
	bool is_rename;  /* the file paths[0] gets the name paths[1] */
	/* what the call did, as far as that can fire an entry of after_read: query_fire_after_entries() */
	enum { QUERY_READS_NOTHING, QUERY_READS, QUERY_MOVES, QUERY_EXCHANGES } content_access;
	bool was_allowed_but_failed;   /* the run allowed the call, which then failed */
	size_t path_count;
	size_t symlink_target_len; /* 0: the call makes no symbolic link */
	unsigned port_number;
	bool uses_udp, upgrade, any_port;
	bool is_http_without_tls; /* QUERY_HTTP_REQUEST: without TLS */
	char host_name[NET_HOST_SIZE];
	char http_method[NET_METHOD_SIZE];
	char request_path[NET_PATH_SIZE];
	char symlink_target[PATH_MAX]; /* the text of the symbolic link */
	struct query_path paths[QUERY_PATHS_MAX];
};

/* Makes a question from a record. 0, or -EBADMSG: callgate writes no such record. */
int query_read_record(const struct scan_record *record, struct query *ret_query);

/* A policy, with the names that the view of this policy would show. */
struct query_judge;

/* Creates a judge, which borrows the policy. 0 or -ENOMEM. */
int query_judge_create(const struct policy *policy, struct query_judge **ret_judge);
void query_judge_free(struct query_judge *judge);

#define QUERY_RULES_MAX (2 * QUERY_PATHS_MAX) /* for each path, its own rule and the rule of its directory */

/* A policy's answer to the question of a record. */
struct query_answer {
	bool is_certain;     /* false: more than the rules decides, and only `why` counts */
	const char *why;  /* without is_certain: a word for what decides besides the rules. Static */
	bool is_allowed;
	const char *reason;         /* code of the reason; static */
	size_t deciding_path_index; /* QUERY_PATHS: index in paths[] of the path that decided */
	/* The labels of the rules that agree with the answer: of all denials, or of all grants. NULL: no rule */
	const char *rules[QUERY_RULES_MAX];
	size_t rule_count;
};

/* Answers a question of any kind but QUERY_RULES_DO_NOT_DECIDE. */
void query_judge(const struct query_judge *judge, const struct query *query, struct query_answer *ret_answer);

/*
 * Fire entries of after_read in the judge's policy: query_fire_after_entries() those that a call fires, if `answer`
 * allows the call; query_fire_after_entry_of_event() the entry that fired in the run according to a record. Such a
 * record comes before the record of the call. Fired entries change the answers to later questions. Call one of the two
 * functions for each record, in the order of the log.
 */
void query_fire_after_entries(const struct query_judge *judge, const struct query *query,
			      const struct query_answer *answer);
bool query_fire_after_entry_of_event(const struct query_judge *judge, const struct scan_record *record);
/* Returns the policy of a judge. Borrowed. */
const struct policy *query_judge_get_policy(const struct query_judge *judge);

/*
 * Replaces /bin, /lib and the like at the start of a path by /usr/bin, /usr/lib and the like, for hosts where these
 * directories are links into /usr. False: the path begins with none of them.
 */
bool query_follow_merged_usr(const char *path, char out[PATH_MAX]);

/*
 * Writes what the question is about, for reports: "/etc/passwd", "api.test:443" or "GET api.test:443/x". at: index of a
 * path. Returns the length, at most `cap`.
 */
size_t query_get_object(const struct query *query, size_t at, char *out, size_t cap);

#endif
