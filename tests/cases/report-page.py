#!/usr/bin/python3
"""Reads a page of `callgate audit report` as a browser would, without running it: report-page.py PAGE [STRINGS.json].

The page loads nothing, its policy (CSP) allows exactly its own script and style, no data is markup, and every hostile
string is in it without loss."""
import base64
import hashlib
import html.parser
import json
import re
import sys

TAGS = set("""html head meta title style body a header div h1 p label select button nav noscript code main section h2
form footer script""".split())
LINKS = {"#" + name for name in "summary compare denials timeline processes files network latency records".split()}
failed = []


def fail(text):
    failed.append(text)
    print("FAIL:", text[:400])


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.scripts, self.styles, self.blocks, self.policy = [], [], [], ""
        self.inside = None

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag not in TAGS:
            fail("an element " + tag)
        for name, value in attrs:
            if name.startswith("on") or name in ("src", "srcset", "style", "action", "formaction", "data", "srcdoc"):
                fail("an attribute %s=%s" % (name, value))
            if name == "href" and value not in LINKS:
                fail("a link to " + value)
        if attributes.get("http-equiv") == "Content-Security-Policy":
            self.policy = attributes["content"]
        self.inside = tag if tag in ("script", "style") else None
        if tag == "script":
            kind = self.blocks if attributes.get("type") == "application/json" else self.scripts
            kind.append("")
            self.kind = kind
        if tag == "style":
            self.styles.append("")

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside == "script":
            self.kind[-1] += data
        elif self.inside == "style":
            self.styles[-1] += data


def digest(text):
    return "'sha256-%s'" % base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


with open(sys.argv[1], "rb") as file:
    raw = file.read()
text = raw.decode("utf-8")
page = Page()
page.feed(text)
page.close()
if len(page.scripts) != 1 or len(page.styles) != 1:
    fail("%d scripts, %d styles" % (len(page.scripts), len(page.styles)))
rules = dict(rule.strip().split(" ", 1) for rule in page.policy.split(";"))
wanted = {"default-src": "'none'", "script-src": digest(page.scripts[0]), "style-src": digest(page.styles[0]),
          "worker-src": "blob:", "base-uri": "'none'", "form-action": "'none'",
          "require-trusted-types-for": "'script'", "trusted-types": "report"}
if rules != wanted:
    fail("the policy is %s" % page.policy)
for part in page.scripts + page.styles:
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "import(",
                 "importScripts", "fetch(", "XMLHttpRequest", "WebSocket", "sendBeacon", "url(", "@import", ".src",
                 "window.open", "setAttribute('style"):
        if word in part:
            fail("the page's own code has " + word)
    for found in re.findall(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]+[^'\" ]*", re.sub(r"/\*.*?\*/", "", part, flags=re.S)):
        if found != "http://www.w3.org/2000/svg":
            fail("the page's own code has the address " + found)
data = [json.loads(block) for block in page.blocks]
for block in page.blocks:
    if re.search(r"[<>&\x00-\x09\x0b-\x1f\x7f-\U0010ffff]", block):
        fail("a data block has a character that is not escaped")
if len(sys.argv) > 2:
    texts = set()
    for block in data:
        if isinstance(block, list):
            texts.update(one for one in block if isinstance(one, str))
    with open(sys.argv[2], encoding="ascii") as file:
        strings = json.load(file)
    lost = [one for one in strings if "/srv/" + one not in texts or one not in texts]
    if lost:
        fail("%d strings are lost: %s" % (len(lost), ascii(lost[:3])))
sys.exit(1 if failed else 0)
