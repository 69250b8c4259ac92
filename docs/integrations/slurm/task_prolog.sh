#!/bin/sh
# TaskProlog: looks at the environment of each task with a GPU, and tells its user what is wrong with it.
#
#   slurm.conf:  TaskProlog=/etc/slurm/cudart_task_prolog.sh
#
# Slurm runs it as the user, in the task's environment, and reads its stdout: lines "print ..." go to the job's output.
# Nothing is printed where nothing is wrong. A clash of libraries in one job says nothing about the node: this script
# never drains one.
#
# Adapt by variables of the job (sbatch, or `export` in the job script):
#   CUDART_DOCTOR_POLICY   warn (default): one line in the job's output
#                          gate: cancel the task too, where the doctor does not end with 0
#                          off: no look
#   CUDART_DOCTOR_OPTIONS  further options in words: "--allow RT06"
#   CUDART_DOCTOR          the program (cudart-doctor on PATH, else in /usr/local/bin or /usr/bin)
#
# Exit code: 0; with "gate" the doctor's, which cancels this task and nothing else: 1 something was found, 2 wrong
# options, 3 could not decide, 126/127 no doctor that runs here. 2 too, for each task, for any other policy: a gate that
# is misspelt does not stand open.
set -uf # -f: a * in the options is no pattern

PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin
doctor=${CUDART_DOCTOR:-cudart-doctor}
policy=${CUDART_DOCTOR_POLICY:-warn}

case $policy in
    warn | gate) ;;
    off) exit 0 ;;
    *)
        says="task cancelled (exit 2): CUDART_DOCTOR_POLICY may be warn, gate or off"
        printf 'cudart-doctor: %s\n' "$says" >&2
        printf 'print cudart-doctor: %s\n' "$says"
        exit 2
        ;;
esac
# Of the tasks on one node the first one speaks for all; each may be cancelled.
[ "$policy" = gate ] || [ "${SLURM_LOCALID:-0}" = 0 ] || exit 0
[ -n "${CUDA_VISIBLE_DEVICES-}${SLURM_JOB_GPUS-}${SLURM_STEP_GPUS-}" ] || exit 0

python=$(command -v python3) || python=
# shellcheck disable=SC2086 # the options are words
line=$("$doctor" ${python:+--python "$python"} --probe off --timeout 10 --format line ${CUDART_DOCTOR_OPTIONS-} \
    </dev/null 2>/dev/null)
code=$?
[ "$code" -ne 0 ] || exit 0

printf 'print cudart-doctor: %s\n' "${line:-$doctor could not be run (exit $code)}"
if [ "$policy" = gate ]; then
    printf 'print cudart-doctor: task cancelled (exit %s): CUDART_DOCTOR_POLICY=gate\n' "$code"
    exit "$code"
fi
exit 0
