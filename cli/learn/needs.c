#include "cli/learn/needs.h"

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/cli.h"

/* An entry of the index of needs: a key, and the position of its need in needs->need. */
struct needs_entry {
	size_t at;
	size_t len;
	char key[]; /* path, NUL, written */
};

/* Order for tsearch(3): by length, then by bytes. */
static int needs_compare_entries(const void *a, const void *b)
{
	const struct needs_entry *left = a, *right = b;

	if (left->len != right->len)
		return left->len < right->len ? -1 : 1;
	return memcmp(left->key, right->key, left->len);
}

/* Makes an entry with both paths as its key: "path", NUL, "path as written". Owned; NULL: out of memory. */
static struct needs_entry *needs_make_entry(const char *path, const char *written, size_t at)
{
	const size_t path_len = strlen(path) + 1, len = path_len + strlen(written);
	struct needs_entry *entry = malloc(sizeof(*entry) + len + 1);

	if (!entry)
		return NULL;
	entry->at = at;
	entry->len = len;
	memcpy(entry->key, path, path_len);
	memcpy(entry->key + path_len, written, len - path_len + 1);
	return entry;
}

/* 0 or -ENOMEM. */
static int need_init(struct need *need, const char *path, const char *written)
{
	*need = (struct need){.path = strdup(path), .path_as_written = *written ? strdup(written) : NULL};
	return need->path && (need->path_as_written || !*written) ? 0 : -ENOMEM;
}

static void need_origin_release(struct need_origin *origin)
{
	free(origin->call);
	free(origin->exe);
	free(origin->reason);
}

/* Finds the need for a path, or adds one. NULL: no memory. */
static struct need *needs_find_or_add_path(struct needs *needs, const char *path, const char *written)
{
	_cleanup_free_ struct needs_entry *entry = needs_make_entry(path, written, needs->count);
	struct needs_entry *const *found;

	if (!entry || !array_reserve(&needs->need, needs->count, &needs->room))
		return NULL;
	found = tsearch(entry, &needs->index, needs_compare_entries);
	if (!found)
		return NULL;
	if (*found != entry)
		return &needs->need[(*found)->at];
	entry = NULL; /* the index owns the entry now */
	if (need_init(&needs->need[needs->count++], path, written) < 0)
		return NULL;
	return &needs->need[needs->count - 1];
}

/*
 * Counts a record of the log as an origin of the need. better: the record becomes the first origin, because it needed a
 * stronger right.
 */
static int need_origin_count_record(struct need_origin *origin, uint64_t seq, const char *call, const char *exe,
				    bool better)
{
	origin->count++;
	if (origin->call && !better)
		return 0;
	free(origin->call);
	free(origin->exe);
	origin->first = seq;
	origin->call = strdup(call);
	origin->exe = exe && *exe ? strdup(exe) : NULL;
	return origin->call && (origin->exe || !exe || !*exe) ? 0 : -ENOMEM;
}

/* Adds the rights that the record wants on its paths to the needs. 0 or -errno. */
static int needs_add_paths(struct needs *needs, const struct query *query, uint64_t seq, const char *call,
			   const char *exe)
{
	for (size_t i = 0; i < query->path_count; i++) {
		const struct query_path *path = &query->paths[i];
		/* the call failed because the file existed already, so the right to read is enough */
		const unsigned want = query->failed_because_file_exists ? POLICY_READ : path->wanted_rights;
		struct need *need = needs_find_or_add_path(needs, path->canonical_path,
							   path->path_as_written_len ? path->path_as_written : "");

		if (!need)
			return -ENOMEM;
		if (needs->count > NEEDS_PATHS_MAX)
			return -E2BIG;
		need->rights |= want;
		need->names_in_dir_were_read |= strncmp(call, "open", 4) == 0 || strcmp(call, "inotify_add_watch") == 0;
		if (need_origin_count_record(&need->origin, seq, call, exe, want > need->strongest_right) < 0)
			return -ENOMEM;
		if (want > need->strongest_right)
			need->strongest_right = want;
	}
	return 0;
}

int needs_add_path(struct needs *needs, const char *path, const char *written, unsigned want, const char *because)
{
	struct need *need = needs_find_or_add_path(needs, path, written && strcmp(path, written) != 0 ? written : "");

	if (!need)
		return -ENOMEM;
	need->rights |= want;
	if (!need->origin.reason)
		need->origin.reason = strdup(because);
	return need->origin.reason ? 0 : -ENOMEM;
}

/* ---- needs of the network ---- */

/* Whether the record's query is the same use of the network that this need already counts. */
static bool net_need_is_of_query(const struct network_need *net, const struct query *query)
{
	const bool request = query->kind == QUERY_HTTP_REQUEST;

	return net->kind == query->kind && net->port == query->port_number && net->uses_udp == query->uses_udp &&
	       net->any_port == query->any_port && net->upgrade == query->upgrade &&
	       strcmp(net->host, query->host_name) == 0 &&
	       (!request ||
		(strcmp(net->method, query->http_method) == 0 && strcmp(net->request, query->request_path) == 0));
}

static struct network_need *needs_find_or_add_net(struct needs *needs, const struct query *query)
{
	struct network_need *net;

	for (size_t i = 0; i < needs->nets; i++)
		if (net_need_is_of_query(&needs->net[i], query))
			return &needs->net[i];
	if (!array_reserve(&needs->net, needs->nets, &needs->net_room))
		return NULL;
	net = &needs->net[needs->nets];
	*net = (struct network_need){.kind = query->kind,
				     .port = query->port_number,
				     .uses_udp = query->uses_udp,
				     .upgrade = query->upgrade,
				     .any_port = query->any_port,
				     .is_http_without_tls = query->is_http_without_tls};
	net->host = strdup(query->host_name);
	net->method = strdup(query->kind == QUERY_HTTP_REQUEST ? query->http_method : "");
	net->request = strdup(query->kind == QUERY_HTTP_REQUEST ? query->request_path : "");
	needs->nets++;
	return net->host && net->method && net->request ? net : NULL;
}

/* Counts a use of the network as a need. Ports to listen on count without host and protocol. 0 or -errno. */
static int needs_add_network_need(struct needs *needs, const struct query *query, uint64_t seq, const char *call,
				  const char *exe)
{
	struct query port = *query;
	struct network_need *net;

	if (query->kind == QUERY_LISTEN) {
		port.host_name[0] = '\0';
		port.uses_udp = false;
	}
	net = needs_find_or_add_net(needs, &port);
	if (net && needs->nets > NEEDS_NETS_MAX)
		return -E2BIG;
	return net ? need_origin_count_record(&net->origin, seq, call, exe, false) : -ENOMEM;
}

int needs_add_query(struct needs *needs, const struct query *query, uint64_t seq, const char *call, const char *exe)
{
	switch (query->kind) {
	case QUERY_PATHS:
		return query->was_found_absent ? 0 : needs_add_paths(needs, query, seq, call, exe);
	case QUERY_CONNECT:
	case QUERY_HTTP_REQUEST:
	case QUERY_LISTEN:
		return needs_add_network_need(needs, query, seq, call, exe);
	case QUERY_RULES_DO_NOT_DECIDE:
		needs->refused_socket_without_network |= strcmp(query->why_not_judged, "network_not_granted") == 0;
		return 0;
	case QUERY_RESOLVE_NAME:
	case QUERY_KIND_MAX:
	default:
		return 0;
	}
}

bool needs_have_path(const struct needs *needs, const char *path)
{
	_cleanup_free_ struct needs_entry *entry = needs_make_entry(path, "", 0);

	return entry && tfind(entry, &needs->index, needs_compare_entries);
}

bool needs_have_path_below(const struct needs *needs, const char *path)
{
	for (size_t i = 0; i < needs->count; i++)
		if (path_is_below(needs->need[i].path, path))
			return true;
	return false;
}

char *need_origin_describe(const struct need_origin *origin)
{
	if (origin->reason)
		return strdup(origin->reason);
	return text_format("%s by %s, %" PRIu64 " time%s, first at record %" PRIu64, origin->call ? origin->call : "?",
			   origin->exe ? origin->exe : "the program", origin->count, origin->count == 1 ? "" : "s",
			   origin->first);
}

void needs_release(struct needs *needs)
{
	for (size_t i = 0; i < needs->count; i++) {
		free(needs->need[i].path);
		free(needs->need[i].path_as_written);
		need_origin_release(&needs->need[i].origin);
	}
	for (size_t i = 0; i < needs->nets; i++) {
		free(needs->net[i].host);
		free(needs->net[i].method);
		free(needs->net[i].request);
		need_origin_release(&needs->net[i].origin);
	}
	free(needs->need);
	free(needs->net);
	tdestroy(needs->index, free);
	*needs = (struct needs){0};
}
