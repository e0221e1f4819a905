"""net-loopback.py PORT: a server and its clients in one run, and what is refused. Prints what it got."""
import http.server
import socket
import sys
import threading
import urllib.request

port = int(sys.argv[1])


def attempt(what, call):
    try:
        print(what, call())
    except OSError as error:
        print(what, type(error).__name__)


class Quiet(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("0.0.0.0", port), Quiet)
threading.Thread(target=server.serve_forever, daemon=True).start()
for host in "127.0.0.1", "localhost", "0.0.0.0":
    attempt(host, lambda: urllib.request.urlopen(f"http://{host}:{port}/", timeout=20).read())
client = socket.create_connection(("127.0.0.1", port), 20)
print("names", server.server_address[0], client.getpeername() == ("127.0.0.1", port), client.getsockname()[0])
client.close()
attempt("another port", lambda: socket.socket().bind(("0.0.0.0", port + 1)))
attempt("any port", lambda: socket.socket().listen())
attempt("a client's port", lambda: socket.socket().bind(("127.0.0.1", 0)))
attempt("elsewhere", lambda: socket.socket().bind(("192.0.2.1", 0)))
attempt("a literal", lambda: socket.create_connection(("192.0.2.1", 80), 20))
attempt("never given out", lambda: socket.create_connection(("198.19.255.1", 443), 20))
attempt("a datagram", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 53)))
attempt("a quick packet", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(
    b"x", (socket.gethostbyname("other.test"), 443)))
attempt("another port of a name", lambda: socket.create_connection(("other.test", 444), 20))
server.shutdown()
server.server_close()
attempt("closed", lambda: socket.create_connection(("127.0.0.1", port), 20))
again = http.server.ThreadingHTTPServer(("127.0.0.1", port), Quiet)
print("again", again.server_address[0])
