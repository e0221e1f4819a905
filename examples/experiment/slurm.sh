#!/bin/sh
# Runs the plan as a Slurm job array of four shares, into OUT (default: ./out) on a file system that the nodes share.
# Each task takes its share of the cells; a share that is cut off goes on when it is submitted again.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$(mkdir -p "${1:-out}" && cd "${1:-out}" && pwd)
callgate=${CALLGATE:-$(command -v "$here/../../build/callgate" || echo callgate)}
# shellcheck disable=SC2016 # SLURM_ARRAY_TASK_ID is the task's
sbatch --wait --quiet --array=1-4 --ntasks=1 --output="$out/slurm-%a.txt" \
	--wrap="'$callgate' experiment run -q --shard \$SLURM_ARRAY_TASK_ID/4 -o '$out' '$here/plan.json'"
"$callgate" experiment report --csv "$out"
