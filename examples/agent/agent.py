"""An agent's loop: a model writes code, a sandbox runs it, the model sees the result."""
import json
import re
import sys

from callgate import Sandbox

FENCE = re.compile(r"```python\n(.*?)```", re.DOTALL)


class Script:
    """In a model's place: replies from a file, one after the other."""
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.replies = iter(json.load(file))

    def reply(self, _messages):
        return next(self.replies)


def describe(execution):
    """What the model is shown."""
    parts = [*execution.logs.stdout, *execution.logs.stderr, execution.text or ""]
    if execution.error:
        parts.append("%s: %s" % (execution.error.name, execution.error.value))
    return "".join(parts)[-4000:] or "(nothing)"


model, messages = Script(sys.argv[1]), [{"role": "user", "content": "How many units did the shop sell?"}]
with Sandbox.create(timeout=600) as sandbox:
    sandbox.files.write("sales.csv", "day,units\nmonday,20\ntuesday,22\n")
    for _ in range(10):
        text = model.reply(messages)
        messages.append({"role": "assistant", "content": text})
        print("model:", text)
        found = FENCE.search(text)
        if not found:
            break
        messages.append({"role": "user", "content": describe(sandbox.run_code(found[1], timeout=60))})
        print("sandbox:", messages[-1]["content"])
