"""The approver of approve.sh: approver.py SOCKET LOG DEED...: writes each line that comes to LOG, and does to the
questions, one after the other, what DEED says. The last one is for all that follow."""
import json
import os
import signal
import socket
import sys
import threading
import time

path, log, deeds = sys.argv[1], sys.argv[2], sys.argv[3:]
listener = socket.socket(socket.AF_UNIX)
listener.bind(path + ".new")
listener.listen(1)
listener.settimeout(100)
os.rename(path + ".new", path)  # the test waits for the name, and connects then
connection, _ = listener.accept()
lines = connection.makefile("r", encoding="utf-8", newline="\n")
last = {"id": "0" * 64}
late = {}
together = []


def say(question_id, word, **more):
    connection.sendall((json.dumps({"id": question_id, "answer": word, **more}) + "\n").encode())


def stop(name):
    """Stops the approver's process, the one that leads a session of its own, until the file is there."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as file:
                is_of_run = ("socket:" + path).encode() in file.read().split(b"\0")
            is_approver = is_of_run and os.getsid(int(pid)) == int(pid)
        except OSError:
            continue
        if is_approver:
            os.kill(int(pid), signal.SIGSTOP)
            open(name + ".stopped", "w", encoding="utf-8").close()
            while not os.path.exists(name):
                time.sleep(0.01)
            os.kill(int(pid), signal.SIGCONT)


def flood():
    """Answers that are for no question, faster than they are read."""
    many = 100 * (json.dumps({"id": "f" * 64, "answer": "once"}) + "\n").encode()
    try:
        while True:
            connection.sendall(many)
    except OSError:
        pass


def read_lines():
    try:
        yield from lines
    except ConnectionResetError:
        pass


for line in read_lines():
    with open(log, "a", encoding="utf-8") as out:
        out.write(line)
    question = json.loads(line)
    if question["type"] != "question":
        if question["id"] in late:
            say(question["id"], late[question["id"]])
        continue
    deed = deeds.pop(0) if len(deeds) > 1 else deeds[0]
    if deed == "die":
        os._exit(0)
    elif deed == "hang":
        pass
    elif deed == "twice":
        say(question["id"], "no")
        say(question["id"], "once")
    elif deed == "other":  # for the question before, and for none
        say(last["id"], "once")
        say("f" * 64, "once")
    elif deed == "garbage":
        connection.sendall(b"yes\n")
    elif deed == "long":
        connection.sendall(b"x" * 5000)
    elif deed == "extra":
        say(question["id"], "once", path="/")
    elif deed.startswith("together:"):  # once to these files, when five of them are asked about; nothing to others
        together += [question["id"]] * (deed[9:] in question["resolved"])
        for question_id in together if len(together) == 5 else []:
            say(question_id, "once")
    elif deed.startswith("stop:"):
        stop(deed[5:])
    elif deed.startswith("late:"):  # the answer, when the question is closed
        late[question["id"]] = deed[5:]
    elif deed.startswith("file:"):  # the answer, when the file is there; FILE.asked tells that the question is
        name, word = deed[5:].split("=")
        open(name + ".asked", "w", encoding="utf-8").close()
        while not os.path.exists(name):
            time.sleep(0.01)
        try:
            say(question["id"], word)
        except BrokenPipeError:
            pass  # the run has ended meanwhile
    elif deed == "flood":
        threading.Thread(target=flood, daemon=True).start()
    elif deed.startswith("remember:"):
        say(question["id"], "remember", expires=deed[9:])
    else:
        say(question["id"], deed)
    last = question
