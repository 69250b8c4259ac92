#include "private_forms.hpp"

#include <algorithm>
#include <array>

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::array<std::string_view, 3> kHomes = {"/home/", "/Users/", "/users/"};
constexpr std::string_view kNameEnd = "/: \t\n\r\"'`,;=()[]{}<>|&*$";
constexpr std::size_t kMinGpuDigits = 8;

// Folders, programs and packages of which names in paths and command lines are made, among them
// all parts of paths that rules know.
constexpr std::array<std::string_view, 101> kCommonWords = {"aarch64-linux",
                                                            "aarch64-linux-gnu",
                                                            "admin",
                                                            "app",
                                                            "apps",
                                                            "bin",
                                                            "bindings",
                                                            "build",
                                                            "cache",
                                                            "comm",
                                                            "compat",
                                                            "conda",
                                                            "conda-meta",
                                                            "cu",
                                                            "cu11",
                                                            "cu12",
                                                            "cu13",
                                                            "cuda",
                                                            "cuda_runtime",
                                                            "cupy",
                                                            "data",
                                                            "debian",
                                                            "deep_gemm",
                                                            "deepspeed",
                                                            "default",
                                                            "dev",
                                                            "device_communicators",
                                                            "dist",
                                                            "dist-packages",
                                                            "distributed",
                                                            "docker",
                                                            "env",
                                                            "envs",
                                                            "etc",
                                                            "extras",
                                                            "flashinfer",
                                                            "glibc-hwcaps",
                                                            "gpu",
                                                            "home",
                                                            "host",
                                                            "include",
                                                            "jit",
                                                            "jovyan",
                                                            "lib",
                                                            "lib32",
                                                            "lib64",
                                                            "libs",
                                                            "lmcache",
                                                            "local",
                                                            "localhost",
                                                            "main",
                                                            "media",
                                                            "mnt",
                                                            "model",
                                                            "models",
                                                            "node",
                                                            "nvidia",
                                                            "nvshmem",
                                                            "opt",
                                                            "proc",
                                                            "public",
                                                            "python",
                                                            "python3",
                                                            "ray",
                                                            "root",
                                                            "run",
                                                            "runner",
                                                            "sbin",
                                                            "sbsa-linux",
                                                            "scratch",
                                                            "serve",
                                                            "server",
                                                            "sgl-kernel",
                                                            "sgl_kernel",
                                                            "sglang",
                                                            "share",
                                                            "shared",
                                                            "site",
                                                            "site-packages",
                                                            "src",
                                                            "srt",
                                                            "srv",
                                                            "stubs",
                                                            "sys",
                                                            "targets",
                                                            "test",
                                                            "tilelang",
                                                            "tmp",
                                                            "torch",
                                                            "triton",
                                                            "tvm_ffi",
                                                            "ubuntu",
                                                            "user",
                                                            "users",
                                                            "usr",
                                                            "var",
                                                            "venv",
                                                            "vllm",
                                                            "work",
                                                            "x86_64-linux",
                                                            "x86_64-linux-gnu"};

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

bool is_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}

bool is_hex(char letter) {
  return is_digit(letter) || (letter >= 'a' && letter <= 'f') || (letter >= 'A' && letter <= 'F');
}

template <typename Is>
std::size_t run_of(std::string_view text, std::size_t at, Is is) {
  std::size_t end = at;
  while (end < text.size() && is(text[end])) ++end;
  return end - at;
}

bool is_domain_byte(char letter) {
  return is_letter(letter) || is_digit(letter) || letter == '-' || letter == '.';
}

/// Without the dot that ends a sentence.
std::size_t domain_size(std::string_view text, std::size_t at) {
  std::size_t size = run_of(text, at, is_domain_byte);
  while (size > 0 && (text[at + size - 1] == '.' || text[at + size - 1] == '-')) --size;
  return size;
}

/// "example.org": a dot, and a last part of letters.
bool is_mail_domain(std::string_view domain) {
  const std::size_t dot = domain.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || !is_letter(domain.front())) return false;
  const std::string_view last = domain.substr(dot + 1);
  return last.size() >= 2 && std::all_of(last.begin(), last.end(), is_letter);
}

bool is_ipv4(std::string_view text) {
  const auto parts = split(text, '.');
  if (parts.size() != 4) return false;
  return std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
    const auto value = part.size() <= 3 ? parse_unsigned(part, 10) : std::nullopt;
    return value && *value <= 255;
  });
}

/// Eight groups, or fewer around "::".
bool is_ipv6(std::string_view text) {
  const auto colons = std::count(text.begin(), text.end(), ':');
  const bool shortened = text.find("::") != std::string_view::npos;
  if (colons < 2 || colons > 7 || (!shortened && colons != 7)) return false;
  const auto parts = split(text, ':');
  return std::all_of(parts.begin(), parts.end(),
                     [](std::string_view part) { return part.size() <= 4 || is_ipv4(part); });
}

/// Says nothing of anybody.
bool is_open_address(std::string_view text) {
  constexpr std::array<std::string_view, 4> kOpen = {"0.0.0.0", "255.255.255.255", "::", "::1"};
  return text.starts_with("127.") || std::find(kOpen.begin(), kOpen.end(), text) != kOpen.end();
}

}  // namespace

bool is_word_byte(char letter) { return is_letter(letter) || is_digit(letter) || letter == '_'; }

std::size_t home_prefix(std::string_view text, std::size_t at) {
  if (text[at] != '/') return 0;
  for (const std::string_view home : kHomes) {
    if (text.substr(at).starts_with(home)) return home.size();
  }
  return 0;
}

std::size_t home_name(std::string_view text, std::size_t at) {
  const std::size_t size =
      run_of(text, at, [](char letter) { return kNameEnd.find(letter) == std::string_view::npos; });
  const std::string_view name = text.substr(at, size);
  return name == "." || name == ".." || is_library_word(name) ? 0 : size;
}

std::size_t mail_at(std::string_view text, std::size_t at) {
  const auto is_local = [](char letter) {
    return is_word_byte(letter) || letter == '.' || letter == '%' || letter == '+' || letter == '-';
  };
  if (at > 0 && is_local(text[at - 1])) return 0;
  const std::size_t local = run_of(text, at, is_local);
  if (local == 0 || at + local >= text.size() || text[at + local] != '@') return 0;
  const std::size_t domain = domain_size(text, at + local + 1);
  if (!is_mail_domain(text.substr(at + local + 1, domain))) return 0;
  return local + 1 + domain;
}

std::size_t gpu_at(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(at);
  if (!rest.starts_with("GPU-") && !rest.starts_with("MIG-")) return 0;
  constexpr std::size_t kPrefix = 4;
  const std::size_t size =
      run_of(text, at + kPrefix, [](char letter) { return is_hex(letter) || letter == '-'; });
  const std::string_view digits = text.substr(at + kPrefix, size);
  const bool begins = digits.size() >= kMinGpuDigits &&
                      std::all_of(digits.begin(), digits.begin() + kMinGpuDigits, is_hex);
  return begins ? kPrefix + size : 0;
}

std::size_t address_at(std::string_view text, std::size_t at) {
  constexpr std::string_view kBefore = " \t\n=,;\"'[(@/";
  if (at > 0 && kBefore.find(text[at - 1]) == std::string_view::npos) return 0;
  // Behind one slash it is a folder named by a version, behind two a host.
  if (at > 0 && text[at - 1] == '/' && (at < 2 || text[at - 2] != '/')) return 0;
  std::size_t size = run_of(
      text, at, [](char letter) { return is_hex(letter) || letter == '.' || letter == ':'; });
  if (size == 0) return 0;
  // "10.0.0.5:8000" is an IPv4 address and a port; a '.' may end the sentence.
  std::string_view token = text.substr(at, size);
  while (token.ends_with('.')) token.remove_suffix(1);
  const bool glued = at + token.size() < text.size() && is_word_byte(text[at + token.size()]);
  if (is_ipv6(token) && !glued) return is_open_address(token) ? 0 : token.size();
  token = token.substr(0, token.find(':'));
  const bool part = at + token.size() < text.size() &&
                    (is_word_byte(text[at + token.size()]) || text[at + token.size()] == '-');
  return is_ipv4(token) && !part && !is_open_address(token) ? token.size() : 0;
}

std::size_t host_name_at(std::string_view text, std::size_t at) {
  if (at >= text.size() || !is_letter(text[at])) return 0;
  const std::size_t size = domain_size(text, at);
  return text.substr(at, size) == "localhost" ? 0 : size;
}

std::size_t url_host_at(std::string_view text, std::size_t at) {
  if (at < 3 || (text[at - 1] != '/' && text[at - 1] != '@')) return 0;
  constexpr std::string_view kAuthorityEnd = "/?# \t\n\r\"'<>";
  constexpr std::size_t kMostUserinfo = 1024;
  const std::size_t from = at - std::min(at, kMostUserinfo);
  const std::size_t found = text.substr(from, at - from).find_last_of(kAuthorityEnd);
  if (found == std::string_view::npos || from + found < 2) return 0;
  const std::size_t begin = from + found + 1;
  if (text.substr(begin - 3, 3) != "://") return 0;
  // The host is behind "user:password@" where there is one.
  const std::size_t end = text.find_first_of(kAuthorityEnd, begin);
  const std::size_t sign = text.substr(begin, end - begin).rfind('@');
  const std::size_t host = sign == std::string_view::npos ? begin : begin + sign + 1;
  return at == host ? host_name_at(text, at) : 0;
}

bool is_common_word(std::string_view name) {
  return std::find(kCommonWords.begin(), kCommonWords.end(), name) != kCommonWords.end();
}

bool is_library_word(std::string_view name) {
  return name.find("cudart") != std::string_view::npos ||
         name.find("libcuda") != std::string_view::npos ||
         name.find("nvrtc") != std::string_view::npos;
}

}  // namespace cudart_doctor
