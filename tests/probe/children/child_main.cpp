// The probe's children as a program of their own: what the tests execute.
#include <string_view>

#include "cudart_doctor/probe/protocol.hpp"
#include "cudart_doctor/probe/runner.hpp"

int main(int argc, char** argv) {
  const bool child = argc > 1 && argv[1] == cudart_doctor::kProbeChildArgument;
  return child ? cudart_doctor::probe_child_main() : 2;
}
