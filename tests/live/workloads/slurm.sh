#!/bin/bash
# examples/experiment/slurm.sh: a plan as a job array of Slurm, with a controller and two nodes on this machine, in a
# network namespace of their own: their ports have to be known before they are started.
if [ "$(id -u)" = 0 ] && [ -z "${SLURM_INSIDE:-}" ] && unshare --net true 2>/dev/null; then
	SLURM_INSIDE=1 exec unshare --net bash "$0"
fi
. "$(dirname "$0")/../lib.sh"
need slurmctld slurmd munged sbatch scontrol jq ip
[ "$(id -u)" = 0 ] || skip "Slurm's daemons are started as root"
[ -n "${SLURM_INSIDE:-}" ] || skip "no network namespace can be made"
# Slurm resolves 127.0.0.1 with AI_ADDRCONFIG, for which there must be another address.
{ ip link set lo up && ip address add 10.9.8.7/32 dev lo; } || die "no loopback"

cd "$T" || die cd
mkdir state spool-n1 spool-n2
head -c 1024 /dev/urandom >munge.key
chmod 400 munge.key
export SLURM_CONF=$T/slurm.conf
host=$(hostname -s)
port=20000
cat >slurm.conf <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket=$T/munge.socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$T/state
SlurmdSpoolDir=$T/spool-%n
SlurmctldPidFile=$T/slurmctld.pid
SlurmdPidFile=$T/slurmd-%n.pid
SlurmctldLogFile=$T/slurmctld.log
SlurmdLogFile=$T/slurmd-%n.log
SlurmctldPort=$port
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SchedulerType=sched/builtin
SelectType=select/linear
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=1
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=1
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=10 State=UP
CONF
chmod 755 "$T" # munged refuses a socket in a directory that others cannot search

# Every daemon ends with the test.
# shellcheck disable=SC2317 # called by the trap
end_daemons()
{
	local file pid
	for file in slurmctld.pid slurmd-n1.pid slurmd-n2.pid munge.pid; do
		[ -s "$T/$file" ] && pid=$(cat "$T/$file") && kill "$pid" 2>/dev/null && awaited dead "$pid"
	done
	live_done
}
trap end_daemons EXIT

munged --key-file="$T/munge.key" --socket="$T/munge.socket" --pid-file="$T/munge.pid" --log-file="$T/munge.log" \
	--seed-file="$T/munge.seed" >"$T/munge.out" 2>&1 ||
	skip "munged does not start here: $(head -n 1 "$T/munge.out")"
slurmctld || die "slurmctld: $(tail -n 3 slurmctld.log)"
{ slurmd -N n1 && slurmd -N n2; } || die "slurmd: $(tail -n 3 slurmd-n1.log)"
# shellcheck disable=SC2317 # awaited calls it
nodes_are_idle() { [ "$(sinfo -h -t idle -o %D 2>/dev/null)" = 2 ]; }
awaited nodes_are_idle || die "no two idle nodes: $(sinfo 2>&1 | tail -n 4) $(tail -n 3 slurmctld.log)"

timeout 100 "$SRC/examples/experiment/slurm.sh" "$T/out" >"$T/report" 2>&1 ||
	fail "slurm.sh: $(cat "$T/report" slurmctld.log)"
grep -qE '^words +no release file +4 +4 ' "$T/report" || fail "report: $(cat "$T/report")"
[ "$(wc -l <"$T/out/results.jsonl")" = 24 ] || fail "rows: $(wc -l <"$T/out/results.jsonl")"
[ "$(find "$T/out" -name 'shard-*-of-4.lock' | wc -l)" = 4 ] || fail "not four shares: $(ls "$T/out")"
grep -qi 'launching batch job' slurmd-n2.log || fail "the second node did nothing"
exit $live_failed
