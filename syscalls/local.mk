libcallgate_syscalls_a_SOURCES += \
	syscalls/arch-aarch64.c \
	syscalls/arch-x86_64.c \
	syscalls/arch.c \
	syscalls/arch.h \
	syscalls/call-record.c \
	syscalls/call-record.h \
	syscalls/call.c \
	syscalls/call.h \
	syscalls/changes.h \
	syscalls/chdir.c \
	syscalls/decode.c \
	syscalls/decode.h \
	syscalls/denials.h \
	syscalls/descriptor.c \
	syscalls/descriptor.h \
	syscalls/elf-machine.h \
	syscalls/elf.c \
	syscalls/elf.h \
	syscalls/exec-args.c \
	syscalls/exec-args.h \
	syscalls/exec-argv.c \
	syscalls/exec-argv.h \
	syscalls/exec-cache.c \
	syscalls/exec-cache.h \
	syscalls/exec-image.c \
	syscalls/exec-judge.c \
	syscalls/exec-judge.h \
	syscalls/exec.c \
	syscalls/exec.h \
	syscalls/fdinfo.c \
	syscalls/fdinfo.h \
	syscalls/file-access.c \
	syscalls/file-act.c \
	syscalls/file-act.h \
	syscalls/file-attr.c \
	syscalls/file-fd.c \
	syscalls/file-link.c \
	syscalls/file-make.c \
	syscalls/file-mode.c \
	syscalls/file-open-calls.c \
	syscalls/file-open.c \
	syscalls/file-open.h \
	syscalls/file-readlink.c \
	syscalls/file-remove.c \
	syscalls/file-rename.c \
	syscalls/file-room.c \
	syscalls/file-room.h \
	syscalls/file-scope.c \
	syscalls/file-stat.c \
	syscalls/file-times.c \
	syscalls/file-truncate.c \
	syscalls/file-watch.c \
	syscalls/file-xattr-calls.c \
	syscalls/file-xattr.c \
	syscalls/file-xattr.h \
	syscalls/file.c syscalls/file-name.c \
	syscalls/file.h syscalls/file-private.h \
	syscalls/filter-sockets.c syscalls/filter-terms.c syscalls/terms.h \
	syscalls/frame-aarch64.c syscalls/frame-x86_64.c syscalls/frame.h \
	syscalls/guest.c \
	syscalls/guest.h \
	syscalls/handlers.h \
	syscalls/inet-address.c syscalls/inet-address.h \
	syscalls/inet-bind.c \
	syscalls/inet-connect.c \
	syscalls/inet-datagram.c \
	syscalls/inet-fence.c syscalls/inet-fence.h \
	syscalls/inet-listeners.c syscalls/inet-listeners.h \
	syscalls/inet-message.c syscalls/inet-message.h \
	syscalls/inet-names.c syscalls/inet-names.h \
	syscalls/inet-private.h \
	syscalls/inet-send.c syscalls/inet-send.h \
	syscalls/inet-option.c \
	syscalls/inet-socket.c \
	syscalls/inet-transfer.c syscalls/inet-transfer.h \
	syscalls/inet-work.c syscalls/inet-work.h \
	syscalls/inet.c syscalls/inet.h \
	syscalls/insn-aarch64.c syscalls/insn-x86_64.c syscalls/insn.h \
	syscalls/mqueue.c \
	syscalls/native.c \
	syscalls/native.h \
	syscalls/net-address.c \
	syscalls/net-address.h \
	syscalls/net-unix.c \
	syscalls/net.c \
	syscalls/numbers.h \
	syscalls/pidinfo.h \
	syscalls/proc.c \
	syscalls/process.c \
	syscalls/procmap.h \
	syscalls/shebang.c \
	syscalls/shebang.h \
	syscalls/signal-group.c \
	syscalls/signal-group.h \
	syscalls/signal.c \
	syscalls/sockets.c \
	syscalls/sockets.h \
	syscalls/syscalls.def \
	syscalls/table.c \
	syscalls/table.h \
	syscalls/target.c \
	syscalls/target.h \
	syscalls/tree.c \
	syscalls/tree.h \
	syscalls/view-attach.c syscalls/view-attach.h syscalls/view-rebase.c \
	syscalls/view-base.c \
	syscalls/view-build.c syscalls/view-build.h syscalls/view-grant.c syscalls/view-provide.c \
	syscalls/view-cover.c \
	syscalls/view-execs.c \
	syscalls/view-holes.c \
	syscalls/view-judge.c \
	syscalls/view-kernels.c syscalls/view-proc.c \
	syscalls/view-links.c \
	syscalls/view-listing.c \
	syscalls/view-mount.c \
	syscalls/view-name.c \
	syscalls/view-private.h \
	syscalls/view-shown.c \
	syscalls/view-skeleton.c \
	syscalls/view-twin.c \
	syscalls/view-walk.c \
	syscalls/view.c \
	syscalls/view.h
libcallgate_syscalls_a_SOURCES += \
	syscalls/changes-moves.c syscalls/changes-private.h \
	syscalls/changes-report.c \
	syscalls/changes-tree.c \
	syscalls/disk.c syscalls/disk.h \
	syscalls/file-self.c \
	syscalls/disk-files.c syscalls/disk-mapped.c syscalls/disk-private.h \
	syscalls/changes.c \
	syscalls/denial-text.c \
	syscalls/denial-text.h \
	syscalls/denials.c \
	syscalls/texthash.h
libcallgate_syscalls_a_SOURCES += \
	syscalls/forks.c syscalls/forks.h \
	syscalls/memfds.c syscalls/memfds.h syscalls/sendfile.c \
	syscalls/meminfo.c syscalls/meminfo.h
EXTRA_DIST += syscalls/README.md
