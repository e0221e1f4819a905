"""What the clients of `callgate mcp` in tests/cases have in common: a server process, a thread that reads its messages,
requests to it; and what is expected."""
import json
import subprocess
import sys
import threading

MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
WAIT = 60
failures = []


def expect(what, condition, got=None):
    if not condition:
        failures.append(what)
        print(f"FAIL: {what}: {str(got)[:1500]}")


def end():
    sys.exit(bool(failures))


class Connection:
    """version: of the protocol; one before MODERN begins with "initialize", whose answer is `hello`."""

    def __init__(self, command, version=MODERN, capabilities=None):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.modern, self.capabilities = version == MODERN, {} if capabilities is None else capabilities
        self.last_id, self.answers, self.questions, self.notes = 0, {}, [], []
        self.arrived = threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()
        if not self.modern:
            self.hello = self.ask("initialize", {"protocolVersion": version, "capabilities": self.capabilities,
                                                 "clientInfo": {"name": "check", "version": "1"}})
            self.send(method="notifications/initialized")

    def read(self):
        for line in self.process.stdout:
            message = json.loads(line)
            with self.arrived:
                if "method" not in message:
                    self.answers[message.get("id")] = message
                elif "id" in message:
                    self.questions.append(message)
                else:
                    self.notes.append(message)
                self.arrived.notify_all()

    def send_bytes(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, **message):
        self.send_bytes(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def begin(self, method, params=None, meta=None):
        self.last_id += 1
        params = dict(params or {})
        if self.modern:
            params["_meta"] = {META + "protocolVersion": MODERN, META + "clientCapabilities": self.capabilities,
                               **(meta or {})}
        elif meta:
            params["_meta"] = meta
        self.send(id=self.last_id, method=method, params=params)
        return self.last_id

    def wait(self, number, seconds=WAIT):
        with self.arrived:
            self.arrived.wait_for(lambda: number in self.answers, seconds)
            return self.answers.pop(number, None)

    def wait_for(self, condition):
        with self.arrived:
            return self.arrived.wait_for(condition, WAIT)

    def ask(self, method, params=None, meta=None):
        return self.wait(self.begin(method, params, meta))

    def close(self):
        self.process.stdin.close()
        return self.process.wait(20)
