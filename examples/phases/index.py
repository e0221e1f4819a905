"""A package index with one package, "tally", on a free port of the loopback, which it prints."""
import functools
import http.server
import pathlib
import sys
import tempfile
import zipfile

PARTS = {
    "tally.py": "from collections import Counter\n\n\n"
                "def most(text, n):\n    return Counter(text.split()).most_common(n)\n",
    "tally-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tally\nVersion: 1.0\n",
    "tally-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "tally-1.0.dist-info/RECORD": "",
}


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


with tempfile.TemporaryDirectory() as top:
    place = pathlib.Path(top, "simple", "tally")
    place.mkdir(parents=True)
    with zipfile.ZipFile(place / "tally-1.0-py3-none-any.whl", "w") as wheel:
        for name, text in PARTS.items():
            wheel.writestr(name, text)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=top))
    print(server.server_port)
    sys.stdout.close()
    server.serve_forever()
