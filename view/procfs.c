/*
 * Which files of /proc exist in the view: files of the run's processes that tell nothing about others, and some facts
 * about the machine. It is an allowlist, because injected descriptors have the supervisor's rights.
 */
#include <ctype.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/proc/tree.h"
#include "view/private.h"
#include "view/tree.h"

/* Facts about the machine that runtimes need, and the directories that have them. */
static const char *const machine_leaf[] = {
	"cpuinfo", "filesystems", "loadavg", "meminfo", "stat", "uptime", "version", "vmstat", "sys", "sys/kernel",
	"sys/kernel/cap_last_cap", "sys/kernel/hostname", "sys/kernel/ngroups_max", "sys/kernel/osrelease",
	"sys/kernel/ostype", "sys/kernel/overflowgid", "sys/kernel/overflowuid", "sys/kernel/pid_max",
	"sys/kernel/random", "sys/kernel/random/boot_id", "sys/kernel/random/uuid", "sys/kernel/sem",
	"sys/kernel/shmmax", "sys/kernel/threads-max", "sys/kernel/version", "sys/fs", "sys/fs/file-max",
	"sys/fs/nr_open", "sys/fs/pipe-max-size", "sys/net", "sys/net/core", "sys/net/core/somaxconn",
	"sys/vm", "sys/vm/max_map_count", "sys/vm/mmap_min_addr", "sys/vm/overcommit_memory", NULL};

/* Links in /proc that lead to a file or directory of the calling process. */
static const char *const machine_link[] = {"mounts", "net", NULL};

/* Files of each process and thread of the run. Not mem, map_files, ns, pagemap. auxv tells no more than maps does. */
static const char *const process_leaf[] = {
	"auxv",      "cgroup",        "cmdline",     "comm",  "io",        "limits", "maps",         "oom_adj",
	"oom_score", "oom_score_adj", "personality", "sched", "schedstat", "smaps",  "smaps_rollup",
	"stat",      "statm",         "status",      "wchan", NULL,
};

/* Files of each process and thread that facts.c makes, because those of the kernel tell about the machine. */
static const char *const fact_leaf[] = {"mountinfo", "mounts", "mountstats", NULL};

/* Files below "net": made by facts.c, or those of the kernel in a network namespace of the run's own. */
static const char *const net_leaf[] = {"net/dev",  "net/if_inet6", "net/route", "net/tcp", "net/tcp6",
				       "net/udp",  "net/udp6",     "net/unix",  NULL};

/* Files that only the process itself may open: those of others may hold secrets that were given to them alone. */
static const char *const own_leaf[] = {"environ", "timerslack_ns", NULL};

static const char *const magic_leaf[] = {"cwd", "exe", "root", NULL};

static bool proc_list_has_name(const char *const *list, const char *name)
{
	for (; *list; list++)
		if (strcmp(*list, name) == 0)
			return true;
	return false;
}

bool proc_path_is_directory(const char *leaf)
{
	return strcmp(leaf, "sys") == 0 || strcmp(leaf, "sys/kernel") == 0 || strcmp(leaf, "sys/kernel/random") == 0 ||
	       strcmp(leaf, "sys/fs") == 0 || strcmp(leaf, "sys/net") == 0 || strcmp(leaf, "sys/net/core") == 0 ||
	       strcmp(leaf, "sys/vm") == 0;
}

/* Parses a path that begins with a pid: "123" or "123/…". Returns the pid or 0; *ret_leaf is what follows. */
static pid_t proc_parse_pid(const char *text, const char **ret_leaf)
{
	char *end;
	long pid;

	if (!isdigit((unsigned char)*text) || *text == '0')
		return 0;
	pid = strtol(text, &end, 10);
	if ((*end != '\0' && *end != '/') || pid <= 0 || pid > 0x7fffffff)
		return 0;
	*ret_leaf = *end ? end + 1 : end;
	return (pid_t)pid;
}

const char *proc_get_path_below_pid(const char *below_proc)
{
	const char *leaf;

	if (proc_parse_pid(below_proc, &leaf) == 0)
		return NULL;
	if (strncmp(leaf, "task/", 5) == 0 && proc_parse_pid(leaf + 5, &leaf) == 0)
		return NULL;
	return leaf;
}

static bool proc_is_number(const char *text)
{
	return *text && text[strspn(text, "0123456789")] == '\0';
}

/* Whether the pid is the process or thread of the task that makes the call. */
static bool proc_pid_is_of_task(const struct task *task, pid_t pid)
{
	return task && (pid == task->tgid || pid == task->tid);
}

/* True for a file that facts.c makes, or that may be the file of the kernel because it only tells about the run. */
static bool proc_net_file_is_shown(const struct view *view, const char *leaf)
{
	return proc_list_has_name(fact_leaf, leaf)
		       ? facts_makes_proc_file(view->facts, leaf, true)
		       : proc_list_has_name(net_leaf, leaf) &&
				 (view->has_own_network || facts_makes_proc_file(view->facts, leaf, true));
}

/* What /proc/PID/LEAF is, and whether the view shows it. */
static enum proc_kind proc_classify_process_file(const struct view *view, const struct task *task, pid_t pid,
						 const char *leaf)
{
	if (*leaf == '\0' || strcmp(leaf, "fd") == 0 || strcmp(leaf, "fdinfo") == 0)
		return PROC_DIR;
	if (strcmp(leaf, "net") == 0)
		return view->has_own_network || facts_makes_proc_file(view->facts, leaf, true) ? PROC_DIR : PROC_ABSENT;
	if (proc_net_file_is_shown(view, leaf))
		return PROC_FILE;
	if (proc_list_has_name(magic_leaf, leaf))
		return PROC_MAGIC_LINK;
	if (strncmp(leaf, "fd/", 3) == 0 && proc_is_number(leaf + 3))
		return PROC_MAGIC_LINK;
	if (strncmp(leaf, "fdinfo/", 7) == 0 && proc_is_number(leaf + 7))
		return PROC_FILE;
	if (proc_list_has_name(process_leaf, leaf) ||
	    (proc_pid_is_of_task(task, pid) && proc_list_has_name(own_leaf, leaf)))
		return PROC_FILE;
	return PROC_ABSENT;
}

enum proc_kind proc_classify_path(const struct view *view, const struct task *task, const char *below_proc)
{
	const char *leaf;
	pid_t pid, tid;

	if (strcmp(below_proc, "self") == 0 || strcmp(below_proc, "thread-self") == 0 ||
	    proc_list_has_name(machine_link, below_proc))
		return PROC_FILE; /* a link, shown as any file: where it leads is what view_get_link_target() returns */
	if (strcmp(below_proc, "vmstat") == 0)
		return facts_makes_proc_file(view->facts, below_proc, false) ? PROC_FILE : PROC_ABSENT;
	if (*below_proc == '\0' || proc_list_has_name(machine_leaf, below_proc))
		return *below_proc && !proc_path_is_directory(below_proc) ? PROC_FILE : PROC_DIR;
	pid = proc_parse_pid(below_proc, &leaf);
	if (pid == 0 || view_hides_process(view, pid) ||
	    !(proc_pid_is_of_task(task, pid) || (view->run_root && proctree_is_descendant(pid, view->run_root))))
		return PROC_ABSENT;
	if (strcmp(leaf, "task") == 0)
		return PROC_DIR;
	if (strncmp(leaf, "task/", 5) == 0) {
		/* The kernel will check that tid is a thread of pid. */
		tid = proc_parse_pid(leaf + 5, &leaf);
		return tid == 0 ? PROC_ABSENT : proc_classify_process_file(view, task, pid, leaf);
	}
	return proc_classify_process_file(view, task, pid, leaf);
}

bool proc_file_is_writable(const char *below_proc)
{
	const char *leaf;

	if (proc_parse_pid(below_proc, &leaf) == 0)
		return false;
	if (strncmp(leaf, "task/", 5) == 0 && proc_parse_pid(leaf + 5, &leaf) == 0)
		return false;
	/*
	 * The kernel refuses to write the comm of another process: EINVAL, comm_write() in fs/proc/base.c. Writing
	 * oom_score_adj is not allowed: the program could lower what launch.c has raised.
	 */
	return strcmp(leaf, "comm") == 0;
}

bool proc_path_is_of_no_process(const char *below_proc)
{
	return *below_proc != '.' && !isdigit((unsigned char)*below_proc);
}

void proc_visit_machine_entries(const char *below_proc, void (*visit)(void *ctx, const char *name, mode_t type),
				void *ctx)
{
	for (const char *const *leaf = machine_leaf; *leaf; leaf++) {
		const char *name = *below_proc ? path_get_rest_below(*leaf, below_proc) : *leaf;

		if (name && *name && !strchr(name, '/'))
			visit(ctx, name, proc_path_is_directory(*leaf) ? S_IFDIR : S_IFREG);
	}
}

bool proc_path_is_net(const char *below_proc)
{
	const char *leaf = proc_get_path_below_pid(below_proc);

	return leaf && strcmp(leaf, "net") == 0;
}

void proc_visit_net_entries(void (*visit)(void *ctx, const char *name, mode_t type), void *ctx)
{
	for (const char *const *leaf = net_leaf; *leaf; leaf++)
		visit(ctx, *leaf + strlen("net/"), S_IFREG);
}

void proc_visit_machine_links(void (*visit)(void *ctx, const char *name, mode_t type), void *ctx)
{
	for (const char *const *link = machine_link; *link; link++)
		visit(ctx, *link, S_IFLNK);
}
