"""Counts words, and tries two things that some policies deny."""
import sys
import urllib.request

text = open(sys.argv[1], encoding="utf-8").read()
print(len(text.split()), "words, seed", sys.argv[2])
for name in "/etc/os-release", "/etc/shadow":
    try:
        with open(name, encoding="utf-8") as file:
            print(name, len(file.read()) > 0)
    except OSError as error:
        print(name, error.strerror)
try:
    urllib.request.urlopen("http://127.0.0.1:9/", timeout=2)
except OSError as error:
    print("network:", error)
with open("count.txt", "w", encoding="utf-8") as file:
    file.write(str(len(text.split())))
