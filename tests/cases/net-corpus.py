#!/usr/bin/env python3
"""Compares what servers carried out with the audit log: the cases of net_corpus.py and net_corpus_h2.py.

net-corpus.py ask PLAN             inside the sandbox: sends every case to every server; what came back is in PLAN/heard
net-corpus.py compare PLAN AUDIT   afterwards: prints one difference a line, then one line of counts
net-corpus.py seeds DIRECTORY [N]  writes the cases, or every Nth of them, as inputs of fuzz_http1

PLAN is a directory with plan.json:
[{"name", "host", "port", "log", "proxy", "tls", "h2", "every", "blind", "answers"}].
The last six may be missing. blind: the server does not log the bodies that it read. answers: the server is hostile.py.
Each case of each server has an identity, k<server>c<case>, which is in all its paths.
"""
import asyncio
import hashlib
import itertools
import json
import os
import re
import ssl
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "http-servers")]
import net_corpus
import net_corpus_h2
from hostile import answers

AT_ONCE = 96
QUIET = 0.2
IDENT = re.compile(r"k\d+(?:[ch]\d+|a\d+[a-d])")
FIRSTS = (("GET", "", 0), ("GET", "", 3), ("HEAD", "", 0), ("POST", "hello",
                                                            0))  # what is asked before, and pauses after it


def load(plan):
    with open(os.path.join(plan, "plan.json"), encoding="utf-8") as lines:
        return json.load(lines)


def exchanges(index):
    """Two requests for each of hostile.py's answers, of which the first gets it."""
    for number, answer in enumerate(answers()):
        for way, (method, body, pauses) in zip("abcd", FIRSTS):
            first = net_corpus.request(method, "@P/1", f"Content-Length: {len(body)}\r\n" if body else "", body)
            yield (f"k{index}a{number}{way}",
                   (f"answer {answer[:70]!r} to {method}, {pauses}",
                    first + "@|" * pauses + net_corpus.request(target="@P/2"), "w"))


def work(servers):
    for index, server in enumerate(servers):
        if server.get("answers"):
            for ident, case in itertools.islice(exchanges(index), 0, None, server.get("every", 1)):
                yield server, ident, case
            continue
        cases = list(net_corpus_h2.cases() if server.get("h2") else net_corpus.cases())
        every = server.get("every", 1)
        for number in range(index % every, len(cases), every):
            yield server, f"k{index}{'h' if server.get('h2') else 'c'}{number}", cases[number]


def by_turns(items):
    """One of each server's after the other: none has to wait for those of a slow one."""
    queues = {}
    for item in items:
        queues.setdefault(item[0]["name"], []).append(item)
    return [item for row in itertools.zip_longest(*queues.values()) for item in row if item]


# ---- within ----

async def listen(reader, seconds):
    heard = b""
    try:
        while got := await asyncio.wait_for(reader.read(65536), seconds):
            heard += got
        return heard, True
    except asyncio.TimeoutError:
        return heard, False


async def send(server, pieces, wait):
    context = None
    if server.get("tls"):
        context = ssl.create_default_context()
        context.set_alpn_protocols(["h2" if server.get("h2") else "http/1.1"])
    where = ("198.18.0.1", 3128) if server.get("proxy") else (server["address"], server["port"])
    reader, writer = await asyncio.wait_for(
        asyncio.open_connection(*where, ssl=context, server_hostname=server["host"] if context else None), 30)
    heard, ended = b"", False
    try:
        for index, piece in enumerate(pieces):
            if index:
                await asyncio.sleep(0.05)
            writer.write(piece)
            await writer.drain()
        if wait or context:
            heard, ended = await listen(reader, QUIET)
        if not ended and not context:
            writer.write_eof()
            more, ended = await listen(reader, 5)
            heard += more
    finally:
        writer.close()
    return heard


async def ask(plan):
    servers = load(plan)
    places = asyncio.Semaphore(AT_ONCE)
    for host in {server["host"] for server in servers}:
        address = (await asyncio.get_running_loop().getaddrinfo(host, 1))[0][4][0]
        for server in servers:
            if server["host"] == host:
                server["address"] = address

    async def one(server, ident, case):
        async with places:
            prefix = f"http://{server['host']}:{server['port']}" if server.get("proxy") else ""
            fill = net_corpus_h2.fill if server.get("h2") else net_corpus.fill
            pieces = fill(case[1], ident, server["host"], server["port"], prefix)
            try:
                return ident, (await send(server, pieces, "w" in case[2])).decode("latin-1")
            except (OSError, asyncio.TimeoutError) as error:
                return ident, f"!{type(error).__name__}"

    heard = dict(await asyncio.gather(*(one(*item) for item in by_turns(work(servers)))))
    with open(os.path.join(plan, "heard"), "w", encoding="utf-8") as out:
        json.dump(heard, out)


# ---- afterwards ----

def by_ident(entries, of):
    found = {}
    for entry in entries:
        ident = IDENT.search(of(entry))
        found.setdefault(ident.group() if ident else "none", []).append(entry)
    return found


def next_answer(heard, method):
    """(status, body, rest) as every client reads it; None: there is none, or not a whole one."""
    head, end, rest = heard.partition("\r\n\r\n")
    status = re.match(r"HTTP/1\.[01] (\d{3}) [^\r\n]*(\r\n|$)", head)
    if not status or not end:
        return None
    status = int(status[1])
    if status < 200:
        return (status, "", rest) if status == 101 else next_answer(rest, method)
    length = re.search(r"(?i)\r\ncontent-length: (\d+)(\r\n|$)", head)
    if method == "HEAD" or status in (204, 304):
        return status, "", rest
    if re.search(r"(?i)\r\ntransfer-encoding: chunked(\r\n|$)", head):
        body = ""
        while chunk := re.match(r"([0-9a-f]+)\r\n", rest):
            size, rest = int(chunk[1], 16), rest[chunk.end():]
            body, rest = body + rest[:size], rest[size + 2:]
            if not size:
                return status, body, rest
        return None
    return (status, rest[:int(length[1])], rest[int(length[1]):]) if length else (status, rest, "")


def wrong_answer(ident, heard, late):
    """None, or what is wrong with what the client takes for the response to its second request. late: the server may
    have had the second request, and then may respond anything to it, when it sent the rest of its first response."""
    method = FIRSTS["abcd".index(ident[-1])][0]
    first = next_answer(heard, method)
    second = next_answer(first[2], "GET") if first else None
    if first and first[0] == 101:
        return "a 101 that nobody asked for"
    if second and not late and not second[1].startswith(f"served GET /c/{ident}/2") and '"reason"' not in second[1]:
        return f"the answer to the second request is {second[1]!r}"
    return None


def read_log(path):
    with open(path, encoding="latin-1", newline="\n") as lines:
        return [line.rstrip("\n").split("\t") for line in lines]


def recorded(audit, port):
    with open(audit, encoding="utf-8") as lines:
        entries = [json.loads(line) for line in lines if '"request"' in line]
    return [entry for entry in entries if entry.get("event") == "request" and entry["verdict"] == "allow"
            and entry["port"] == port]


def is_same(done, record, host):
    method, target, said = done[:3]
    path, query, _ = target.partition("?")
    return (method, path + ("?…" if query else ""), said) == (record["method"], record["path"], host)


def has_to_be_done(record):
    return isinstance(record.get("ret"), int) and 100 <= record["ret"] < 400


def compare_one(done, records, host, at_once):
    """None, or what differs. The requests carried out have to be those on record, in the same order, except for HTTP/2,
    whose requests are carried out at the same time. A request without a good response may not have been carried out."""
    rest = list(done)
    for record in records:
        same = [at for at in range(len(rest) if at_once else min(1, len(rest))) if is_same(rest[at], record, host)]
        if same:
            rest.pop(same[0])
        elif has_to_be_done(record):
            return f"on record and not done: {record['method']} {record['path']} {record['ret']}; done: {done}"
    if not rest:
        return None
    recorded = [(r["method"], r["path"], r.get("ret")) for r in records]
    return f"done and not on record: {rest[0]}; on record: {recorded}"


def compare(plan, audit):
    servers, wrong, carried, connections = load(plan), 0, 0, 0
    with open(os.path.join(plan, "heard"), encoding="utf-8") as lines:
        heard = json.load(lines)
    for index, server in enumerate(servers):
        host = f"{server['host']}:{server['port']}"
        done = by_ident(read_log(server["log"]), lambda entry: entry[1])
        records = by_ident(recorded(audit, server["port"]), lambda entry: entry["path"])
        idents = {ident: case for _, ident, case in work(servers) if ident.startswith((f"k{index}a", f"k{index}c",
                f"k{index}h"))}
        found = 0
        for ident in sorted(set(done) | set(records) | set(idents)):
            case = idents.get(ident, ("?", "", ""))
            mine, differs = done.get(ident, []), None
            differs = compare_one(mine, records.get(ident, []), host, server.get("h2"))
            if not differs and case[2].startswith("=") and not server.get("blind"):
                body = net_corpus.encode(case[2][1:])
                want = (str(len(body)), hashlib.sha256(body).hexdigest()[:8])
                if not mine or mine[0][3] != want[0] or mine[0][4][:8] not in (want[1], "-"):
                    differs = f"its body is not {body}: {mine}"
            if not differs and server.get("answers") and ident in idents:
                number = int(re.search(r"a(\d+)", ident)[1])
                pauses = FIRSTS["abcd".index(ident[-1])][2]
                # without pauses by design, with them on a busy machine
                late = "@|" in answers()[number] and (not pauses or any(entry[5:] == ["early"] for entry in mine))
                differs = wrong_answer(ident, heard.get(ident, ""), late)
            others = {other for other in IDENT.findall(heard.get(ident,
                    "")) if other != ident and "served" in heard[ident]}
            if not differs and others:
                differs = f"was given the answers of {others}"
            found += len(mine)
            if differs:
                wrong += 1
                print(f"{server['name']}: {case[0]}: {differs}"[:600])
        carried += found
        connections += len(idents)
        failed = sum(1 for ident in idents if heard.get(ident, "!").startswith("!"))
        print(f"# {server['name']}: {len(idents)} cases, {found} requests carried out, "
              f"{failed} connections without an answer", file=sys.stderr)
        if not found:
            wrong += 1
            print(f"{server['name']}: nothing was carried out")
    print(f"# {connections} cases, {carried} requests carried out, {wrong} differ", file=sys.stderr)
    return wrong


def seeds(directory, every="1"):
    os.makedirs(directory, exist_ok=True)
    for number, case in list(enumerate(net_corpus.cases()))[::int(every)]:
        with open(os.path.join(directory, f"corpus-{number:04}"), "wb") as out:
            out.write(b"\0" + b"".join(net_corpus.fill(case[1], "k1", "h.test", 80)))


if __name__ == "__main__":
    if sys.argv[1] == "ask":
        asyncio.run(ask(sys.argv[2]))
    elif sys.argv[1] == "compare":
        sys.exit(compare(*sys.argv[2:4]) != 0)
    else:
        seeds(*sys.argv[2:4])
