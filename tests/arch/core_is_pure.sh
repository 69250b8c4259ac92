#!/usr/bin/env bash
# core_is_pure.sh ARCHIVE: the pure layers make no system call, read no environment and no clock,
# print nothing. nlohmann_json needs snprintf and localeconv; both are harmless.
set -euo pipefail

archive=$1
forbidden='^(open|openat|open64|fopen|fopen64|freopen|read|pread|pread64|write|pwrite|close|stat|stat64|fstat|lstat|access|readlink|opendir|readdir|getenv|secure_getenv|setenv|dlopen|dlsym|dlmopen|fork|vfork|execve|posix_spawn|system|popen|mmap|mmap64|ioctl|syscall|kill|ptrace|process_vm_readv|socket|printf|fprintf|vprintf|vfprintf|puts|fputs|putchar|perror|time|clock|clock_gettime|gettimeofday|localtime|gmtime|gethostname|uname|getpid|getuid|setlocale|rand|random|exit|_exit|usleep|nanosleep|pthread_create)(@.*)?$'
undefined=$(nm -u "$archive" 2>/dev/null | awk '$1 == "U" {print $2}' | sort -u)
count=$(wc -l <<<"$undefined")
if ((count < 10)); then
    echo "nm listed only $count undefined names of $archive: not a usable archive" >&2
    exit 1
fi
bad=$(grep -E "$forbidden" <<<"$undefined" || true)
streams=$(grep -E '^_ZNSt.*(basic_[io]?fstream|basic_filebuf)|^_ZSt4cout|^_ZSt4cerr|^_ZSt3cin' <<<"$undefined" || true)
if [[ -n $bad || -n $streams ]]; then
    printf 'the core archive uses:\n%s\n%s\n' "$bad" "$streams" >&2
    exit 1
fi
echo "$count undefined names, none of them impure"
