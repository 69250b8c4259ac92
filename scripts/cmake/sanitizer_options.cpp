// How AddressSanitizer behaves in what is built with it (preset asan). Processes that the
// tests start do not inherit variables such as ASAN_OPTIONS, so that the defaults are set here.

// A crash stays the signal that it is: how a child ended is what the program reports. And preloads
// of the tests come before the sanitizer's library.
extern "C" __attribute__((visibility("default"), used)) const char* __asan_default_options() {
  return "handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigill=0:handle_sigfpe=0:"
         "verify_asan_link_order=0";
}
