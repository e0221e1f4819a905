libcallgate_egress_a_SOURCES += \
	egress/budget.h \
	egress/ca.c egress/ca.h \
	egress/channel-bytes.c egress/channel-bytes.h \
	egress/channel-tls.c \
	egress/channel.c \
	egress/channel.h \
	egress/conn.h \
	egress/control.c \
	egress/control.h \
	egress/dial.h \
	egress/egress.h \
	egress/hello.h \
	egress/http1-body.c \
	egress/http1-head.c \
	egress/http1-meaning.c \
	egress/http1-private.h \
	egress/http1-write.c \
	egress/http1.c \
	egress/http1.h \
	egress/loop.c \
	egress/loop.h \
	egress/pool.c \
	egress/pool.h \
	egress/mode-http1-flow.c \
	egress/mode-http1-forward.c \
	egress/mode-http1-refuse.c \
	egress/mode-http1-reopen.c \
	egress/mode-http1-request.c \
	egress/mode-http1-response.c \
	egress/mode-http1.c \
	egress/mode-http1.h \
	egress/proxy.c \
	egress/proxy.h \
	egress/request-secret.c \
	egress/request-text.c \
	egress/request.c \
	egress/request.h \
	egress/resolver.h \
	egress/secret-source.c egress/secret-source.h \
	egress/secret.c egress/secret.h \
	egress/socks-request.c \
	egress/socks.c \
	egress/socks.h \
	egress/state.h \
	egress/mode-tls.c egress/mode-tls.h egress/tls-answer.c \
	egress/tls-error.c egress/tls-warm.c egress/tls-warm.h \
	egress/tls.c egress/tls.h
EXTRA_DIST += egress/README.md

# What needs OpenSSL and nghttp2 for others, and the module it comes in.
libcallgate_egress_a_SOURCES += egress/linked.c egress/parts.c egress/parts.h
callgate_net_so_SOURCES += egress/module.c

libcallgate_egress_a_SOURCES += \
	egress/budget.c \
	egress/conn-open.c \
	egress/conn-record.c \
	egress/conn-table.c egress/conn-table.h \
	egress/conn.c \
	egress/dns-server.h \
	egress/guest.c egress/guest.h \
	egress/line.c egress/line.h \
	egress/main.c \
	egress/relay.c \
	egress/udp-flow.c egress/udp-flow.h \
	egress/udp.c egress/udp.h

# Names: ours to answer, the world's to ask.
libcallgate_egress_a_SOURCES += \
	egress/dial.c \
	egress/dns-judge.c \
	egress/dns-judge.h \
	egress/dns-note.c \
	egress/dns-note.h \
	egress/dns-server-private.h \
	egress/dns-server.c \
	egress/dns-stream.c \
	egress/dns-task.c \
	egress/dns.c \
	egress/dns.h \
	egress/hello.c \
	egress/mode-hello.c \
	egress/resolver-main.c \
	egress/resolver-wire.h \
	egress/resolver.c \
	egress/vet.c \
	egress/vet.h

libcallgate_egress_a_SOURCES += \
	egress/truststore.c egress/truststore.h

libcallgate_egress_a_SOURCES += \
	egress/http2-client.c \
	egress/http2-stream.c \
	egress/http2-upstream.c egress/http2.h \
	egress/mode-http2.c
