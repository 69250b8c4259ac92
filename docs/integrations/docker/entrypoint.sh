#!/bin/sh
# Entry point of an image: looks at the CUDA runtimes that the image's Python would get, then becomes the command.
#
# Adapt by variables (docker run -e):
#   CUDART_DOCTOR_POLICY   warn (default): say what is found, start anyway
#                          gate: start only where the doctor ends with 0
#                          off: start at once
#   CUDART_DOCTOR_PYTHON   whose packages count: a name on PATH, a path (python3); empty: no Python in this image
#   CUDART_DOCTOR_OPTIONS  further options in words: "--allow RT06 --format line"
#   CUDART_DOCTOR          the program (cudart-doctor, searched on PATH)
#
# Exit code: the command's, whose PID is this script's. With "gate" also, without a start: 1 something was found,
# 2 wrong options, 3 could not decide, 126/127 no doctor that runs here. 2 too for a wrong policy or no command.
# A signal that arrives while the doctor looks ends both: 143 for SIGTERM. The report goes to stderr.
set -uf # -f: a * in the options is no pattern

say() { printf 'entrypoint: %s\n' "$*" >&2; }

doctor=${CUDART_DOCTOR:-cudart-doctor}
policy=${CUDART_DOCTOR_POLICY:-warn}
python=${CUDART_DOCTOR_PYTHON-python3}

if [ $# -eq 0 ]; then
    say "no command: give one behind the image's name, or as CMD"
    exit 2
fi
case $policy in
    warn | gate) ;;
    off) exec "$@" ;;
    *) say "CUDART_DOCTOR_POLICY is $policy; it may be warn, gate or off"; exit 2 ;;
esac

# The kernel keeps signals without a handler from PID 1, and a shell runs no handler before a command in the foreground
# has ended: so the doctor looks in the background. `exec` sets handled signals back to what they do by themselves.
looking=
stop() {
    set +u # there is no $! yet where the signal comes first
    [ -z "$looking" ] || kill $! 2>/dev/null
    exit "$1"
}
trap 'stop 129' HUP
trap 'stop 130' INT
trap 'stop 143' TERM
looking=yes
# shellcheck disable=SC2086 # the options are words
"$doctor" ${python:+--python "$python"} ${CUDART_DOCTOR_OPTIONS-} </dev/null >&2 &
wait $!
code=$?
looking=
if [ "$code" -ne 0 ]; then
    case $code in
        1) what="found a problem" ;;
        2) what="was given wrong options, or could not write its output" ;;
        126 | 127) what="could not be run: is $doctor in the image (on PATH), and glibc 2.34 or later?" ;;
        *) what="could not decide" ;;
    esac
    if [ "$policy" = gate ]; then
        say "cudart-doctor $what (exit $code); not started: policy gate"
        exit "$code"
    fi
    say "cudart-doctor $what (exit $code); starting anyway: policy warn"
fi
exec "$@"
