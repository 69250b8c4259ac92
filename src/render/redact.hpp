// What must not leave the machine in a report: values of variables and options named like secrets,
// and every variable that has nothing to do with CUDA.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cudart_doctor {

inline constexpr std::string_view kRedacted = "[redacted]";

/// True for names such as NVIDIA_API_KEY, --hf-token or accessToken: one of the words is one for
/// a secret. "--tokenizer" and "--max-tokens" are none.
bool is_secret_name(std::string_view name);

/// True for the variables that decide which CUDA library is found; only these are reported.
bool is_reported_variable(std::string_view name);

/// `arguments` with kRedacted for what follows an option named like a secret, for the values of
/// such names in each argument (NAME=VALUE, "Name: VALUE", JSON) and for passwords of URLs. A
/// second time changes nothing more.
std::vector<std::string> redact_arguments(const std::vector<std::string>& arguments);

/// `text` without the passwords of its URLs. Nothing else is a secret in the value of a variable:
/// in a list of folders "/x/key:/y" the second is none.
std::string redact_urls(std::string_view text);

}  // namespace cudart_doctor
