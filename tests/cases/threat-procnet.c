/* /proc/net and the tables of mounts: what tells of the machine must not be found there, by whatever name. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/cases/threat.h"

static char **secrets; /* texts of the machine's own files */

static void search(const char *name, int fd)
{
	static char text[1 << 20];
	size_t len = 0;
	ssize_t got;

	if (fd < 0)
		return;
	while (len < sizeof(text) - 1 && (got = read(fd, text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)got;
	text[len] = '\0';
	for (char **secret = secrets; *secret; secret++)
		if (strstr(text, *secret))
			threat_got("%s has %s", name, *secret);
	close(fd);
}

/* A file by its name, by a descriptor without access, by that one's link, and by a link that is given away. */
static void look_at(const char *path, bool exists)
{
	char link[64];
	int opath = open(path, O_PATH), fd = open(path, O_RDONLY);

	if (exists)
		threat_works(path, fd);
	threat_refused(path, open(path, O_RDWR), 0);
	search(path, fd);
	search("by openat2", (int)syscall(SYS_openat2, AT_FDCWD, path, &(struct {
						unsigned long long flags, mode, resolve;
					}){O_RDONLY, 0, 0}, 24));
	if (opath < 0)
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", opath);
	search("by /proc/self/fd", open(link, O_RDONLY));
	search("by an empty path", openat(opath, "", O_RDONLY));
	threat_refused("reopened for writing", open(link, O_RDWR), 0);
	threat_refused("chmod", chmod(link, 0777), 0);
	close(opath);
}

/* What a judged /proc does not have. The kernel has it of the run's own network. */
static void look_at_further(const char *path)
{
	if (threat_kernel_reads()) {
		search(path, open(path, O_RDONLY));
	} else {
		threat_refused(path, open(path, O_RDONLY), 0);
		threat_refused(path, open(path, O_PATH), 0);
	}
	threat_refused(path, open(path, O_RDWR), 0);
}

static void look_around(const char *dir)
{
	static const char *const names[] = {"tcp", "../net/tcp", "../../net/tcp", "unix", "arp", "netlink", "packet",
					    "../../1/net/tcp", "../root/etc/shadow"};
	int fd = open(dir, O_RDONLY | O_DIRECTORY);

	threat_works(dir, fd);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		search(names[i], openat(fd, names[i], O_RDONLY));
	threat_works("fchdir", fchdir(fd));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		search(names[i], open(names[i], O_RDONLY));
	close(fd);
}

/* procnet SECRET…: no file has any of these. */
int threat_procnet(char **arg)
{
	static const char *const leaves[] = {"net/dev", "net/tcp", "net/tcp6", "net/udp", "net/udp6", "net/unix",
					     "net/route", "net/if_inet6", "mounts", "mountinfo", "mountstats"};
	static const char *const further[] = {"arp", "dev_mcast", "fib_trie", "igmp", "ipv6_route", "netlink", "packet",
					      "protocols", "raw", "snmp", "sockstat", "stat", "wireless"};
	char path[128], task[64];

	secrets = arg;
	snprintf(task, sizeof(task), "/proc/%d/task/%d", getpid(), getpid());
	for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++) {
		const char *const dirs[] = {"/proc/self", "/proc/thread-self", task};

		for (size_t d = 0; d < 3; d++) {
			snprintf(path, sizeof(path), "%s/%s", dirs[d], leaves[i]);
			/* The kernel has mountstats of processes alone. */
			look_at(path, !threat_kernel_reads() || strcmp(leaves[i], "mountstats") != 0);
		}
		snprintf(path, sizeof(path), "/proc/%s", leaves[i]);
		look_at(path, strchr(leaves[i], '/') || strcmp(leaves[i], "mounts") == 0);
	}
	look_at("/proc/vmstat", true);
	for (size_t i = 0; i < sizeof(further) / sizeof(further[0]); i++) {
		snprintf(path, sizeof(path), "/proc/self/net/%s", further[i]);
		look_at_further(path);
	}
	look_around("/proc/net");
	look_around("/proc/self/net");
	return threat_result();
}
