// fuzz_NAME CORPUS: calls the target with every input of a corpus file (one in base64 on each
// line), as an ordinary test without libFuzzer. A file without inputs is a failure.
#include <array>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::optional<std::vector<std::uint8_t>> from_base64(std::string_view text) {
  std::vector<std::uint8_t> bytes;
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

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: " << argv[0] << " CORPUS\n";
    return 2;
  }
  std::ifstream corpus(argv[1]);
  std::size_t inputs = 0;
  for (std::string line; std::getline(corpus, line); ++inputs) {
    auto bytes = from_base64(line);
    if (!bytes) {
      std::cerr << argv[1] << ": line " << inputs + 1 << " is no base64\n";
      return 1;
    }
    LLVMFuzzerTestOneInput(bytes->data(), bytes->size());
  }
  std::cout << inputs << " inputs\n";
  return inputs == 0 ? 1 : 0;
}
