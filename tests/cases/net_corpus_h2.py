"""The corpus of net_corpus.py in hand-made HTTP/2 frames.

A header block is literal fields without indexing, which may hold any byte.
cases(): (name, [(kind, flags, stream, payload)…], flags); a payload is bytes, or for HEADERS a list of (name, value).
"""
import net_corpus

DATA, HEADERS, RST, SETTINGS, CONTINUATION = 0, 1, 3, 4, 9
END_STREAM, END_HEADERS = 1, 4
INNER = "DELETE @X HTTP/1.1\r\nHost: @H\r\n\r\n"


def request(method="GET", path="@P", more=(), authority="@H", scheme="https"):
    pseudo = ((":method", method), (":scheme", scheme), (":authority", authority), (":path", path))
    return [field for field in pseudo if field[1] is not None] + list(more)


def alone(*args, **more):
    return [(HEADERS, END_STREAM | END_HEADERS, 1, request(*args, **more))]


def with_body(body, *args, end=END_STREAM, **more):
    return [(HEADERS, END_HEADERS, 1, request(*args, **more)), (DATA, end, 1, body)]


def bodies():
    for method in ("GET", "HEAD", "DELETE", "OPTIONS", "get", "POST", "PUT", "FOO", "TRACE", "CONNECT"):
        yield f"h2 body {method}", with_body(INNER, method), "w"
        yield f"h2 body with its length {method}", with_body("hello", method, more=[("content-length", "5")]), "w"
        yield f"h2 empty body {method}", with_body("", method), "w"
        yield f"h2 empty, then body {method}", [(HEADERS, END_HEADERS, 1, request(method)), (DATA, 0, 1, ""), (DATA, 0,
                1, ""), (DATA, 1, 1, INNER)], "w"
        for length in ("0", "4", "6", "+5", "5,5", "05", "", "x", "-1", "99999999999999999999"):
            yield f"H2.CL {method} {length!r}", with_body("hello", method, more=[("content-length", length)]), "w"
        yield f"H2.TE {method}", with_body("0\r\n\r\n" + INNER, method, more=[("transfer-encoding", "chunked")]), "w"
        yield f"H2.TE disguised {method}", with_body("0\r\n\r\n" + INNER, method, more=[("transfer_encoding",
                "chunked")]), "w"
        yield f"H2.CL disguised {method}", with_body("hello", method, more=[("content_length", "0")]), "w"
        yield f"H2.CL without body {method}", alone(method, more=[("content-length", "5")]), "w"
    yield "h2 two lengths", with_body("hello", "POST", more=[("content-length", "5"), ("content-length", "5")]), "w"
    yield "h2 POST", with_body("hello", "POST"), "=hello"
    yield "h2 trailers", [(HEADERS, END_HEADERS, 1, request("POST")), (DATA, 0, 1, "hello"), (HEADERS, 5, 1,
            [("x-http-method-override", "DELETE")])], "=hello"
    yield "h2 trailers of a GET", [(HEADERS, END_HEADERS, 1, request()), (HEADERS, 5, 1, [("x", "y")])], "w"
    yield "h2 pseudo-fields in trailers", [(HEADERS, END_HEADERS, 1, request("POST")), (DATA, 0, 1, "hello"), (HEADERS,
            5, 1, [(":path", "@X")])], "w"
    yield "h2 data after the end", alone() + [(DATA, 1, 1, INNER)], "w"
    yield "h2 head after the end", alone() + [(HEADERS, 5, 1, request("DELETE", "@X"))], "w"
    yield "h2 reset", [(HEADERS, END_HEADERS, 1, request("POST")), (DATA, 0, 1, "hello"), (RST, 0, 1, "\0\0\0\b")], "w"
    yield "h2 two heads", [(HEADERS, END_HEADERS, 1, request("POST")), (HEADERS, 5, 1, request("DELETE", "@X"))], "w"


def fields():
    for name in ("x y", "x:y", "X", "x\r\ny", "x\n", "x\0", "", ":x", ":status", "x\x7f", "\xff", "host", "connection",
                 "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "te", "http2-settings", "x_y",
                 ":protocol"):
        yield f"h2 name {name!r}", alone(more=[(name, "y")]), "w"
    for value in ("y\r\nx: z", "y\nx: z", "y\r", "\0", " y", "y ", "\ty", "y\x7f", "\x01", "\xff",
                  "y\r\n\r\nDELETE @X HTTP/1.1\r\nHost: @H\r\n\r\n"):
        yield f"h2 value {value[:20]!r}", alone(more=[("x", value)]), "w"
        yield f"h2 method {value[:20]!r}", alone("GET" + value), "w"
        yield f"h2 path {value[:20]!r}", alone(path="@P" + value), "w"
        yield f"h2 authority {value[:20]!r}", alone(authority="@H" + value), "w"
        yield f"h2 scheme {value[:20]!r}", alone(scheme="https" + value), "w"
    for missing in ("method", "path", "authority", "scheme"):
        yield f"h2 no {missing}", alone(**{missing: None}), "w"
        yield f"h2 empty {missing}", alone(**{missing: ""}), "w"
        yield f"h2 two of {missing}", alone(more=[]) [:0] + [(HEADERS, 5, 1, request() + [(":" + missing, "@X")])], "w"
        yield f"h2 {missing} twice in front", [(HEADERS, 5, 1, [(":" + missing, "GET")] + request())], "w"
        yield f"h2 {missing} late", [(HEADERS, 5, 1, [f for f in request() if f[0] != ":" + missing] + [("x",
                "y")] + [f for f in request() if f[0] == ":" + missing])], "w"
    for scheme in ("http", "HTTPS", "ftp", "https://other.test/x?", "https:"):
        yield f"h2 scheme {scheme}", alone(scheme=scheme), "w"
    for authority in ("other.test", "@N", "@N:1", "x@@H", "@H/x", "@H?x", "@H#x", "@H, other.test", "CORPUS.TEST:@O",
                      "@N.:@O", "", "127.0.0.1", "@H\\x", "[@N]:@O"):
        yield f"h2 authority {authority!r}", alone(authority=authority), "w"
        yield f"h2 host {authority!r}", alone(more=[("host", authority)]), "w"
        yield f"h2 only host {authority!r}", alone(authority=None, more=[("host", authority)]), "w"
    for path in ("*", "http://@H@P", "x", "", "@P#x", "//other.test/x", "@P x",
                 "@P HTTP/1.1\r\nHost: @H\r\n\r\nGET @X", "/x/ID/../../c/ID"):
        for method in ("GET", "OPTIONS"):
            yield f"h2 {method} {path[:30]!r}", alone(method, path), "w"
    yield "h2 websocket", alone("CONNECT", more=[(":protocol", "websocket")]), "w"
    yield "h2 connect", alone("CONNECT", path=None, scheme=None), "w"
    yield "h2 connect elsewhere", with_body(INNER, "CONNECT", path=None, scheme=None, authority="other.test:80"), "w"


def paths():
    for tail in net_corpus.PATHS:
        yield f"h2 path {tail[:30]!r}", alone(path="@P" + tail), "w"


def overrides():
    for names, value in ((net_corpus.METHOD_OVERRIDES, "DELETE"), (net_corpus.PATH_OVERRIDES, "@X"),
                         (net_corpus.HOST_OVERRIDES, "other.test")):
        for name in names:
            for written in (name.lower(), name.lower().replace("-", "_"), name.lower().replace("-", ".")):
                yield f"h2 override {written}", alone("POST" if value == "DELETE" else "GET", more=[(written,
                        value)]), "w"


def sequences():
    yield "h2 twelve", [(HEADERS, 5, 2 * i + 1, request(path=f"@P/{i}")) for i in range(12)], "w"
    yield "h2 even", [(HEADERS, 5, 2, request())], "w"
    yield "h2 backwards", [(HEADERS, 5, 3, request(path="@P/3")), (HEADERS, 5, 1, request(path="@P/1"))], "w"
    yield "h2 denied between", [(HEADERS, 5, 1, request()), (HEADERS, 5, 3, request(path="@X")), (HEADERS, 5, 5,
            request(path="@P/3"))], "w"


def cases():
    for part in (bodies, fields, paths, overrides, sequences):
        yield from part()


# ---- bytes ----

def number(value, bits):
    """HPACK's integers, RFC 7541, 5.1."""
    limit = (1 << bits) - 1
    if value < limit:
        return bytes([value])
    out, value = [limit], value - limit
    while value >= 128:
        out.append(value % 128 + 128)
        value //= 128
    return bytes(out + [value])


def frame(kind, flags, stream, payload):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def fill(frames, ident, host, port, _):
    def text(value):
        for sign, other in (("@X", f"/x/{ident}"), ("@P", f"/c/{ident}"), ("@H", f"{host}:{port}"), ("@N", host),
                            ("@O", str(port)), ("ID", ident)):
            value = value.replace(sign, other)
        return net_corpus.encode(value)

    def block(fields_):
        return b"".join(b"\0" + number(len(text(name)), 7) + text(name) + number(len(text(value)),
                7) + text(value) for name, value in fields_)

    out = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0, b"")
    return [out + b"".join(frame(kind, flags, stream, text(payload) if isinstance(payload,
            str) else block(payload)) for kind, flags, stream, payload in frames)]
