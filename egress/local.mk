libcallgate_egress_a_SOURCES += \
	egress/budget.c \
	egress/budget.h \
	egress/conn/channel-bytes.c \
	egress/conn/channel-bytes.h \
	egress/conn/channel.c \
	egress/conn/channel.h \
	egress/conn/conn.c \
	egress/conn/conn.h \
	egress/conn/dial.c \
	egress/conn/dial.h \
	egress/conn/guest.c \
	egress/conn/guest.h \
	egress/conn/line.c \
	egress/conn/line.h \
	egress/conn/loop.c \
	egress/conn/loop.h \
	egress/conn/open.c \
	egress/conn/pool.c \
	egress/conn/pool.h \
	egress/conn/proxy.c \
	egress/conn/proxy.h \
	egress/conn/record.c \
	egress/conn/relay.c \
	egress/conn/socks-request.c \
	egress/conn/socks.c \
	egress/conn/socks.h \
	egress/conn/table.c \
	egress/conn/table.h \
	egress/conn/udp-flow.c \
	egress/conn/udp-flow.h \
	egress/conn/udp.c \
	egress/conn/udp.h \
	egress/conn/vet.c \
	egress/conn/vet.h \
	egress/control.c \
	egress/control.h \
	egress/dns/judge.c \
	egress/dns/judge.h \
	egress/dns/message.c \
	egress/dns/message.h \
	egress/dns/note.c \
	egress/dns/note.h \
	egress/dns/resolver-main.c \
	egress/dns/resolver-wire.h \
	egress/dns/resolver.c \
	egress/dns/resolver.h \
	egress/dns/server-private.h \
	egress/dns/server.c \
	egress/dns/server.h \
	egress/dns/stream.c \
	egress/dns/task.c \
	egress/egress.h \
	egress/http/http1-body.c \
	egress/http/http1-head.c \
	egress/http/http1-meaning.c \
	egress/http/http1-private.h \
	egress/http/http1-write.c \
	egress/http/http1.c \
	egress/http/http1.h \
	egress/http/http2-client.c \
	egress/http/http2-stream.c \
	egress/http/http2-upstream.c \
	egress/http/http2.h \
	egress/http/mode-http1-flow.c \
	egress/http/mode-http1-forward.c \
	egress/http/mode-http1-refuse.c \
	egress/http/mode-http1-reopen.c \
	egress/http/mode-http1-request.c \
	egress/http/mode-http1-response.c \
	egress/http/mode-http1.c \
	egress/http/mode-http1.h \
	egress/http/mode-http2.c \
	egress/http/request-text.c \
	egress/http/request.c \
	egress/http/request.h \
	egress/linked.c \
	egress/main.c \
	egress/parts.c \
	egress/parts.h \
	egress/secrets/inject.c \
	egress/secrets/secret.c \
	egress/secrets/secret.h \
	egress/secrets/source.c \
	egress/secrets/source.h \
	egress/state.h \
	egress/tls/answer.c \
	egress/tls/ca.c \
	egress/tls/ca.h \
	egress/tls/channel.c \
	egress/tls/context.c \
	egress/tls/context.h \
	egress/tls/error.c \
	egress/tls/hello.c \
	egress/tls/hello.h \
	egress/tls/mode-hello.c \
	egress/tls/mode.c \
	egress/tls/mode.h \
	egress/tls/truststore.c \
	egress/tls/truststore.h \
	egress/tls/warm.c \
	egress/tls/warm.h
EXTRA_DIST += egress/README.md

# What needs OpenSSL and nghttp2 for others, and the module it comes in.
callgate_net_so_SOURCES += egress/module.c


# Names: ours to answer, the world's to ask.


