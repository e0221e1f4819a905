#include "syscalls/account/result/probes.h"

#include <fnmatch.h>
#include <string.h>

#include "syscalls/account/result/denial-text.h"
#include "syscalls/account/result/denials.h"

/*
 * Paths that programs ask for and do without, because they have a default. A "*" matches within a component, a final
 * "/" matches everything below. An attacker gains nothing, because the calls are refused all the same.
 */
static const struct probe {
	const char *path;
	const char *op; /* denial_get_operation() */
} probes[] = {
	{"/proc/*/coredump_filter", "read"}, /* JVM */
	{"/proc/*/loginuid", "read"},        /* sudo, PAM, coreutils */
	{"/proc/*/oom_score_adj", "write"},  /* Chromium, PostgreSQL: the order of OOM kills */
	{"/proc/*/cgroup", "read"},          /* node, JVM, Go: the number of CPUs, the size of memory */
	{"/proc/cgroups", "read"},
	{"/proc/sys/crypto/fips_enabled", "read"},      /* libgcrypt, OpenSSL */
	{"/proc/sys/fs/inotify/", "read"},              /* GLib, node: the number of watches */
	{"/proc/sys/kernel/yama/ptrace_scope", "read"}, /* Chromium, gdb */
	{"/sys/fs/cgroup", "read"},
	{"/sys/fs/cgroup/", "read"},
	{"/sys/kernel/mm/hugepages", "read"}, /* JVM, PostgreSQL */
	{"/sys/kernel/mm/hugepages/", "read"},
	{"/sys/dev/block/*/queue/rotational", "read"}, /* LibreOffice, databases */
	{"/proc/xen", "read"},                         /* Mono: whether the machine is virtual */
	{"/run/systemd/seats", "read"},                /* sd_booted(3), logind's clients */
	{"/run/systemd/seats/", "read"},
	{"/var/mail", "read"}, /* Emacs: whether there is mail; the directory, not a mailbox */
	{"/var/spool/mail", "read"},
	{"/sys/bus/pci", "read"}, /* Mesa, Chromium: the GPU */
	{"/sys/bus/pci/", "read"},
};

/* Calls for features of processors and kernels that programs try and do without. */
static const char *const probe_calls[] = {
	"pkey_alloc",              /* V8: memory protection keys */
	"landlock_create_ruleset", /* xz and others, which would restrict themselves */
};

/*
 * Whether a path matches a pattern of the list. Compares the text before the first "*" before it calls fnmatch(3),
 * because most refused paths differ there, and fnmatch(3) with every pattern would take 3 us.
 */
static bool probe_pattern_matches_path(const char *pattern, const char *path)
{
	size_t head = strcspn(pattern, "*");

	if (strncmp(path, pattern, head) != 0)
		return false;
	if (pattern[head] == '*')
		return fnmatch(pattern, path, FNM_PATHNAME) == 0;
	return path[head] == '\0' || (pattern[head - 1] == '/' && !strstr(path, "/../"));
}

/* Whether an operation on this path is in the list of probes. */
static bool probe_list_has_path(const struct call *call, const char *path)
{
	for (size_t i = 0; path && i < sizeof(probes) / sizeof(probes[0]); i++)
		if (probe_pattern_matches_path(probes[i].path, path) &&
		    strcmp(probes[i].op, denial_get_operation(call)) == 0)
			return true;
	return false;
}

bool probe_is_refused_call(const struct call *call)
{
	const struct policy_decision decision = denial_get_decision(call);
	const char *reason = decision.reason;

	if (reason && strcmp(reason, DENIAL_REASON_PROBE) == 0)
		return true;
	if (decision.verdict != VERDICT_DENY || decision.rule)
		return false;
	for (size_t i = 0; i < sizeof(probe_calls) / sizeof(probe_calls[0]); i++)
		if (strcmp(probe_calls[i], call->row->name) == 0)
			return true;
	if (call->path_count != 1)
		return false;
	/* A name that is not in the view has no canonical path. Its text is compared then. */
	return probe_list_has_path(call, call->path[0].text) ||
	       probe_list_has_path(call, denial_get_resolved_path(call));
}
