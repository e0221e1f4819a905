"""The files that workloads work on: made once for each working directory, never from the network."""

import os
import shutil
import subprocess

IDENTITY = ["-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0"]
WALK = """
const fs = require('fs'), path = require('path');
let files = 0, bytes = 0;
function walk(folder) {
  for (const entry of fs.readdirSync(folder, {withFileTypes: true})) {
    const full = path.join(folder, entry.name);
    if (entry.isDirectory()) walk(full);
    else { files++; bytes += fs.statSync(full).size + fs.readFileSync(full).length; }
  }
}
walk('node_modules');
console.log(files, bytes);
"""


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def git(place, folder, *words):
    command = ["git", *IDENTITY, *words]
    subprocess.run(command, cwd=folder, env=place.environment, check=True, stdout=subprocess.DEVNULL)


def fill(place, folder, commits):
    """A repository of 300 files, in which each further commit changes some."""
    os.makedirs(folder, exist_ok=True)
    git(place, folder, "init", "-q", "-b", "main")
    names = [os.path.join(folder, f"part{number % 15}", f"file{number}.c") for number in range(300)]
    for number, name in enumerate(names):
        write(name, f"int value_{number};\n" * (5 + number % 40))
    for commit in range(commits):
        for name in names[commit::30]:
            write(name, f"int value = {commit};\n" * 30)
        git(place, folder, "add", "-A")
        git(place, folder, "commit", "-q", "-m", f"commit {commit}")


def repository(place, workdir):
    fill(place, workdir, 1)


def origin(place, workdir):
    fill(place, os.path.join(workdir, "origin"), 20)


def plain(place, workdir):
    for number in range(2000):
        name = os.path.join(workdir, "tree", f"d{number % 40}", f"e{number % 5}", f"f{number}")
        write(name, "some text\n" * (number % 100))


def node_modules(place, workdir):
    for package in range(300):
        folder = os.path.join(workdir, "node_modules", f"package{package}")
        write(os.path.join(folder, "package.json"), f'{{"name": "package{package}", "version": "1.0.0"}}\n')
        for number in range(9):
            name = os.path.join(folder, ("lib", "dist", "test")[number % 3], f"f{number}.js")
            write(name, f"exports.f{number} = 1;\n" * 20)
    write(os.path.join(workdir, "walk.js"), WALK)


def database(place, workdir):
    """Not synchronous: what is measured are calls, not the disk."""
    lines = ["PRAGMA synchronous=off;", "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, value REAL);"]
    lines += ["CREATE INDEX n ON t (name);"]
    for batch in range(150):
        lines += ["BEGIN;"]
        lines += [f"INSERT INTO t (name, value) VALUES ('name{batch * 20 + row}', {row * 0.5});" for row in range(20)]
        lines += ["COMMIT;", f"SELECT count(*), sum(value) FROM t WHERE name > 'name{batch}';"]
    write(os.path.join(workdir, "script.sql"), "\n".join(lines) + "\n")


def fetched(name):
    """A setup that copies what bench/fetch has brought: a sandbox sees only the working directory."""

    def setup(place, workdir):
        shutil.copytree(os.path.join(place.fetched, name), workdir, symlinks=True, dirs_exist_ok=True)

    return setup
