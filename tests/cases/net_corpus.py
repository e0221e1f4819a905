"""The corpus of requests that two readers may understand differently, for net-corpus.py and as seeds of fuzz_http1.

cases(): (name, data, flags) of HTTP/1. In data, by which a case's own names are filled in:
  @U  "" or, to the proxy, "http://HOST:PORT"; stands before the path of a first line
  @H  host and port    @N the host alone
  @P  a path that is granted, the case's own: /c/ID          @X  one that is not: /x/ID
  @|  a pause: what follows is sent a moment later
Flags: "w": the client goes on reading for a while, since a response is cut off or comes late; "=TEXT": the request is
valid, and its body is TEXT, which the server has to read.
Re-made from what is published: Watchfire 2005, Kettle's "HTTP Desync Attacks", "HTTP/2: The Sequel is Always Worse",
"Browser-Powered Desync Attacks" and "HTTP/1.1 must die", Bentkowski's and Klein's lists, T-Reqs, RFC 9112's section 11.
"""
BODYLESS = ("GET", "HEAD", "DELETE", "OPTIONS")
INNER = ("DELETE @X HTTP/1.1\r\nHost: @H\r\n\r\n", "GET @P/in HTTP/1.1\r\nHost: other.test\r\n\r\n",
         "GET @P/in HTTP/1.1\r\nHost: @H\r\n\r\n")


def request(method="GET", target="@U@P", head="", body="", version=" HTTP/1.1", host="Host: @H\r\n"):
    return f"{method} {target}{version}\r\n{host}{head}\r\n{body}"


def chunked(text, size=None):
    return f"{size or format(len(text.replace('@H', 'h' * 17)), 'x')}\r\n{text}\r\n0\r\n\r\n"


def by_length(text):
    return "Content-Length: @L\r\n\r\n" + text  # @L: the length of what follows the head, once filled in


def bodies():
    for method in BODYLESS + ("get", "Get", "TRACE", "POST", "PUT", "PATCH", "PROPFIND", "SEARCH", "QUERY", "FOO"):
        for i, inner in enumerate(INNER):
            yield f"CL.0 {method} {i}", request(method, head="Content-Length: @L\r\n", body=inner), "w"
            yield f"TE.0 {method} {i}", request(method, head="Transfer-Encoding: chunked\r\n", body="@C" + inner), "w"
    yield "POST by length", request("POST", head="Content-Length: 5\r\n", body="hello"), "=hello"
    yield "POST in chunks", request("POST", head="Transfer-Encoding: chunked\r\n",
                                    body="2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"), "=hello"
    yield "POST in capitals", request("POST", head="TRANSFER-ENCODING: CHUNKED\r\n",
                                      body="A\r\n0123456789\r\n0\r\n\r\n"), "=0123456789"
    yield "POST of nothing", request("POST", head="Content-Length: 0\r\n"), "="
    yield "GET of nothing", request(head="Content-Length: 0\r\n"), "="
    yield "POST without length", request("POST", body=INNER[0]), "w"
    yield "early end", request("POST", head="Content-Length: 500\r\n", body=INNER[0]), "w"
    yield "body in two", request("POST", head="Content-Length: 10\r\n",
                                 body="hello@|hello") + request(target="@U@P/2"), ""
    for i, inner in enumerate(INNER):
        yield f"0.CL {i}", request("POST", head="Content-Length: 0\r\n", body=inner), "w"
        yield f"twice {i}", request("POST", head="Content-Length: @L\r\n", body=inner + inner), "w"


CODINGS = (
    "chunked", "Chunked", " chunked ", "\tchunked", "\vchunked", "\fchunked", "\x00chunked", "xchunked", "chunked,",
    ",chunked",
    "chunked, identity", "identity, chunked", "identity", "gzip, chunked", "chunked, chunked", "chunked;q=1",
    "chunked;", '"chunked"',
    "'chunked'", "chunked\x00", "chunked\x7f", "chunk", "chunkedx", "cow, chunked", "chunked\r\n chunked",
    "\r\n chunked", "\r\nchunked",
    "chunked\rX: y", "chunked\nX: y", "\x85chunked", "chunKed\xc2\xa0", "\xff\xffchunked", "", " ", "deflate",
    "trailers, chunked",
    "chunked\r\nTransfer-Encoding: identity", "identity\r\nTransfer-Encoding: chunked",
    "chunked\r\nTransfer-Encoding: chunked",
    "x\r\nTransfer-Encoding: chunked", "ch\u200bunked", "c\u212aunked", "%63hunked", "chunked # x",
    "=?UTF-8?Q?chunked?=")
CODING_NAMES = (
    "Transfer-Encoding ", " Transfer-Encoding", "\tTransfer-Encoding", "Transfer-Encoding\t", "Transfer_Encoding",
    "transfer.encoding",
    "Transfer Encoding", "Transfer-Encoding\x00", "X: y\nTransfer-Encoding", "X: y\rTransfer-Encoding",
    "Transfer-Encoding\x0b",
    "Transfer\u2010Encoding", "Transfer-\r\n Encoding", ":Transfer-Encoding", "Transfer-Encoding:",
    "X-Transfer-Encoding",
    "Transfer--Encoding", "TE", "HTTP_TRANSFER_ENCODING", "Transfer~Encoding", "\xa0Transfer-Encoding",
    "\x00Transfer-Encoding")


def codings():
    inner = INNER[0]
    for value in CODINGS:
        coding = f"Transfer-Encoding:{'' if value[:1] in (' ', chr(9)) else ' '}{value}\r\n"
        yield f"TE {value!r}", request("POST", head=coding, body="0\r\n\r\n" + inner), "w"
        yield f"CL.TE {value!r}", request("POST", head="Content-Length: @L\r\n" + coding, body="0\r\n\r\n" + inner), "w"
        yield f"TE.CL {value!r}", request("POST", head=coding + "Content-Length: 4\r\n", body="@C" + inner), "w"
    for name in CODING_NAMES:
        yield f"TE named {name!r}", request("POST", head=f"{name}: chunked\r\n", body="0\r\n\r\n" + inner), "w"
        yield f"CL.TE named {name!r}", request("POST", head=f"Content-Length: @L\r\n{name}: chunked\r\n",
                                               body="0\r\n\r\n" + inner), "w"
    for method in ("GET", "POST"):
        old = request(method, head="Transfer-Encoding: chunked\r\n", body="0\r\n\r\n" + inner, version=" HTTP/1.0")
        yield f"TE in 1.0 {method}", old, "w"
        yield f"TE in 1.0 kept {method}", old.replace("Transfer", "Connection: keep-alive\r\nTransfer"), "w"


LENGTHS = ("+5", "-5", "-0", "05", "005", "0x5", "5,5", "5, 5", "5,6", "5;", "5.0", "1e1", "", " ", "five", "5 5",
           "5_0", "5\t", "\t5", "5\v",
           "\v5", "5\x00", "\x005", "5\x7f", "٥", "\uff15", "5\xa0", "18446744073709551621", "4294967301",
           "9223372036854775808",
           "99999999999999999999999999", "5\r\n 0", "\r\n 5", "5\r", "5\nX: y", "'5'", '"5"', "5 bytes", "%35",
           "0\x005", "0 5", "5,", ",5")
LENGTH_NAMES = ("Content-Length ", " Content-Length", "Content-Length\t", "Content_Length", "content.length",
                "Content-Length\x00",
                "Content Length", "X: y\nContent-Length", "X: y\rContent-Length", "CONTENT_LENGTH", "X-Content-Length",
                "Content--Length",
                "Content-Length:", "\x00Content-Length", "Content\u2010Length", "Content-length\xa0", "Content!Length")


def lengths():
    for value in LENGTHS:
        yield f"CL {value!r}", request("POST", head=f"Content-Length: {value}\r\n", body="hello" + INNER[0]), "w"
    for name in LENGTH_NAMES:
        yield f"CL named {name!r}", request("POST", head=f"{name}: 5\r\n", body="hello" + INNER[0]), "w"
        yield f"CL and {name!r}", request("POST", head=f"Content-Length: 5\r\n{name}: @L\r\n",
                                          body="hello" + INNER[0]), "w"
    for one, two in ((5, 5), (0, 5), (5, 0), (5, "@L"), ("@L", 5)):
        yield f"CL {one} and {two}", request("POST", head=f"Content-Length: {one}\r\nContent-Length: {two}\r\n",
                                             body="hello" + INNER[0]), "w"
        yield f"CL {one} cl {two}", request("POST", head=f"Content-Length: {one}\r\nX: y\r\ncontent-length: {two}\r\n",
                                            body="hello" + INNER[0]), "w"


SIZES = ("5 ", " 5", "\t5", "5\t", "05", "0000000000000005", "00000000000000000000005", "+5", "-5", "0x5", "0X5", "5h",
         "5;", "5;x", "5;x=y", '5;x="\r\n"',
         "5; x", "5 ;x", "5\x00", "5\v", "5\r", "5\n", "5\r\r", "", "g", "G", "５", "100000005", "10000000000000005",
         "ffffffffffffffff",
         "fffffffffffffffb", "8000000000000005", "5,5", "5.", "5e0", "5_", "5\xa0", "5;\n", "5;a\nb", "5;a\rb",
         "5;" + "x" * 5000, "-0", "5#")
ENDS = ("0\r\n\r\n", "00\r\n\r\n", "0000000000000000000\r\n\r\n", "0 \r\n\r\n", "0;x\r\n\r\n", "0\n\r\n", "0\r\n\n",
        "0\n\n", "0\r\r\n", "-0\r\n\r\n", "0x0\r\n\r\n",
        "0\r\nX: y\r\n\r\n", "0\r\nContent-Length: 50\r\n\r\n", "0\r\nTransfer-Encoding: chunked\r\n\r\n",
        "0\r\nHost: other.test\r\n\r\n",
        "0\r\nX : y\r\n\r\n", "0\r\nX\r\n\r\n", "0\r\n X: y\r\n\r\n", "0\r\nX: y\n\r\n", "0\r\nX: y\r\n\n",
        "0\r\nX: y\r\r\n\r\n", "0\r\nX: \x00\r\n\r\n", "0\r\n: y\r\n\r\n",
        "0\r\nX-HTTP-Method-Override: DELETE\r\n\r\n", "0\r\n" + "X: y\r\n" * 2000 + "\r\n",
        "0\r\nX: " + "y" * 9000 + "\r\n\r\n", "0\r\n\rX", "0\r\n0\r\n\r\n", "\r\n0\r\n\r\n", "0")


def chunks():
    head = "Transfer-Encoding: chunked\r\n"
    for size in SIZES:
        yield f"chunk {size[:20]!r}", request("POST", head=head, body=f"{size}\r\nhello\r\n0\r\n\r\n" + INNER[0]), "w"
    for end in ENDS:
        yield f"chunks end {end[:30]!r}", request("POST", head=head, body=f"5\r\nhello\r\n{end}" + INNER[0]), "w"
    for after in ("", "\n", "\r", "\r\r\n", "x\r\n", "\n\r\n", "  \r\n", "\r\nx"):
        yield f"chunk then {after!r}", request("POST", head=head, body=f"5\r\nhello{after}0\r\n\r\n" + INNER[0]), "w"
    for ext in ("\n", "\r", "\n\r\n"):  # "must die", chunk extensions: TERM.EXT, EXT.TERM, TERM.SPILL
        yield f"EXT.TERM {ext!r}", request("POST", head=head,
                                           body=f"2;{ext}xx\r\n45\r\n0\r\n\r\n" + INNER[0] + "\r\n0\r\n\r\n"), "w"
        yield f"TERM.EXT {ext!r}", request("POST", head=head, body=f"2{ext}xx\r\n0\r\n\r\n" + INNER[0]), "w"


NAMES = ("X ", " X", "X\t", "\tX", "", "X\x00", "X\x7f", "X\x01", "X Y", "X(", "X/", "X[", "X@", "X\\", "X\"", "X,",
         "X;", "X=", "X{", "é", "\u212a", "X" * 9000)
LINES = ("no colon", "X: y\n", "X: y\r", "X: \x00", "X: y\x00z", "X: y\x7f", "X: \x1b[0m", "X: y\r\n z", "X: y\r\n\tz",
         "X: y\r\n \r\n", ":", ": y", "\r\nX: y",
         "X: " + "y" * 40000, "X: y\r\n" * 150 + "Z: y", "X: y\r\rZ: y", "X: y\n\nDELETE @X HTTP/1.1\nHost: @H",
         "X: y\r\n\nDELETE @X HTTP/1.1",
         "X: y\n\r\nDELETE @X HTTP/1.1\r\nHost: @H", "X: é", "X: \xff", "X: %0d%0aY: z", "X: y\\r\\nZ: z",
         "X: \u560d\u560aY: z", "X:y", "X:", "GET @X HTTP/1.1")


def fields():
    for name in NAMES:
        yield f"name {name[:20]!r}", request(head=f"{name}: y\r\n"), "w"
        yield f"first name {name[:20]!r}", request(host=f"{name}: y\r\nHost: @H\r\n"), "w"
    for line in LINES:
        yield f"line {line[:30]!r}", request(head=f"{line}\r\n", body=INNER[0]), "w"
    for ending in ("\n", "\r", "\n\r", "\r\r\n", "\r\n\r\n"):
        text = request().replace("\r\n", ending)
        yield f"lines end {ending!r}", text + INNER[0], "w"
        yield f"first line ends {ending!r}", request().replace("\r\n", ending, 1) + INNER[0], "w"
        yield f"last line ends {ending!r}", request()[:-4] + ending + ending + INNER[0], "w"
    for before in ("\r\n", "\n", "\r", " ", "\x00", "\r\n\r\n", "\xef\xbb\xbf", "\r\n ", "x\r\n"):
        yield f"begins {before!r}", before + request(), "w"
        yield f"second begins {before!r}", request() + before + request(target="@U@P/2"), "w"


HOSTS = ("", "Host:\r\n", "Host: \r\n", "Host: other.test\r\n", "Host: @H\r\nHost: @H\r\n",
         "Host: @H\r\nHost: other.test\r\n", "Host: other.test\r\nHost: @H\r\n",
         "Host : @H\r\n", " Host: @H\r\n", "Host: @H\r\n Host: other.test\r\n", "X: y\r\nHost: @H\r\n",
         "Host: @H, other.test\r\n", "Host: other.test, @H\r\n",
         "Host: @H/x\r\n", "Host: @H?x\r\n", "Host: @H#x\r\n", "Host: x@@H\r\n", "Host: @H@other.test\r\n",
         "Host: http://@H\r\n", "Host: @N\r\n", "Host: @N:1\r\n",
         "Host: @N:0\r\n", "Host: @N:\r\n", "Host: @N:0x50\r\n", "Host: @H \r\n", "Host:\t@H\r\n", "Host: @H\x00\r\n",
         "Host: @H\x00.other.test\r\n", "Host: @H\\other.test\r\n",
         "Host: @N.:@O\r\n", "Host: @H:80\r\n", "HOST: @H\r\n", "Host: 127.0.0.1\r\n", "Host: localhost\r\n",
         "Host: [::1]\r\n", "Host: [@N]:@O\r\n", "Host: \"@H\"\r\n",
         "Host: @H;x\r\n", "Host: other.test\n\tHost: @H\r\n", "Host: @H\r\nX-Forwarded-Host: other.test\r\n",
         "H\u043est: other.test\r\nHost: @H\r\n", "Host: C\u043erpus.test:@O\r\n",
         "Host:@H\r\n", "host: CORPUS.TEST:@O\r\n", "Host: @H\r\nHost:\r\n", "Host: corpus%2etest:@O\r\n",
         "Host: corpus.test%00:@O\r\n", "Host_: other.test\r\nHost: @H\r\n")


def hosts():
    for i, host in enumerate(HOSTS):
        yield f"host {i} {host[:30]!r}", request(host=host), "w"
    for target in ("http://@H@P", "HTTP://@H@P", "http://other.test@P", "http://@H", "http://@H?x", "https://@H@P",
                   "http:@P", "http:///c", "//@H@P", "//other.test@P",
                   "http://x@@H@P", "http://@H:80@P", "http://@H\\@other.test@P", "ftp://@H@P", "@H@P", "@H", "*",
                   "http://@H@P#x", "http://@H\t@P", "http://@N@P",
                   "http://@H/../x/ID", "file://@P", "http:////@H@P", "@N:443", "http://@H#@other.test@P",
                   "http://@H%2f@other.test@P"):
        for host in ("@H", "other.test"):
            yield f"target {target} {host}", request(target=target, host=f"Host: {host}\r\n"), "w"


def first_lines():
    for version in ("", " HTTP/0.9", " HTTP/1.0", " HTTP/1.2", " HTTP/1.10", " HTTP/01.1", " HTTP/2", " HTTP/2.0",
                    " HTTP/3", " http/1.1", " HTTP/1.1 ", " HTTP/1.1\t",
                    "  HTTP/1.1", "\tHTTP/1.1", " HTTP/1.1 x", " HTTP /1.1", " HTTP/1", " HTTP/1.", " HTTP/.1",
                    " HTTP/1,1", " ICY/1.1", " RTSP/1.0", " HTTP/1.1\x00", "\x00HTTP/1.1",
                    " HTTP/1.1\x0b", " HTTP/-1.1", " HTTP/1.1HTTP/1.1", "\x0bHTTP/1.1", " x HTTP/1.1", "\xa0HTTP/1.1"):
        yield f"version {version!r}", request(version=version), "w"
    for method in ("", "get", "GE T", "GET ", "GET\t", " GET", "\tGET", "G\x00ET", "GET/", "GET:", "CONNECT", "TRACE",
                   "PRI", "FOO", "G\u0415T", "GET\x0b", "(GET)", "GET,POST", "X" * 30,
                   "DELETE", "POST\r\n", "M-SEARCH", "GET\r", "GET\n", "\"GET\"", "G@T", "HEAD", "OPTIONS", "PATCH"):
        yield f"method {method[:20]!r}", request(method), "w"
    for old in ("GET @P\r\n", "GET @P\n", "GET @P\r\n\r\n", "GET  @P\r\n", "DELETE @X\r\n\r\n",
                "GET @P\r\nHost: @H\r\n\r\n"):
        yield f"0.9 {old!r}", old, "w"
    yield "PRI", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "w"
    yield "PRI after", request() + "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "w"
    for kept in ("", "Connection: keep-alive\r\n", "Connection: close\r\n"):
        yield f"1.0 twice {kept!r}", request(version=" HTTP/1.0", head=kept) + request(target="@U@P/2"), "w"


PATHS = (
    "", "/", "//", "/.", "/./", "/..", "/../", "/../..", "/../../x/ID", "/..//../x/ID", "/a/../../../x/ID",
    "/%2e%2e/%2e%2e/x/ID", "/%2E%2E/x", "/.%2e/.%2e/x/ID", "/%2e./x",
    "/..%2f..%2fx%2fID", "/%2e%2e%2f%2e%2e%2fx%2fID", "/..%5c..%5cx", "/..\\..\\x\\ID", "\\..\\..\\x",
    "/%252e%252e/%252e%252e/x/ID", "/%25%32%65/", "/..;/..;/x/ID", "/..;a=b/x", "/;/../x",
    "/..%3b/..%3b/x/ID", "/.;/x", "/%2e%2e;/x", "/..%00/x", "/%00", "/a%00.html", "/\x00", "/\t", "/%09", "/%0a",
    "/%0d%0aX:%20y", "/%20", "/ ", "/+", "/%2b", "/%7e", "/~", "/%41", "/A", "/%61%62",
    "/%c0%ae%c0%ae/x", "/%c0%af", "/%e0%80%ae", "/%uff0e%uff0e/x", "/%u002e", "/．．/x", "/é", "/%c3%a9", "/%C3%A9",
    "/\xff", "/%ff", "/%", "/%2", "/%zz", "/%%", "/%2%65", "/%%32%65", "/#x", "/%23x", "/?x",
    "/%3fx", "?x", "?../../x", "?/../../x/ID", "?x?y", "?x#y", "?x y", "?%00", "?%0d%0a", "?\x00", "?\xff",
    "?_method=DELETE", ";", ";x=y", ";/../x", "/a;b/../c", "/a/b;c=d", "/*", "/'", "/\"", "/<", "/>", "/{", "/|", "/^",
    "/`", "/[", "/]",
    "/$", "/&", "/!", "/(x)", "/,", "/:", "/@", "/=", "//x/ID", "///../../x/ID", "//../..//x/ID", "/.//..//x", "/...",
    "/..../x", "/. /x", "/.. /x", "/..%20/x", "/%20../x", "/.%0a./x", "/a/./b/../c", "/a//b///c",
    "/%2f", "/%2F%2f", "/a%2fb", "/a%2Fb/../c", "/%5c", "/%5C..", "/a/%2e", "/a/%2e/b", "/a/b%2e", "/a%2eb", "/CON",
    "/a.", "/a/", "/a/.", "/a/..", "/x" + "/y" * 900, "/" + "z" * 1500, "/" + "%41" * 600, "/" + "../" * 50,
    "/a" * 100 + "/.." * 102 + "/x/ID")


def paths():
    for tail in PATHS:
        yield f"path {tail[:30]!r}", request(target="@U@P" + tail), "w"
    for target in ("@U/x/../c/ID", "@U//c/ID", "@U/./c/ID", "@U/%63/ID", "@U/c%2fID", "@U/C/ID", "@U/c;/ID",
                   "@U/c;x/../x/ID", "@Uc/ID", "@U/.c/ID", "@U/x/ID/../../c/ID", "@U/c/ID/%2e%2e%2f%2e%2e%2fx%2fID",
                   "@U\\c\\ID", "@U/\\c/ID", "@U/c//../x/ID"):
        yield f"path {target}", request(target=target), "w"


METHOD_OVERRIDES = ("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-Original-Method",
                    "X-Forwarded-Method", "X-Method")
PATH_OVERRIDES = (
    "X-Original-URL", "X-Rewrite-URL", "X-Override-URL", "X-Original-URI", "X-Forwarded-Uri", "X-Forwarded-Url",
    "X-Forwarded-Path", "X-Forwarded-Prefix", "X-HTTP-DestinationURL", "X-Proxy-Url",
    "Request-Uri", "Base-Url", "Http-Url", "Script-Name", "Path-Info", "X-Script-Name", "X-Original-Path",
    "Destination", "X-Invoke-Path", "X-Matched-Path")
HOST_OVERRIDES = ("X-Forwarded-Host", "X-Host", "X-Original-Host", "X-Forwarded-Server", "X-HTTP-Host-Override",
                  "Forwarded", "Proxy-Host")


def overrides():
    for names, value in ((METHOD_OVERRIDES, "DELETE"), (PATH_OVERRIDES, "@X"), (HOST_OVERRIDES, "other.test")):
        for name in names:
            for written in sorted({name, name.lower(), name.replace("-", "_"), name.upper().replace("-", "_"),
                                   name.replace("-", "."), name.replace("-", "_", 1)}):
                shown = "host=other.test" if name == "Forwarded" else "@P" if name == "Script-Name" else value
                yield f"override {written}", request("POST" if value == "DELETE" else "GET",
                                                     head=f"{written}: {shown}\r\n"), ""


def expectations():
    for value in ("100-continue", "100-Continue", "100-continue, x", "x", "", "100-continue;q=1", " 100-continue ",
                  "y 100-continue", "100-continue\r\nExpect: 100-continue", "\t100-continue", "100"):
        for method in ("GET", "POST"):
            yield f"expect {value!r} {method}", request(method, head=f"Expect: {value}\r\n"), "w"
            yield f"expect {value!r} {method} length", request(method,
                    head=f"Expect: {value}\r\nContent-Length: @L\r\n", body=INNER[0]), "w"
        yield f"expect {value!r} late", request("POST", head=f"Expect: {value}\r\nContent-Length: 5\r\n",
                                                body="@|hello" + INNER[2]), "w"
    yield "expect 0.CL", request("GET", head="Expect: 100-continue\r\nContent-Length: 0\r\n", body="@|") + INNER[0], "w"
    yield "expect old", request("POST", head="Expect: 100-continue\r\nContent-Length: 5\r\n", body="hello",
                                version=" HTTP/1.0"), "w"


def upgrades():
    socket = ("Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
              "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n")
    for name, head in (("h2c",
                        "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"),
                       ("websocket", socket),
                       ("both", socket.replace("websocket", "websocket, h2c")), ("tls",
                               "Upgrade: TLS/1.2\r\nConnection: Upgrade\r\n"), ("old", socket.replace("13", "777")),
                       ("not named", "Upgrade: websocket\r\n"), ("two", "Upgrade: h2c\r\n" + socket), ("odd",
                               socket.replace("websocket", "WebSocket\t")), ("spaced", socket.replace("Upgrade:",
                                       "Upgrade :")),
                       ("disguised", "HTTP2_Settings: AAMAAABkAAQAAP__\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n")):
        for method in ("GET", "POST", "OPTIONS"):
            yield f"upgrade {name} {method}", request(method, head=head, body=INNER[0]), "w"
        yield f"upgrade {name} by length", request("POST", head=head + "Content-Length: @L\r\n", body=INNER[0]), "w"
    yield "upgrade granted", request(target="@U/ws/ID", head=socket, body="@|hello"), "w"
    yield "upgrade granted, old", request(target="@U/ws/ID", head=socket, version=" HTTP/1.0"), "w"
    yield "upgrade granted, with a body", request(target="@U/ws/ID", head=socket + "Content-Length: @L\r\n",
                                                  body=INNER[0]), "w"


def connections():
    for named in ("Host", "Content-Length", "Transfer-Encoding", "X-Test", "close, Content-Length", "keep-alive, Host",
                  "Cookie", "Connection", "Expect", "Upgrade", "TE", "close\r\nConnection: keep-alive", "\x00",
                  "Content_Length", "Authorization"):
        yield f"connection {named!r}", request("POST",
                                               head=f"Connection: {named}\r\nX-Test: y\r\nContent-Length: @L\r\n",
                                               body=INNER[0]), "w"
        yield f"connection {named!r} GET", request("GET", head=f"Connection: {named}\r\nX-Test: y\r\n",
                                                   body=INNER[2]), "w"
    for head in ("Keep-Alive: 300", "Proxy-Connection: keep-alive", "TE: trailers", "Trailer: Content-Length",
                 "Alt-Used: other.test", "Max-Forwards: 0", "Range: bytes=0-1", "Close: x"):
        yield f"field {head}", request(head=head + "\r\n") + request(target="@U@P/2"), ""


def sequences():
    many = "".join(request(target=f"@U@P/{i}") for i in range(12))
    yield "ahead", many, ""
    yield "ahead with bodies", "".join(request("POST", f"@U@P/{i}", "Content-Length: 3\r\n",
                                               "abc") for i in range(4)), ""
    yield "ahead mixed", request("POST", head="Transfer-Encoding: chunked\r\n",
                                 body="3\r\nabc\r\n0\r\n\r\n") + request("HEAD",
                                         "@U@P/2") + request(target="@U@P/3"), ""
    yield "denied between", request() + request("GET", "@U@X") + request(target="@U@P/3"), ""
    yield "bad between", request() + "x\r\n\r\n" + request(target="@U@P/3"), "w"
    yield "another host between", request() + request(target="@U@P/2",
                                                      host="Host: other.test\r\n") + request(target="@U@P/3"), "w"
    yield "close, then more", request(head="Connection: close\r\n") + request(target="@U@P/2"), "w"
    yield "in pieces", "GE@|T @U@P HT@|TP/1.1\r@|\nHost: @H\r@|\n\r@|\n" + request(target="@U@P/2"), ""
    yield "HEAD then GET", request("HEAD") + request(target="@U@P/2"), ""
    yield "body, then pieces of one", request("POST", head="Content-Length: 2\r\n",
                                              body="hi") + "DELE@|TE @X HTTP/1.1\r\nHost: @H\r\n\r\n", "w"


def cases():
    for part in (bodies, codings, lengths, chunks, fields, hosts, first_lines, paths, overrides, expectations,
                 upgrades, connections, sequences):
        yield from part()


def encode(text):
    """Characters below 256 are bytes, others UTF-8."""
    return b"".join(bytes([ord(c)]) if ord(c) < 256 else c.encode() for c in text)


def fill(text, ident, host, port, prefix=""):
    """The case's pieces as bytes."""
    for sign, value in (("@X", f"/x/{ident}"), ("@P", f"/c/{ident}"), ("@U", prefix), ("@H", f"{host}:{port}"), ("@N",
            host), ("@O", str(port)), ("ID", ident)):
        text = text.replace(sign, value)
    head, end, body = text.partition("\r\n\r\n")
    if "@C" in body:
        inner = body.replace("@C", "", 1)
        body = f"{len(encode(inner)):x}\r\n{inner}\r\n0\r\n\r\n"
    head = head.replace("@L", str(len(encode(body.replace("@|", "")))))
    return [encode(piece) for piece in (head + end + body).split("@|")]
