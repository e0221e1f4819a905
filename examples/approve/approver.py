#!/usr/bin/env python3
"""Answers questions at a Unix socket: approver.py SOCKET DIRECTORY permits reading what is below DIRECTORY."""
import json
import os
import socket
import sys

path, directory = sys.argv[1], sys.argv[2]
listener = socket.socket(socket.AF_UNIX)
listener.bind(path + ".new")
listener.listen(1)
os.rename(path + ".new", path)  # a process that waits for the name can connect now
connection, _ = listener.accept()
for line in connection.makefile("r", encoding="ascii"):
    question = json.loads(line)
    if question["type"] != "question":
        continue  # an earlier question is closed
    permitted = question["right"] == "r" and question["resolved"].startswith(directory + "/")
    answer = "run" if permitted and "run" in question["answers"] else "no"
    print("\n".join(question["shown"]), "answer: " + answer, sep="\n", file=sys.stderr, flush=True)
    connection.sendall((json.dumps({"id": question["id"], "answer": answer}) + "\n").encode())
