libcallgate_egress_a_SOURCES += \
	egress/budget.c \
	egress/budget.h \
	egress/conn/address.c \
	egress/conn/address.h \
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
	egress/conn/pool.c \
	egress/conn/pool.h \
	egress/conn/relay.c \
	egress/conn/socks-request.c \
	egress/conn/socks.c \
	egress/conn/socks.h \
	egress/conn/table.c \
	egress/conn/table.h \
	egress/conn/udp.c \
	egress/conn/udp.h \
	egress/control.c \
	egress/control.h \
	egress/dns/judge.c \
	egress/dns/judge.h \
	egress/dns/message.c \
	egress/dns/message.h \
	egress/dns/refusals.c \
	egress/dns/refusals.h \
	egress/dns/resolver-main.c \
	egress/dns/resolver-wire.h \
	egress/dns/resolver.c \
	egress/dns/resolver.h \
	egress/dns/server.c \
	egress/dns/server.h \
	egress/dns/stream.c \
	egress/dns/stream.h \
	egress/egress.h \
	egress/http/http1-body.c \
	egress/http/http1-forward.c \
	egress/http/http1-io.c \
	egress/http/http1-mode.c \
	egress/http/http1-mode.h \
	egress/http/http1-proxy.c \
	egress/http/http1-refuse.c \
	egress/http/http1-reopen.c \
	egress/http/http1-request.c \
	egress/http/http1-response.c \
	egress/http/http1.c \
	egress/http/http1.h \
	egress/http/http2-mode.c \
	egress/http/http2-request.c \
	egress/http/http2-response.c \
	egress/http/http2-stream.c \
	egress/http/http2.h \
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
	egress/tls/ca.c \
	egress/tls/ca.h \
	egress/tls/channel.c \
	egress/tls/context.c \
	egress/tls/context.h \
	egress/tls/hello.c \
	egress/tls/hello.h \
	egress/tls/intercept.c \
	egress/tls/peek.c \
	egress/tls/truststore.c \
	egress/tls/truststore.h
EXTRA_DIST += egress/README.md

# What needs OpenSSL and nghttp2 for others, and the module it comes in.
callgate_net_so_SOURCES += egress/module.c


# Names: ours to answer, the world's to ask.


