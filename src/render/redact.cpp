// Redaction by name: a report is pasted into issue trackers, and `--api-key VALUE` is a common
// option of inference servers.
#include "render/redact.hpp"

#include <algorithm>
#include <array>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/render/render.hpp"

namespace cudart_doctor {
namespace {

constexpr std::array<std::string_view, 11> kSecretWords = {
    "key",      "keys",   "apikey",     "token",       "secret", "secrets",
    "password", "passwd", "credential", "credentials", "auth"};

constexpr std::array<std::string_view, 9> kReported = {"LD_LIBRARY_PATH",
                                                       "LD_PRELOAD",
                                                       "LD_AUDIT",
                                                       "VLLM_CUDART_SO_PATH",
                                                       "CUDNN_FRONTEND_CUDART_LIB_NAME",
                                                       "VIRTUAL_ENV",
                                                       "CONDA_PREFIX",
                                                       "PYTHONPATH",
                                                       "PYTHONHOME"};

constexpr std::array<std::string_view, 4> kReportedPrefixes = {"CUDA_", "TORCH_", "PYTORCH_",
                                                               "NVIDIA_"};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& letter : out) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return out;
}

/// Goes over words and remembers whether the last option was named like a secret: such an option
/// may take several values (vLLM's --api-key does).
class Redactor {
 public:
  std::string word(std::string_view text) {
    if (!text.starts_with('-')) {
      return after_secret_ && !text.empty() ? std::string(kRedacted) : std::string(text);
    }
    const std::size_t equals = text.find('=');
    after_secret_ = is_secret_name(text.substr(0, equals));
    if (!after_secret_ || equals == std::string_view::npos) return std::string(text);
    after_secret_ = false;
    return std::string(text.substr(0, equals + 1)).append(kRedacted);
  }

 private:
  bool after_secret_ = false;
};

}  // namespace

bool is_secret_name(std::string_view name) {
  std::string words = lower(name);
  std::replace(words.begin(), words.end(), '-', '_');
  const auto is_secret = [](std::string_view word) {
    return std::find(kSecretWords.begin(), kSecretWords.end(), word) != kSecretWords.end();
  };
  const auto parts = split(words, '_');
  return std::any_of(parts.begin(), parts.end(), is_secret);
}

bool is_reported_variable(std::string_view name) {
  if (std::find(kReported.begin(), kReported.end(), name) != kReported.end()) return true;
  return std::any_of(kReportedPrefixes.begin(), kReportedPrefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

std::vector<std::string> redact_arguments(const std::vector<std::string>& arguments) {
  std::vector<std::string> out;
  Redactor redactor;
  for (const std::string& argument : arguments) {
    std::string kept;
    bool first = true;
    for (const std::string_view word : split(argument, ' ')) {
      if (!first) kept += ' ';
      first = false;
      kept += redactor.word(word);
    }
    out.push_back(std::move(kept));
  }
  return out;
}

Snapshot redacted(Snapshot snapshot) {
  if (auto* command_line = snapshot.process.command_line.get()) {
    *command_line = redact_arguments(*command_line);
  }
  if (auto* environment = snapshot.environment.get()) {
    for (auto& [name, value] : environment->variables) {
      if (!is_reported_variable(name) || is_secret_name(name)) value = kRedacted;
    }
  }
  return snapshot;
}

}  // namespace cudart_doctor
