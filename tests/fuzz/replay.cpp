// fuzz_NAME CORPUS [SECONDS [SEED]]: calls the target with every input of a corpus file (one in
// base64 on each line), then for SECONDS with changed ones, as an ordinary test without libFuzzer.
// SEED, which is printed, makes the same changes again. An input that ends the program is printed.
// A file without inputs is a failure.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);
/// Not every target has one.
extern "C" __attribute__((weak)) std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data,
                                                                     std::size_t size,
                                                                     std::size_t max_size,
                                                                     unsigned seed);

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::minstd_rand random_number;  // NOLINT: LLVMFuzzerMutate() has no other way to one
Bytes current;                   // NOLINT: for the handler of signals

std::size_t below(std::size_t bound) { return random_number() % bound; }

std::optional<Bytes> from_base64(std::string_view text) {
  Bytes bytes;
  std::uint32_t bits = 0;
  unsigned count = 0;
  while (text.ends_with('=')) text.remove_suffix(1);
  for (const char digit : text) {
    const auto value = kDigits.find(digit);
    if (value == std::string_view::npos) return std::nullopt;
    bits = bits << 6U | static_cast<std::uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes.push_back(static_cast<std::uint8_t>(bits >> count));
    }
  }
  return bytes;
}

/// A line for the corpus. Only calls that a handler of signals may make.
extern "C" void print_current(int signal) {
  std::uint32_t bits = 0;
  unsigned count = 0;
  const auto print = [](char digit) { (void)!::write(STDERR_FILENO, &digit, 1); };
  for (const std::uint8_t byte : current) {
    bits = bits << 8U | byte;
    for (count += 8; count >= 6;) print(kDigits[(bits >> (count -= 6)) & 63U]);
  }
  if (count != 0) print(kDigits[(bits << (6 - count)) & 63U]);
  print('\n');
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void try_input(Bytes input) {
  current = std::move(input);
  LLVMFuzzerTestOneInput(current.data(), current.size());
}

Bytes changed(const std::vector<Bytes>& inputs) {
  constexpr std::size_t kRoom = 256;
  Bytes bytes = inputs[below(inputs.size())];
  const std::size_t size = bytes.size();
  bytes.resize(size + kRoom);
  const auto seed = static_cast<unsigned>(random_number());
  bytes.resize(LLVMFuzzerCustomMutator != nullptr
                   ? LLVMFuzzerCustomMutator(bytes.data(), size, bytes.size(), seed)
                   : LLVMFuzzerMutate(bytes.data(), size, bytes.size()));
  return bytes;
}

std::size_t try_changed(const std::vector<Bytes>& inputs, std::chrono::seconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  std::size_t tried = 0;
  for (; std::chrono::steady_clock::now() < end; ++tried) try_input(changed(inputs));
  return tried;
}

}  // namespace

/// A few changes of a few bytes; what libFuzzer does better and is not there for.
std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size) {
  constexpr std::array<std::uint8_t, 6> kOdd = {0, 1, 0x7f, 0x80, 0xff, '\n'};
  for (std::size_t times = 1 + below(4); times != 0; --times) {
    const std::size_t at = size == 0 ? 0 : below(size);
    const std::size_t some = std::min<std::size_t>(1 + below(8), size - at);
    switch (size == 0 ? 3 : below(5)) {
      case 0: data[at] ^= static_cast<std::uint8_t>(1U << below(8)); break;
      case 1: data[at] = kOdd[below(kOdd.size())]; break;
      case 2:
        std::memmove(data + at, data + at + some, size - at - some);
        size -= some;
        break;
      case 3:
        if (size == max_size) break;
        std::memmove(data + at + 1, data + at, size - at);
        data[at] = static_cast<std::uint8_t>(below(256));
        ++size;
        break;
      default: std::memmove(data + below(size - some + 1), data + at, some);
    }
  }
  return size;
}

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    std::cerr << "usage: " << argv[0] << " CORPUS [SECONDS [SEED]]\n";
    return 2;
  }
  std::ifstream corpus(argv[1]);
  std::vector<Bytes> inputs;
  for (std::string line; std::getline(corpus, line);) {
    auto bytes = from_base64(line);
    if (!bytes) {
      std::cerr << argv[1] << ": line " << inputs.size() + 1 << " is no base64\n";
      return 1;
    }
    inputs.push_back(std::move(*bytes));
  }
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    std::signal(signal, print_current);
  }
  for (const Bytes& input : inputs) try_input(input);
  std::cout << inputs.size() << " inputs\n";
  if (inputs.empty()) return 1;
  if (argc > 2) {
    const auto seed = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : std::random_device()();
    std::cout << "seed " << seed << std::endl;  // Before anything can end the program.
    random_number.seed(static_cast<unsigned>(seed));
    std::cout << try_changed(inputs, std::chrono::seconds(std::atoi(argv[2]))) << " changed ones\n";
  }
  return 0;
}
