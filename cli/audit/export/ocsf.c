/*
 * Events of the Open Cybersecurity Schema Framework (schema.ocsf.io, version 1.8.0), a JSON object a line: File System
 * Activity (1001), Process Activity (1007), Network Activity (4001), HTTP Activity (4002), DNS Activity (4003). The
 * record itself is in "unmapped".
 */
#include <arpa/inet.h>
#include <string.h>

#include "cli/audit/export/export.h"
#include "cli/audit/export/json.h"
#include "policy/network/net.h"

enum { CLASS_FILE = 1001, CLASS_PROCESS = 1007, CLASS_NETWORK = 4001, CLASS_HTTP = 4002, CLASS_DNS = 4003 };

/* Values of OCSF's activity_id for the classes of events that callgate writes. */
enum {
	FILE_CREATE = 1, FILE_UPDATE = 3, FILE_DELETE = 4, FILE_RENAME = 5, FILE_SET_ATTRIBUTES = 6,
	FILE_SET_SECURITY = 7, FILE_GET_ATTRIBUTES = 8, FILE_MOUNT = 12, FILE_UNMOUNT = 13, FILE_OPEN = 14,
	PROCESS_LAUNCH = 1, PROCESS_SET_USER = 5,
	NETWORK_OPEN = 1, NETWORK_CLOSE = 2, NETWORK_FAIL = 4, NETWORK_REFUSE = 5, NETWORK_TRAFFIC = 6,
	NETWORK_LISTEN = 7,
	DNS_QUERY = 1,
	ACTIVITY_OTHER = 99,
};

/* The activity of all system calls whose names begin with a prefix. */
struct ocsf_call {
	const char *name_prefix;
	int activity_id;
};

static const struct ocsf_call ocsf_file_calls[] = {
	{"open", FILE_OPEN},           {"creat", FILE_CREATE},        {"mkdir", FILE_CREATE},
	{"mknod", FILE_CREATE},        {"symlink", FILE_CREATE},      {"link", FILE_CREATE},
	{"unlink", FILE_DELETE},       {"rmdir", FILE_DELETE},        {"rename", FILE_RENAME},
	{"truncate", FILE_UPDATE},     {"ftruncate", FILE_UPDATE},    {"chmod", FILE_SET_SECURITY},
	{"fchmod", FILE_SET_SECURITY}, {"chown", FILE_SET_SECURITY},  {"fchown", FILE_SET_SECURITY},
	{"lchown", FILE_SET_SECURITY}, {"utime", FILE_SET_ATTRIBUTES}, {"futimesat", FILE_SET_ATTRIBUTES},
	{"setxattr", FILE_SET_ATTRIBUTES}, {"lsetxattr", FILE_SET_ATTRIBUTES}, {"fsetxattr", FILE_SET_ATTRIBUTES},
	{"removexattr", FILE_SET_ATTRIBUTES}, {"lremovexattr", FILE_SET_ATTRIBUTES},
	{"fremovexattr", FILE_SET_ATTRIBUTES}, {"stat", FILE_GET_ATTRIBUTES}, {"lstat", FILE_GET_ATTRIBUTES},
	{"fstat", FILE_GET_ATTRIBUTES}, {"newfstatat", FILE_GET_ATTRIBUTES}, {"access", FILE_GET_ATTRIBUTES},
	{"faccessat", FILE_GET_ATTRIBUTES}, {"readlink", FILE_GET_ATTRIBUTES}, {"getxattr", FILE_GET_ATTRIBUTES},
	{"lgetxattr", FILE_GET_ATTRIBUTES}, {"listxattr", FILE_GET_ATTRIBUTES}, {"llistxattr", FILE_GET_ATTRIBUTES},
	{"mount", FILE_MOUNT},         {"umount", FILE_UNMOUNT},      {NULL, ACTIVITY_OTHER}};
static const struct ocsf_call ocsf_process_calls[] = {
	{"exec", PROCESS_LAUNCH},     {"clone", PROCESS_LAUNCH},    {"fork", PROCESS_LAUNCH},
	{"vfork", PROCESS_LAUNCH},    {"setuid", PROCESS_SET_USER}, {"setreuid", PROCESS_SET_USER},
	{"setresuid", PROCESS_SET_USER}, {NULL, ACTIVITY_OTHER}};
static const struct ocsf_call ocsf_network_calls[] = {
	{"connect", NETWORK_OPEN}, {"bind", NETWORK_LISTEN}, {"listen", NETWORK_LISTEN}, {"send", NETWORK_TRAFFIC},
	{NULL, ACTIVITY_OTHER}};
static const struct ocsf_call ocsf_methods[] = {
	{"CONNECT", 1}, {"DELETE", 2}, {"GET", 3}, {"HEAD", 4}, {"OPTIONS", 5}, {"POST", 6}, {"PUT", 7}, {"TRACE", 8},
	{"PATCH", 9}, {NULL, ACTIVITY_OTHER}};

static int ocsf_find_activity(const struct ocsf_call *calls, const struct scan_text *name)
{
	for (; calls->name_prefix; calls++)
		if (name->at && strlen(calls->name_prefix) <= name->len &&
		    memcmp(calls->name_prefix, name->at, strlen(calls->name_prefix)) == 0)
			break;
	return calls->activity_id;
}

static bool ocsf_is_exec(const struct scan_record *record)
{
	return record->syscall.at && record->syscall.len >= 4 && memcmp(record->syscall.at, "exec", 4) == 0;
}

static int ocsf_get_class(const struct scan_record *record)
{
	if (scan_text_equals(&record->event, "request"))
		return CLASS_HTTP;
	if (scan_text_equals(&record->event, "dns"))
		return CLASS_DNS;
	if (record_names_network(record))
		return CLASS_NETWORK;
	if (ocsf_is_exec(record))
		return CLASS_PROCESS;
	return record->path[0].as_written.at || record->path[0].resolved_path.at ? CLASS_FILE : CLASS_PROCESS;
}

static int ocsf_get_network_activity(const struct scan_record *record)
{
	int activity = record->event.at ? NETWORK_OPEN : ocsf_find_activity(ocsf_network_calls, &record->syscall);

	if (scan_text_equals(&record->event, "close"))
		return NETWORK_CLOSE;
	if (activity != NETWORK_OPEN)
		return activity;
	return record_is_denied(record) ? NETWORK_REFUSE : record->error.at ? NETWORK_FAIL : NETWORK_OPEN;
}

static int ocsf_get_activity(int class, const struct scan_record *record)
{
	switch (class) {
	case CLASS_HTTP:
		return ocsf_find_activity(ocsf_methods, &record->method);
	case CLASS_DNS:
		return DNS_QUERY;
	case CLASS_NETWORK:
		return ocsf_get_network_activity(record);
	case CLASS_PROCESS:
		return ocsf_find_activity(ocsf_process_calls, &record->syscall);
	default:
		return ocsf_find_activity(ocsf_file_calls, &record->syscall);
	}
}

static const char *ocsf_get_class_name(int class)
{
	switch (class) {
	case CLASS_HTTP:
		return "HTTP Activity";
	case CLASS_DNS:
		return "DNS Activity";
	case CLASS_NETWORK:
		return "Network Activity";
	case CLASS_PROCESS:
		return "Process Activity";
	default:
		return "File System Activity";
	}
}

/* ---- objects ---- */

/* Adds the file that a path leads to, or the path as the program wrote it if its target is not known. */
static void ocsf_put_file(struct buf *out, const char *key, const struct scan_path *path, int type)
{
	bool known;
	const struct scan_text *text = record_get_path_argument(path, &known);
	struct scan_text name = json_get_basename(text->at ? text : &(struct scan_text){"", 0});

	json_put_text(out, key, &name);
	json_put_text(out, ",\"path\":", text);
	json_put_int(out, ",\"type_id\":", type);
	buf_puts(out, "}");
}

static void ocsf_put_executable(struct buf *out, const struct scan_text *exe)
{
	const struct scan_path path = {.resolved_path = *exe};
	struct scan_text name = json_get_basename(exe);

	if (!exe->at)
		return;
	json_put_text(out, ",\"name\":", &name);
	ocsf_put_file(out, ",\"file\":{\"name\":", &path, 8);
}

static void ocsf_put_actor(struct buf *out, const struct scan_record *record)
{
	/* records of DNS queries have no pid, because egress does not know which process asked for a name */
	if (!record->pid) {
		buf_puts(out, ",\"actor\":{\"app_name\":\"callgate\"}");
		return;
	}
	json_put_int(out, ",\"actor\":{\"process\":{\"pid\":", record->pid);
	json_put_int(out, ",\"tid\":", record_get_tid(record));
	ocsf_put_executable(out, &record->exe);
	if (record->ppid)
		buf_printf(out, ",\"parent_process\":{\"pid\":%lld}", (long long)record->ppid);
	buf_puts(out, "}}");
}

static void ocsf_put_device(struct buf *out, const json_t *header)
{
	buf_puts(out, ",\"device\":{\"type_id\":99,\"type\":\"Sandbox\",\"name\":\"callgate\"");
	json_put_field(out, ",\"uid\":", header, "run");
	buf_puts(out, ",\"os\":{\"name\":\"Linux\",\"type_id\":200");
	json_put_field(out, ",\"kernel_release\":", header, "kernel");
	buf_puts(out, "}}");
}

static void ocsf_put_metadata(struct buf *out, const struct audit_entry *entry)
{
	const struct scan_record *record = &entry->record;

	buf_puts(out, ",\"metadata\":{\"version\":\"1.8.0\",\"profiles\":[\"host\",\"security_control\"],"
		      "\"product\":{\"name\":\"callgate\",\"vendor_name\":\"callgate\"");
	json_put_field(out, ",\"version\":", entry->log->header, "version");
	buf_printf(out, "},\"log_name\":\"audit\",\"sequence\":%llu,\"uid\":\"%s-%llu\"",
		   (unsigned long long)record->seq, entry->log->run, (unsigned long long)record->seq);
	json_put_text(out, ",\"original_time\":", &record->time);
	buf_puts(out, "}");
}

static void ocsf_put_endpoint(struct buf *out, const struct scan_record *record)
{
	char host[NET_HOST_SIZE], address[sizeof(struct in6_addr)];
	bool known = record->host.at && scan_copy_unescaped_bytes(&record->host, host, sizeof(host)) > 0;
	bool ip = known && (inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1);

	buf_puts(out, ",\"dst_endpoint\":{");
	if (known)
		json_put_text(out, ip ? "\"ip\":" : "\"hostname\":", &record->host);
	else
		buf_puts(out, "\"name\":\"unknown\"");
	if (record->port)
		json_put_int(out, ",\"port\":", (int64_t)record->port);
	buf_puts(out, "}");
}

static void ocsf_put_network(struct buf *out, int class, const struct scan_record *record)
{
	bool serves = ocsf_get_activity(class, record) == NETWORK_LISTEN && class == CLASS_NETWORK;
	bool udp = scan_text_equals(&record->proto, "udp") || scan_text_equals(&record->proto, "dns");

	ocsf_put_endpoint(out, record);
	buf_printf(out, ",\"connection_info\":{\"direction_id\":%d,\"protocol_name\":\"%s\"}", serves ? 1 : 2,
		   udp ? "udp" : "tcp");
	if (record->has_byte_counts)
		buf_printf(out, ",\"traffic\":{\"bytes_out\":%llu,\"bytes_in\":%llu}",
			   (unsigned long long)record->bytes_up, (unsigned long long)record->bytes_down);
	json_put_text(out, ",\"app_protocol_name\":", &record->proto);
}

static void ocsf_put_request(struct buf *out, const struct scan_record *record)
{
	json_put_text(out, ",\"http_request\":{\"http_method\":", &record->method);
	buf_puts(out, record->method.at ? "," : ",\"http_request\":{");
	json_put_text(out, "\"url\":{\"path\":",
		      record->path[0].as_written.at ? &record->path[0].as_written : &(struct scan_text){"/", 1});
	json_put_text(out, ",\"hostname\":", &record->host);
	json_put_int(out, ",\"port\":", (int64_t)record->port);
	buf_puts(out, "}}");
	if (record->has_ret || record->status)
		json_put_int(out, ",\"http_response\":{\"code\":",
			     record->status ? (int64_t)record->status : record->ret);
	buf_puts(out, record->has_ret || record->status ? "}" : "");
}

static void ocsf_put_process(struct buf *out, const struct scan_record *record)
{
	struct scan_text name = json_get_basename(&record->path[0].as_written);

	json_put_int(out, ",\"process\":{\"pid\":", record->pid);
	if (ocsf_is_exec(record)) {
		json_put_text(out, ",\"name\":", &name);
		ocsf_put_file(out, ",\"file\":{\"name\":", &record->path[0], 8);
		buf_puts(out, "},\"launch_type_id\":3");
	} else {
		ocsf_put_executable(out, &record->exe);
		buf_puts(out, "}");
	}
}

/* Adds the fields that only events of this class have. */
static void ocsf_put_object(struct buf *out, int class, const struct scan_record *record)
{
	if (class == CLASS_FILE) {
		ocsf_put_file(out, ",\"file\":{\"name\":", &record->path[0], 0);
		if (record->path[1].as_written.at || record->path[1].resolved_path.at)
			ocsf_put_file(out, ",\"file_result\":{\"name\":", &record->path[1], 0);
	} else if (class == CLASS_PROCESS) {
		ocsf_put_process(out, record);
	} else {
		ocsf_put_network(out, class, record);
	}
	if (class == CLASS_HTTP)
		ocsf_put_request(out, record);
	if (class == CLASS_DNS) {
		json_put_text(out, ",\"query\":{\"hostname\":",
			      record->host.at ? &record->host : &(struct scan_text){"", 0});
		json_put_text(out, ",\"type\":", &record->method);
		buf_puts(out, "},\"rcode_id\":5");
	}
}

/* ---- whole events: one for each record ---- */

static void ocsf_put_outcome(struct buf *out, const struct scan_record *record)
{
	bool denied = record_is_denied(record);
	bool replaced = scan_text_equals(&record->verdict, "redirect") || scan_text_equals(&record->verdict, "provide");
	int status = !record->has_ret && !record->error.at ? 0 : record->error.at || denied ? 2 : 1;

	json_put_int(out, ",\"severity_id\":", scan_text_equals(&record->verdict, "kill") ? 4 : denied ? 2 : 1);
	json_put_int(out, ",\"status_id\":", status);
	json_put_text(out, ",\"status_code\":", &record->error);
	json_put_text(out, ",\"status_detail\":", &record->reason);
	json_put_int(out, ",\"action_id\":", record->was_observed ? 3 : denied ? 2 : replaced ? 4 : 1);
	json_put_int(out, ",\"disposition_id\":", record->was_observed ? 15 : denied ? 2 : replaced ? 11 : 1);
	if (record->rule.at) {
		json_put_text(out, ",\"policy\":{\"name\":", &record->rule);
		buf_puts(out, "}");
	}
	if (record->has_ns)
		json_put_int(out, ",\"duration\":", (int64_t)(record->ns / 1000000));
	if (record->refusal_count)
		json_put_int(out, ",\"count\":", (int64_t)record->refusal_count);
}

static int ocsf_write_event(struct export_state *export, const struct audit_entry *entry)
{
	const struct scan_record *record = &entry->record;
	struct buf *out = &export->line_buffer;
	int class, activity;

	if (entry->json)
		return 0;
	class = ocsf_get_class(record);
	activity = ocsf_get_activity(class, record);
	buf_printf(out, "{\"class_uid\":%d,\"class_name\":\"%s\",\"category_uid\":%d", class,
		   ocsf_get_class_name(class), class / 1000);
	buf_printf(out, ",\"activity_id\":%d,\"type_uid\":%d", activity, class * 100 + activity);
	json_put_text(out, ",\"activity_name\":", record_get_call(record));
	json_put_int(out, ",\"time\":", (int64_t)(entry->time_ns / 1000000));
	ocsf_put_outcome(out, record);
	ocsf_put_metadata(out, entry);
	ocsf_put_actor(out, record);
	ocsf_put_device(out, entry->log->header);
	ocsf_put_object(out, class, record);
	buf_puts(out, ",\"unmapped\":{\"callgate\":");
	audit_put_text(out, &(struct scan_text){entry->json_text, entry->len});
	buf_puts(out, "}}\n");
	return export_flush_line(export);
}

const struct export_format export_ocsf = {.name = "ocsf", .entry = ocsf_write_event};
