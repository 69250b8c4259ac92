// Stands for the program's own main: the hidden argument leads to the child's side.
#include <string_view>

#include "cudart_doctor/sys/self_child.hpp"

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == cudart_doctor::kSelfTargetArgument) {
    return cudart_doctor::self_target_main();
  }
  return 2;
}
