# An HTTP/2 server that answers every request by interim responses without end: DIRECTORY with server.pem; tells its
# port there.
import os
import socket
import ssl
import struct
import sys
import threading


def frame(kind, flags, stream, data):
    return struct.pack(">I", len(data))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + data


def serve(context, conn):
    try:
        conn = context.wrap_socket(conn, server_side=True)
        conn.sendall(frame(4, 0, 0, b""))
        data, stream = b"", 0
        while len(data) < 24:
            data += conn.recv(65536)
        data = data[24:]
        while not stream:
            while len(data) >= 9 and len(data) >= 9 + int.from_bytes(data[:3], "big"):
                if data[3] == 1:
                    stream = int.from_bytes(data[5:9], "big")
                if data[3] == 4 and not data[4] & 1:
                    conn.sendall(frame(4, 1, 0, b""))
                data = data[9 + int.from_bytes(data[:3], "big"):]
            if not stream:
                data += conn.recv(65536)
        fields = b"".join(b"\0\2x%d" % i + bytes([100]) + b"a" * 100 for i in range(9))
        while True:
            conn.sendall(frame(1, 4, stream, b"\x08\x03103" + fields) * 64)
    except OSError:
        pass


context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
context.load_cert_chain(sys.argv[1] + "/server.pem")
context.set_alpn_protocols(["h2"])
listener = socket.create_server(("127.0.0.1", 0))
with open(sys.argv[1] + "/h2.tmp", "w") as out:
    out.write(str(listener.getsockname()[1]))
os.rename(sys.argv[1] + "/h2.tmp", sys.argv[1] + "/h2")
while True:
    threading.Thread(target=serve, args=(context, listener.accept()[0]), daemon=True).start()
