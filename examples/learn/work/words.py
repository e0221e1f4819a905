"""Counts the words of the file that standard input names; with "sorted", sort(1) puts them in order."""
import subprocess
import sys

name, *how = sys.stdin.readline().split()
words = open(name, encoding="utf-8").read().split()
if how == ["sorted"]:
    words = subprocess.run(["sort"], input="\n".join(words), capture_output=True, text=True, check=True).stdout.split()
print(f"{len(words)} words, the first is {words[0]}")
