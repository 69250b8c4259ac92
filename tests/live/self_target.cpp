// Stands for the program's own main: the hidden argument leads to the child's side.
#include <cstring>

#include "cudart_doctor/sys/self_child.hpp"

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], cudart_doctor::kSelfTargetArgument) == 0) {
    return cudart_doctor::self_target_main();
  }
  return 2;
}
