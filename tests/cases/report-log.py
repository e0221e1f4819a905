#!/usr/bin/python3
"""Makes logs for tests of `callgate audit report`: hostile FILE, strange FILE, or large FILE RECORDS [RUN]."""
import json
import random
import sys

OPEN = "2026-11-24T10:%02d:%02d.%09dZ"


def when(ns):
    return OPEN % (ns // 60_000_000_000 % 60, ns // 1_000_000_000 % 60, ns % 1_000_000_000)


def log_text(data):
    """Bytes or text as callgate writes them: a backslash is two, a byte that is not UTF-8 is \\xHH."""
    if isinstance(data, str):
        return data.replace("\\", "\\\\").replace("\0", "\\x00")
    text = data.replace(b"\\", b"\\\\").decode("utf-8", "surrogateescape")
    return "".join("\\x%02x" % (ord(c) - 0xDC00) if 0xDC80 <= ord(c) <= 0xDCFF else c for c in text)


def hostile():
    """200 strings that mean something to HTML, scripts, terminals or templates. Each tries to set window.hacked."""
    bad = "window.hacked=1"
    tags = [
        f"</script><script>{bad}</script>", f"<script>{bad}</script>", "<!--", "-->",
        "<!--<script>", "]]>", "<![CDATA[",
        f"<img src=x onerror={bad}>", f"<svg onload={bad}>", f"<svg/onload={bad}//", "</style><h1>", "</title>",
        f"<body onload={bad}>", f"<iframe srcdoc='<script>parent.{bad}</script>'>", f"<a href=javascript:{bad}>x</a>",
        f"<math><mi xlink:href=javascript:{bad}>", f"<details open ontoggle={bad}>", "<base href=//evil.test/>",
        "<meta http-equiv=refresh content='0;url=//evil.test'>", "<link rel=stylesheet href=//evil.test/x.css>",
        f"<video><source onerror={bad}>", f"<input autofocus onfocus={bad}>", "<template><script>", "<plaintext>",
        "<textarea>", "<noscript>", "<frameset>", f"<object data=javascript:{bad}>", f"<embed src=javascript:{bad}>",
        "<form action=//evil.test><button>x</button></form>",
    ]
    schemes = [f"javascript:{bad}", f"JaVaScRiPt:{bad}", f"java\nscript:{bad}",
               f"data:text/html,<script>{bad}</script>",
               "file:///etc/passwd", "//evil.test/x", "https://evil.test/", f"vbscript:{bad}", "blob:null/1"]
    quotes = [f"\" onmouseover={bad} x=\"", f"' onclick={bad} x='", f"`{bad}`", f"${{{bad}}}", f"{{{{{bad}}}}}",
              f"<%= {bad} %>", f"';{bad};//", f"\";{bad};//", f"*/{bad}/*", f"\\\";{bad};//", "\\u003cscript\\u003e",
              "\\x3cscript\\x3e", "&lt;script&gt;", "&#60;script&#62;", "%3Cscript%3E", "$(touch /tmp/x)", "`id`",
              "'; rm -rf /; '", "$IFS", "!!", "__proto__", "constructor", "toString", "hasOwnProperty", "null", "NaN",
              "1e999", "[object Object]", "-r", "--", "=cmd|' /C calc'!A0", "@SUM(1)", "%s%n%x", "{0}", "#{x}"]
    characters = [
        0x00, 0x01, 0x07, 0x08, 0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x1B, 0x7F, 0x85, 0x9B, 0xA0, 0xAD, 0x34F,
        0x61C, 0x115F, 0x1160, 0x17B4, 0x180E, 0x2000, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x2028,
        0x2029, 0x202A, 0x202B, 0x202C, 0x202D, 0x202E, 0x202F, 0x2060, 0x2061, 0x2066, 0x2067, 0x2068,
        0x2069, 0x206F, 0x2800, 0x3000, 0x3164, 0xFE0F, 0xFEFF, 0xFFA0, 0xFFF9, 0xFFFB, 0xE000, 0xFFFE,
        0x1D173, 0xE0001, 0xE0041, 0xE0100, 0x10FFFF]
    made = ["a%sb" % chr(point) for point in characters]
    made += ["\x1b[2Jcleared", "\x1b]0;title\x07", "\x1b]8;;https://evil.test\x07link", "photo\u202egpj.exe",
             "\u2067\u05d0\u05d1\u2069/x", "\u05d0\u05d1/\u05d2", "z\u0335\u0321" * 40, "\r\nHTTP/1.1 200 OK",
             " lead", "trail ", "a    b", "..", "...", "~", "*", "?", "\\", "\\\\", "\\n", "\\x41",
             "\U0001f600", "A" * 4000, "\u00e9" * 2000]
    raw = [b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"a\x80b", b"\xfe\xfe\xff\xff", b"\xe2\x80",
           b"<\xffscript>", b"\xc3(", b"\xf4\x90\x80\x80"]
    every = tags + schemes + quotes + made
    while len(every) + len(raw) < 200:
        at = len(every)
        every.append("%s%s%s" % (tags[at % len(tags)], made[at % len(characters)], quotes[at % len(quotes)]))
    return [log_text(one) for one in every] + [log_text(one) for one in raw]


def write(path, records, run, command, status="ok"):
    clock = 0
    denied = 0
    with open(path, "w", encoding="ascii") as out:
        def line(data):
            out.write(json.dumps(data, separators=(",", ":")) + "\n")
        line({"seq": 0, "time": when(0), "mono_ns": 1, "type": "header", "run": run, "version": "0.1.0",
              "command": command, "policy": {"name": command[-1], "sha256": "00"}, "workdir": command[-1],
              "kernel": "6.1", "machine": "x86_64", "layers": {"seccomp_notify": {"active": True, "why": command[-1]},
                                                               "landlock": {"active": False, "why": "none"}},
              "record_allowed": True})
        count = 0
        for record in records:
            count += 1
            clock += 20_000
            denied += record["verdict"] == "deny"
            line({"seq": count, "time": when(clock), "mono_ns": clock, "run": run[:8], **record})
        line({"seq": count + 1, "time": when(clock), "mono_ns": clock, "type": "trailer", "run": run[:8],
              "status": status, "exit_code": 0, "records": count, "judged": count, "allowed": count - denied,
              "denied": denied})


def hostile_records(strings):
    for i, text in enumerate(strings):
        process = {"pid": 10 + i % 7, "ppid": 10 if i % 7 else 1, "exe": "/bin/" + text}
        yield {**process, "syscall": "openat", "args": {"flags": "0x0"}, "path": "/srv/" + text, "right": "r",
               "verdict": "deny", "effect": "refused", "reason": "not_granted", "errno": "ENOENT", "ns": 1000}
        yield {**process, "syscall": "execve", "args": {"argv": text}, "path": text, "resolved": "/srv/x/" + text,
               "right": "x", "verdict": "allow", "effect": "continued", "rule": text, "ret": 0, "ns": 2000}
        yield {**process, "event": "request", "conn": i, "host": "h%d.test" % i if i % 2 else text, "port": 443,
               "proto": text, "method": text, "path": "/" + text, "status": 403, "verdict": "deny", "effect": "refused",
               "rule": text, "reason": "path_not_granted", "ret": 403, "ns": 0}


def large_records(count, seed):
    pick = random.Random(seed)
    calls = ["openat", "newfstatat", "statx", "readlink", "access", "unlink"]
    paths = ["/srv/d%d/e%d/file-%d.txt" % (i % 50, i % 997, i) for i in range(count // 4 + 1)]
    for i in range(count):
        call = calls[i % len(calls)]
        denied = i % 211 == 0
        yield {"pid": 2 + i % 300, "ppid": 2 if i % 300 else 1, "exe": "/usr/bin/tool%d" % (i % 12), "syscall": call,
               "args": {"flags": "0x%x" % (i % 3)}, "path": pick.choice(paths),
               "right": "w" if call == "unlink" else "r",
               "verdict": "deny" if denied else "allow", "effect": "refused" if denied else "performed",
               **({"reason": "not_granted", "errno": "ENOENT"} if denied else
                  {"rule": "command line: -r /srv", "ret": 3}),
               "ns": int(pick.lognormvariate(9, 1))}


STRANGE = """
{"seq":0,"time":7,"type":"header","run":"strange","command":"x","layers":[null,1],"policy":null}
{"seq":1,"time":"x","pid":"5","path":3,"verdict":"deny","syscall":4,"args":null}
{"seq":99999999999999999,"time":"2026-99-99T00:00:00Z","pid":99999999999999,"ppid":2,"verdict":"allow",
"syscall":"open","args":"x","path":"/a/","right":"q","ns":-4,"ret":"7"}
{"seq":-9223372036854775807,"time":"9999-12-31T23:59:59.9Z","verdict":"deny","event":{"a":1},"host":"h","port":-1}
{"seq":7,"time":"0000-01-01T00:00:00Z","pid":1,"ppid":2,"syscall":"open","verdict":"allow","ns":1,"ret":1}
{"seq":8,"pid":2,"ppid":1,"syscall":"open","verdict":"kill","path":"relative","right":"r","resolved":null}
{"seq":5,"type":"trailer","status":{},"exit_code":"<b>"}
"""


def strange(path):
    """An edited log: JSON of other types than callgate writes, and a chain of 30,000 processes."""
    with open(path, "w", encoding="ascii") as out:
        lines = STRANGE.replace(',\n"', ',"').strip().split("\n")
        out.write("\n".join(lines[:-1]) + "\n")
        for i in range(30000):
            out.write(json.dumps({"seq": 10 + i, "time": when(i), "pid": i + 4, "ppid": i + 3, "exe": "/bin/a", "ns": 1,
                                  "syscall": "openat", "path": "/d" * min(i, 2000), "right": "r", "verdict": "allow",
                                  "ret": 3}, separators=(",", ":")) + "\n")
        out.write(lines[-1] + "\n")


if sys.argv[1] == "strings":
    print(json.dumps(hostile()))
elif sys.argv[1] == "strange":
    strange(sys.argv[2])
elif sys.argv[1] == "hostile":
    corpus = hostile()
    write(sys.argv[2], hostile_records(corpus), corpus[0] + "0123456789abcdef", ["sh", "-c"] + corpus[:9])
else:
    number = int(sys.argv[3])
    write(sys.argv[2], large_records(number, number), sys.argv[4] if len(sys.argv) > 4 else "feedfeedfeedfeed",
          ["large", "run"])
