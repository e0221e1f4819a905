#!/usr/bin/env python3
"""Draws comments and names of the product at random, for a reader who has not seen the code.

Usage: tests/sample.py [--count N] [--seed SEED] [FOLDER...]

A comment comes with the declaration, field or statement that it is written at and the function or structure around it,
a name with its declaration, kind and file. The tests
and the benchmarks are left out. The seed is printed, and the same seed draws the same sample from the same tree.
"""
import argparse
import pathlib
import random
import re

FOLDERS = ["base", "policy", "audit", "egress", "view", "replay", "syscalls", "confine", "supervisor", "keeper",
           "doctor", "cli", "agents"]
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
        return " ".join(match.group().split("\n{")[0].split())
    line = " ".join(text[text.rfind("\n", 0, match.start()) + 1:].split("\n", 1)[0].split("/*")[0].split())
    if kind == "macro":
        return " ".join(re.match(r"(?:[^\n]*\\\n)*[^\n]*", text[match.start():]).group().split("/*")[0].split())
    if kind == "struct":
        return line.rstrip("{ ")
    where = enclosing_name(text, match.start())
    if kind == "field":
        return f"{where}: {line}" if where.startswith("struct") else None
    return f"{where}: {line}" if where else line


def collect(folders):
    """Returns (comments, names), each a list of texts to print."""
    comments, names = [], set()
    for path in sorted(path for folder in folders for path in (TOP / folder).rglob("*.[ch]")):
        text, where = path.read_text(encoding="utf-8"), path.relative_to(TOP)
        comments += [f"{where}\n{comment_with_place(text, match)}" for match in COMMENT.finditer(text)
                     if match.group(1) and len(match.group().split()) >= 6]
        found = {(kind, declaration_of(kind, match)) for kind, pattern in NAMES for match in pattern.finditer(text)}
        names |= {f"{declaration} ({kind}, {where})" for kind, declaration in found if declaration}
    return comments, sorted(names)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("folders", nargs="*", default=FOLDERS)
    args = parser.parse_args()
    comments, names = collect(args.folders)
    draw = random.Random(args.seed)
    print(f"seed {args.seed}: {args.count} of {len(comments)} comments and of {len(names)} names\n")
    for number, comment in enumerate(draw.sample(comments, min(args.count, len(comments))), 1):
        print(f"C{number}. {comment}\n")
    for number, name in enumerate(draw.sample(names, min(args.count, len(names))), 1):
        print(f"N{number}. {name}")


if __name__ == "__main__":
    main()
