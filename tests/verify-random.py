#!/usr/bin/env python3
"""Damages logs at random, and asks callgate and tests/verify_log.py what happened.

VERIFY_MUTATIONS and VERIFY_INTACT are how many (2,000 and 500 for the full test), VERIFY_SEED is where chance begins.
"""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import verify_log  # noqa: E402

CALLGATE = os.environ["CALLGATE"]
MAKE_LOG = os.environ["top_builddir"] + "/tests/unit/audit/make-log"
SAME = {"intact": "intact", "open_end": "open", "unsigned": "unsigned", "signature": "key", "foreign_key": "key"}
chance = random.Random(int(os.environ.get("VERIFY_SEED", "16")))


def write_log(folder, records, rotate, compact, seconds=None):
    """Writes a log; with seconds, kills its writer. Returns the paths of its files."""
    path = folder / "run.log"
    command = [MAKE_LOG, path, str(chance.randrange(10**9)), str(records), str(rotate), str(int(compact))]
    with subprocess.Popen(command) as writer:
        if seconds is not None:
            while not path.exists() or path.stat().st_size == 0:
                time.sleep(0.0005)
            time.sleep(seconds)
            writer.send_signal(signal.SIGKILL)
    if seconds is None and writer.returncode != 0:
        sys.exit("make-log: %d" % writer.returncode)
    return find_files(folder)


def find_files(folder):
    files = [folder / "run.log"]
    while (folder / ("run.log.%d" % len(files))).exists():
        files.append(folder / ("run.log.%d" % len(files)))
    return files


def ask_callgate(files):
    done = subprocess.run([CALLGATE, "audit", "verify", "--json", *files], capture_output=True, text=True, check=False)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        sys.exit("callgate: %d %s %s" % (done.returncode, done.stdout, done.stderr))
    return answer, done.returncode


def ask_both(files, what):
    answer, status = ask_callgate(files)
    other = verify_log.verify(files).split()
    if other[0] != SAME.get(answer["verdict"], "broken"):
        sys.exit("%s: callgate says %s, verify_log.py %s" % (what, answer, other))
    if other[0] == "open" and int(other[1]) != answer["unsealed"]:
        sys.exit("%s: a tail of %s lines, verify_log.py says %s" % (what, answer["unsealed"], other[1]))
    if (status == 0) != answer["intact"]:
        sys.exit("%s: status %d for %s" % (what, status, answer))
    return answer


def read(path):
    return path.read_bytes().splitlines(keepends=True)


def write(path, lines):
    path.write_bytes(b"".join(lines))


# Each of the following damages a log, and returns what callgate may call it, and the number (seq) of the line that it
# must name, or None.

def edit(files):
    path = chance.choice(files)
    lines = read(path)
    at = chance.randrange(len(lines))
    line = lines[at]
    place = chance.randrange(len(line) - 1)
    other = chance.choice([c for c in b"abcdefxyz0123456789-\"}{, \\\0\x01\xff" if c != line[place]])
    lines[at] = line[:place] + bytes([other]) + line[place + 1:]
    write(path, lines)
    kinds = {"edited"}
    if place < line.index(b'"time"'):
        kinds |= {"unhashed"}  # the name of the hash, or a blank in its place
    if at == 0:
        kinds |= {"foreign_file"} if path != files[0] else set()
    signature = line.find(b',"signature":"')
    if b'"type":"trailer"' in line and signature >= 0 and place >= signature + len(b',"signature":"'):
        kinds |= {"signature"}
    if b'"type":"trailer"' in line and other == 0:
        kinds |= {"open_end"}  # as a killed writer leaves it
    return kinds, json.loads(line)["seq"] if kinds == {"edited"} else None


def delete(files):
    path = chance.choice(files)
    lines = read(path)
    if len(lines) < 3:
        return None, None
    at = chance.randrange(len(lines) - 1)
    count = 1 if chance.randrange(2) else chance.randrange(1, len(lines) - at)
    if path != files[-1] and at == 0 and count == len(lines):
        return None, None
    first = json.loads(lines[at])["seq"]
    del lines[at:at + count]
    write(path, lines)
    return {"deleted"}, first


def swap(files):
    path = chance.choice(files)
    lines = read(path)
    if len(lines) < 3:
        return None, None
    one, other = sorted(chance.sample(range(len(lines)), 2))
    seq = json.loads(lines[other])["seq"]
    lines[one], lines[other] = lines[other], lines[one]
    write(path, lines)
    return {"reordered"}, seq


def insert(files):
    path = chance.choice(files)
    lines = read(path)
    at = chance.randrange(1, len(lines) + 1)
    line = chance.choice(read(chance.choice(files)))
    if at < len(lines) and chance.randrange(2):  # one that has the right number and hash
        line = lines[at].replace(b'"pid":', b'"pid":1', 1).replace(b'"type":"', b'"type":"x', 1)
    elif path != files[-1] and at == len(lines):
        return None, None
    lines.insert(at, line)
    write(path, lines)
    return {"inserted"}, None


def truncate(files):
    at = chance.randrange(len(files))
    for path in files[at + 1:]:
        path.unlink()
    data = files[at].read_bytes()
    least = data.index(b"\n") + 1
    size = chance.randrange(least, len(data)) if chance.randrange(3) else data.rindex(b"\n", 0, -1) + 1
    if size < least:
        return None, None
    files[at].write_bytes(data[:size])
    return {"open_end"}, None


def lose_bytes(files):
    path = chance.choice(files)
    data = path.read_bytes()
    first = chance.randrange(len(data) - 2)
    last = chance.randrange(first + 1, len(data) - 1)
    if data.count(b"\n", first, last) == 0:
        return None, None
    path.write_bytes(data[:first] + data[last:])
    # Where the pieces meet, there may be a line that looks like a record without a hash.
    return {"deleted", "lost_segment", "edited", "unhashed"}, None


def lose_file(files):
    if len(files) == 1:
        return None, None
    path = chance.choice(files)
    path.unlink()
    return {"lost_file"}, None


def forge(files):
    """Changes a record, and computes all hashes behind it anew: only the signature tells."""
    lines = [(path, line) for path in files for line in read(path)]
    at = chance.randrange(len(lines) - 1)
    head, out, late = None, {path: [] for path in files}, {}
    for number, (path, line) in enumerate(lines):
        if head and number > at:
            start = verify_log.START.match(line)
            line = line[:start.start(2)] + head + line[start.end(2):]
            if start[3]:
                return None, None
        end = verify_log.END.search(line)
        if number == at:
            line = line.replace(b'"time":"2', b'"time":"3', 1)
        if end:
            line = line[:end.start()] + b',"head":"' + verify_log.sha(line[:end.start()]) + line[end.end(1):]
        head = verify_log.sha(line)
        out[path].append(line)
    for path in files:
        write(path, out[path])
    return {"signature", "edited"}, None


KINDS = [edit, edit, edit, delete, swap, insert, truncate, lose_bytes, lose_file, forge]


def damage_one(number, folder):
    rotate = chance.choice([0, 4096, 20000])
    intact = write_log(folder, chance.randrange(3, 120), rotate, chance.randrange(2))
    for _ in range(8):  # several copies of one log
        copy = folder / "copy"
        copy.mkdir()
        for path in intact:
            shutil.copy(path, copy)
        files = find_files(copy)
        mutate = chance.choice(KINDS)
        before = [path.read_bytes() for path in files]
        kinds, seq = mutate(files)
        left = [path for path in files if path.exists()]
        if kinds and [path.read_bytes() for path in left] != before:
            what = "%s %d in %s" % (mutate.__name__, number, copy)
            answer = ask_both(left, what)
            if answer["verdict"] not in kinds:
                sys.exit("%s: %s, not %s" % (what, answer, kinds))
            named = answer["found"].get("first", answer["found"].get("seq"))
            if seq is not None and named != seq:
                sys.exit("%s: %s, not line %d" % (what, answer, seq))
            number += 1
            counts[mutate.__name__] = counts.get(mutate.__name__, 0) + 1
        shutil.rmtree(copy)
    return number


def check_intact(number, folder):
    killed = number % 5 < 2
    rotate = chance.choice([0, 4096, 50000])
    files = write_log(folder, 0 if killed else chance.randrange(1, 400), rotate, chance.randrange(2),
                      chance.random() * 0.02 if killed else None)
    answer = ask_both(files, "intact log %d in %s" % (number, folder))
    if answer["verdict"] != ("open_end" if killed else "intact"):
        sys.exit("intact log %d in %s: %s" % (number, folder, answer))
    if killed and not 1 <= answer["unsealed"] <= 66:
        sys.exit("killed log %d in %s: %s" % (number, folder, answer))


def each(count, step):
    number = 0
    while number < count:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="callgate-verify-"))
        number = step(number, folder) or number + 1
        shutil.rmtree(folder)
    return number


counts = {}
each(int(os.environ.get("VERIFY_INTACT", "40")), check_intact)
total = each(int(os.environ.get("VERIFY_MUTATIONS", "160")), damage_one)
print("%d damaged logs: %s" % (total, counts))
