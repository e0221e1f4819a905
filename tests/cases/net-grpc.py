"""gRPC without generated code.

net-grpc.py serve DIR        a server with the certificate DIR/server.pem; writes its port to DIR/grpc-port
net-grpc.py call HOST:PORT   a client
"""
import os
import sys

import grpc


def upper(request, context):
    if request == b"fail":
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, "as asked")
    context.set_trailing_metadata((("told", "at-the-end"),))
    return request.upper()


def count(request, context):
    del context
    for i in range(int(request)):
        yield b"%d" % i


def gather(requests, context):
    del context
    return b"".join(requests)


def serve(directory):
    from concurrent import futures
    server = grpc.server(futures.ThreadPoolExecutor(8))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("demo.Greeter", {
        "Upper": grpc.unary_unary_rpc_method_handler(upper),
        "Count": grpc.unary_stream_rpc_method_handler(count),
        "Gather": grpc.stream_unary_rpc_method_handler(gather)}),))
    with open(os.path.join(directory, "server.key"), "rb") as key, \
            open(os.path.join(directory, "server.crt"), "rb") as crt:
        credentials = grpc.ssl_server_credentials(((key.read(), crt.read()),))
    port = server.add_secure_port("127.0.0.1:0", credentials)
    server.start()
    with open(os.path.join(directory, "grpc-port"), "w", encoding="ascii") as file:
        file.write(str(port))
    server.wait_for_termination()


def call(target):
    with grpc.secure_channel(target, grpc.ssl_channel_credentials()) as channel:
        one = channel.unary_unary("/demo.Greeter/Upper")
        answer, details = one.with_call(b"hello", timeout=30)
        print(answer, dict(details.trailing_metadata()))
        print(len(one(b"x" * 3000000, timeout=60)))
        print(b",".join(channel.unary_stream("/demo.Greeter/Count")(b"5", timeout=30)))
        print(len(channel.stream_unary("/demo.Greeter/Gather")(iter([b"y" * 50000] * 40), timeout=60)))
        try:
            one(b"fail", timeout=30)
        except grpc.RpcError as error:
            print(error.code().name, error.details())
        try:
            channel.unary_unary("/other.Service/Method")(b"", timeout=30)
        except grpc.RpcError as error:
            print(error.code().name)


if sys.argv[1] == "serve":
    serve(sys.argv[2])
else:
    call(sys.argv[2])
