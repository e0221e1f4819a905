/* Unix sockets by path: bind, connect, listen and the calls that return names, with every kind of path and state. */
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/cases/diff-sock.h"
#include "tests/cases/diff.h"

static socklen_t name_of(struct sockaddr_un *address, const char *path)
{
	size_t len = strnlen(path, sizeof(address->sun_path));

	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(address->sun_path, path, len);
	return (socklen_t)(HEAD + len + (len < sizeof(address->sun_path)));
}

int diff_sock(int type)
{
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	if (fd < 0)
		diff_die("socket");
	return fd;
}

long diff_bind_to(int fd, const char *path)
{
	struct sockaddr_un address;
	socklen_t len = name_of(&address, path);

	return RAW(__SNR_bind, fd, P(&address), len);
}

long diff_connect_to(int fd, const char *path)
{
	struct sockaddr_un address;
	socklen_t len = name_of(&address, path);

	return RAW(__SNR_connect, fd, P(&address), len);
}

void diff_say_name(long nr, int fd)
{
	/* The kernel ends a path of 108 bytes with a zero, and counts it: its length is then more than fits. */
	union {
		struct sockaddr_un address;
		char bytes[sizeof(struct sockaddr_un) + 1];
	} name;
	socklen_t len = sizeof(name.address);
	long r;

	memset(&name, 'x', sizeof(name));
	name.bytes[sizeof(name.address)] = '\0';
	r = RAW(nr, fd, P(&name.address), P(&len));
	diff_ret(r);
	if (r == 0)
		diff_say(" %u:%.*s", len, (int)(len > HEAD ? len - HEAD : 0), name.bytes + HEAD);
}

int diff_listener(int type, const char *path, int backlog)
{
	int fd = diff_sock(type);

	diff_ret(diff_bind_to(fd, path));
	diff_ret(RAW(__SNR_listen, fd, backlog));
	return fd;
}

/* ---- paths ---- */

static const char *const paths[] = {
	"new",        "./new",      "dir/new",     "dir/../new", "ldir/new",  "file",       "file/new",  "dir",
	"lfile",      "dangling",   "dangling2",   "loop",       "loop/new",  "missing/new", "new/",     "new//",
	".",          "..",         "dir/.",     "sock",      "fifo",       "rodir/new", "nodir/new",
	"noacc",      "/dev/null",  "/usr/new",    "/nowhere/x", "/proc/self/fd/0", "//new",  "dir//new",
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	"./aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
};

/* What is outside of every grant is there natively: only inside of the fixture the two can be the same. */
static bool outside(const char *path)
{
	return path[0] == '/' && strcmp(path, "/nowhere/x") != 0;
}

static void run_paths(int type)
{
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		int fd = diff_sock(type), client = diff_sock(type);

		if (!outside(paths[i])) {
			diff_begin("bind %d %s", type, paths[i]);
			diff_ret(diff_bind_to(fd, paths[i]));
			diff_say_name(__SNR_getsockname, fd);
			diff_ret(RAW(__SNR_listen, fd, 4));
			diff_ret(diff_connect_to(client, paths[i]));
			diff_say_name(__SNR_getpeername, client);
			diff_say_name(__SNR_getsockname, client);
			diff_end(true);
		}
		if (strncmp(paths[i], "/usr", 4) != 0) {
			diff_begin("connect %d %s", type, paths[i]);
			diff_ret(diff_connect_to(client, paths[i]));
			diff_end(false);
		}
		close(fd);
		close(client);
	}
}

static void run_lengths(int type)
{
	static const int lengths[] = {-1, 0, 1, 2, 3, 4, 8, 109, 110, 111, 127, 128, 129, 4096};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		char bytes[4096] = {0};
		int fd = diff_sock(type);

		if (lengths[i] == 2) /* an abstract name of the kernel's choice: refused */
			continue;
		memset(bytes, 'n', sizeof(bytes));
		bytes[0] = AF_UNIX;
		bytes[1] = 0;
		diff_begin("bind length %d %d", type, lengths[i]);
		diff_ret(RAW(__SNR_bind, fd, P(bytes), lengths[i]));
		diff_say_name(__SNR_getsockname, fd);
		diff_ret(RAW(__SNR_connect, fd, P(bytes), lengths[i]));
		diff_end(true);
		close(fd);
	}
}

static void run_families(int type)
{
	static const int families[] = {AF_UNSPEC, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_VSOCK, 255, 0xffff};
	static const int lengths[] = {2, 16, 28, 110, 128};

	for (size_t f = 0; f < sizeof(families) / sizeof(families[0]); f++)
		for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
			struct sockaddr_storage address = {.ss_family = (sa_family_t)families[f]};
			int fd = diff_sock(type);

			diff_begin("family %d %d %d", type, families[f], lengths[i]);
			diff_ret(RAW(__SNR_bind, fd, P(&address), lengths[i]));
			diff_ret(RAW(__SNR_connect, fd, P(&address), lengths[i]));
			diff_end(true);
			close(fd);
		}
}

/* ---- descriptors and memory ---- */

static void run_descriptors(void)
{
	struct sockaddr_un address;
	socklen_t len = name_of(&address, "new");
	int pipes[2];

	diff_begin("sockets that are none");
	if (pipe2(pipes, O_CLOEXEC) < 0)
		diff_die("pipe");
	{
		const int fds[] = {-1, 999, -100, open("file", O_RDWR | O_CLOEXEC), open("file", O_PATH | O_CLOEXEC),
				   pipes[0], open("sock", O_PATH | O_CLOEXEC)};

		for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
			diff_say(" |%zu", i);
			diff_ret(RAW(__SNR_bind, fds[i], P(&address), len));
			diff_ret(RAW(__SNR_connect, fds[i], P(&address), len));
			diff_ret(RAW(__SNR_listen, fds[i], 1));
			diff_ret(RAW(__SNR_getsockname, fds[i], P(&address), P(&len)));
			diff_ret(RAW(__SNR_getpeername, fds[i], P(&address), P(&len)));
			diff_ret(RAW(__SNR_sendto, fds[i], P("x"), 1, 0, P(&address), len));
			diff_ret(RAW(__SNR_bind, fds[i], P(diff_mem_unmapped()), 129));
			diff_ret(RAW(__SNR_bind, fds[i], P(diff_mem_unmapped()), 16));
			(void)close(fds[i]); /* some are none */
		}
	}
	(void)close(pipes[1]);
	diff_end(true);
}

static void run_memory(void)
{
	char *const places[] = {NULL, diff_mem_unmapped(), diff_mem_none(), diff_mem_readonly(), diff_mem_tail(1),
				diff_mem_tail(2), diff_mem_tail(HEAD + 3), diff_mem_tail(110)};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int fd = diff_sock(SOCK_STREAM), bound;
		socklen_t len = 110;

		diff_begin("memory %zu", i);
		if (i >= 5) {
			memset(places[i], 'm', i == 5 ? 2 : i == 6 ? HEAD + 3 : 110);
			places[i][0] = AF_UNIX;
			places[i][1] = 0;
		}
		diff_ret(RAW(__SNR_connect, fd, P(places[i]), 110));
		diff_ret(RAW(__SNR_bind, fd, P(places[i]), HEAD + 3));
		bound = diff_listener(SOCK_STREAM, "dir/bound", 1);
		diff_ret(RAW(__SNR_getsockname, bound, P(places[i]), P(&len)));
		diff_say(" %u", len);
		diff_ret(RAW(__SNR_getsockname, bound, P(&len), P(places[i])));
		diff_end(true);
		close(fd);
		close(bound);
	}
}

static void run_outputs(void)
{
	static const int rooms[] = {-1, 0, 1, 2, 3, 8, 11, 12, 13, 110, 200};
	int bound;

	diff_begin("getsockname into less room");
	bound = diff_listener(SOCK_STREAM, "dir/bound", 1);
	for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
		char bytes[256];
		int len = rooms[i];

		memset(bytes, '.', sizeof(bytes));
		diff_ret(RAW(__SNR_getsockname, bound, P(bytes), P(&len)));
		diff_say(" %d:%.*s", len, 16, bytes + 2);
	}
	close(bound);
	diff_end(true);
}

static void run_modes(void)
{
	static const mode_t masks[] = {0, 022, 077, 0777};

	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		int fd = diff_sock(SOCK_STREAM);
		mode_t before;

		diff_begin("umask %o", masks[i]);
		before = umask(masks[i]);
		diff_ret(diff_bind_to(fd, "new"));
		umask(before);
		diff_end(true);
		close(fd);
	}
}

void diff_group_sock(void)
{
	static const int types[] = {SOCK_STREAM, SOCK_SEQPACKET};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		run_paths(types[i]);
		run_lengths(types[i]);
		run_families(types[i]);
		diff_sock_use(types[i]);
	}
	run_descriptors();
	run_memory();
	run_outputs();
	run_modes();
	diff_sock_use_once();
}
