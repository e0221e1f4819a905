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

enum {
	OCSF_CLASS_FILE = 1001,
	OCSF_CLASS_PROCESS = 1007,
	OCSF_CLASS_NETWORK = 4001,
	OCSF_CLASS_HTTP = 4002,
	OCSF_CLASS_DNS = 4003
};

/* Values of OCSF's activity_id for the classes of events that callgate writes. */
enum {
	OCSF_ACTIVITY_FILE_CREATE = 1,
	OCSF_ACTIVITY_FILE_UPDATE = 3,
	OCSF_ACTIVITY_FILE_DELETE = 4,
	OCSF_ACTIVITY_FILE_RENAME = 5,
	OCSF_ACTIVITY_FILE_SET_ATTRIBUTES = 6,
	OCSF_ACTIVITY_FILE_SET_SECURITY = 7,
	OCSF_ACTIVITY_FILE_GET_ATTRIBUTES = 8,
	OCSF_ACTIVITY_FILE_MOUNT = 12,
	OCSF_ACTIVITY_FILE_UNMOUNT = 13,
	OCSF_ACTIVITY_FILE_OPEN = 14,
	OCSF_ACTIVITY_PROCESS_LAUNCH = 1,
	OCSF_ACTIVITY_PROCESS_SET_USER = 5,
	OCSF_ACTIVITY_NETWORK_OPEN = 1,
	OCSF_ACTIVITY_NETWORK_CLOSE = 2,
	OCSF_ACTIVITY_NETWORK_FAIL = 4,
	OCSF_ACTIVITY_NETWORK_REFUSE = 5,
	OCSF_ACTIVITY_NETWORK_TRAFFIC = 6,
	OCSF_ACTIVITY_NETWORK_LISTEN = 7,
	OCSF_ACTIVITY_DNS_QUERY = 1,
	OCSF_ACTIVITY_OTHER = 99,
};

/* The activity of all system calls whose names begin with a prefix. */
struct ocsf_call {
	const char *name_prefix;
	int activity_id; /* OCSF's number of the activity */
};

static const struct ocsf_call ocsf_file_calls[] = {
	{"open", OCSF_ACTIVITY_FILE_OPEN},
	{"creat", OCSF_ACTIVITY_FILE_CREATE},
	{"mkdir", OCSF_ACTIVITY_FILE_CREATE},
	{"mknod", OCSF_ACTIVITY_FILE_CREATE},
	{"symlink", OCSF_ACTIVITY_FILE_CREATE},
	{"link", OCSF_ACTIVITY_FILE_CREATE},
	{"unlink", OCSF_ACTIVITY_FILE_DELETE},
	{"rmdir", OCSF_ACTIVITY_FILE_DELETE},
	{"rename", OCSF_ACTIVITY_FILE_RENAME},
	{"truncate", OCSF_ACTIVITY_FILE_UPDATE},
	{"ftruncate", OCSF_ACTIVITY_FILE_UPDATE},
	{"chmod", OCSF_ACTIVITY_FILE_SET_SECURITY},
	{"fchmod", OCSF_ACTIVITY_FILE_SET_SECURITY},
	{"chown", OCSF_ACTIVITY_FILE_SET_SECURITY},
	{"fchown", OCSF_ACTIVITY_FILE_SET_SECURITY},
	{"lchown", OCSF_ACTIVITY_FILE_SET_SECURITY},
	{"utime", OCSF_ACTIVITY_FILE_SET_ATTRIBUTES},
	{"futimesat", OCSF_ACTIVITY_FILE_SET_ATTRIBUTES},
	{"setxattr", OCSF_ACTIVITY_FILE_SET_ATTRIBUTES},
	{"lsetxattr", OCSF_ACTIVITY_FILE_SET_ATTRIBUTES},
	{"fsetxattr", OCSF_ACTIVITY_FILE_SET_ATTRIBUTES},
	{"removexattr", OCSF_ACTIVITY_FILE_SET_ATTRIBUTES},
	{"lremovexattr", OCSF_ACTIVITY_FILE_SET_ATTRIBUTES},
	{"fremovexattr", OCSF_ACTIVITY_FILE_SET_ATTRIBUTES},
	{"stat", OCSF_ACTIVITY_FILE_GET_ATTRIBUTES},
	{"lstat", OCSF_ACTIVITY_FILE_GET_ATTRIBUTES},
	{"fstat", OCSF_ACTIVITY_FILE_GET_ATTRIBUTES},
	{"newfstatat", OCSF_ACTIVITY_FILE_GET_ATTRIBUTES},
	{"access", OCSF_ACTIVITY_FILE_GET_ATTRIBUTES},
	{"faccessat", OCSF_ACTIVITY_FILE_GET_ATTRIBUTES},
	{"readlink", OCSF_ACTIVITY_FILE_GET_ATTRIBUTES},
	{"getxattr", OCSF_ACTIVITY_FILE_GET_ATTRIBUTES},
	{"lgetxattr", OCSF_ACTIVITY_FILE_GET_ATTRIBUTES},
	{"listxattr", OCSF_ACTIVITY_FILE_GET_ATTRIBUTES},
	{"llistxattr", OCSF_ACTIVITY_FILE_GET_ATTRIBUTES},
	{"mount", OCSF_ACTIVITY_FILE_MOUNT},
	{"umount", OCSF_ACTIVITY_FILE_UNMOUNT},
	{NULL, OCSF_ACTIVITY_OTHER},
};
static const struct ocsf_call ocsf_process_calls[] = {
	{"exec", OCSF_ACTIVITY_PROCESS_LAUNCH},        {"clone", OCSF_ACTIVITY_PROCESS_LAUNCH},
	{"fork", OCSF_ACTIVITY_PROCESS_LAUNCH},        {"vfork", OCSF_ACTIVITY_PROCESS_LAUNCH},
	{"setuid", OCSF_ACTIVITY_PROCESS_SET_USER},    {"setreuid", OCSF_ACTIVITY_PROCESS_SET_USER},
	{"setresuid", OCSF_ACTIVITY_PROCESS_SET_USER}, {NULL, OCSF_ACTIVITY_OTHER},
};
static const struct ocsf_call ocsf_network_calls[] = {
	{"connect", OCSF_ACTIVITY_NETWORK_OPEN},
	{"bind", OCSF_ACTIVITY_NETWORK_LISTEN},
	{"listen", OCSF_ACTIVITY_NETWORK_LISTEN},
	{"send", OCSF_ACTIVITY_NETWORK_TRAFFIC},
	{NULL, OCSF_ACTIVITY_OTHER},
};
static const struct ocsf_call ocsf_methods[] = {
	{"CONNECT", 1}, {"DELETE", 2}, {"GET", 3},   {"HEAD", 4},  {"OPTIONS", 5},
	{"POST", 6},    {"PUT", 7},    {"TRACE", 8}, {"PATCH", 9}, {NULL, OCSF_ACTIVITY_OTHER},
};

/* Returns the OCSF activity of the first entry whose prefix the name has, or of the last entry. */
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

/* Returns the OCSF class of a record: HTTP, DNS, network, process or file system. */
static int ocsf_get_class(const struct scan_record *record)
{
	if (scan_text_equals(&record->event, "request"))
		return OCSF_CLASS_HTTP;
	if (scan_text_equals(&record->event, "dns"))
		return OCSF_CLASS_DNS;
	if (record_names_network(record))
		return OCSF_CLASS_NETWORK;
	if (ocsf_is_exec(record))
		return OCSF_CLASS_PROCESS;
	return record->path[0].as_written.at || record->path[0].resolved_path.at ? OCSF_CLASS_FILE : OCSF_CLASS_PROCESS;
}

/* Returns the OCSF activity of a network record: open, close, refuse, fail, or what its call stands for. */
static int ocsf_get_network_activity(const struct scan_record *record)
{
	int activity = record->event.at ? OCSF_ACTIVITY_NETWORK_OPEN
					: ocsf_find_activity(ocsf_network_calls, &record->syscall);

	if (scan_text_equals(&record->event, "close"))
		return OCSF_ACTIVITY_NETWORK_CLOSE;
	if (activity != OCSF_ACTIVITY_NETWORK_OPEN)
		return activity;
	return record_is_denied(record) ? OCSF_ACTIVITY_NETWORK_REFUSE
	       : record->error.at       ? OCSF_ACTIVITY_NETWORK_FAIL
					: OCSF_ACTIVITY_NETWORK_OPEN;
}

/* Returns the OCSF activity of a record, a number that depends on its class. */
static int ocsf_get_activity(int class, const struct scan_record *record)
{
	switch (class) {
	case OCSF_CLASS_HTTP:
		return ocsf_find_activity(ocsf_methods, &record->method);
	case OCSF_CLASS_DNS:
		return OCSF_ACTIVITY_DNS_QUERY;
	case OCSF_CLASS_NETWORK:
		return ocsf_get_network_activity(record);
	case OCSF_CLASS_PROCESS:
		return ocsf_find_activity(ocsf_process_calls, &record->syscall);
	default:
		return ocsf_find_activity(ocsf_file_calls, &record->syscall);
	}
}

/* The name of an event class of the Open Cybersecurity Schema Framework (OCSF). */
static const char *ocsf_get_class_name(int class)
{
	switch (class) {
	case OCSF_CLASS_HTTP:
		return "HTTP Activity";
	case OCSF_CLASS_DNS:
		return "DNS Activity";
	case OCSF_CLASS_NETWORK:
		return "Network Activity";
	case OCSF_CLASS_PROCESS:
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

/* Writes name and file of a process's program. */
static void ocsf_put_executable(struct buf *out, const struct scan_text *exe)
{
	const struct scan_path path = {.resolved_path = *exe};
	struct scan_text name = json_get_basename(exe);

	if (!exe->at)
		return;
	json_put_text(out, ",\"name\":", &name);
	ocsf_put_file(out, ",\"file\":{\"name\":", &path, 8);
}

/* Writes OCSF's "actor": the process that made the call. */
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

/* Writes OCSF's "device": the sandbox, by the run's id. */
static void ocsf_put_device(struct buf *out, const json_t *header)
{
	buf_puts(out, ",\"device\":{\"type_id\":99,\"type\":\"Sandbox\",\"name\":\"callgate\"");
	json_put_field(out, ",\"uid\":", header, "run");
	buf_puts(out, ",\"os\":{\"name\":\"Linux\",\"type_id\":200");
	json_put_field(out, ",\"kernel_release\":", header, "kernel");
	buf_puts(out, "}}");
}

/* Writes OCSF's "metadata": product, version and number of the record. */
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

/* Writes OCSF's "dst_endpoint": the host and port. */
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

/* Writes what OCSF has about a connection. */
static void ocsf_put_network(struct buf *out, int class, const struct scan_record *record)
{
	bool serves = ocsf_get_activity(class, record) == OCSF_ACTIVITY_NETWORK_LISTEN && class == OCSF_CLASS_NETWORK;
	bool udp = scan_text_equals(&record->proto, "udp") || scan_text_equals(&record->proto, "dns");

	ocsf_put_endpoint(out, record);
	buf_printf(out, ",\"connection_info\":{\"direction_id\":%d,\"protocol_name\":\"%s\"}", serves ? 1 : 2,
		   udp ? "udp" : "tcp");
	if (record->has_byte_counts)
		buf_printf(out, ",\"traffic\":{\"bytes_out\":%llu,\"bytes_in\":%llu}",
			   (unsigned long long)record->bytes_up, (unsigned long long)record->bytes_down);
	json_put_text(out, ",\"app_protocol_name\":", &record->proto);
}

/* Writes OCSF's "http_request" and, if there is a status, "http_response". */
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

/* Writes OCSF's "process": the program of an exec, else the process itself. */
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
	if (class == OCSF_CLASS_FILE) {
		ocsf_put_file(out, ",\"file\":{\"name\":", &record->path[0], 0);
		if (record->path[1].as_written.at || record->path[1].resolved_path.at)
			ocsf_put_file(out, ",\"file_result\":{\"name\":", &record->path[1], 0);
	} else if (class == OCSF_CLASS_PROCESS) {
		ocsf_put_process(out, record);
	} else {
		ocsf_put_network(out, class, record);
	}
	if (class == OCSF_CLASS_HTTP)
		ocsf_put_request(out, record);
	if (class == OCSF_CLASS_DNS) {
		json_put_text(out, ",\"query\":{\"hostname\":",
			      record->host.at ? &record->host : &(struct scan_text){"", 0});
		json_put_text(out, ",\"type\":", &record->method);
		buf_puts(out, "},\"rcode_id\":5");
	}
}

/* ---- whole events: one for each record ---- */

/* Writes OCSF's severity, status, action and disposition, and the rule. */
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

/* Writes a record as an event of OCSF. */
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
