"""Network operations that callgate must deny, tried one by one.

net-negative.py try PORTS   prints one line for each step: what the program got. PORTS: a JSON object with the ports of
                            net-server.py and of the servers below
net-negative.py serve DIR   the servers that net-server.py lacks: "alt" (HTTP, advertises an alternative service),
                            "stuck" (never accepts); writes their ports to DIR/more
"""
import base64
import errno
import json
import os
import signal
import socket
import ssl
import struct
import sys
import threading
import time
import warnings

# Python 3.12 and later warn of each fork beside threads, of which there are some here.
warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
WAIT = 60  # nothing here may take as long: it would be "timed out"
PROXY, SOCKS = ("198.18.0.1", 3128), ("198.18.0.1", 1080)
steps = {}
ports = {}


def step(function):
    steps[function.__name__.replace("_", " ")] = function
    return function


def connect(host, port, family=socket.AF_INET):
    s = socket.socket(family, socket.SOCK_STREAM)
    s.settimeout(WAIT)
    s.connect((host, port))
    return s


def name(error):
    return errno.errorcode.get(error, str(error))


def attempt(call):
    try:
        call()
        return "done"
    except ssl.SSLError as error:
        return "TLS alert" if "ALERT" in str(error) else error.reason
    except socket.gaierror as error:
        return {socket.EAI_NONAME: "no such name", socket.EAI_AGAIN: "later"}.get(error.errno, str(error))
    except OSError as error:
        return name(error.errno) if error.errno else str(error)


# ---- addresses ----

def to(host, port=443, family=socket.AF_INET):
    blocking = attempt(lambda: connect(host, port, family))
    s = socket.socket(family, socket.SOCK_STREAM)
    s.setblocking(False)
    other = name(s.connect_ex((host, port)))
    return blocking if blocking == other else f"{blocking}, but {other} without waiting"


@step
def literal():
    return to("192.0.2.1")


@step
def literal_of_the_server():
    return to("127.0.0.1", ports["http"])


@step
def literal_of_six():
    return to("2001:db8::1", family=socket.AF_INET6)


@step
def literal_mapped():
    return to("::ffff:8.8.8.8", family=socket.AF_INET6)


@step
def never_issued():
    return to("198.19.255.1")


@step
def never_issued_of_six():
    return to("fd00:5a::ffff:1", family=socket.AF_INET6)


@step
def another_port_of_a_name():
    return to(socket.gethostbyname("raw.test"), 22)


# ---- datagrams and DNS ----

def datagram(how, host="8.8.8.8", port=53):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(WAIT)
    query = question("some.test")

    def run():
        if how == "sendto":
            s.sendto(query, (host, port))
        elif how == "sendmsg":
            s.sendmsg([query], [], 0, (host, port))
        else:
            s.connect((host, port))
            s.send(query)
        s.recv(512)
    return attempt(run)


@step
def dns_elsewhere_by_sendto():
    return datagram("sendto")


@step
def dns_elsewhere_by_sendmsg():
    return datagram("sendmsg")


@step
def dns_elsewhere_connected():
    return datagram("connect")


@step
def dns_elsewhere_by_TCP():
    return to("8.8.8.8", 53)


@step
def quic():
    return datagram("connect", socket.gethostbyname("pass.test"), ports["https"])


@step
def quic_by_sendto():
    return datagram("sendto", socket.gethostbyname("pass.test"), ports["https"])


def question(host, kind=1, number=7):
    labels = b"".join(bytes([len(label)]) + label for label in host.encode().split(b"."))
    return struct.pack(">HHHHHH", number, 0x100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", kind, 1)


def name_server():
    with open("/etc/resolv.conf", encoding="utf-8") as conf:
        return next(line.split()[1] for line in conf if line.startswith("nameserver"))


def ask(host, kind):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(WAIT)
    s.connect((name_server(), 53))
    s.send(question(host, kind))
    answer = s.recv(512)
    tcp = connect(name_server(), 53)
    query = question(host, kind)
    tcp.sendall(struct.pack(">H", len(query)) + query)
    by_tcp = tcp.makefile("rb").read(2 + len(answer))[2:]
    same = "" if by_tcp == answer else ", differently by TCP"
    return "code %d, %d answers%s" % (answer[3] & 15, struct.unpack(">H", answer[6:8])[0], same)


@step
def a_text_of_an_approved_name():
    return ask("raw.test", 16)


@step
def a_text_of_another_name():
    return ask("text.elsewhere.test", 16)


@step
def a_long_name():
    longest = ".".join(["x" * 63] * 3 + ["y" * 61])
    assert len(longest) == 253
    return "%s, %s" % (ask(longest, 1), attempt(lambda: socket.gethostbyname(longest)))


@step
def a_longer_name():
    return ask(".".join(["x" * 63] * 4), 1)


# ---- TLS ----

def trusting():
    context = ssl.create_default_context()
    context.load_verify_locations(os.path.join(os.path.dirname(os.path.abspath(__file__)), "ca.pem"))
    return context


def hello_to(host, sni, port=None):
    context = trusting()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE

    def run():
        s = context.wrap_socket(connect(host, port or ports["https"]), server_hostname=sni)
        s.sendall(b"GET /ok HTTP/1.1\r\nHost: x\r\n\r\n")
        s.recv(1)
    return attempt(run)


@step
def the_name_of_another():
    return hello_to("pass.test", "other.test")


@step
def no_name():
    return hello_to("pass.test", None)


@step
def the_name_of_another_where_TLS_is_opened():
    return hello_to("open.test", "pass.test")


@step
def no_name_where_TLS_is_opened():
    return hello_to("open.test", None)


@step
def no_TLS_at_all():
    s = connect("pass.test", ports["https"])
    s.sendall(b"GET /ok HTTP/1.1\r\nHost: pass.test\r\n\r\n")
    return "alert" if s.recv(100)[:1] == b"\x15" else "something"


def get_in_pieces(host, cut):
    """A handshake of which the first flight is sent as cut has it."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = trusting().wrap_bio(incoming, outgoing, server_hostname=host)
    s = connect(host, ports["https"])
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    got, first, asked = b"", True, False
    while True:
        try:
            if not asked:
                tls.do_handshake()
                tls.write(f"GET /ok HTTP/1.1\r\nHost: {host}:{ports['https']}\r\nConnection: close\r\n\r\n".encode())
                asked = True
            while b"\r\n\r\nok\n" not in got:
                got += tls.read(1000)
            s.close()
            return got.split()[1].decode()
        except ssl.SSLWantReadError:
            pass
        data = outgoing.read()
        for piece in cut(data) if first else [data]:
            s.sendall(piece)
            if first:
                time.sleep(0.0005)
        first = first and not data
        if not outgoing.pending and (data := s.recv(16384)) == b"":
            return "ended: %r" % got
        incoming.write(data)


def bytes_alone(data):
    return [data[i:i + 1] for i in range(len(data))]


def records(data):
    body = data[5:]
    return [data[:3] + struct.pack(">H", len(body[i:i + 50])) + body[i:i + 50] for i in range(0, len(body), 50)]


@step
def a_hello_byte_by_byte():
    return get_in_pieces("pass.test", bytes_alone)


@step
def a_hello_over_records():
    return get_in_pieces("pass.test", records)


@step
def a_hello_byte_by_byte_where_TLS_is_opened():
    return get_in_pieces("open.test", bytes_alone)


@step
def a_hello_over_records_where_TLS_is_opened():
    return get_in_pieces("open.test", records)


@step
def a_hello_cut_anywhere():
    cuts = (1, 2, 4, 5, 6, 9, 43, 44, 60, 100, 150, 200, 250, 300)
    return " ".join(sorted({get_in_pieces("pass.test", lambda data, at=at: [data[:at], data[at:]]) for at in cuts}))


# ---- HTTP ----

def hear(s):
    """Status and our reason of the first answer."""
    got = b""
    while b"\r\n\r\n" not in got:
        data = s.recv(65536)
        if not data:
            return "ended"
        got += data
    head, _, body = got.partition(b"\r\n\r\n")
    length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n")
                   if line.lower().startswith(b"content-length:")), 0)
    while len(body) < length:
        body += s.recv(65536)
    reason = json.loads(body)["reason"] if body.startswith(b"{\"error\"") else ""
    return (head.split()[1].decode() + " " + reason).strip()


def plain(lines, body=b"", host=None):
    s = connect("plain.test", ports["http"])
    host = host or f"plain.test:{ports['http']}"
    s.sendall("\r\n".join(lines).replace("@@", host).encode() + b"\r\n\r\n" + body)
    return hear(s)


def opened(lines):
    s = trusting().wrap_socket(connect("open.test", ports["https"]), server_hostname="open.test")
    s.sendall("\r\n".join(lines).replace("@@", f"open.test:{ports['https']}").encode() + b"\r\n\r\n")
    return hear(s)


requests = {
    "another host": ["GET /x1 HTTP/1.1", "Host: pass.test"],
    "another port": ["GET /x2 HTTP/1.1", "Host: plain.test:1"],
    "somebody at a host": ["GET /x3 HTTP/1.1", "Host: a@b"],
    "somebody at the host": ["GET /x4 HTTP/1.1", "Host: a@@@"],
    "absolute to another": ["GET http://pass.test/x5 HTTP/1.1", "Host: @@"],
    "absolute with another host": ["GET http://@@/x6 HTTP/1.1", "Host: pass.test"],
    "no host": ["GET /x7 HTTP/1.1"],
    "two hosts": ["GET /x8 HTTP/1.1", "Host: @@", "Host: pass.test"],
    "a length twice": ["POST /echo HTTP/1.1", "Host: @@", "Content-Length: 5", "Content-Length: 6"],
    "an odd coding": ["POST /echo HTTP/1.1", "Host: @@", "Transfer-Encoding: chunked, identity"],
    "a folded coding": ["POST /echo HTTP/1.1", "Host: @@", "Transfer-Encoding:", " chunked"],
    "a space before a colon": ["POST /echo HTTP/1.1", "Host: @@", "Content-Length : 5"],
    "dots encoded": ["GET /ok/%2e%2e/x10 HTTP/1.1", "Host: @@"],
    "dots encoded in part": ["GET /ok/.%2E/x11 HTTP/1.1", "Host: @@"],
    "dots": ["GET /ok/../x12 HTTP/1.1", "Host: @@"],
    "a slash encoded": ["GET /ok/..%2fx13 HTTP/1.1", "Host: @@"],
    "a path": ["GET /x14?token=1 HTTP/1.1", "Host: @@"],
    "trace": ["TRACE /ok HTTP/1.1", "Host: @@"],
    "connect": ["CONNECT @@ HTTP/1.1", "Host: @@"],
    "a websocket": ["GET /ok HTTP/1.1", "Host: @@", "Connection: Upgrade", "Upgrade: websocket",
                    "Sec-WebSocket-Version: 13",
                    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="],
}
for what, lines in requests.items():
    steps["request: " + what] = lambda lines=lines: plain(lines)


@step
def length_before_chunks():
    return plain(["POST /echo HTTP/1.1", "Host: @@", "Content-Length: 6", "Transfer-Encoding: chunked"],
                 b"0\r\n\r\nGET /x20 HTTP/1.1\r\nHost: a\r\n\r\n")


@step
def chunks_before_length():
    return plain(["POST /echo HTTP/1.1", "Host: @@", "Transfer-Encoding: chunked", "Content-Length: 4"],
                 b"1c\r\nGET /x21 HTTP/1.1\r\nHost: a\r\n\r\n0\r\n\r\n")


@step
def another_host_than_the_handshakes():
    return opened(["GET /x22 HTTP/1.1", "Host: pass.test"])


@step
def h2c_is_not_begun():
    return plain(["GET /ok HTTP/1.1", "Host: @@", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c",
                  "HTTP2-Settings: AAMAAABkAAQAAP__"])


@step
def h2c_unasked():
    return plain(["PRI * HTTP/2.0"], b"SM\r\n\r\n\0\0\0\x04\0\0\0\0\0")


@step
def other_services_are_not_advertised():
    s = connect("alt.test", ports["alt"])
    s.sendall(b"GET /ok HTTP/1.1\r\nHost: alt.test:%d\r\n\r\n" % ports["alt"])
    got = s.recv(65536)
    return "%s %s" % (got.split()[1].decode(), b"alt-svc" in got.lower())


@step
def own_credentials():
    return opened(["GET /ok HTTP/1.1", "Host: @@", "Authorization: Bearer of-its-own", "X-Step: own"])


@step
def a_placeholder_elsewhere():
    return plain(["GET /ok HTTP/1.1", "Host: @@", "X-Step: placeholder", "X-Key: " + os.environ["KEY"]])


# ---- proxies ----

def tunnel(target):
    s = connect(*PROXY)
    s.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    return hear(s)


for what in ("elsewhere.test:443", "8.8.8.8:443", "127.0.0.1:@", "0x7f.1:@", "2130706433:@", "0177.0.0.1:@", "127.1:@",
             "[::ffff:127.0.0.1]:@", "[::1]:@", "raw.test%00.elsewhere.test:@", "raw.test\0.x:@", "raw.test:22",
             "raw.test.:1"):
    steps["tunnel to " + what.replace("\0", "NUL")] = lambda what=what: tunnel(what.replace("@", str(ports["echo"])))


@step
def absolute_by_the_proxy():
    s = connect(*PROXY)
    s.sendall(b"GET http://elsewhere.test/x30 HTTP/1.1\r\nHost: elsewhere.test\r\n\r\n")
    return hear(s)


def socks(kind, address, port):
    s = connect(*SOCKS)
    s.sendall(b"\5\1\0")
    assert s.recv(2) == b"\5\0"
    s.sendall(b"\5\1\0" + bytes([kind]) + address + struct.pack(">H", port))
    return "code %d" % s.recv(10)[1]


def socks_name(text, port=None):
    return socks(3, bytes([len(text)]) + text, port or ports["echo"])


for what in ("elsewhere.test", "8.8.8.8", "127.0.0.1", "0x7f.1", "2130706433", "[::ffff:127.0.0.1]",
             "::ffff:127.0.0.1"):
    steps["socks to " + what] = lambda what=what: socks_name(what.encode())


@step
def socks_to_an_address():
    return socks(1, b"\x7f\0\0\1", ports["echo"])


@step
def socks_to_an_address_of_six():
    return socks(4, b"\0" * 10 + b"\xff\xff\x7f\0\0\1", ports["echo"])


@step
def socks_to_a_name_that_is_there():
    return socks_name(b"raw.test")


# ---- sockets ----

@step
def fast_open():
    s = socket.socket()
    return "%s %s" % (attempt(lambda: s.sendto(b"x", 0x20000000, (socket.gethostbyname("raw.test"), ports["echo"]))),
                      attempt(lambda: s.setsockopt(socket.IPPROTO_TCP, 30, 1)))


@step
def mptcp():
    return attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262))


@step
def an_abstract_socket():
    return attempt(lambda: socket.socket(socket.AF_UNIX).connect("\0" + os.environ["ABSTRACT"]))


@step
def a_unix_socket():
    return attempt(lambda: socket.socket(socket.AF_UNIX).connect(os.environ["OUTSIDE"]))


# ---- in the middle of it ----

@step
def a_cap():
    s = connect("cap.test", ports["echo"])
    sender = threading.Thread(target=lambda: attempt(lambda: s.sendall(b"x" * 1000000)))
    sender.start()
    total, result = 0, "done"
    while True:
        try:
            data = s.recv(65536)
        except OSError as error:
            result = name(error.errno)
            break
        if not data:
            break
        total += len(data)
    sender.join()
    return f"{result} {0 < total <= 65536}"


@step
def half_closed():
    s = connect("raw.test", ports["echo"])
    data = os.urandom(100000)
    sender = threading.Thread(target=lambda: (s.sendall(data), s.shutdown(socket.SHUT_WR)))
    sender.start()
    got = s.makefile("rb").read()
    sender.join()
    return str(got == data)


@step
def reset_after_the_answer():
    """A request that was answered is none that failed, whatever becomes of its connection."""
    for _ in range(100):
        s = connect("plain.test", ports["http"])
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.sendall(b"GET /ok HTTP/1.1\r\nHost: plain.test:%d\r\n\r\n" % ports["http"])
        got = b""
        while not got.endswith(b"\r\n\r\nok\n"):
            data = s.recv(1000)
            if not data:
                return "ended: %r" % got
            got += data
        s.close()
    return "100"


def killed(child, after):
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        child(write)
        os._exit(0)
    os.close(write)
    os.read(read, 1)
    time.sleep(after)
    ended = os.waitpid(pid, os.WNOHANG)[0]
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "ended before" if ended else "killed"


@step
def killed_while_dialling():
    def child(write):
        s = socket.socket()
        address = socket.gethostbyname("stuck.test"), ports["stuck"]
        os.write(write, b"x")
        s.connect(address)
    return killed(child, 1)


@step
def forked_after_connecting():
    s = connect("fork.test", ports["echo"])
    stream = s.makefile("rb")
    pid = os.fork()
    if pid == 0:
        s.sendall(b"child\n")
        os._exit(stream.readline() != b"child\n")
    status = os.waitpid(pid, 0)[1]
    s.sendall(b"parent\n")
    return "%d %s" % (status, stream.readline())


class Slow(threading.Thread):
    """A byte a second, until it is closed; others are served meanwhile."""

    def __init__(self, host, port, data):
        super().__init__(daemon=True)
        self.end, self.data, self.s = "open", data, connect(host, port)

    def run(self):
        self.s.settimeout(1)
        end = time.monotonic() + 100
        for at in range(len(self.data)):
            if time.monotonic() > end:
                return
            try:
                self.s.sendall(self.data[at:at + 1])
                if not self.s.recv(1000):
                    self.end = "closed"
                    return
            except TimeoutError:
                continue
            except OSError:
                self.end = "closed"
                return


def exhaust():
    """Every name of a wildcard, until there are no more; known ones go on."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(WAIT)
    s.connect((name_server(), 53))
    codes, todo, waiting = {}, list(range(5000)), {}
    while todo or waiting:
        while todo and len(waiting) < 40:
            number = todo.pop()
            waiting[number] = True
            s.send(question("n%d.wild.test" % number, number=number))
        answer = s.recv(512)
        if waiting.pop(struct.unpack(">H", answer[:2])[0], None):
            codes[answer[3] & 15] = codes.get(answer[3] & 15, 0) + 1
    print("exhausted", sorted(codes), sum(codes.values()), 3500 < codes.get(0, 0) <= 4096)
    print("one more", attempt(lambda: socket.gethostbyname("more.wild.test")))
    s = connect("raw.test", ports["echo"])
    s.sendall(b"x")
    print("a known name", s.recv(1))
    again = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    again.settimeout(WAIT)
    again.connect((name_server(), 53))
    again.send(question("n4999.wild.test"))
    print("one that was there", again.recv(512)[3] & 15)


# ---- servers ----

def serve(where):
    import http.server

    class Alt(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.send_header("Alt-Svc", 'h3=":443"; ma=86400')
            self.end_headers()

        def log_message(self, *_):
            pass

    alt = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Alt)
    threading.Thread(target=alt.serve_forever, daemon=True).start()
    stuck = socket.socket()
    stuck.bind(("127.0.0.1", 0))
    stuck.listen(0)
    fillers = []
    while True:  # until its queue is full, and a SYN goes unanswered
        filler = socket.socket()
        filler.settimeout(2)
        fillers.append(filler)
        try:
            filler.connect(stuck.getsockname())
        except TimeoutError:
            break
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind("\0" + os.path.basename(os.path.dirname(where)))
    abstract.listen()
    outside = socket.socket(socket.AF_UNIX)
    outside.bind(os.path.join(where, "outside"))
    outside.listen()
    with open(os.path.join(where, "more.new"), "w", encoding="utf-8") as out:
        json.dump({"alt": alt.server_address[1], "stuck": stuck.getsockname()[1]}, out)
    os.rename(os.path.join(where, "more.new"), os.path.join(where, "more"))
    threading.Event().wait()


def main():
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    ports.update(json.loads(sys.argv[2]))
    if sys.argv[1] == "exhaust":
        exhaust()
        return
    head = f"GET /ok HTTP/1.1\r\nHost: plain.test:{ports['http']}\r\nX-Slow: {'x' * 100}\r\n\r\n".encode()
    slow = [Slow("plain.test", ports["http"], head) for _ in range(20)]
    slow += [Slow("pass.test", ports["https"], b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 100)
             for _ in range(20)]
    for thread in slow:
        thread.start()
    for what, call in steps.items():
        if len(sys.argv) > 3 and what not in sys.argv[3:]:
            continue
        start = time.monotonic()
        try:
            got = call()
        except (OSError, ValueError, AssertionError) as error:
            got = repr(error)
        took = time.monotonic() - start
        print(f"{what} -> {got}{' after %d s' % took if took > 30 else ''}", flush=True)
    for thread in slow:
        thread.join()
    print("slow ones ->", sorted({thread.end for thread in slow}))


main()
