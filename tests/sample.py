#!/usr/bin/env python3
"""Draws comments and names of the product at random, for a reader who has not seen the code.

Usage: tests/sample.py [--bare] [--count N] [--seed SEED] [FOLDER...]

A comment comes with the declaration, field or statement that it is written at and the function or structure around it.
A name comes with its declaration, kind and file, and with the comment at the declaration, as an editor shows it where
the name is used; --bare leaves that comment out. The tests and the benchmarks are left out. The seed is printed, and
the same seed draws the same sample from the same tree.
"""
import argparse
import pathlib
import random
import re

FOLDERS = ["base", "policy", "audit", "egress", "view", "replay", "syscalls", "confine", "supervisor", "keeper",
           "doctor", "cli", "agents", "approval", "workspace"]
TOP = pathlib.Path(__file__).resolve().parent.parent
# A comment, or a string or character constant, which is passed over: a "/*" in it begins no comment.
COMMENT = re.compile(r"(/\*.*?\*/)|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", re.S)
NAMES = [
    ("function", re.compile(r"^(?!typedef|return|else)[A-Za-z_][\w \t*]*?\b([a-z]\w{3,})\([^;{}]*\)\s*\n\{", re.M)),
    ("struct", re.compile(r"^(?:static )?(?:const )?struct (\w{3,}) \{", re.M)),
    ("enumerator", re.compile(r"^\t([A-Z][A-Z0-9_]{3,})(?: = [^,\n]+)?,", re.M)),
    ("macro", re.compile(r"^#define ([A-Z][A-Z0-9_]{3,})\b(?!\n)", re.M)),
    ("field", re.compile(
        r"^\t(?:const )?(?:struct \w+|unsigned|int|bool|size_t|char|u?int\d+_t) \*?(\w{4,})(?:\[\w+\])?;", re.M)),
]


def enclosing_name(text, at):
    """The function or structure that a place in the text belongs to: "struct X", "f()" or ""."""
    block = re.sub(r"^HANDLER\(.*\)$", "", text[:at].split("\n}")[-1], flags=re.M)
    heads = re.findall(r"^(?:static )?(?:const )?((?:struct|enum) \w+(?: \w+(?:\[\])?(?= =))?)(?: =)? \{$", block, re.M)
    heads = heads or [name + "()" for name in re.findall(r"^[A-Za-z_][^\n;{}]*?\b(\w+)\([^;{}]*\)\s*\n\{", block, re.M)]
    return heads[-1] if heads else ""


def comment_with_place(text, match):
    """The comment and the code that it is written at: the rest of its own line, or else the declaration below."""
    start = text.rfind("\n", 0, match.start()) + 1
    before = text[start:match.start()].strip()
    where = enclosing_name(text, match.start())
    where = f"in {where}: " if where else ""
    if before:
        return f"{where}{before}   {match.group()}"
    macro = re.match(r"\s*\n(#define (?:[^\n]*\\\n)*[^\n]*)", text[match.end():])
    if macro:
        return match.group() + "\n" + " ".join(macro.group(1).split())[:200]
    declaration = re.match(r"\s*([^;{]*[;{])", text[match.end():])
    if re.match(r"\s*\n\s*[\n#]", text[match.end():]) or not declaration:
        return match.group()
    return where + match.group() + "\n" + " ".join(declaration.group(1).split())[:200]


def declaration_of(kind, match):
    """The name as it is given to the reader: declared, a field or enumerator with its structure. None: a local one."""
    text = match.string
    if kind == "function":
        above = re.search(r"(?:^|\n)([A-Za-z_][\w \t*]*)\n$", text[:match.start()])
        return " ".join(((above.group(1) + " " if above else "") + match.group().split("\n{")[0]).split())
    start = text.rfind("\n", 0, match.start() + 1) + 1
    line = " ".join(text[start:].split("\n", 1)[0].split("/*")[0].split())
    if kind == "macro":
        return " ".join(re.match(r"(?:[^\n]*\\\n)*[^\n]*", text[match.start():]).group().split("/*")[0].split())
    if kind == "struct":
        return line.rstrip("{ ")
    where = enclosing_name(text, match.start())
    line = " ".join(re.match(r"[^;,{}]*[;,]?", text[start:]).group().split("/*")[0].split())
    if kind == "field":
        return f"{where}: {line}" if where.startswith("struct") else None
    return f"{where}: {line}" if where else line


def comment_above(text, at):
    """The comment on lines of its own directly above a place at the start of a line, or ""."""
    above = re.search(r"(?:^|\n)[ \t]*(/\*(?:(?!\*/).)*\*/)[ \t]*\n$", text[:at], re.S)
    return above.group(1) if above and not above.group(1).startswith("/* ----") else ""


def comment_of(kind, match, prototypes):
    """The comment at the declaration of a name: behind it on its line, or above it; a function's may be in a header."""
    text = match.string
    start = text.rfind("\n", 0, match.start() + 1) + 1
    above = comment_above(text, start)
    if kind == "function":
        return above or prototypes.get(match.group(1), "")
    behind = re.match(r"[^\n]*?(?:[;,{]|\S)[ \t]+(/\*.*?\*/)[ \t]*(?=\n)", text[start:], re.S)
    return behind.group(1) if behind and "\n" not in behind.group().split("/*")[0] else above


def comments_of_prototypes(texts):
    """Returns {function: the comment above its prototype} of all headers."""
    found = {}
    for path, text in texts.items():
        if path.suffix == ".h":
            for match in re.finditer(r"^[A-Za-z_][\w \t*]*?\b(\w+)\([^;{}]*\);", text, re.M):
                found[match.group(1)] = comment_above(text, match.start())
    return found


def collect(folders, bare=False):
    """Returns (comments, names), each a list of texts to print."""
    comments, names = [], {}
    paths = [path for folder in folders for path in sorted((TOP / folder).rglob("*.[ch]"))]
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    prototypes = comments_of_prototypes(texts)
    for path, text in texts.items():
        where = path.relative_to(TOP)
        comments += [f"{where}\n{comment_with_place(text, match)}" for match in COMMENT.finditer(text)
                     if match.group(1) and len(match.group().split()) >= 6]
        for kind, pattern in NAMES:
            for match in pattern.finditer(text):
                declaration = declaration_of(kind, match)
                if declaration:
                    comment = "" if bare else re.sub(r"\n\s*\*(?!/) ?", " ", comment_of(kind, match, prototypes))
                    comment = " ".join(comment.split())
                    names[f"{declaration} ({kind}, {where})"] = f"\n    {comment}" if comment else ""
    return comments, [name + comment for name, comment in sorted(names.items())]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--bare", action="store_true", help="names without the comment at their declaration")
    parser.add_argument("folders", nargs="*", default=FOLDERS)
    args = parser.parse_args()
    comments, names = collect(args.folders, args.bare)
    draw = random.Random(args.seed)
    print(f"seed {args.seed}: {args.count} of {len(comments)} comments and of {len(names)} names\n")
    for number, comment in enumerate(draw.sample(comments, min(args.count, len(comments))), 1):
        print(f"C{number}. {comment}\n")
    for number, name in enumerate(draw.sample(names, min(args.count, len(names))), 1):
        print(f"N{number}. {name}")


if __name__ == "__main__":
    main()
