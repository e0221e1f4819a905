# Compares what `callgate audit export` wrote with the logs, which it reads by itself, from callgate-audit(5).
# audit-export.py FORMAT EXPORT LOG...; for tests/live/cli/audit-export.sh.
import collections
import csv
import json
import sqlite3
import sys

form, export, logs = sys.argv[1], sys.argv[2], sys.argv[3:]
errors = []
csv.field_size_limit(1 << 30)


def check(ok, *what):
    if not ok:
        errors.append(" ".join(str(w)[:300] for w in what))


def read_log(path):
    """The lines of a log; of a compact one with what earlier lines say."""
    lines, known, run = [], {}, None
    with open(path, "rb") as file:
        for raw in file:
            if raw.startswith(b"\0"):
                break
            line = json.loads(raw)
            if line.get("type") == "header":
                compact, run, known = line.get("compact"), line["run"][:8], {}
            elif "type" not in line and compact:
                line.setdefault("run", run)
                if "syscall" in line:
                    if "ppid" in line:
                        known[line["pid"]] = {k: line[k] for k in ("ppid", "host_pid", "program", "exe") if k in line}
                    else:
                        line.update(known[line["pid"]])
                    line.setdefault("effect", "refused" if line["verdict"] in ("deny", "kill") else "performed")
            lines.append(line)
    return lines


of_log = [read_log(log) for log in logs]
everything = [line for lines in of_log for line in lines]
records = [line for line in everything if "type" not in line]
records.sort(key=lambda line: line["time"])
by_key = collections.Counter((line["run"], line["seq"]) for line in records)
assert set(by_key.values()) == {1}
expected = {(line["run"], line["seq"]): line for line in records}


def row_of(line):
    """A record as a row of a table."""
    row = dict(line)
    row.setdefault("tid", row.get("pid"))
    for path, resolved in ("path", "resolved"), ("path2", "resolved2"), ("loader", "loader_resolved"):
        if resolved not in row and row.get(path, "").startswith("/") and "event" not in row:
            row[resolved] = row[path]
    for flag in "truncated", "observed":
        if row.get(flag):
            row[flag] = 1
    if isinstance(row.get("errno"), int):
        row["errno"] = str(row["errno"])
    return row


def check_rows(names, rows):
    """rows: dictionaries, None for what is missing."""
    found = []
    for row in rows:
        key = (row["run"], row["seq"])
        found.append(key)
        want = row_of(expected.get(key, {}))
        args = row.pop("args")
        check((json.loads(args) if args else None) == want.pop("args", None), key, "args", args, want)
        for name in names:
            if name != "args":
                check(row[name] == want.get(name), key, name, repr(row[name]), repr(want.get(name)))
        missing = {k for k, v in want.items() if v is not None and k not in names} - {"args"}
        missing -= {"prev", "hash"}  # of the chain
        check(not missing, key, "no column for", missing)
    check(len(found) == len(set(found)) and set(found) == set(expected), "other records:", len(found), len(expected))


def lines_of(path):
    with open(path, encoding="utf-8") as file:  # strict
        text = file.read()
    check("\x1b" not in text and "\u202e" not in text and "\x7f" not in text and "\x9b" not in text, "raw controls")
    return [json.loads(line) for line in text.split("\n")[:-1]]


def jsonl():
    got = lines_of(export)
    check(sorted(json.dumps(x) for x in got) == sorted(json.dumps(x) for x in everything) or
          [x for x in got if x not in everything] == [], "other lines")
    check(len(got) == len(everything), len(got), len(everything))
    times = [x["time"] for x in got]
    if len(logs) > 1:
        check(times == sorted(times), "not merged by time")


INTEGERS = {"program", "seq", "mono_ns", "pid", "tid", "ppid", "host_pid", "conn", "port", "truncated", "status",
            "count", "bytes_up", "bytes_down", "observed", "ret", "ns",
            "asked_ns", "answered_by"}
REALS = {"dns_ms", "connect_ms", "duration_ms"}


def read_csv():
    with open(export, "rb") as file:
        raw = file.read()
    check(raw.count(b"\r\n") > len(records), "no CRLF")
    with open(export, encoding="utf-8", newline="") as file:
        reader = csv.reader(file, strict=True)
        names = next(reader)
        rows = []
        for values in reader:
            check(len(values) == len(names), "columns", len(values))
            row = {}
            for name, value in zip(names, values):
                row[name] = None if value == "" else int(value) if name in INTEGERS else \
                    float(value) if name in REALS else value
            rows.append(row)
    for line in records:  # csv.reader does not tell an empty text from a missing one
        for name in list(line):
            if line[name] == "":
                del line[name]
    check_rows(names, rows)


def sqlite():
    db = sqlite3.connect(f"file:{export}?mode=ro", uri=True)
    check(db.execute("PRAGMA integrity_check").fetchall() == [("ok",)], "integrity")
    db.row_factory = sqlite3.Row
    cursor = db.execute("SELECT * FROM records")
    names = [column[0] for column in cursor.description]
    check_rows(names, [dict(row) for row in cursor])
    denied = sum(1 for line in records if line["verdict"] in ("deny", "kill"))
    check((db.execute("SELECT sum(times) FROM denials").fetchone()[0] or 0) == denied, "the view")
    runs = {row["log"]: dict(row) for row in db.execute("SELECT * FROM runs")}
    check(list(runs) == logs or set(runs) == set(logs), "runs", list(runs))
    for log, lines in zip(logs, of_log):
        check(runs[log]["run"] == lines[0]["run"] and json.loads(runs[log]["command"]) == lines[0]["command"], log)
        trailer = lines[-1] if lines[-1].get("type") == "trailer" else {}
        check(runs[log]["status"] == trailer.get("status"), runs[log]["status"])


# Of the published schema, version 1.8.0, what these classes require, and the values of the enumerations used.
BASE = {"activity_id": int, "category_uid": int, "class_uid": int, "metadata": dict, "severity_id": int, "time": int,
        "type_uid": int}
CLASSES = {
    1001: (1, set(range(0, 15)) | {99}, {"actor": dict, "device": dict, "file": dict}),
    1007: (1, {0, 1, 2, 3, 4, 5, 99}, {"actor": dict, "device": dict, "process": dict}),
    4001: (4, {0, 1, 2, 3, 4, 5, 6, 7, 99}, {"dst_endpoint": dict}),
    4002: (4, set(range(0, 41)) | {99}, {"dst_endpoint": dict, "http_request": dict}),
    4003: (4, {0, 1, 2, 6, 99}, {"dst_endpoint": dict, "query": dict}),
}
ENUMS = {"severity_id": {0, 1, 2, 3, 4, 5, 6, 99}, "status_id": {0, 1, 2, 99}, "action_id": {0, 1, 2, 3, 4, 99},
         "disposition_id": set(range(0, 28)) | {99}, "rcode_id": set(range(0, 12)) | set(range(16, 26)) | {99},
         "launch_type_id": {0, 1, 2, 3, 99}}
AT_LEAST_ONE = {"dst_endpoint": {"ip", "uid", "name", "hostname", "svc_name"}, "actor": {"process", "user", "app_name"},
                "process": {"pid", "uid"}, "policy": {"name", "uid"}, "url": {"url_string", "path"},
                "device": {"ip", "uid", "name", "hostname"}}
REQUIRED = {"file": {"name": str, "type_id": int}, "device": {"type_id": int}, "os": {"name": str, "type_id": int},
            "metadata": {"product": dict, "version": str}, "connection_info": {"direction_id": int},
            "query": {"hostname": str}, "http_response": {"code": int}, "product": {"name": str}}
REQUIRED["file_result"] = REQUIRED["file"]


def check_object(key, name, value):
    for attribute, kind in REQUIRED.get(name, {}).items():
        check(type(value.get(attribute)) is kind, key, name, attribute, value)
    wanted = AT_LEAST_ONE.get(name)
    check(not wanted or wanted & set(value), key, name, "has none of", wanted)
    for attribute, inner in value.items():
        if isinstance(inner, dict) and attribute != "unmapped":
            check_object(key, attribute, inner)


def ocsf():
    seen = []
    for event in lines_of(export):
        line = event["unmapped"]["callgate"]
        key = (line["run"], line["seq"])
        seen.append(key)
        check(line == expected[key], key, "the record itself")
        category, activities, wanted = CLASSES[event["class_uid"]]
        for attribute, kind in {**BASE, **wanted}.items():
            check(type(event.get(attribute)) is kind, key, attribute, event.get(attribute))
        check(event["category_uid"] == category and event["activity_id"] in activities, key, event["activity_id"])
        check(event["type_uid"] == event["class_uid"] * 100 + event["activity_id"], key, "type_uid")
        check(event["metadata"]["version"] == "1.8.0", key, "version")
        for name, values in ENUMS.items():
            check(name not in event or event[name] in values, key, name, event.get(name))
        check_object(key, "event", event)
        check(event["action_id"] in (2, 3) or line["verdict"] not in ("deny", "kill"), key, "action")
    check(sorted(seen) == sorted(expected), "other records")


def otlp():
    seen = []
    for line in lines_of(export):
        check(list(line) == ["resourceLogs"], list(line))
        for resource in line["resourceLogs"]:
            names = {a["key"]: a["value"]["stringValue"] for a in resource["resource"]["attributes"]}
            check(names["service.name"] == "callgate", names)
            for scope in resource["scopeLogs"]:
                for record in scope["logRecords"]:
                    values = {}
                    for attribute in record["attributes"]:
                        (kind, value), = attribute["value"].items()
                        check(kind in ("stringValue", "intValue", "doubleValue"), kind)
                        check(kind != "intValue" or isinstance(value, str), "64-bit integers are texts")
                        check(attribute["key"] not in values, "twice", attribute)
                        values[attribute["key"]] = int(value) if kind == "intValue" else value
                    key = (values["callgate.run"], values["callgate.seq"])
                    check(key[0] == names["service.instance.id"][:8], key, names)
                    seen.append(key)
                    want = expected[key]
                    check(values.get("callgate.path") == want.get("path"), key, values)
                    check(json.loads(values.get("callgate.args", "null")) == want.get("args"), key, "args")
                    check(values.get("process.executable.path") == want.get("exe"), key, values)
                    check(isinstance(record["timeUnixNano"], str) and record["severityNumber"] in (9, 13), record)
                    check(record["timeUnixNano"][-9:] == want["time"][20:29], key, "nanoseconds")
    check(sorted(seen) == sorted(expected), "other records")


def perfetto():
    with open(export, encoding="utf-8") as file:
        trace = json.load(file)
    calls = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    denied = [e for e in trace["traceEvents"] if e["ph"] == "i"]
    named = {e["pid"] for e in trace["traceEvents"] if e["ph"] == "M" and e["name"] == "process_name"}
    check(len(calls) == len(records), len(calls), len(records))
    check(len(denied) == sum(1 for r in records if r["verdict"] in ("deny", "kill")), "denials", len(denied))
    check({e["pid"] for e in calls if e["pid"] & 0x3fffff} <= named, "processes without a name")
    ends = {}
    for event in calls:
        track = event["pid"], event["tid"]
        check(event["ts"] + 0.0006 >= ends.get(track, 0), "overlap", event)
        ends[track] = event["ts"] + event["dur"]
        check(event["name"] and event["args"]["seq"] > 0, event)
    wanted = collections.Counter((r.get("syscall", r.get("event")), r.get("resolved", r.get("path")), r.get("ns"))
                                 for r in records)
    got = collections.Counter((e["name"], e["args"].get("path"), e["args"].get("ns")) for e in calls)
    for (call, path, ns), count in got.items():
        check(any(w[0] == call and w[2] == ns and path in (w[1], None) or w[:1] == (call,) for w in wanted), call, path)


{"jsonl": jsonl, "csv": read_csv, "sqlite": sqlite, "ocsf": ocsf, "otlp-json": otlp, "perfetto": perfetto}[form]()
for error in errors[:10]:
    print(error)
print(f"{form}: {len(records)} records, {len(errors)} errors")
sys.exit(bool(errors) or not records)
