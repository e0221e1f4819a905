"""Servers on unix sockets: asyncio, socketserver, multiprocessing's listeners, managers and passed descriptors."""
import asyncio
import multiprocessing
import os
import socket
import socketserver
import threading
from multiprocessing import connection, reduction


async def handle(reader, writer):
    writer.write((await reader.readline()).upper())
    print(os.path.basename(writer.get_extra_info("sockname")), repr(writer.get_extra_info("peername")))
    await writer.drain()
    writer.close()


async def serve():
    path = os.path.abspath("asyncio.sock")
    server = await asyncio.start_unix_server(handle, path)
    print(server.sockets[0].getsockname() == path)
    for number in range(3):
        reader, writer = await asyncio.open_unix_connection("asyncio.sock")
        writer.write(b"hello %d\n" % number)
        print(await reader.readline(), writer.get_extra_info("peername") == path)
        writer.close()
    server.close()
    await server.wait_closed()


def take_handle(address):
    with connection.Client(address, authkey=b"key") as client:
        handle_received = reduction.recv_handle(client)
        os.write(handle_received, b"through the handle")
        os.close(handle_received)
        client.send("done")


def give_handle():
    path = os.path.abspath("listener")
    listener = connection.Listener(path, authkey=b"key")
    print(listener.address == path)
    process = multiprocessing.Process(target=take_handle, args=(path,))
    process.start()
    accepted = listener.accept()
    read_end, write_end = os.pipe()
    reduction.send_handle(accepted, write_end, process.pid)
    print(accepted.recv(), os.read(read_end, 99))
    process.join()
    listener.close()


class Reverse(socketserver.StreamRequestHandler):
    def handle(self):
        self.wfile.write(self.rfile.readline()[::-1])


def serve_threads():
    with socketserver.ThreadingUnixStreamServer("threads.sock", Reverse) as server:
        print(server.server_address)
        threading.Thread(target=server.serve_forever).start()
        for _ in range(20):
            client = socket.socket(socket.AF_UNIX)
            client.connect("threads.sock")
            client.sendall(b"abc\n")
            print(client.recv(9), client.getpeername(), repr(client.getsockname()))
        server.shutdown()


def put(mapping):
    mapping["put by"] = "a child"


def manage():
    for method in ("fork", "forkserver", "spawn"):
        context = multiprocessing.get_context(method)
        with context.Manager() as manager:
            mapping = manager.dict()
            process = context.Process(target=put, args=(mapping,))
            process.start()
            process.join()
            print(method, dict(mapping))


if __name__ == "__main__":
    asyncio.run(serve())
    give_handle()
    serve_threads()
    manage()
