/* Makes a question to a policy from a record of a log. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/elf-machine.h"
#include "base/path.h"
#include "replay/query.h"

static bool record_text_is_one_of(const struct scan_text *text, const char *const *words)
{
	for (; *words; words++)
		if (scan_text_equals(text, *words))
			return true;
	return false;
}

static bool record_text_begins_with(const struct scan_text *text, const char *word)
{
	return text->at && text->len >= strlen(word) && memcmp(text->at, word, strlen(word)) == 0;
}

/* Makes it a query that no rule decides: `reason` or, without one, `otherwise` says why. Returns 0. */
static int record_set_rules_do_not_decide(const struct scan_text *reason, const char *otherwise, struct query *query)
{
	query->kind = QUERY_RULES_DO_NOT_DECIDE;
	if (!reason->at || scan_copy_unescaped_bytes(reason, query->why_not_judged, sizeof(query->why_not_judged)) < 0)
		(void)snprintf(query->why_not_judged, sizeof(query->why_not_judged), "%s", otherwise);
	return 0;
}

/* ---- paths ---- */

/* What the functions that read paths return besides 0 and -EBADMSG. */
enum {
	RECORD_PATH_IS_UNRESOLVED = 1, /* the record lacks a path, or does not tell where it leads */
	RECORD_PATH_IS_BELOW_PROC,        /* a path is in /proc, about which rules do not decide */
	RECORD_PATH_IS_TERMINAL,    /* a path is a pseudoterminal's, about which rules do not decide */
};

/* Adds a canonical path to the query. want: the rights that are asked for. */
static int record_add_path(struct query *query, const struct scan_text *text, unsigned want)
{
	struct query_path *path = &query->paths[query->path_count];
	int len = scan_copy_unescaped_bytes(text, path->canonical_path, sizeof(path->canonical_path));

	if (len <= 0 || path->canonical_path[0] != '/')
		return -EBADMSG;
	if (path_is_below(path->canonical_path, "/proc"))
		return RECORD_PATH_IS_BELOW_PROC;
	if (path_is_below(path->canonical_path, "/dev/pts") || strcmp(path->canonical_path, "/dev/ptmx") == 0)
		return RECORD_PATH_IS_TERMINAL;
	path->len = (size_t)len;
	path->wanted_rights = want;
	path->path_as_written_len = 0;
	query->path_count++;
	return 0;
}

/*
 * Stores the path as the program wrote it, if that path is absolute and its links led to another path. Leaves out a
 * path with ".." after a name, because that name may be a link.
 */
static int record_keep_written_path(struct query_path *path, const struct scan_text *written)
{
	char text[PATH_MAX];
	bool lexical;
	int len;

	if (!written->at || written->len == 0 || written->at[0] != '/' ||
	    scan_copy_unescaped_bytes(written, text, PATH_MAX) < 0)
		return 0;
	len = path_join("/", text, path->path_as_written, PATH_MAX, &lexical);
	if (len > 0 && lexical &&
	    ((size_t)len != path->len || memcmp(path->path_as_written, path->canonical_path, path->len) != 0))
		path->path_as_written_len = (size_t)len;
	return 0;
}

/* Adds a path of a record: the canonical path and, if that differs, the path as the program wrote it. */
static int record_read_path(struct query *query, const struct scan_path *path, unsigned want)
{
	const struct scan_text *canonical = path->resolved_path.at ? &path->resolved_path : &path->as_written;
	int r;

	if (path->is_unresolved || !canonical->at || canonical->len == 0 || canonical->at[0] != '/')
		return RECORD_PATH_IS_UNRESOLVED;
	r = record_add_path(query, canonical, want);
	if (r == 0 && path->resolved_path.at)
		r = record_keep_written_path(&query->paths[query->path_count - 1], &path->as_written);
	return r;
}

/*
 * Finds the last component of the canonical path in the written path, and returns what follows that component. NULL:
 * the written path lacks that component, or has it several times.
 */
static const char *record_find_rest_of_path(const char *canonical, const char *written)
{
	const char *last = strrchr(canonical, '/') + 1, *found = NULL;
	size_t len = strlen(last);

	for (const char *at = written; *at; at += strcspn(at, "/")) {
		at += strspn(at, "/");
		if (strncmp(at, last, len) != 0 || (at[len] && at[len] != '/'))
			continue;
		if (found)
			return NULL;
		found = at + len;
	}
	return found;
}

/*
 * Reads the path of a path walk that was refused before its end. "resolved" of such a record is the directory or link
 * at which the walk was refused. Adds two paths: that one, to be read; and the whole path, joined from that one and the
 * rest of the written path. Links in the rest are not known.
 */
static int record_read_path_of_refused_walk(struct query *query, const struct scan_path *path, unsigned want)
{
	struct query_path *stop = &query->paths[0], *whole = &query->paths[1];
	int len, r = record_read_path(query, path, want);
	char written[PATH_MAX];
	const char *rest;
	bool lexical;

	if (r != 0 || !path->resolved_path.at || !path->as_written.at)
		return r;
	if (scan_copy_unescaped_bytes(&path->as_written, written, sizeof(written)) < 0)
		return -EBADMSG;
	rest = record_find_rest_of_path(stop->canonical_path, written);
	len = rest ? path_join(stop->canonical_path, rest + strspn(rest, "/"), whole->canonical_path, PATH_MAX,
			       &lexical)
		   : -1;
	if (len < 0 || !lexical)
		return RECORD_PATH_IS_UNRESOLVED;
	if ((size_t)len == stop->len)
		return 0;
	stop->wanted_rights = POLICY_READ;
	whole->wanted_rights = want;
	whole->len = (size_t)len;
	whole->path_as_written_len = 0;
	query->path_count = 2;
	return 0;
}

/* The right that a record names, 0 if none. */
static unsigned record_get_right(const struct scan_record *record)
{
	static const struct {
		const char *word;
		unsigned right;
	} rights[] = {{"r", POLICY_READ}, {"w", POLICY_WRITE}, {"x", POLICY_EXEC}};

	for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++)
		if (scan_text_equals(&record->right, rights[i].word))
			return rights[i].right;
	return 0;
}

/*
 * Whether the walk was refused before its end. False for openat2(2), whose absolute path may begin at a directory
 * (RESOLVE_IN_ROOT).
 */
static bool record_walk_was_refused(const struct scan_record *record, const struct query *query)
{
	return !query->was_allowed && !record->was_observed && !scan_text_equals(&record->syscall, "openat2") &&
	       !record->rule.at && scan_text_equals(&record->reason, "not_granted") && !record->path[1].as_written.at;
}

/* The system's own loaders need only be readable: exec_get_right_required_of_loader() in syscalls/exec/execve.c. */
static unsigned record_get_loader_right(const struct scan_path *loader)
{
	static const char *const loaders[] = ELF_LOADERS;

	bool own = false;

	for (size_t i = 0; i < sizeof(loaders) / sizeof(loaders[0]); i++)
		own |= scan_text_equals(&loader->as_written, loaders[i]);
	return own ? POLICY_READ : POLICY_EXEC;
}

/* Fills in the query of a record of paths, or why no rule decided on them. 0 or -EBADMSG. */
static int record_read_paths(const struct scan_record *record, unsigned right, struct query *query)
{
	static const char *const words[] = {[RECORD_PATH_IS_UNRESOLVED] = "unresolved",
					    [RECORD_PATH_IS_BELOW_PROC] = "proc",
					    [RECORD_PATH_IS_TERMINAL] = "terminal"};
	bool exec = record_text_begins_with(&record->syscall, "exec");
	int r;

	query->kind = QUERY_PATHS;
	if (record_walk_was_refused(record, query))
		r = record_read_path_of_refused_walk(query, &record->path[0], right);
	else
		r = record_read_path(query, &record->path[0], exec ? POLICY_EXEC : right);
	if (r == 0 && (record->path[1].as_written.at || record->path[1].resolved_path.at))
		r = record_read_path(query, &record->path[1], right);
	if (r == 0 && record->path[2].as_written.at)
		r = record_read_path(query, &record->path[2], record_get_loader_right(&record->path[2]));
	if (r == 0 && scan_text_equals(&record->syscall, "openat2"))
		query->paths[0].path_as_written_len = 0;
	if (r == 0 && record->has_ret && record_text_begins_with(&record->syscall, "symlink") &&
	    record->symlink_target.at) {
		int len = scan_copy_unescaped_bytes(&record->symlink_target, query->symlink_target,
						    sizeof(query->symlink_target));

		r = len < 0 ? -EBADMSG : 0;
		query->symlink_target_len = len > 0 ? (size_t)len : 0;
	}
	if (r <= 0)
		return r;
	return record_set_rules_do_not_decide(&(struct scan_text){NULL, 0}, words[r], query);
}

/* ---- the network ---- */

/*
 * The reasons for which rules about endpoints refuse (policy/network/judge.c). A refusal with another reason does not
 * come from such a rule.
 */
static const char *const rule_reasons[] = {"no_rule",	    "port_not_granted", "proto_not_granted",
					   "denied_by_rule", "method_not_granted", "path_not_granted",
					   "upgrade_not_granted", "after_read", NULL};

/* Whether the host of a record is written as a loopback address. A name never is. */
static bool record_host_is_loopback(const char *host)
{
	struct sockaddr_storage address;
	const char *class;

	if (!net_address_parse(host, &address))
		return false;
	class = net_address_get_nonpublic_class((const struct sockaddr *)&address);
	return class && strcmp(class, "loopback") == 0;
}

/* Whether the call connects to the run's own loopback, or the kernel was to choose the port. */
static bool record_is_connect_within_run(const struct scan_record *record)
{
	char host[NET_HOST_SIZE];

	return record->port == 0 ||
	       (scan_text_equals(&record->syscall, "connect") &&
		scan_copy_unescaped_bytes(&record->host, host, sizeof(host)) >= 0 && record_host_is_loopback(host));
}

/* Fills in the query of a record of an HTTP request, or why no rule decided on it. 0 or -EBADMSG. */
static int record_read_request(const struct scan_record *record, struct query *query)
{
	if (record->path_is_truncated)
		return record_set_rules_do_not_decide(&(struct scan_text){NULL, 0}, "truncated", query);
	/* A proxy refused a request without TLS to an endpoint that needs TLS. */
	if (!query->was_allowed && scan_text_equals(&record->reason, "proto_not_granted"))
		return record_set_rules_do_not_decide(&record->reason, "", query);
	query->kind = QUERY_HTTP_REQUEST;
	query->upgrade = scan_text_equals(&record->proto, "websocket");
	query->is_http_without_tls = scan_text_equals(&record->proto, "http");
	if (!record->method.at || !record->path[0].as_written.at ||
	    scan_copy_unescaped_bytes(&record->method, query->http_method, sizeof(query->http_method)) < 0 ||
	    scan_copy_unescaped_bytes(&record->path[0].as_written, query->request_path, sizeof(query->request_path)) <
		    0)
		return -EBADMSG;
	/* a log has only the "?" of a query, not its text */
	query->request_path[strcspn(query->request_path, "?")] = '\0';
	return 0;
}

/* Fills in the query of a network record, or why no rule decided on it. 0 or -EBADMSG. */
static int record_read_network(const struct scan_record *record, struct query *query)
{
	static const char *const listens[] = {"bind", "listen", NULL};
	bool by_rules =
		record->rule.at || (!query->was_allowed && record_text_is_one_of(&record->reason, rule_reasons));

	if (scan_text_equals(&record->event, "close"))
		return record_set_rules_do_not_decide(&(struct scan_text){NULL, 0}, "close", query);
	/* Within the run no rule decides, until an entry of after_read has fired. */
	if (scan_text_equals(&record->reason, "after_read") && record_is_connect_within_run(record))
		return record_set_rules_do_not_decide(&record->reason, "within_run", query);
	if (!by_rules || (query->was_allowed ? record_text_is_one_of(&record->reason, rule_reasons)
					     : !record_text_is_one_of(&record->reason, rule_reasons)))
		return record_set_rules_do_not_decide(
			query->was_allowed ? &(struct scan_text){NULL, 0} : &record->reason, "within_run", query);
	if (scan_copy_unescaped_bytes(&record->host, query->host_name, sizeof(query->host_name)) < 0 ||
	    record->port > 65535)
		return -EBADMSG;
	query->port_number = (unsigned)record->port;
	query->uses_udp = scan_text_equals(&record->proto, "udp");
	if (scan_text_equals(&record->event, "request"))
		return record_read_request(record, query);
	query->any_port = scan_text_equals(&record->syscall, "listen");
	if (scan_text_equals(&record->event, "dns"))
		query->kind = QUERY_RESOLVE_NAME;
	else if (record_text_is_one_of(&record->syscall, listens))
		query->kind = QUERY_LISTEN;
	else if (!record->rule.at && record_host_is_loopback(query->host_name))
		return record_set_rules_do_not_decide(&(struct scan_text){NULL, 0}, "within_run", query);
	else
		query->kind = QUERY_CONNECT;
	return 0;
}

/* ---- the record ---- */

/*
 * Whether the file was one that callgate provided for the network: the reason says so, or writing or executing it was
 * refused without a rule. For any other file, the record of such a refusal names a rule.
 */
static bool record_is_file_of_callgate(const struct scan_record *record, const struct query *query)
{
	static const char *const refusals[] = {"read_only", "not_executable", NULL};

	return scan_text_equals(&record->reason, "network") ||
	       (!query->was_allowed && !record->rule.at && record_text_is_one_of(&record->reason, refusals));
}

/*
 * Whether the call reads the content of its file. The flags tell whether an open for writing also reads. The log lacks
 * the flags of openat2(2), so each openat2(2) counts as reading: the answers then deny more than the run would.
 */
static bool record_open_reads_content(const struct scan_record *record)
{
	static const char *const opens[] = {"open", "openat", "creat", NULL};

	if (record_text_is_one_of(&record->syscall, opens))
		return scan_text_equals(&record->right, "r") ||
		       (!scan_text_equals(&record->syscall, "creat") && (record->call_flags & O_ACCMODE) != O_WRONLY);
	return scan_text_equals(&record->syscall, "openat2") ||
	       scan_text_equals(&record->syscall, "inotify_add_watch") ||
	       record_text_begins_with(&record->syscall, "exec");
}

/* Notes what the call did with contents, which may fire entries of after_read: read, move or exchange, or nothing. */
static void record_set_content_read(const struct scan_record *record, struct query *query)
{
	query->was_allowed_but_failed = query->was_allowed && record->error.at;
	query->content_access = record_open_reads_content(record) ? QUERY_READS : QUERY_READS_NOTHING;
	if (query->is_rename || record_text_begins_with(&record->syscall, "link"))
		query->content_access =
			scan_text_equals(&record->syscall, "renameat2") && record->call_flags & RENAME_EXCHANGE
				? QUERY_EXCHANGES
				: QUERY_MOVES;
}

int query_read_record(const struct scan_record *record, struct query *ret_query)
{
	struct query *query = ret_query;
	unsigned right = record_get_right(record);

	query->path_count = query->symlink_target_len = 0;
	query->port_number = 0;
	query->uses_udp = query->upgrade = query->any_port = false;
	query->was_allowed = !scan_text_equals(&record->verdict, "deny") &&
			     !scan_text_equals(&record->verdict, "kill") && !scan_text_equals(&record->verdict, "ask");
	query->was_found_absent = scan_text_equals(&record->reason, "absent") ||
				  (query->was_allowed && scan_text_equals(&record->error, "ENOENT"));
	query->failed_because_file_exists = query->was_allowed && (scan_text_equals(&record->error, "EEXIST") ||
								   scan_text_equals(&record->error, "EISDIR"));
	query->was_redirected = record->host.at && record->host.len && record->host.at[0] == '/';
	query->was_read_as_public = scan_text_equals(&record->reason, "public");
	query->is_no_longer_public = scan_text_equals(&record->reason, "not_public");
	query->is_file_of_callgate = record_is_file_of_callgate(record, query);
	query->is_open_call = record->has_ret && record_text_begins_with(&record->syscall, "open");
	query->is_rename = record_text_begins_with(&record->syscall, "rename");
	record_set_content_read(record, query);
	if (!record->verdict.at || (!record->syscall.at && !record->event.at))
		return -EBADMSG;
	if (record->answer.at) /* there was a question, with an answer or without one */
		return record_set_rules_do_not_decide(&(struct scan_text){NULL, 0}, "answered", query);
	if (right)
		return record_read_paths(record, right, query);
	if (record->host.at && !query->was_redirected)
		return record_read_network(record, query);
	return record_set_rules_do_not_decide(&record->reason, record->path[0].as_written.at ? "not_judged" : "no_path",
					      query);
}
