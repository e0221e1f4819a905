libcallgate_egress_a_SOURCES += \
	egress/budget.h \
	egress/ca.h \
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
	egress/request.h \
	egress/resolver.h \
	egress/secret.h \
	egress/state.h \
	egress/tls.h
EXTRA_DIST += egress/README.md
