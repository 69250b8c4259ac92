// What must not leave the machine in a report: values of variables and options named like secrets,
// and every variable that has nothing to do with CUDA.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cudart_doctor {

inline constexpr std::string_view kRedacted = "[redacted]";

/// True for names such as NVIDIA_API_KEY or --hf-token: one of the parts between '_' and '-' is
/// a word for a secret. "--tokenizer" and "--max-tokens" are none.
bool is_secret_name(std::string_view name);

/// True for the variables that decide which CUDA library is found; only these are reported.
bool is_reported_variable(std::string_view name);

/// `arguments` with what follows an option named like a secret replaced by kRedacted. An argument
/// that holds blanks (a process title that replaced argv) is looked at word by word.
std::vector<std::string> redact_arguments(const std::vector<std::string>& arguments);

}  // namespace cudart_doctor
