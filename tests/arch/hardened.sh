#!/bin/sh
# hardened.sh PROGRAM CORE_LIBRARY PROCESSOR: what the linker and the compiler were asked for is in the program.
set -eu

program=$1
library=$2
processor=$3
failed=0
# want TEXT PATTERN COMMAND...: PATTERN stands in what COMMAND prints.
want() {
    what=$1 pattern=$2
    shift 2
    if ! LC_ALL=C "$@" 2>/dev/null | grep -qE -- "$pattern"; then
        echo "missing: $what"
        failed=1
    fi
}
never() {
    what=$1 pattern=$2
    shift 2
    if LC_ALL=C "$@" 2>/dev/null | grep -E -- "$pattern"; then
        echo "there is: $what"
        failed=1
    fi
}

want 'position independence' 'FLAGS_1.*PIE' readelf --dynamic --wide "$program"
want 'bindings at start' 'BIND_NOW|FLAGS_1.*NOW' readelf --dynamic --wide "$program"
want 'read-only relocations' 'GNU_RELRO' readelf --program-headers --wide "$program"
want 'stack protector' '__stack_chk_fail' readelf --dyn-syms --wide "$program"
want 'a stack that is not executable' 'GNU_STACK .* RW +0x' readelf --program-headers --wide "$program"
never 'a segment that is writable and executable' 'LOAD .* RWE' readelf --program-headers --wide "$program"
never 'a search path of its own' 'RPATH|RUNPATH' readelf --dynamic --wide "$program"
never 'relocations in code' 'TEXTREL' readelf --dynamic --wide "$program"
if [ "$processor" = x86_64 ]; then
    # The program as a whole has the mark only where the system's start files have it too.
    want 'control-flow marks in our objects' 'IBT, SHSTK' readelf --notes "$library"
fi
exit $failed
