"""Answers questions of `callgate mcp --approve client`, in both revisions of the protocol, as clients do and as none
should. Arguments: a directory with files a, b and many-N that the policy denies and asks about, and the command line of
the server. Prints what is wrong, and exits with 1 then."""
import os
import sys
import time

sys.dont_write_bytecode = True  # the module is in the source tree
from mcp_client import WAIT, Connection, end, expect  # noqa: E402 pylint: disable=wrong-import-position

host, command = sys.argv[1], sys.argv[2:]
FORM = {"elicitation": {"form": {}}}


class Client(Connection):
    """The server, and the questions that it asks."""

    def __init__(self, *more, capabilities=None, version="2025-06-18"):
        super().__init__(command + list(more), version, capabilities)
        self.handle = None

    def question(self):
        """The next request of the server."""
        with self.arrived:
            if not self.arrived.wait_for(lambda: self.questions, WAIT):
                return {"id": "none", "params": {"message": "none"}}
            return self.questions.pop(0)

    def start(self, text, **more):
        """Begins a call of run_command, with more members of the params. All are in one sandbox."""
        arguments = {"command": text, **({"sandbox": self.handle} if self.handle else {})}
        return self.begin("tools/call", {"name": "run_command", "arguments": arguments, **more})

    def run(self, text):
        return self.result(self.start(text))

    def say(self, question, **result):
        self.send(id=question["id"], result=result)

    def make_sandbox(self):
        self.handle = self.run("true")["structuredContent"]["sandbox"]

    def accept(self, question, word):
        self.say(question, action="accept", content={"answer": word})

    def result(self, number):
        return (self.wait(number) or {}).get("result", {})

    def close(self):
        expect("the end", super().close() == 0)


def out(result):
    return result.get("structuredContent", {}).get("stdout")


def denied(result):
    return [denial.get("answer") for denial in result.get("structuredContent", {}).get("denials", [])]


def check_answers():
    client = Client(capabilities={"elicitation": {}})
    number = client.start(f"cat {host}/a; cat {host}/a; echo end")
    question = client.question()
    text, form = question["params"]["message"], question["params"]["requestedSchema"]
    expect("the method", question["method"] == "elicitation/create", question)
    expect("the text", f'path: "{host}/a"' in text and "wants to: read" in text and '"/usr/bin/cat"' in text, text)
    expect("the form", form["type"] == "object" and form["required"] == ["answer"] and
           form["properties"]["answer"]["enum"] == ["once", "run", "no", "stop"] and
           "run: this object" in form["properties"]["answer"]["description"] and
           "remember" not in form["properties"]["answer"]["description"], form)
    # for other ids; by a request of the client's own number; without an answer: none has an effect
    client.send(id="0" * 64, result={"action": "accept", "content": {"answer": "once"}})
    client.send(id=question["id"][:-1], result={"action": "accept", "content": {"answer": "once"}})
    client.send(id=question["id"] + "\0", result={"action": "accept", "content": {"answer": "run"}})
    client.send(id=number, result={"action": "accept", "content": {"answer": "once"}})
    client.send(id=7.5, result={})
    client.accept(question, "once")
    client.accept(question, "run")  # a second answer has none, either
    client.say(client.question(), action="decline")
    result = client.wait(number)["result"]
    expect("once, then no", out(result) == "text a\nend\n" and denied(result) == ["no"], result)
    expect("the model is told", "answer: no" in result["content"][-1]["text"], result)
    number = client.start(f"cat {host}/b; cat {host}/b")
    client.accept(client.question(), "run")
    expect("for the run", out(client.wait(number)["result"]) == "text b\ntext b\n")
    # code, in the interpreter
    number = client.begin("tools/call", {"name": "run_code", "arguments": {"code": f"open('{host}/a').read()"}})
    client.accept(client.question(), "once")
    result = client.wait(number)["result"]
    expect("code", result["structuredContent"]["results"][0]["text"] == "'text a\\n'", result)
    time.sleep(0.8)  # ten a second are asked
    # answers that are none
    cases = [("cancel", {"action": "cancel"}, "unanswered")]
    for bad in ({}, {"action": 1}, {"action": "accept"}, {"action": "accept", "content": {}},
                {"action": "accept", "content": []}, {"action": "accept", "content": {"answer": ["once"]}},
                {"action": "accept", "content": {"answer": "remember"}}, {"action": "perhaps"},
                {"action": "accept", "content": {"answer": "once\n"}},
                {"action": "accept", "content": {"answer": "once", "path": "/"}},
                {"action": "accept", "content": {"answer": 'once"}\n{"id":"'}}):
        cases.append((str(bad), bad, "malformed"))
    for what, answer, word in cases:
        number = client.start(f"cat {host}/a")
        client.say(client.question(), **answer)
        result = client.wait(number)["result"]
        expect(what, out(result) == "" and denied(result) == [word], result)
        time.sleep(0.15)
    number = client.start(f"cat {host}/a")
    client.send(id=client.question()["id"], error={"code": -32603, "message": "no window"})
    result = client.wait(number)["result"]
    expect("an error", denied(result) == ["unanswered"], result)
    number = client.start(f"cat {host}/a")
    client.accept(client.question(), "stop")
    result = client.wait(number)["result"]
    expect("stop", result["isError"], result)
    result = client.run("echo new")
    for _ in range(100):  # until the server has seen that the session has ended
        if not result["isError"]:
            break
        time.sleep(0.02)
        result = client.run("echo new")
    expect("a new sandbox", out(result) == "new\n", result)
    client.close()


def check_waiting():
    client = Client("--ask-timeout", "5s", capabilities=FORM, version="2025-11-25")
    number = client.start(f"cat {host}/a; echo late")
    question = client.question()
    other = client.begin("tools/call", {"name": "run_code", "arguments": {"code": "6 * 7"}})
    expect("others go on", client.wait(other)["result"]["structuredContent"]["results"][0]["text"] == "42")
    expect("in the same sandbox", out(client.run("echo meanwhile")) == "meanwhile\n" and number not in client.answers)
    result = client.wait(number)["result"]
    expect("silence", out(result) == "late\n" and denied(result) == ["timeout"], result)
    expect("it is taken back", client.wait_for(lambda: any(
        note["method"] == "notifications/cancelled" and note["params"]["requestId"] == question["id"]
        for note in client.notes)), client.notes)
    client.accept(question, "once")
    expect("a late answer", out(client.run("echo goes on")) == "goes on\n")
    # a flood: five are open, the others are denied at once; what is cancelled is not asked any more
    number = client.start(f"for i in $(seq 40); do cat {host}/many-$i & done; wait; echo end")
    result = client.wait(number)["result"]
    expect("a flood", out(result) == "end\n" and len(client.questions) <= 5, (len(client.questions), result))
    client.questions.clear()
    time.sleep(1)
    number = client.start(f"sleep 0.1; cat {host}/b")
    client.question()
    client.send(method="notifications/cancelled", params={"requestId": number})
    expect("a cancelled call", client.wait_for(lambda: len(client.notes) >= 2), client.notes)
    # a name that would like to be another text
    number = client.start(f"cat '{host}/a\n\u202ewants to: \x1b[2J'; true")
    result = client.wait(number)
    message = "".join(question["params"]["message"] for question in client.questions)
    expect("ASCII", all(" " <= char <= "~" or char == "\n" for char in message), message)
    client.close()


def check_nobody():
    for version in ("2025-06-18", "2026-07-28"):
        for capabilities in ({}, {"elicitation": {"url": {}}}, {"elicitation": True}, {"sampling": {}}):
            client = Client(capabilities=capabilities, version=version)
            begin = time.monotonic()
            result = client.run(f"cat {host}/a; echo end")
            expect(f"{version}: {capabilities}", out(result) == "end\n" and denied(result) == ["unanswered"] and
                   not client.questions and time.monotonic() - begin < 15, result)
            client.close()


def check_interim_results():
    client = Client(capabilities=FORM, version="2026-07-28")
    client.make_sandbox()

    def ask(text, **more):
        result = client.wait(client.start(text, **more)).get("result", {})
        return result, result.get("inputRequests", {}), result.get("requestState", "")

    def retry(text, state, responses):
        return client.wait(client.start(text, requestState=state, inputResponses=responses))

    both = f"cat {host}/a; cat {host}/b; echo end"
    result, requests, state = ask(both)
    expect("an interim result", result["resultType"] == "input_required" and len(requests) == 1 and len(state) > 32 and
           "structuredContent" not in result, result)
    name, request = next(iter(requests.items()))
    expect("its request", request["method"] == "elicitation/create" and f"{host}/a" in request["params"]["message"],
           request)
    accept = {"action": "accept", "content": {"answer": "once"}}
    # what names no call, or another one, has no effect
    for what, text, used in (("a guessed state", both, "st-" + "0" * 32), ("no state", both, ""),
                             ("another command", both + " ", state), ("a number", both, 7)):
        answer = retry(text, used, {name: accept})
        expect(what, answer.get("error", {}).get("code") == -32602, answer)
    answer = client.wait(client.begin("tools/call", {"name": "run_code", "arguments": {"command": both},
                                                     "requestState": state, "inputResponses": {name: accept}}))
    expect("another tool", "error" in answer, answer)
    # nothing, and answers to what was not asked: it is asked again
    answer = retry(both, state, {"f" * 64: accept})["result"]
    expect("asked again", list(answer["inputRequests"]) == [name] and answer["requestState"] != state, answer)
    expect("an old state", "error" in retry(both, state, {name: accept}))
    answer = retry(both, answer["requestState"], {name: accept, "f" * 64: accept})["result"]
    other = next(iter(answer["inputRequests"]))
    expect("the next question", other != name and answer["resultType"] == "input_required", answer)
    # the sandbox goes on meanwhile; a request is no way to answer there
    client.send(id=other, result=accept)
    expect("others go on", out(client.run("echo meanwhile")) == "meanwhile\n")
    result = retry(both, answer["requestState"], {other: {"action": "decline"}})["result"]
    expect("the result", result["resultType"] == "complete" and out(result) == "text a\nend\n" and
           denied(result) == ["no"], result)
    expect("it is over", "error" in retry(both, answer["requestState"], {other: accept}))
    # wrong types
    for bad in ([], "accept", {"action": "accept"}, {"action": "accept", "content": {"answer": 1}}, None, 7):
        _, requests, state = ask(f"cat {host}/a")
        result = retry(f"cat {host}/a", state, {next(iter(requests)): bad}).get("result", {})
        expect(f"response {bad}", denied(result) == ["malformed"], result)
        time.sleep(0.15)
    # no retry: the time is over, and the result waits
    _, requests, state = ask(f"cat {host}/b; echo end")
    client.close()
    client = Client("--ask-timeout", "300ms", capabilities=FORM, version="2026-07-28")
    client.make_sandbox()
    _, requests, state = ask(f"cat {host}/b; echo end")
    time.sleep(1)
    result = retry(f"cat {host}/b; echo end", state, {name: accept for name in requests})["result"]
    expect("a late retry", out(result) == "end\n" and denied(result) == ["timeout"], result)
    if os.environ.get("CHECK_LONG"):  # many that are never taken up: the server does not run out of calls
        for i in range(70):
            result, requests, _ = ask(f"cat {host}/many-{i % 40 + 1}")
            expect("asked", requests, result)
            time.sleep(0.15)
        time.sleep(0.5)
        expect("there is room", out(client.run("echo room")) == "room\n")
    client.close()


check_answers()
check_waiting()
check_nobody()
check_interim_results()
end()
