#!/usr/bin/env bash
# library_test.sh LIBRARY SOURCE BUILD: the recorder brings nothing into a process but itself.
set -euo pipefail

library=$1
fail() {
    printf '%s\n' "$*" >&2
    exit 1
}
needed=$(readelf -dW "$library" | grep -F '(NEEDED)' || true)
[[ -z $needed ]] || fail "it needs other libraries: $needed"
undefined=$(nm -D --undefined-only "$library")
[[ -z $undefined ]] || fail "it needs names of other libraries: $undefined"
names=$(nm -D --defined-only "$library" | awk '{print $3}' | sort | tr '\n' ' ')
[[ $names == "la_activity la_objclose la_objopen la_objsearch la_version " ]] ||
    fail "it shows other names than the loader looks for: $names"
# readelf finds a segment of the kind only where there is one.
segments=$(readelf -lW "$library")
grep -q 'GNU_STACK.* RW ' <<<"$segments" || fail "it asks for an executable stack"
for kind in TLS INTERP; do
    ! grep -qw "$kind" <<<"$segments" || fail "it has a segment $kind"
done
! grep -q 'TEXTREL\|RPATH\|RUNPATH' <<<"$(readelf -dW "$library")" || fail "its dynamic section"
relocations=$(readelf -rW "$library" | awk '$3 ~ /^R_/ && $3 !~ /RELATIVE/ {print $3}')
[[ -z $relocations ]] || fail "relocations other than relative ones: $relocations"
# The same bytes wherever it is built.
for path in "$2" "$3"; do
    ! grep -qaF "$path" "$library" || fail "it holds the path $path"
done
! readelf -SW "$library" | grep -q '\.debug_\|\.symtab' || fail "it is not stripped"
# Of the file between two segments there may be nothing: a page, which has up to 64 KiB on aarch64.
loaded=0
while read -r size; do loaded=$((loaded + size)); done < <(awk '$1 == "LOAD" {print $5}' <<<"$segments")
((loaded > 0 && loaded < 65536)) || fail "it loads $loaded bytes"
# Who filters system calls has to know them.
while read -r call; do
    grep -q "\`$call\`" "$2/docs/run.md" || fail "docs/run.md does not name the call $call"
done < <(grep -oh '__NR_[a-z_0-9]*' "$2"/src/recorder/*.cpp "$2"/src/recorder/*.hpp | sed 's/__NR_//' | sort -u)
printf '%s bytes\n' "$loaded"
