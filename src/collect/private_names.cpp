#include "cudart_doctor/collect/private_names.hpp"

#include <algorithm>
#include <optional>

#include "cudart_doctor/base/text.hpp"
#include "private_forms.hpp"

namespace cudart_doctor {
namespace {

constexpr std::array<std::string_view, 5> kStandIns = {"user-", "host-", "address-", "mail-", ""};
constexpr std::size_t kShortestWord = 3;
constexpr std::size_t kMostWords = 256;  // Looked for everywhere.
constexpr std::size_t kMostDigits = 9;   // Of a stand-in's number.
constexpr std::size_t kGpuDigits = 8;

char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

/// Names of hosts are the same in any letter case, those of users are not.
bool begins_with(std::string_view text, std::string_view word, PrivateKind kind) {
  if (kind != PrivateKind::host) return text.starts_with(word);
  return text.size() >= word.size() &&
         std::equal(word.begin(), word.end(), text.begin(),
                    [](char a, char b) { return lower(a) == lower(b); });
}

std::size_t index_of(PrivateKind kind) { return static_cast<std::size_t>(kind); }

/// The number of "user-12"; nothing for any other name.
std::optional<std::uint64_t> number_of(std::string_view name, std::string_view stand_in) {
  if (stand_in.empty() || !name.starts_with(stand_in)) return std::nullopt;
  const std::string_view digits = name.substr(stand_in.size());
  if (digits.empty() || digits.size() > kMostDigits || digits.front() == '0') return std::nullopt;
  return parse_unsigned(digits, 10);
}

std::string eight_digits(std::uint64_t number) {
  std::string digits = std::to_string(number);
  return digits.size() < kGpuDigits ? digits.insert(0, kGpuDigits - digits.size(), '0') : digits;
}

/// `uuid` with its digits replaced: the number, then zeros. Its form and length stay.
std::string gpu_stand_in(std::string_view uuid, std::uint64_t number) {
  constexpr std::size_t kPrefix = 4;
  std::string out(uuid.substr(0, kPrefix));
  out += eight_digits(number).substr(0, kGpuDigits);
  for (const char letter : uuid.substr(kPrefix + kGpuDigits)) out += letter == '-' ? '-' : '0';
  return out;
}

}  // namespace

PrivateNames::Resolve PrivateNames::recorder() {
  return [this](PrivateKind kind, std::string_view name) {
    // Where a host can stand, an address's stand-in can.
    const bool stand_in = number_of(name, kStandIns.at(index_of(PrivateKind::address))).has_value();
    if (!stand_in) names_.at(index_of(kind)).emplace(name, name);
    return std::string(name);
  };
}

PrivateNames::Resolve PrivateNames::replacer() const {
  return [this](PrivateKind kind, std::string_view name) {
    const auto& known = names_.at(index_of(kind));
    const auto found = known.find(name);
    return found == known.end() ? std::string(name) : found->second;
  };
}

/// Behind '_' or '-' in a part of a path: "/tmp/torchinductor_alice". Not in names of libraries,
/// which stand elsewhere without their folder, nor of packages.
bool is_joined_in_path(std::string_view text, std::size_t at) {
  if (at == 0 || (text[at - 1] != '_' && text[at - 1] != '-')) return false;
  constexpr std::size_t kLongestPart = 255;
  const std::size_t from = at - std::min(at, kLongestPart);
  const std::size_t slash = text.substr(from, at - from).rfind('/');
  if (slash == std::string_view::npos) return false;
  const std::size_t begin = from + slash + 1;
  const std::string_view rest = text.substr(begin, kLongestPart);
  const std::string_view part = rest.substr(0, rest.find_first_of("/: \n"));
  return part.find(".so") == std::string_view::npos &&
         !text.substr(0, begin).ends_with("-packages/");
}

/// A name that is looked for as a word, at this place, as it was learned; "" for none.
std::string_view PrivateNames::known_word(std::string_view text, std::size_t at,
                                          TextPlace place) const {
  const auto candidates = words_.find(lower(text[at]));
  if (candidates == words_.end()) return {};
  constexpr std::string_view kInPath = "/@~";
  constexpr std::string_view kInWords = "/@~:=,.;\"'( \n";
  const bool in_path = place == TextPlace::anywhere;
  const std::string_view before = in_path ? kInPath : kInWords;
  const bool joined = is_joined_in_path(text, at);
  const bool begins =
      at == 0 ? !in_path : joined || before.find(text[at - 1]) != std::string_view::npos;
  // A package is no person, whatever it is called.
  if (!begins || text.substr(0, at).ends_with("-packages/")) return {};
  for (const auto& [word, kind] : candidates->second) {
    if (!begins_with(text.substr(at), word, kind)) continue;
    const std::size_t end = at + word.size();
    if (end == text.size() || !is_word_byte(text[end]) || text[end] == '_') return word;
  }
  return {};
}

std::string PrivateNames::rewritten(std::string_view text, TextPlace place,
                                    const Resolve& resolve) const {
  std::string out;
  out.reserve(text.size());
  std::size_t at = 0;
  const auto put = [&](PrivateKind kind, std::size_t size) {
    out += resolve(kind, text.substr(at, size));
    at += size;
    return true;
  };
  const auto put_form = [&] {
    if (const std::size_t size = gpu_at(text, at)) return put(PrivateKind::gpu, size);
    if (const std::size_t size = mail_at(text, at)) return put(PrivateKind::mail, size);
    if (place == TextPlace::words) {
      if (const std::size_t size = address_at(text, at)) return put(PrivateKind::address, size);
      if (const std::size_t size = url_host_at(text, at)) return put(PrivateKind::host, size);
    }
    const std::string_view word = known_word(text, at, place);
    if (!word.empty()) {
      const bool host = names_.at(index_of(PrivateKind::host)).contains(word) &&
                        !names_.at(index_of(PrivateKind::user)).contains(word);
      out += resolve(host ? PrivateKind::host : PrivateKind::user, word);
      at += word.size();
      return true;
    }
    return false;
  };
  while (at < text.size()) {
    if (const std::size_t prefix = home_prefix(text, at)) {
      out += text.substr(at, prefix);
      at += prefix;
      if (const std::size_t size = home_name(text, at)) put(PrivateKind::user, size);
      continue;
    }
    if (put_form()) continue;
    out += text[at++];
  }
  return out;
}

std::string PrivateNames::rewritten_endpoint(std::string_view text, const Resolve& resolve) {
  std::string out;
  bool first = true;
  for (std::string_view part : split(text, ',')) {
    if (!first) out += ',';
    first = false;
    if (part.starts_with('[')) {
      out += '[';
      part.remove_prefix(1);
    }
    const std::size_t size = host_name_at(part, 0);
    const std::string_view rest = part.substr(size);
    // "node", "node:8000", "[node]:8000", "node[1-4]"; "Accept:" is no host.
    const bool port = rest.starts_with(':') && rest.size() > 1;
    const bool whole = rest.empty() || port || rest.front() == '[' || rest.front() == ']';
    if (size != 0 && whole) {
      out += resolve(PrivateKind::host, part.substr(0, size)).append(rest);
    } else {
      out += part;
    }
  }
  return out;
}

void PrivateNames::note_stand_ins(std::string_view text) {
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    const std::string_view stand_in = kStandIns.at(kind);
    if (stand_in.empty()) continue;
    for (std::size_t at = text.find(stand_in); at != std::string_view::npos;
         at = text.find(stand_in, at + 1)) {
      std::size_t end = at + stand_in.size();
      while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
      if (const auto number = number_of(text.substr(at, end - at), stand_in)) {
        taken_.at(kind).insert(*number);
      }
    }
  }
}

void PrivateNames::learn(std::string_view text, TextPlace place) {
  note_stand_ins(text);
  rewritten(text, place, recorder());
}

void PrivateNames::learn_endpoint(std::string_view text) {
  note_stand_ins(text);
  rewritten_endpoint(text, recorder());
}

void PrivateNames::add_user(std::string_view name) {
  if (name.empty() || name == "root" || name.find('/') != std::string_view::npos) return;
  if (name.front() == '[') return;  // Withheld already.
  names_.at(index_of(PrivateKind::user)).emplace(name, name);
}

void PrivateNames::add_host(std::string_view name) {
  if (name.empty()) return;
  note_stand_ins(name);
  names_.at(index_of(PrivateKind::host)).emplace(name, name);
  add_word(PrivateKind::host, name);
  // A machine is called by the first part of its full name, too.
  const std::string_view first = name.substr(0, name.find('.'));
  if (first.size() == name.size()) return;
  names_.at(index_of(PrivateKind::host)).emplace(first, first);
  add_word(PrivateKind::host, first);
}

void PrivateNames::add_word(PrivateKind kind, std::string_view name) {
  if (name.size() < kShortestWord || is_common_word(name) || is_library_word(name)) return;
  auto& words = words_[lower(name.front())];
  words.emplace_back(name, kind);
  // The longest first: "ann" must not end the search for "ann-marie".
  std::sort(words.begin(), words.end(), [](const auto& a, const auto& b) {
    return a.first.size() != b.first.size() ? a.first.size() > b.first.size() : a < b;
  });
}

void PrivateNames::settle_numbers(PrivateKind kind) {
  const std::string_view stand_in = kStandIns.at(index_of(kind));
  const auto& taken = taken_.at(index_of(kind));
  std::uint64_t next = 1;
  for (auto& [name, replacement] : names_.at(index_of(kind))) {
    if (number_of(name, stand_in)) continue;
    while (taken.contains(next)) ++next;
    replacement = std::string(stand_in) + std::to_string(next++);
  }
}

/// From the last to the first: what a UUID is the beginning of comes right behind it.
void PrivateNames::settle_gpus() {
  auto& gpus = names_.at(index_of(PrivateKind::gpu));
  const auto is_beginning = [&](auto each) {
    const auto next = std::next(each);
    return next != gpus.end() && next->first.starts_with(each->first);
  };
  std::uint64_t number = 0;
  for (auto each = gpus.begin(); each != gpus.end(); ++each) {
    if (!is_beginning(each)) each->second = gpu_stand_in(each->first, ++number);
  }
  for (auto each = gpus.rbegin(); each != gpus.rend(); ++each) {
    const auto forward = std::prev(each.base());
    if (is_beginning(forward)) {
      each->second = std::next(forward)->second.substr(0, each->first.size());
    }
  }
}

void PrivateNames::settle() {
  std::size_t words = 0;
  for (const auto& [name, replacement] : names_.at(index_of(PrivateKind::user))) {
    if (++words > kMostWords) break;
    add_word(PrivateKind::user, name);
  }
  for (const PrivateKind kind :
       {PrivateKind::user, PrivateKind::host, PrivateKind::address, PrivateKind::mail}) {
    settle_numbers(kind);
  }
  settle_gpus();
}

std::string PrivateNames::replaced(std::string_view text, TextPlace place) const {
  return rewritten(text, place, replacer());
}

std::string PrivateNames::replaced_endpoint(std::string_view text) const {
  return rewritten_endpoint(text, replacer());
}

std::string PrivateNames::replaced_host(std::string_view name) const {
  return replacer()(PrivateKind::host, name);
}

}  // namespace cudart_doctor
