#include "cudart_doctor/collect/live_environment.hpp"

#include <string>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/collect/memory_reading.hpp"
#include "cudart_doctor/collect/memory_symbols.hpp"
#include "cudart_doctor/formats/proc_text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kMaxVariables = 65536;
constexpr std::size_t kMaxBytes = 2u << 20;

std::optional<std::uint64_t> find_environ(ByteSource& memory, const LinkMapLook& look) {
  if (look.namespaces.empty()) return std::nullopt;
  for (const auto& module : look.namespaces.front().modules) {
    for (const std::string_view name : {"environ", "__environ"}) {
      if (auto address = find_symbol(memory, module, name)) return address;
    }
  }
  return std::nullopt;
}

}  // namespace

Result<Environment> read_live_environment(ByteSource& memory, const LinkMapLook& look) {
  const auto variable = find_environ(memory, look);
  if (!variable) return fail(ErrorKind::not_found, "no loaded object defines environ");
  auto array = read_value<std::uint64_t>(memory, *variable);
  if (!array) return tl::unexpected(array.error());

  Environment environment;
  environment.origin = EnvironmentOrigin::live_memory;
  if (*array == 0) return environment;  // clearenv() sets environ to a null pointer.
  std::size_t bytes = 0;
  for (std::size_t i = 0;; ++i) {
    if (i >= kMaxVariables) return fail(ErrorKind::limit, "more variables than the limit");
    auto pointer = read_value<std::uint64_t>(memory, *array + i * 8);
    if (!pointer) return tl::unexpected(pointer.error());
    if (*pointer == 0) break;
    auto text = read_c_string(memory, *pointer, kMaxBytes - bytes);
    if (!text) return tl::unexpected(text.error());
    bytes += text->size();
    const auto equals = text->find('=');
    if (equals == std::string::npos || equals == 0) continue;
    environment.variables.emplace_back(text->substr(0, equals), text->substr(equals + 1));
  }
  return environment;
}

Fact<Environment> read_environment(const ProcDirectory& process, ByteSource& memory,
                                   const LinkMapLook* look) {
  using EnvironmentFact = Fact<Environment>;
  auto bytes = process.read_file("environ");
  if (!bytes) return EnvironmentFact::unknown(bytes.error().message);
  EnvironFile file = parse_environ(*bytes);
  if (!file.all_nul && file.odd_entries == 0) {
    Environment environment;
    environment.variables = std::move(file.variables);
    return EnvironmentFact::known(std::move(environment));
  }
  const std::string what =
      file.all_nul ? "overwritten (all zero bytes)" : "overwritten in part by a process title";
  if (look == nullptr) {
    return EnvironmentFact::unknown(what + "; the live one cannot be found without a link map");
  }
  auto live = read_live_environment(memory, *look);
  if (!live) {
    return EnvironmentFact::unknown(what +
                                    "; the live one could not be read: " + live.error().message);
  }
  live->note = what + "; read from memory";
  return EnvironmentFact::known(std::move(*live));
}

}  // namespace cudart_doctor
