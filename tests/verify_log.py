#!/usr/bin/env python3
"""Checks the chain of an audit log: a second reader of callgate-audit(5), CHAIN, which shares no code with callgate.

    verify_log.py FILE...    the files of one log, in order. Prints: intact | broken LINE | open TAIL | unsigned | key
"""
import base64
import hashlib
import json
import re
import subprocess
import sys
import tempfile

START = re.compile(rb'\{"seq":(\d+),"prev":"([0-9a-f-]{64})"(?:,"outcomes":"([^"]*)")?[,}]')
UNKNOWN = b'"ret":  null             ,"ns":null          }\n'
END = re.compile(rb',"head":"([0-9a-f]{64})","signature":"([^"]{88})"\}\n$')
SPKI = bytes.fromhex("302a300506032b6570032100")


def sha(data):
    return hashlib.sha256(data).hexdigest().encode()


def is_signature(key, text, signature):
    if not re.fullmatch(rb"[A-Za-z0-9+/]{86}==", signature):
        return False
    with tempfile.NamedTemporaryFile() as pub, tempfile.NamedTemporaryFile() as sig, \
            tempfile.NamedTemporaryFile() as data:
        for file, content in ((pub, SPKI + base64.b64decode(key)), (sig, base64.b64decode(signature)), (data, text)):
            file.write(content)
            file.flush()
        command = ["openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-keyform", "DER", "-inkey", pub.name,
                   "-in", data.name, "-sigfile", sig.name]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


def read_lines(paths):
    for path in paths:
        with open(path, "rb") as file:
            for line in file:
                if line.endswith(b"\n") and b"\0" not in line:
                    yield path, line
                elif b"\0" in line and file.read().strip(b"\0"):
                    yield path, b"not the end"


def parse(line):
    try:
        return json.loads(line)
    except ValueError:  # its hash will not fit
        return {}


def verify(paths):
    head, other, late, blanks, sealed, number = b"0" * 64, b"", {}, 0, 0, 0
    first = line = trailer = path = None
    for number, (path, line) in enumerate(read_lines(paths), 1):
        start = START.match(line)
        if trailer or not start or int(start[1]) != number - 1:
            return "broken %d" % number
        if b"-" in start[2]:
            blanks += 1
        elif blanks or start[2] not in (head, other):
            return "broken %d" % number
        else:
            sealed = number - 1
            if start[2] != head:
                late[number - 2] = head
        if blanks > 64:
            return "broken %d" % number
        for seq, value in re.findall(rb"(\d+):([0-9a-f]{64})", start[3] or b""):
            if late.pop(int(seq), value) != value:
                return "broken %d" % (int(seq) + 1)
        head, other = sha(line), sha(line[:-len(UNKNOWN)] + UNKNOWN)
        if b'"type":"' in line:
            entry = parse(line)
            first = first or entry
            if entry.get("type") == "header" and any(entry.get(key) != first.get(key) for key in ("run", "key")):
                return "broken %d" % number
            trailer = entry if entry.get("type") == "trailer" else None
    end = END.search(line or b"")
    goes_on = b',"type":"next",' in (line or b"")[:400] and path == paths[-1]
    if not trailer and (end or goes_on):
        return "broken %d" % number
    if not trailer:
        last = parse(line or b"{}")
        whole = not line or last.get("type") in ("header", "next") or (last and line[-22:-16] == b',"ns":')
        return "open %d" % (number - sealed) if whole else "broken %d" % number
    if not end or sha(line[:end.start()]) != end[1] or (late and "recovered" not in trailer):
        return "broken %d" % number
    if end[2] == b"-" * 88:
        return "unsigned"
    text = "callgate audit log 1\nrun %s\nfile %d\nrecords %d\nhead %s\n" % (
        first["run"], trailer["file"], trailer["records"], trailer["head"])
    return "intact" if is_signature(first["key"], text.encode(), end[2]) else "key"


if __name__ == "__main__":
    print(verify(sys.argv[1:]))
