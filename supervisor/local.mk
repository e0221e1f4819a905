libcallgate_supervisor_a_SOURCES += \
	supervisor/bpf.c supervisor/bpf.h supervisor/bpf-emit.c supervisor/bpf-emit.h \
	supervisor/selffilter.c supervisor/selffilter.h supervisor/selffilter-rules.c \
	supervisor/blocking.c \
	supervisor/blocking.h \
	supervisor/capture.c \
	supervisor/capture.h \
	supervisor/dispatch.c \
	supervisor/dispatch.h \
	supervisor/filter.c supervisor/filter.h \
	supervisor/handoff.c supervisor/handoff-mask.c supervisor/handoff-together.c supervisor/handoff-homes.c \
	supervisor/handoff-callers.c \
	supervisor/interrupted.c supervisor/interrupted.h \
	supervisor/handoff.h supervisor/handoff-private.h \
	supervisor/killtree.c \
	supervisor/killtree.h \
	supervisor/landlock.c \
	supervisor/landlock.h \
	supervisor/layers.c \
	supervisor/layers.h \
	supervisor/launch.c \
	supervisor/launch.h \
	supervisor/notify.c \
	supervisor/notify.h \
	supervisor/privs.c supervisor/privs-user.c \
	supervisor/privs.h \
	supervisor/scratch.c supervisor/scratch-base.c supervisor/scratch-inside.c \
	supervisor/scratch.h supervisor/scratch-private.h \
	supervisor/supervise.c supervisor/supervise-loop.c \
	supervisor/supervise.h supervisor/supervise-private.h \
	supervisor/supervise-network.c \
	supervisor/supervise-network.h \
	supervisor/trace.h \
	supervisor/utf8.c \
	supervisor/utf8.h \
	supervisor/watchdog.c \
	supervisor/watchdog.h
libcallgate_supervisor_a_SOURCES += \
	supervisor/trace-blob.c \
	supervisor/trace-errand.c \
	supervisor/trace-fetch.c \
	supervisor/trace-image.c \
	supervisor/trace-later.c \
	supervisor/trace-map.c \
	supervisor/trace-pathfd.c \
	supervisor/trace-private.h \
	supervisor/trace-stop.c \
	supervisor/trace-verify.c \
	supervisor/trace.c
libcallgate_supervisor_a_SOURCES += \
	supervisor/confine.c supervisor/confine.h \
	supervisor/custodian.c supervisor/custodian.h \
	supervisor/descriptors.c supervisor/descriptors.h \
	supervisor/environment.c \
	supervisor/environment.h \
	supervisor/feed.c \
	supervisor/feed.h \
	supervisor/held-buffers.c \
	supervisor/held.c \
	supervisor/held.h \
	supervisor/input.c \
	supervisor/input.h \
	supervisor/keeper.c \
	supervisor/keeper-loop.c \
	supervisor/keeper-outcome.c \
	supervisor/keeper-private.h \
	supervisor/keeper.h \
	supervisor/keeper-fork.c \
	supervisor/keeper-fork.h \
	supervisor/process-await.c supervisor/process-guest.c supervisor/process-view.c supervisor/process-watch.c \
	supervisor/lookup.c \
	supervisor/lookup.h \
	supervisor/output.c \
	supervisor/output.h \
	supervisor/process.c \
	supervisor/process-audit.c \
	supervisor/process-private.h \
	supervisor/process.h \
	supervisor/redirects.c \
	supervisor/redirects.h \
	supervisor/report.c \
	supervisor/report.h \
	supervisor/result.c \
	supervisor/result.h \
	supervisor/rlimits.c \
	supervisor/rlimits.h \
	supervisor/status.c \
	supervisor/status.h \
	supervisor/statusline.c \
	supervisor/statusline.h \
	supervisor/summary.c \
	supervisor/summary.h \
	supervisor/terminal.c \
	supervisor/terminal.h
libcallgate_supervisor_a_SOURCES += \
	supervisor/cgroup-find.c \
	supervisor/cgroup-leaf.c \
	supervisor/cgroup-private.h \
	supervisor/cgroup-v1.c \
	supervisor/cgroup-v2.c \
	supervisor/cgroup.c \
	supervisor/cgroup.h \
	supervisor/limits.c \
	supervisor/limits-meters.c \
	supervisor/limits.h \
	supervisor/sample.c \
	supervisor/sample.h
libcallgate_supervisor_a_SOURCES += \
	supervisor/doctor.c \
	supervisor/doctor.h \
	supervisor/egress-client.c supervisor/egress-client.h \
	supervisor/egress-client-conns.c \
	supervisor/egress-client-dial.c \
	supervisor/egress-client-network.c \
	supervisor/egress-client-private.h \
	supervisor/egress-client-queue.c \
	supervisor/egress-client-record.c \
	supervisor/egress-client-usage.c \
	supervisor/egress-address.c supervisor/egress-address.h \
	supervisor/egress-guest.c \
	supervisor/egress-provide.c supervisor/egress-provide.h \
	supervisor/egress-provide-java.c \
	supervisor/egress-routes.c supervisor/egress-routes.h \
	supervisor/egress-start.c supervisor/egress-start.h \
	supervisor/probe-cgroups.c \
	supervisor/probe-host.c \
	supervisor/probe-landlock.c \
	supervisor/probe-namespaces.c \
	supervisor/probe-process.c \
	supervisor/probe-seccomp.c \
	supervisor/probe.c \
	supervisor/probe.h
EXTRA_DIST += supervisor/README.md
libcallgate_supervisor_a_SOURCES += \
	supervisor/namespaces.c \
	supervisor/namespaces.h \
	supervisor/aside.c \
	supervisor/aside.h \
	supervisor/namespaces-clone.c \
	supervisor/namespaces-mount.c \
	supervisor/namespaces-net.c \
	supervisor/namespaces-private.h \
	supervisor/pidmax.c \
	supervisor/pidmax.h \
	supervisor/namespaces-unshare.c \
	supervisor/privs-keep.c
