#!/bin/bash
# Runs in the virtual machine, as root, when systemd has started: the plan of run.sh, which is on the disk with the
# tests. What it writes to the serial line is the result: one line for each thing, which begins with "vm: ".
surroundings="" tests="" test_seconds="" prepare="" commands=()
# shellcheck source=/dev/null
. /vm/plan # sets them
line=/dev/$(cat /sys/class/tty/console/active)
exec >"$line" 2>&1 </dev/null
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8
export top_srcdir=/vm/tree top_builddir=/vm/tree/built
export CALLGATE=$top_builddir/callgate CALLGATE_PROFILES=$top_srcdir/policy/profiles
# Processors may be emulated, and busy: what waits waits long.
kept=(LIVE_TIMEOUT=600 PATH="$PATH" LC_ALL="$LC_ALL" top_srcdir="$top_srcdir" top_builddir="$top_builddir"
	CALLGATE="$CALLGATE" CALLGATE_PROFILES="$CALLGATE_PROFILES")

# Of Docker's containers, unless asked for otherwise.
docker_capabilities="CAP_CHOWN CAP_DAC_OVERRIDE CAP_FSETID CAP_FOWNER CAP_MKNOD CAP_NET_RAW CAP_SETGID CAP_SETUID
	CAP_SETFCAP CAP_SETPCAP CAP_NET_BIND_SERVICE CAP_SYS_CHROOT CAP_KILL CAP_AUDIT_WRITE"

# Sets the array "properties" to what the example's unit says of its service, but for what it starts: -p, one, -p, …
read_unit()
{
	local line
	properties=()
	while read -r line; do
		case $line in
		'' | '#'* | '['* | Type=* | ExecStart=*) ;;
		*) properties+=(-p "$line") ;;
		esac
	done < <(sed -n '/^\[Service\]/,$p' "$top_srcdir/examples/confined/analysis.service")
	[ ${#properties[@]} -gt 20 ]
}

# The user's own instance of systemd, of which a scope is asked. No session is opened, which would set the variable.
start_user_manager()
{
	local uid unit
	uid=$(id -u tester)
	unit=user@$uid.service
	mkdir -p "/run/systemd/system/$unit.d"
	printf '[Service]\nEnvironment=XDG_RUNTIME_DIR=/run/user/%s\n' "$uid" >"/run/systemd/system/$unit.d/vm.conf"
	systemctl daemon-reload && systemctl start "$unit"
}

# inside SURROUNDING COMMAND…: as root of the machine, as an ordinary user in a control group of root's, as a user
# to whom systemd has delegated one, as a user in a delegated scope of his own systemd, in the service of
# examples/confined, or as root or a user of a Docker container: with its AppArmor profile and its capabilities, and
# without the calls that its filter refuses most programs.
inside()
{
	local surrounding=$1
	shift
	case $surrounding in
	root) env "${kept[@]}" LIVE_TMP=/var/tmp "$@" ;;
	user)
		(cd /home/tester && setpriv --reuid=tester --regid=tester --init-groups --inh-caps=-all \
			env -i "${kept[@]}" HOME=/home/tester LIVE_TMP=/home/tester "$@")
		;;
	delegated)
		systemd-run --quiet --pipe --wait --collect -p User=tester -p Delegate=yes \
			-p WorkingDirectory=/home/tester -- env -i "${kept[@]}" HOME=/home/tester \
			LIVE_TMP=/home/tester "$@"
		;;
	scope)
		start_user_manager && systemd-run --quiet --pipe --wait --collect -p User=tester \
			-p WorkingDirectory=/home/tester -- env -i "XDG_RUNTIME_DIR=/run/user/$(id -u tester)" \
			systemd-run --user --scope --quiet --collect -p Delegate=yes -- env -i "${kept[@]}" \
			HOME=/home/tester LIVE_TMP=/home/tester "$@"
		;;
	docker | docker-user)
		local user=root
		[ "$surrounding" = docker ] || user=tester
		systemd-run --quiet --pipe --wait --collect -p User=$user -p AppArmorProfile=docker-default \
			-p CapabilityBoundingSet="$docker_capabilities" -p RestrictNamespaces=yes \
			-p ProtectControlGroups=yes -p SystemCallFilter="~@mount pidfd_getfd" \
			-p SystemCallErrorNumber=EPERM -p WorkingDirectory=/tmp -- \
			env -i "${kept[@]}" OUTER_FILTER=1 HOME=/tmp LIVE_TMP=/tmp "$@"
		;;
	service)
		read_unit && systemd-run --quiet --pipe --wait --collect "${properties[@]}" -p WorkingDirectory=/tmp \
			-- env -i "${kept[@]}" OUTER_FILTER=1 HOME=/tmp LIVE_TMP=/tmp "$@"
		;;
	esac
}

# What an installer would have made, and a modprobe(8) that reads what depmod of busybox has made (kernel.sh).
[ -e /etc/hosts ] || printf '127.0.0.1 localhost\n::1 localhost\n' >/etc/hosts
printf '#!/bin/sh\nexec /bin/busybox modprobe "$@"\n' >/usr/local/sbin/modprobe
chmod +x /usr/local/sbin/modprobe
echo /usr/local/sbin/modprobe >/proc/sys/kernel/modprobe

echo "vm: kernel $(uname -r) $(uname -m), $(nproc) CPUs, $(free -m | awk '/^Mem/{print $2}') MiB, $(cat /proc/cmdline)"
eval "$prepare" || {
	echo "vm: FAIL prepare: status $? of: $prepare"
	surroundings=
}
for surrounding in $surroundings; do
	for question in "doctor --json" "run --json --memory 256M -- /usr/bin/true"; do
		# shellcheck disable=SC2086 # words
		inside "$surrounding" "$CALLGATE" $question >/tmp/answer 2>/tmp/complaint
		status=$?
		answer=$(jq -c . /tmp/answer 2>/dev/null)
		echo "vm: answer $surrounding ${question%% *} $status ${answer:-$(jq -Rsc . /tmp/complaint)}"
	done
	for test in $tests; do
		SECONDS=0
		script=("$top_srcdir/tests/live/$test")
		[[ /$test != /unit* ]] || script=("$top_srcdir/tests/vm/unit.sh" "$test")
		inside "$surrounding" timeout -k 10 "$test_seconds" bash "${script[@]}" >/tmp/log 2>&1
		status=$?
		case $status in
		0) echo "vm: ok $surrounding $test $SECONDS" ;;
		77) echo "vm: skip $surrounding $test $SECONDS $(grep -m 1 '^SKIP' /tmp/log)" ;;
		*)
			echo "vm: FAIL $surrounding $test $SECONDS status $status"
			tail -n 30 /tmp/log | sed 's/^/vm-log: /'
			;;
		esac
	done
done
for number in "${!commands[@]}"; do
	inside root bash -c "cd /root; ${commands[number]}"
	echo "vm: status $? of: ${commands[number]}"
done
echo "vm: end"
