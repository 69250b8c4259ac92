#!/bin/sh
# HealthCheckProgram: drains the node for what the doctor blames on the node, and for nothing else.
#
#   slurm.conf:  HealthCheckProgram=/etc/slurm/cudart_health_check.sh
#                HealthCheckInterval=300
#                HealthCheckNodeState=ANY
#
# It looks at what a program that is started on this node gets: driver, devices, and, where nobody uses the GPUs, a real
# kernel and CUDA IPC. Findings have an owner; those of "image" and "user" are the jobs' and are not looked at here.
# A drained node is left as it is, whoever drained it, and no node is ever resumed.
#
#   health_check.sh            drain (needs jq and scontrol)
#   health_check.sh --reason   only print the reason (for NHC, and to try it)
#
# Adapt the lines below: Slurm passes no variables on. The program is the first of PATH here. The probe needs a genuine runtime; where the loader finds
# none by itself, name one: options="--probe auto --load /usr/local/cuda/lib64/libcudart.so.12"
# Where slurm.conf is not at its usual place, add: export SLURM_CONF=/path/slurm.conf
#
# Exit code (Slurm only logs it): 0 nothing that is the node's, 1 a problem of the node, 3 could not decide; the node
# is not touched then. Ends within 55 seconds; Slurm kills it after 60.
set -uf # -f: a * in the options is no pattern
PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

doctor=cudart-doctor
scontrol=/usr/bin/scontrol
options="--probe auto"

undecided() { printf 'cudart-doctor: %s\n' "$*" >&2; exit 3; }

# shellcheck disable=SC2086 # the options are words
report=$("$doctor" --json --timeout 30 --exit-style always-zero $options </dev/null) ||
    undecided "$doctor could not be run (exit $?)"
# `input` fails where nothing was printed. The verdict may be open for a reason that is not the node's; a finding of
# the node stands nevertheless.
reason=$(printf '%s' "$report" | jq -nr 'input |
    if .error then error(.error.message) else . end
    | [.findings[] | select(.owner == "node" and .allowed == null and
                            (.severity == "error" or .severity == "critical"))]
    | first // empty | "[node_problem] \(.id) \(.headline)"[:120]') || undecided "no report that jq could read"
[ -n "$reason" ] || exit 0

printf '%s\n' "$reason"
[ "${1-}" != --reason ] || exit 1
node=${SLURMD_NODENAME:-$(hostname -s)}
state=$(timeout 10 "$scontrol" --oneliner show node "$node") || undecided "no answer of $scontrol about node $node"
case $state in
    *" State="*) state=${state#* State=} ;;
    *) undecided "no State of node $node in the answer of $scontrol" ;;
esac
case ${state%% *} in
    *DRAIN*) exit 1 ;;
esac
timeout 10 "$scontrol" update nodename="$node" state=drain reason="$reason" || undecided "$scontrol did not drain $node"
exit 1
