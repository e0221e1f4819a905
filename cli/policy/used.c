#include "cli/policy/used.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

/* An access of a run as bytes, so that equal ones are kept once. */
struct serialized_access {
	size_t len;
	char bytes[];
};

/* ---- serializing accesses into bytes, which a set can compare ---- */

/* The part of a serialized access that has a fixed size. */
struct serialized_access_head {
	enum query_kind kind;
	bool absent, there, redirected, public, unpublic, run_file, renames, udp, upgrade, any_port;
	bool answer_is_certain; /* false: more than the rules of the policy to be minimised decided (query.h) */
	/* the program may have listed a directory whose listing was complete, not that of a stand-in directory */
	bool may_have_listed_dir;
	unsigned port;
	size_t path_count;
};

/* Adds a text and a NUL byte. */
static void used_serialize_text(struct buf *buf, const char *text, size_t len)
{
	buf_add(buf, text, len);
	buf_add(buf, "", 1);
}

/* True when the directory is shown only because something below it is granted: its listing has nothing else. */
static bool used_answer_is_dir_above_grant(const struct query_answer *answer)
{
	return answer->is_allowed && strcmp(answer->reason, "ancestor") == 0;
}

/* Writes all that decides whether an access is granted, so that equal accesses become equal bytes and are kept once. */
static void used_serialize_access(struct buf *buf, const struct query *query, const struct query_answer *answer)
{
	struct serialized_access_head head;

	memset(&head, 0, sizeof(head)); /* clears the padding, too, because the bytes are compared */
	head.kind = query->kind;
	head.absent = query->was_found_absent;
	head.there = query->failed_because_file_exists;
	head.redirected = query->was_redirected;
	head.public = query->was_read_as_public;
	head.unpublic = query->is_no_longer_public;
	head.run_file = query->is_file_of_callgate;
	head.renames = query->is_rename;
	head.udp = query->uses_udp;
	head.upgrade = query->upgrade;
	head.any_port = query->any_port;
	head.answer_is_certain = answer->is_certain;
	head.may_have_listed_dir = query->is_open_call && answer->is_certain && !used_answer_is_dir_above_grant(answer);
	head.port = query->port_number;
	head.path_count = query->path_count;
	buf_add(buf, &head, sizeof(head));
	for (size_t i = 0; i < query->path_count; i++) {
		const struct query_path *path = &query->paths[i];

		buf_add(buf, &path->wanted_rights, sizeof(path->wanted_rights));
		buf_add(buf, &path->len, sizeof(path->len));
		buf_add(buf, &path->path_as_written_len, sizeof(path->path_as_written_len));
		used_serialize_text(buf, path->canonical_path, path->len);
		used_serialize_text(buf, path->path_as_written, path->path_as_written_len);
	}
	used_serialize_text(buf, query->symlink_target, query->symlink_target_len);
	if (query->kind == QUERY_PATHS)
		return;
	used_serialize_text(buf, query->host_name, strlen(query->host_name));
	if (query->kind == QUERY_HTTP_REQUEST) {
		used_serialize_text(buf, query->http_method, strlen(query->http_method));
		used_serialize_text(buf, query->request_path, strlen(query->request_path));
	}
}

static void used_deserialize_bytes(const char **at, void *to, size_t len)
{
	memcpy(to, *at, len);
	*at += len;
}

/* Copies a text with its NUL byte from *at, and moves *at past it. Returns its length. */
static size_t used_deserialize_text(const char **at, char *to)
{
	size_t len = strlen(*at);

	used_deserialize_bytes(at, to, len + 1);
	return len;
}

/* Deserializes an access into `query`. Returns the part of it that has a fixed size. */
static struct serialized_access_head used_deserialize_access(const struct serialized_access *item, struct query *query)
{
	const char *at = item->bytes;
	struct serialized_access_head head;

	used_deserialize_bytes(&at, &head, sizeof(head));
	query->kind = head.kind;
	query->was_allowed = true;
	query->was_found_absent = head.absent;
	query->failed_because_file_exists = head.there;
	query->was_redirected = head.redirected;
	query->was_read_as_public = head.public;
	query->is_no_longer_public = head.unpublic;
	query->is_file_of_callgate = head.run_file;
	query->is_rename = head.renames;
	query->uses_udp = head.udp;
	query->upgrade = head.upgrade;
	query->any_port = head.any_port;
	query->port_number = head.port;
	query->path_count = head.path_count;
	for (size_t i = 0; i < query->path_count; i++) {
		struct query_path *path = &query->paths[i];

		used_deserialize_bytes(&at, &path->wanted_rights, sizeof(path->wanted_rights));
		used_deserialize_bytes(&at, &path->len, sizeof(path->len));
		used_deserialize_bytes(&at, &path->path_as_written_len, sizeof(path->path_as_written_len));
		(void)used_deserialize_text(&at, path->canonical_path);
		(void)used_deserialize_text(&at, path->path_as_written);
	}
	query->symlink_target_len = used_deserialize_text(&at, query->symlink_target);
	if (query->kind == QUERY_PATHS)
		return head;
	(void)used_deserialize_text(&at, query->host_name);
	if (query->kind == QUERY_HTTP_REQUEST) {
		(void)used_deserialize_text(&at, query->http_method);
		(void)used_deserialize_text(&at, query->request_path);
	}
	return head;
}

/* ---- the set of accesses ---- */

static int used_compare_serialized_accesses(const void *a, const void *b)
{
	const struct serialized_access *one = a, *other = b;

	if (one->len != other->len)
		return one->len < other->len ? -1 : 1;
	return memcmp(one->bytes, other->bytes, one->len);
}

int used_accesses_add(struct used_accesses *used, const struct query *query, const struct query_answer *answer)
{
	struct buf buf = {0};
	struct serialized_access *item, **found;
	size_t none = 0;

	if (!used->deserialized_query && !(used->deserialized_query = malloc(sizeof(*used->deserialized_query))))
		return -ENOMEM;
	buf_add(&buf, &none, sizeof(none)); /* room for item->len */
	used_serialize_access(&buf, query, answer);
	if (buf.failed)
		return -ENOMEM;
	item = (struct serialized_access *)(void *)buf.data; /* aligned, because it is from malloc(3) */
	item->len = buf.len - sizeof(*item);
	found = tsearch(item, &used->tree, used_compare_serialized_accesses);
	used->access_count += found && *found == item;
	if (!found || *found != item)
		buf_release(&buf);
	return found ? 0 : -ENOMEM;
}

void used_accesses_release(struct used_accesses *used)
{
	tdestroy(used->tree, free);
	free(used->deserialized_query);
	*used = (struct used_accesses){0};
}

/* The state of judging all kept accesses by a policy. */
struct used_walk {
	const struct used_accesses *accesses;
	const struct query_judge *judge;
	int (*each)(void *ctx, const struct query *query, const struct query_answer *answer);
	void *ctx;
	int first_error; /* not 0: what `each` returned, which ends the walk */
};

/* Callback of twalk_r(3): judges one access by another policy, and reports it if it is lost. */
static void used_judge_access(const void *node, VISIT visit, void *ctx)
{
	struct used_walk *walk = ctx;
	struct query *query = walk->accesses->deserialized_query;
	struct query_answer answer;
	struct serialized_access_head head;

	if (walk->first_error != 0 || (visit != postorder && visit != leaf))
		return;
	head = used_deserialize_access(*(struct serialized_access *const *)node, query);
	query_judge(walk->judge, query, &answer);
	if (answer.is_certain != head.answer_is_certain || (answer.is_certain && !answer.is_allowed) ||
	    (head.may_have_listed_dir && used_answer_is_dir_above_grant(&answer)))
		walk->first_error = walk->each(walk->ctx, query, &answer);
}

int used_find_lost_accesses(const struct used_accesses *used, const struct query_judge *judge,
		     int (*each)(void *ctx, const struct query *query, const struct query_answer *answer), void *ctx)
{
	struct used_walk walk = {used, judge, each, ctx, 0};

	twalk_r(used->tree, used_judge_access, &walk);
	return walk.first_error;
}
