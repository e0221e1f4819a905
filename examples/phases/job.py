"""Uses what the setup installed in ./lib, and tries in vain to reach where that came from."""
import socket
import sys

sys.path.insert(0, "lib")
import tally  # noqa: E402 (it is there since the setup)

TEXT = "what is fetched is fetched before and what is run is run alone"

with open("report.txt", "w", encoding="utf-8") as report:
    for word, count in tally.most(TEXT, 2):
        print(count, word, file=report)
        print(count, word)
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5)
    print("network: reached the index")
except OSError:
    print("network: none")
