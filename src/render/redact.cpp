// Redaction by name: a report is pasted into issue trackers, and `--api-key VALUE` is a common
// option of inference servers.
#include "render/redact.hpp"

#include <algorithm>
#include <array>

#include "cudart_doctor/render/render.hpp"

namespace cudart_doctor {
namespace {

constexpr std::array<std::string_view, 7> kSecretWords = {
    "key", "keys", "secrets", "credentials", "auth", "authorization", "pwd"};

/// Of words that were written together: "hftoken", "secretkey". Not "key": "monkey" is none.
constexpr std::array<std::string_view, 12> kSecretEndings = {
    "apikey", "accesskey", "secretkey", "privatekey", "authkey",    "token",
    "secret", "password",  "passwords", "passwd",     "passphrase", "credential"};

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

bool is_upper(char letter) { return letter >= 'A' && letter <= 'Z'; }
bool is_lower(char letter) { return letter >= 'a' && letter <= 'z'; }
bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

char lower(char letter) {
  return is_upper(letter) ? static_cast<char>(letter - 'A' + 'a') : letter;
}

/// The words of a name, in lower case: "API_KEY", "--api-key", "apiKey" and "APIKey" have two.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (std::size_t at = 0; at < name.size(); ++at) {
    const char letter = name[at];
    const bool after_lower = at > 0 && (is_lower(name[at - 1]) || is_digit(name[at - 1]));
    const bool after_upper = at > 0 && is_upper(name[at - 1]);
    const bool before_lower = at + 1 < name.size() && is_lower(name[at + 1]);
    if (is_upper(letter) && (after_lower || (after_upper && before_lower))) words.emplace_back();
    if (is_upper(letter) || is_lower(letter) || is_digit(letter)) {
      words.back() += lower(letter);
    } else {
      words.emplace_back();
    }
  }
  return words;
}

bool is_secret_word(std::string_view word) {
  if (std::find(kSecretWords.begin(), kSecretWords.end(), word) != kSecretWords.end()) return true;
  return std::any_of(kSecretEndings.begin(), kSecretEndings.end(),
                     [word](std::string_view ending) { return word.ends_with(ending); });
}

}  // namespace

bool is_secret_name(std::string_view name) {
  const auto words = words_of(name);
  return words.back() == "pass" || std::any_of(words.begin(), words.end(), is_secret_word);
}

bool is_reported_variable(std::string_view name) {
  if (std::find(kReported.begin(), kReported.end(), name) != kReported.end()) return true;
  return std::any_of(kReportedPrefixes.begin(), kReportedPrefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

Snapshot redacted(Snapshot snapshot) {
  if (auto* command_line = snapshot.process.command_line.get()) {
    *command_line = redact_arguments(*command_line);
  }
  if (auto* recording = snapshot.recording.get()) {
    recording->command = redact_arguments(recording->command);
    for (RecordedProcess& process : recording->processes) {
      process.command_line = redact_arguments(process.command_line);
    }
  }
  if (auto* environment = snapshot.environment.get()) {
    for (auto& [name, value] : environment->variables) {
      const bool withheld = !is_reported_variable(name) || is_secret_name(name);
      value = withheld ? std::string(kRedacted) : redact_urls(value);
    }
  }
  return snapshot;
}

}  // namespace cudart_doctor
