#!/bin/bash
# Inside other confinement: bubblewrap, Flatpak's filter, the system call filter of a systemd service, gVisor, a pod
# with the "restricted" security standard, Docker's defaults, Docker where its daemon runs. In each, callgate doctor
# says what runs there do, and its advice, followed literally, helps.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/examine.sh"
. "$(dirname "$0")/../docker-profile.sh"
need jq
export PODMAN_IGNORE_CGROUPSV1_WARNING=1 # of podman 5, on stderr, where it would be taken for callgate's words

# fails_with TEXT COMMAND…: below COMMAND a run is refused by one line with this text.
fails_with()
{
	local text=$1
	shift
	timeout 100 "$@" "$CALLGATE" run -- /bin/true >"$T/out" 2>"$T/err" </dev/null
	[ $? = 125 ] || fail "$*: a run ended with $?, not 125"
	[ "$(wc -l <"$T/err") $(grep -cF "$text" "$T/err")" = "1 1" ] ||
		fail "$*: not one line with \"$text\": $(cat "$T/err")"
}

# ---- bubblewrap ----
bwrap=(bwrap --ro-bind / / --dev /dev --proc /proc --bind "$T" "$T" --unshare-all)
if "${bwrap[@]}" true 2>"$T/err"; then
	examine 0 "${bwrap[@]}"
	says 'state("userns") == "works" and .layers.mountns.active' bwrap
	agrees "${bwrap[@]}"
	without=("${bwrap[@]}" --unshare-user --disable-userns)
	if "${without[@]}" true 2>/dev/null; then
		examine 0 "${without[@]}"
		says 'state("userns") == "lacks" and .layers.landlock.active' disable-userns
		agrees "${without[@]}"
	fi

	# Flatpak (common/flatpak-run.c, setup_seccomp): bubblewrap and these refusals.
	flatpak=namespaces:1,clone3:38
	for call in syslog uselib acct quotactl add_key keyctl request_key move_pages mbind get_mempolicy \
		set_mempolicy migrate_pages unshare setns mount umount2 pivot_root chroot; do
		flatpak+=,$call:1
	done
	for call in open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr; do
		flatpak+=,$call:38
	done
	# A root of its own, in which it tells applications where they are.
	echo '[Application]' >"$T/info"
	bwrap=(bwrap --unshare-all --ro-bind "$T/info" /.flatpak-info)
	for dir in /*; do
		case $dir in
		/dev | /proc) ;;
		*)
			if [ -L "$dir" ]; then
				bwrap+=(--symlink "$(readlink "$dir")" "$dir")
			else
				bwrap+=(--ro-bind "$dir" "$dir")
			fi
			;;
		esac
	done
	bwrap+=(--dev /dev --proc /proc --bind "$T" "$T")
	# shellcheck disable=SC2046 # words
	{
		examine 0 "${bwrap[@]}" $(refusing "$flatpak")
		says '.layers.landlock.active and (.layers.userns.active | not)' flatpak-devel
		agrees "${bwrap[@]}" $(refusing "$flatpak")
		examine 1 "${bwrap[@]}" $(refusing "$flatpak,ptrace:1,perf_event_open:1")
		says 'advice("--allow=devel") and ([.advice[].title] | index("seccomp profile") | not)' flatpak
	}
else
	echo "# not tried: bubblewrap: $(head -n 1 "$T/err")"
fi

# ---- a systemd service ----
# allowed SET|NAME…: SPECs that allow these calls; sets are systemd's own (systemd-analyze(1)).
allowed()
{
	local word
	for word; do
		case $word in
		@*)
			# shellcheck disable=SC2046 # words
			allowed $(systemd-analyze --no-pager syscall-filter "$word" | sed 1d | sed 's/#.*//')
			;;
		*) printf '%s:0,' "$word" ;;
		esac
	done
}

if systemd-analyze --no-pager syscall-filter @system-service >"$T/set" 2>/dev/null; then
	service=$(allowed @system-service)
	# shellcheck disable=SC2046 # words
	{
		examine 1 env INVOCATION_ID=1 $(refusing "${service}default:kill")
		says '(text("outer_filter") | contains("kills")) and advice("SystemCallErrorNumber=")' service-kills
		fails_with SystemCallErrorNumber=EPERM $(refusing "${service}default:kill")
		examine 1 env INVOCATION_ID=1 $(refusing "${service}default:1")
		says 'advice("SystemCallFilter=@system-service") and .works == false' service
		# A listener or, with a newer systemd, tracing.
		fails_with "every run needs" $(refusing "${service}default:1")
		fails_with "ptrace(2)" $(refusing ptrace:1)
		# As advised, which is what the example's unit has.
		words=$(jq -r '.advice[].text' "$D" | sed -n 's/^ *SystemCallFilter=//p' | xargs)
		unit=$SRC/examples/confined/analysis.service
		[ "$words" = "$(sed -n 's/^SystemCallFilter=//p' "$unit" | xargs)" ] ||
			fail "$unit allows other calls than advised: $words"
		# shellcheck disable=SC2086 # words
		advised=$(allowed $words)
		examine 0 $(refusing "${advised}default:1")
		says '.layers.landlock.active' service-advised
		agrees $(refusing "${advised}default:1")
	}
else
	echo "# not tried: a systemd service: no systemd-analyze"
fi

# ---- gVisor ----
# runsc becomes nobody, who cannot enter $T. It makes its standard input nobody's as well: a pipe, never /dev/null.
# shellcheck disable=SC2016 # the inner shell's
runsc=(env TMPDIR=/tmp sh -c ': | runsc --network=none "$@"' sh)
[ "$(id -u)" = 0 ] || runsc+=(--rootless)
owner=$(stat -c %u:%g /dev/null)
if "${runsc[@]}" "do" true >"$T/err" 2>&1; then
	[ "$(stat -c %u:%g /dev/null)" = "$owner" ] || fail "runsc has changed the owner of /dev/null"
	examine 1 "${runsc[@]}" "do"
	says '[.advice[].title] | index("gVisor") and (index("one listener only") | not)' gvisor
	says 'text("kernel") | contains("gVisor")' gvisor
	fails_with gVisor "${runsc[@]}" "do"
else
	echo "# not tried: gVisor: $(tail -n 1 "$T/err")"
fi

# ---- containers with an image ----
# A root with callgate, its profiles, a shell and true. Where not all libraries are to be had as archives (Debian 13),
# callgate is linked with shared ones.
make_root()
{
	local file
	mkdir -p "$T/root"/{etc,proc,dev,sys,profiles} && mkdir -m 1777 "$T/root/tmp"
	for file in /bin/sh /bin/true $(ldd /bin/sh /bin/true "$CALLGATE" | grep -o '/[^ ]*\.so[^ ]*' | sort -u); do
		install -D "$file" "$T/root$file"
	done
	install -D "$CALLGATE" "$T/root/usr/bin/callgate"
	cp "$SRC"/policy/profiles/*.json "$T/root/profiles"
	tar -C "$T/root" -cf "$T/root.tar" .
}

# as_pod COMMAND…: the example's pod with this command.
as_pod()
{
	local args podman=(podman --root "$T/storage" --runroot "$T/run")
	args=$(jq -nc '$ARGS.positional' --args -- "$@")
	sed -e 's|^\( *\)image: .*|\1image: localhost/callgate-confined:1|' -e "s|^\( *\)args: .*|\1args: $args|" \
		-e 's|^\( *\)- name: analysis|&\n\1  env: [{name: CALLGATE_PROFILES, value: /profiles}]|' \
		"$SRC/examples/confined/pod.yaml" >"$T/pod.yaml"
	{
		"${podman[@]}" image exists localhost/callgate-confined:1 ||
			"${podman[@]}" import --change 'ENTRYPOINT ["/usr/bin/callgate"]' "$T/root.tar" \
				localhost/callgate-confined:1
		"$SRC/tests/live/play-pod.sh" "$T" "$T/pod.yaml" "${podman[@]}"
	} >"$T/podman.log" 2>&1 </dev/null
}

if ! command -v podman >/dev/null || ! command -v catatonit >/dev/null; then
	echo "# not tried: a pod: podman or catatonit is missing"
elif [ "$(id -u)" != 0 ]; then
	echo "# not tried: a pod: not root, which starts it"
else
	make_root
	if as_pod doctor --json; then
		cp "$T/logs" "$D"
		says '.works and .layers.landlock.active and .layers.seccomp_notify.active and .uid == 1000' pod
		says '(text("outer_filter") | contains("seccomp filter")) and (.layers.cgroups.active | not)' pod
		as_pod run --json --memory 300M --pids 100 -- /bin/true ||
			fail "pod: a run: $(tail -n 3 "$T/podman.log")"
		[ "$(jq -cS '[.status, (.enforcement | map_values(.active))]' "$T/logs")" \
			= "$(jq -cS '["ok", (.layers | map_values(.active))]' "$D")" ] ||
			fail "pod: a run is not as doctor says: $(cat "$T/logs")"
	else
		echo "# not tried: a pod: $(tail -n 1 "$T/podman.log")"
	fi
fi

# ---- Docker's defaults: its capabilities, masked paths and seccomp profile, by podman ----
capabilities=CHOWN,DAC_OVERRIDE,FSETID,FOWNER,MKNOD,NET_RAW,SETGID,SETUID,SETFCAP,SETPCAP,NET_BIND_SERVICE,SYS_CHROOT
capabilities+=,KILL,AUDIT_WRITE
# docker_like USER PROFILE: sets "contained" to the words of a command for such a container. The mount namespace is for
# podman, which takes a cgroup2 mount at "unified" for a layout it cannot use.
docker_like()
{
	# shellcheck disable=SC2016 # the inner shell's
	contained=(unshare -m sh -c 'umount /sys/fs/cgroup/unified 2>/dev/null; exec "$@"' sh
		podman --root "$T/storage" --runroot "$T/run" run --rm --cgroups=disabled --network=none
		--ulimit nofile=1024:1024 --ulimit nproc=1000:1000 --cap-drop all --cap-add "$capabilities"
		--user "$1" --security-opt "seccomp=$2" --env CALLGATE_PROFILES=/profiles --tmpfs /tmp
		--rootfs "$T/root:O")
}

if ! command -v podman >/dev/null || [ "$(id -u)" != 0 ]; then
	echo "# not tried: Docker's defaults: no podman, or not root, which starts it"
else
	[ -e "$T/root.tar" ] || make_root
	docker_profile "$T/docker.json"
	docker_profile "$T/docker-20.json" process_vm_readv process_vm_writev
	docker_like 0 "$T/docker.json"
	if "${contained[@]}" /bin/true >"$T/err" 2>&1 </dev/null; then
		outside=$CALLGATE
		CALLGATE=/usr/bin/callgate
		for user in 0 "$(own_uid)"; do
			docker_like "$user" "$T/docker.json"
			examine 0 "${contained[@]}"
			says '.layers.landlock.active and (.layers.userns.active | not)' "docker: $user"
			agrees "${contained[@]}"
		done
		# Docker 20.10 and before refuse access to another process's memory, too, without which no run works.
		docker_like "$(own_uid)" "$T/docker-20.json"
		examine 1 "${contained[@]}"
		says 'state("process_memory") == "lacks" and advice("\"process_vm_readv\"")' "docker 20.10"
		CALLGATE=$outside
	else
		echo "# not tried: Docker's defaults: $(tail -n 1 "$T/err")"
	fi
fi

if timeout 10 docker info >/dev/null 2>&1; then
	[ -e "$T/root.tar" ] || make_root
	docker import "$T/root.tar" "callgate-confined:$$" >/dev/null || die "docker import"
	docker=(docker run --rm --network=none --read-only --tmpfs /tmp --user "$(own_uid)" -e
		CALLGATE_PROFILES=/profiles --entrypoint "" "callgate-confined:$$")
	CALLGATE=/usr/bin/callgate
	examine 0 "${docker[@]}"
	says '.layers.landlock.active' docker
	agrees "${docker[@]}"
	docker rmi -f "callgate-confined:$$" >/dev/null
else
	echo "# not tried: Docker: its daemon does not run"
fi
