/* The service filesystem.Filesystem of envd: looks at and changes files' names and directories, and watches them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agents/sandbox/fileop.h"
#include "agents/e2b/private.h"
#include "agents/slist.h"
#include "base/cleanup.h"

/* Limits on events that are kept until the client fetches them by GetWatcherEvents. Further events are dropped. */
#define WATCHER_UNFETCHED_EVENTS_MAX 10000u           /* number of events of one watcher */
#define WATCHER_UNFETCHED_EVENTS_BYTES_MAX (1u << 20) /* length as JSON, of all watchers of a sandbox together */

/* ---- data from a sandbox, which is hostile ---- */

/* Copies a member if it is a text, because a process of the sandbox sent it. */
static void entry_copy_text_member(json_t *to, const json_t *from, const char *name)
{
	const json_t *value = json_object_get(from, name);

	if (json_is_string(value))
		(void)json_object_set(to, name, (json_t *)(uintptr_t)value);
}

/* Copies the members that the protocol's EntryInfo has. What else the sandbox has put there is dropped. */
static json_t *entry_copy_known_members(const json_t *from)
{
	static const char *const texts[] = {"name",  "type",  "path",         "size",         "permissions",
					    "owner", "group", "modifiedTime", "symlinkTarget"};
	const json_t *mode = json_object_get(from, "mode"), *metadata = json_object_get(from, "metadata"), *value;
	json_t *entry = json_object(), *pairs = json_object();
	const char *name;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		entry_copy_text_member(entry, from, texts[i]);
	if (json_is_integer(mode))
		(void)json_object_set_new(entry, "mode", json_integer(json_integer_value(mode) & 07777));
	json_object_foreach((json_t *)(uintptr_t)metadata, name, value)
	{
		entry_copy_text_member(pairs, metadata, name);
	}
	if (json_object_size(pairs) > 0)
		(void)json_object_set(entry, "metadata", pairs);
	json_decref(pairs);
	return entry;
}

/* ---- unary calls of filesystem.Filesystem ---- */

/* A unary call that a program in the sandbox performs. */
struct file_call {
	struct e2b_call *call;
	struct fileop *fileop;
};

/* callgate-files has answered: passes its entry, its entries or its error on to the client. */
static void file_call_on_answer(void *data, int error, const char *message, const json_t *answer)
{
	struct file_call *file_call = data;
	struct http_request *request = file_call->call->request;
	const json_t *entry = json_object_get(answer, "entry"), *entries = json_object_get(answer, "entries"), *item;
	json_t *list;
	size_t i;

	e2b_call_finish(file_call->call);
	free(file_call);
	if (error) {
		connect_answer_error(request, connect_code_from_errno(error), "%s", message);
		return;
	}
	if (json_is_object(entry)) {
		connect_answer(request, json_pack("{s:o}", "entry", entry_copy_known_members(entry)));
		return;
	}
	if (!json_is_array(entries)) {
		connect_answer(request, json_object());
		return;
	}
	list = json_array();
	json_array_foreach(entries, i, item)
	{
		(void)json_array_append_new(list, entry_copy_known_members(item));
	}
	connect_answer(request, json_pack("{s:o}", "entries", list));
}

static void file_call_on_cancel(void *data)
{
	struct file_call *file_call = data;

	fileop_cancel(file_call->fileop);
	free(file_call);
}

/* Starts a program in the sandbox for a file request, which is taken. If that fails, answers with an error. */
static void file_call_start(struct e2b_sandbox *box, struct http_request *request, json_t *file_request)
{
	struct file_call *file_call = calloc(1, sizeof(*file_call));
	const struct fileop_handler handler = {.on_answer = file_call_on_answer, .data = file_call};
	int error = -ENOMEM;

	if (file_call)
		file_call->call = e2b_call_create(box, request, file_call_on_cancel, file_call);
	if (file_call && file_call->call)
		error = fileop_start(box->sandbox, file_request, &handler, &file_call->fileop);
	else
		json_decref(file_request);
	if (error == 0) {
		fileop_end_content(file_call->fileop);
		return;
	}
	if (file_call && file_call->call)
		e2b_call_finish(file_call->call);
	free(file_call);
	connect_answer_error(request, connect_code_from_errno(-error), "the request cannot be started: %s",
			     sandbox_describe_error(-error));
}

/* Gets a path of a message, made absolute. Owned by the caller; NULL: no memory, and an error was answered. */
static char *filesystem_get_path(struct http_request *request, const json_t *message, const char *name)
{
	const char *path = connect_get_text(message, name, NULL);
	char *resolved = e2b_make_path_absolute(path ? path : "");

	if (!resolved)
		connect_answer_error(request, CONNECT_INTERNAL, "the server has no memory");
	return resolved;
}

/* Starts a unary call with one path. op: as in file requests, agents/files/. */
static void filesystem_start_path_operation(struct e2b_sandbox *box, struct http_request *request,
					    const json_t *message, const char *op)
{
	_cleanup_free_ char *path =
		connect_check_basic_auth_user(request) ? filesystem_get_path(request, message, "path") : NULL;
	int64_t depth = connect_get_integer(message, "depth", NULL, 1);

	if (path)
		file_call_start(box, request,
				json_pack("{s:s, s:s, s:I}", "op", op, "path", path, "depth",
					  (json_int_t)(depth > 0 ? depth : 1)));
}

static void filesystem_stat(struct e2b_sandbox *box, struct http_request *request, const json_t *message)
{
	filesystem_start_path_operation(box, request, message, "stat");
}

static void filesystem_make_dir(struct e2b_sandbox *box, struct http_request *request, const json_t *message)
{
	filesystem_start_path_operation(box, request, message, "mkdir");
}

static void filesystem_list_dir(struct e2b_sandbox *box, struct http_request *request, const json_t *message)
{
	filesystem_start_path_operation(box, request, message, "list");
}

static void filesystem_remove(struct e2b_sandbox *box, struct http_request *request, const json_t *message)
{
	filesystem_start_path_operation(box, request, message, "remove");
}

static void filesystem_move(struct e2b_sandbox *box, struct http_request *request, const json_t *message)
{
	_cleanup_free_ char *from =
		connect_check_basic_auth_user(request) ? filesystem_get_path(request, message, "source") : NULL;
	_cleanup_free_ char *to = from ? filesystem_get_path(request, message, "destination") : NULL;

	if (to)
		file_call_start(box, request, json_pack("{s:s, s:s, s:s}", "op", "move", "path", from, "to", to));
}

/* ---- watches ---- */

/* A watch of a directory. Its events go to a stream (WatchDir), or are fetched (CreateWatcher, GetWatcherEvents). */
struct e2b_watcher {
	struct e2b_watcher *next;
	struct e2b_sandbox *box;
	struct fileop *fileop;
	/* request that waits: WatchDir, or CreateWatcher until the watch has begun; NULL: none, events are fetched */
	struct e2b_call *call;
	bool is_stream, has_begun;
	char id[E2B_ID_SIZE];
	json_t *unfetched_events;
	size_t unfetched_event_bytes; /* length of unfetched_events as JSON; part of box->unfetched_event_bytes */
};

/* Frees a watcher whose program in the sandbox has ended or was cancelled. */
static void watcher_free(struct e2b_watcher *watcher)
{
	slist_remove(watcher->box->watchers, watcher, next);
	watcher->box->unfetched_event_bytes -= watcher->unfetched_event_bytes;
	json_decref(watcher->unfetched_events);
	free(watcher);
}

static void watcher_on_cancel(void *data)
{
	struct e2b_watcher *watcher = data;

	fileop_cancel(watcher->fileop);
	watcher_free(watcher);
}

/* Called when the client of a stream reads again after it was slow. */
static void watcher_on_room(void *data)
{
	struct e2b_watcher *watcher = data;

	fileop_pause_output(watcher->fileop, false);
}

/* The watch is set: answers the client, or begins its stream. */
static void watcher_on_watch_started(struct e2b_watcher *watcher)
{
	struct e2b_call *call = watcher->call;
	struct http_request *request = call->request;

	watcher->has_begun = true;
	if (watcher->is_stream) {
		connect_begin_stream(call, json_pack("{s:{}}", "keepalive"), watcher_on_room);
		(void)connect_send_message(call, json_pack("{s:{}}", "start"));
		return;
	}
	watcher->call = NULL;
	e2b_call_finish(call);
	connect_answer(request, json_pack("{s:s}", "watcherId", watcher->id));
}

/* Copies what the client may see of an event, because a process of the sandbox sent it. */
static json_t *event_copy_known_members(const json_t *from)
{
	const json_t *entry = json_object_get(from, "entry");
	json_t *event = json_object();

	entry_copy_text_member(event, from, "name");
	entry_copy_text_member(event, from, "type");
	if (json_is_object(entry))
		(void)json_object_set_new(event, "entry", entry_copy_known_members(entry));
	return event;
}

/* Keeps an event, which is taken, until the client fetches it. Drops the event if too many are kept already. */
static void watcher_store_event(struct e2b_watcher *watcher, json_t *event)
{
	const size_t bytes = json_dumpb(event, NULL, 0, JSON_COMPACT); /* without a buffer, returns the length only */

	if (json_array_size(watcher->unfetched_events) >= WATCHER_UNFETCHED_EVENTS_MAX ||
	    watcher->box->unfetched_event_bytes + bytes > WATCHER_UNFETCHED_EVENTS_BYTES_MAX) {
		json_decref(event);
		return;
	}
	if (json_array_append_new(watcher->unfetched_events, event) < 0)
		return;
	watcher->unfetched_event_bytes += bytes;
	watcher->box->unfetched_event_bytes += bytes;
}

static void watcher_on_event(void *data, const json_t *event)
{
	struct e2b_watcher *watcher = data;

	if (!watcher->has_begun)
		watcher_on_watch_started(watcher);
	else if (watcher->is_stream && !connect_send_message(watcher->call, json_pack("{s:o}", "filesystem",
										      event_copy_known_members(event))))
		fileop_pause_output(watcher->fileop, true);
	else if (!watcher->is_stream)
		watcher_store_event(watcher, event_copy_known_members(event));
}

static void watcher_on_answer(void *data, int error, const char *message, const json_t *answer)
{
	struct e2b_watcher *watcher = data;
	struct e2b_call *call = watcher->call;
	struct http_request *request = call ? call->request : NULL;
	bool has_begun = watcher->has_begun;

	(void)answer;
	watcher_free(watcher);
	if (!call)
		return;
	if (has_begun) {
		connect_end_stream(call, connect_code_from_errno(error), message ? message : "the watch has ended");
		return;
	}
	e2b_call_finish(call);
	connect_answer_error(request, connect_code_from_errno(error ? error : EIO), "%s",
			     message ? message : "it did not begin");
}

/* Whether the sandbox may have one more watcher. If not, the request has been answered with an error. */
static bool watcher_may_be_added(const struct e2b_sandbox *box, struct http_request *request)
{
	if (slist_count(box->watchers, next) < E2B_WATCHERS_MAX)
		return true;
	connect_answer_error(request, CONNECT_RESOURCE_EXHAUSTED, "the sandbox has %u watchers, the most there may be",
			     E2B_WATCHERS_MAX);
	return false;
}

/* Starts callgate-files to watch a path. 0 or -errno. */
static int watcher_start_fileop(struct e2b_watcher *watcher, const char *path, const json_t *message)
{
	const struct fileop_handler handler = {
		.on_event = watcher_on_event, .on_answer = watcher_on_answer, .data = watcher};
	int error = fileop_start(watcher->box->sandbox,
				 json_pack("{s:s, s:s, s:b, s:b}", "op", "watch", "path", path, "recursive",
					   json_is_true(connect_get_member(message, "recursive", NULL)), "entry",
					   json_is_true(connect_get_member(message, "includeEntry", "include_entry"))),
				 &handler, &watcher->fileop);

	if (error == 0)
		fileop_end_content(watcher->fileop);
	return error;
}

/* Starts to watch a path for a client, by a stream or for later requests of events; or answers with an error. */
static void watcher_start(struct e2b_sandbox *box, struct http_request *request, const json_t *message, bool is_stream)
{
	_cleanup_free_ char *path =
		connect_check_basic_auth_user(request) ? filesystem_get_path(request, message, "path") : NULL;
	struct e2b_watcher *watcher;
	int error = -ENOMEM;

	if (!path || !watcher_may_be_added(box, request))
		return;
	watcher = calloc(1, sizeof(*watcher));
	if (watcher) {
		watcher->box = box;
		watcher->is_stream = is_stream;
		watcher->unfetched_events = json_array();
		watcher->next = box->watchers;
		box->watchers = watcher;
		watcher->call = e2b_call_create(box, request, watcher_on_cancel, watcher);
		if (watcher->call && keys_make_random_id(watcher->id))
			error = watcher_start_fileop(watcher, path, message);
	}
	if (error == 0)
		return;
	if (watcher && watcher->call)
		e2b_call_finish(watcher->call);
	if (watcher)
		watcher_free(watcher);
	connect_answer_error(request, connect_code_from_errno(-error), "the watch cannot be started: %s",
			     sandbox_describe_error(-error));
}

static void filesystem_watch_dir(struct e2b_sandbox *box, struct http_request *request, const json_t *message)
{
	watcher_start(box, request, message, true);
}

static void filesystem_create_watcher(struct e2b_sandbox *box, struct http_request *request, const json_t *message)
{
	watcher_start(box, request, message, false);
}

/* Finds the watcher of CreateWatcher that a message names. NULL: there is none, and an error was answered. */
static struct e2b_watcher *watcher_find(struct e2b_sandbox *box, struct http_request *request, const json_t *message)
{
	const char *id = connect_get_text(message, "watcherId", "watcher_id");
	struct e2b_watcher *watcher = box->watchers;

	while (watcher && (watcher->is_stream || !id || strcmp(watcher->id, id) != 0))
		watcher = watcher->next;
	if (!watcher)
		connect_answer_error(request, CONNECT_NOT_FOUND, "there is no such watcher");
	return watcher;
}

static void filesystem_get_events(struct e2b_sandbox *box, struct http_request *request, const json_t *message)
{
	struct e2b_watcher *watcher = watcher_find(box, request, message);

	if (!watcher)
		return;
	connect_answer(request, json_pack("{s:o}", "events", watcher->unfetched_events));
	watcher->unfetched_events = json_array();
	box->unfetched_event_bytes -= watcher->unfetched_event_bytes;
	watcher->unfetched_event_bytes = 0;
}

static void filesystem_remove_watcher(struct e2b_sandbox *box, struct http_request *request, const json_t *message)
{
	struct e2b_watcher *watcher = watcher_find(box, request, message);

	if (!watcher)
		return;
	watcher_on_cancel(watcher);
	connect_answer(request, json_object());
}

void watchers_free_all(struct e2b_sandbox *box)
{
	while (box->watchers) {
		struct e2b_call *call = box->watchers->call;

		watcher_on_cancel(box->watchers);
		if (call)
			e2b_call_abort(call);
	}
}

const struct connect_method filesystem_methods[] = {
	{"/filesystem.Filesystem/Stat", false, filesystem_stat},
	{"/filesystem.Filesystem/MakeDir", false, filesystem_make_dir},
	{"/filesystem.Filesystem/Move", false, filesystem_move},
	{"/filesystem.Filesystem/ListDir", false, filesystem_list_dir},
	{"/filesystem.Filesystem/Remove", false, filesystem_remove},
	{"/filesystem.Filesystem/WatchDir", true, filesystem_watch_dir},
	{"/filesystem.Filesystem/CreateWatcher", false, filesystem_create_watcher},
	{"/filesystem.Filesystem/GetWatcherEvents", false, filesystem_get_events},
	{"/filesystem.Filesystem/RemoveWatcher", false, filesystem_remove_watcher},
	{0},
};
