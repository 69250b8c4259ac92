// libFuzzer's mutator for inputs that begin with a JSON text: most mutated JSON is no JSON, and
// most JSON of another form is refused at its first wrong value, so what lies behind the reader
// would never be met. Changes a few values, as a rule to others of the same kind, and keeps the
// rest. Works on the text, since to build values and to print them would cost more than a run.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed);

namespace {

using Random = std::minstd_rand;

std::size_t below(Random& random, std::size_t bound) { return random() % bound; }

/// A value in the text. `key` is that under which it, or the list that it is in, stands.
struct Value {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t member = 0;  ///< Where its key begins; `begin` in a list.
  std::size_t parent = 0;
  std::string_view key;
  char kind = 0;  ///< '{', '[', '"', '0', 't' (true, false) or 'n' (null).
};

/// All values of a JSON text, parents before their children; none where it is no JSON as far as
/// this can tell.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::vector<Value> values() {
    blanks();
    if (!value(0, 0, "", 0)) return {};
    return std::move(values_);
  }

 private:
  static constexpr int kDeepest = 64;

  void blanks() {
    while (at_ < text_.size() && std::strchr(" \t\r\n", text_[at_]) != nullptr) ++at_;
  }
  [[nodiscard]] char now() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  bool string() {
    if (now() != '"') return false;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    return at_++ < text_.size();
  }

  bool value(std::size_t member, std::size_t parent, std::string_view key, int depth) {
    const std::size_t self = values_.size();
    values_.push_back({at_, at_, member, parent, key, now()});
    bool good = false;
    if (now() == '{' || now() == '[') {
      good = depth < kDeepest && inside(self, now() == '{', key, depth);
    } else if (now() == '"') {
      good = string();
    } else {
      const std::size_t end = std::min(text_.find_first_of(",]} \t\r\n", at_), text_.size());
      char& kind = values_[self].kind;
      if (kind == 'f') kind = 't';
      if (kind != 't' && kind != 'n') kind = '0';
      good = end > at_;
      at_ = end;
    }
    values_[self].end = at_;
    return good;
  }

  bool inside(std::size_t self, bool is_object, std::string_view key, int depth) {
    const char close = is_object ? '}' : ']';
    ++at_;
    blanks();
    if (now() == close) return at_++ < text_.size();
    while (true) {
      const std::size_t member = at_;
      if (is_object) {
        if (!string()) return false;
        key = text_.substr(member + 1, at_ - member - 2);
        blanks();
        if (now() != ':') return false;
        ++at_;
        blanks();
      }
      if (!value(member, self, key, depth + 1)) return false;
      blanks();
      if (now() == close) return at_++ < text_.size();
      if (now() != ',') return false;
      ++at_;
      blanks();
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Value> values_;
};

/// `bytes` as a JSON string of ASCII.
std::string quoted(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "\"";
  for (const char each : bytes) {
    const auto byte = static_cast<unsigned char>(each & 0x7f);
    if (byte < ' ') {
      out += "\\u00";
      out += kDigits[byte >> 4U];
      out += kDigits[byte & 0xfU];
    } else {
      if (byte == '"' || byte == '\\') out += '\\';
      out += static_cast<char>(byte);
    }
  }
  return out + '"';
}

std::string mutated(std::string_view text) {
  std::vector<std::uint8_t> bytes(text.begin(), text.end());
  bytes.resize(text.size() + 64);
  bytes.resize(LLVMFuzzerMutate(bytes.data(), text.size(), bytes.size()));
  return {bytes.begin(), bytes.end()};
}

std::string number(Random& random) {
  switch (below(random, 6)) {
    case 0: return "18446744073709551615";
    case 1: return "4294967295";
    case 2: return std::to_string(std::uint64_t{1} << below(random, 64));
    default: return std::to_string(below(random, 8));
  }
}

std::string string(std::string_view old, Random& random) {
  constexpr std::array<std::string_view, 4> kOdd = {R"(\u001b[2J)", R"(\u202e)", R"(\n)",
                                                    R"(\u0000)"};
  const std::string_view inside = old.substr(1, old.size() - 2);
  if (below(random, 4) != 0) return quoted(mutated(inside));
  return '"' + std::string(inside) + std::string(kOdd[below(random, kOdd.size())]) + '"';
}

class Change {
 public:
  Change(std::string_view text, const std::vector<Value>& values, Random& random)
      : text_(text), values_(values), random_(random) {}

  std::string make() {
    const std::size_t index = below(random_, values_.size());
    const Value& value = values_[index];
    const std::string to = below(random_, 16) == 0 ? other_kind(index) : same_kind(index);
    return std::string(text_.substr(0, value.begin)) + to + std::string(text_.substr(value.end));
  }

 private:
  [[nodiscard]] std::string_view of(const Value& value) const {
    return text_.substr(value.begin, value.end - value.begin);
  }

  std::string same_kind(std::size_t index) {
    const Value& value = values_[index];
    const std::size_t dice = below(random_, 4);
    if (value.kind == 't') return of(value) == "true" ? "false" : "true";
    if (value.kind == '[' && dice != 0) return with_other_elements(index);
    if (value.kind == '0' && dice < 2) return number(random_);
    if (value.kind == '"' && dice == 0) return string(of(value), random_);
    return std::string(of(relative(value)));
  }

  /// What a reader refuses, as a rule.
  std::string other_kind(std::size_t index) {
    constexpr std::array<std::string_view, 8> kWrong = {
        "null", "true", "0", "-1", "18446744073709551615", "-9223372036854775808", "\"\"", "[]"};
    if (values_[index].kind == '{' && below(random_, 2) == 0) return with_other_elements(index);
    if (below(random_, 2) == 0) return std::string(of(values_[below(random_, values_.size())]));
    return std::string(kWrong[below(random_, kWrong.size())]);
  }

  /// A value of the same key, or else of the same kind.
  const Value& relative(const Value& value) {
    const bool same_key = below(random_, 4) != 0;
    const std::size_t start = below(random_, values_.size());
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const Value& other = values_[(start + i) % values_.size()];
      if (&other == &value) continue;
      if (same_key ? other.key == value.key : other.kind == value.kind) return other;
    }
    return value;
  }

  /// A list or object with one element less, one doubled, or two exchanged.
  std::string with_other_elements(std::size_t index) {
    std::vector<std::string_view> parts;
    for (std::size_t i = index + 1; i < values_.size(); ++i) {
      const Value& each = values_[i];
      if (each.begin >= values_[index].end) break;
      if (each.parent == index) parts.push_back(text_.substr(each.member, each.end - each.member));
    }
    if (parts.empty()) return std::string(of(relative(values_[index])));
    const auto any = [&] {
      return parts.begin() + static_cast<std::ptrdiff_t>(below(random_, parts.size()));
    };
    switch (below(random_, 3)) {
      case 0: parts.erase(any()); break;
      case 1: {
        const std::string_view part = *any();
        parts.push_back(part);
        break;
      }
      default: std::iter_swap(any(), any());
    }
    std::string out(1, values_[index].kind);
    for (const std::string_view part : parts) {
      if (out.size() > 1) out += ',';
      out += part;
    }
    return out + (values_[index].kind == '{' ? '}' : ']');
  }

  std::string_view text_;
  const std::vector<Value>& values_;
  Random& random_;
};

}  // namespace

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                    unsigned seed) {
  Random random(seed);
  const std::uint8_t* const end = std::find(data, data + size, 0);
  std::string text(static_cast<const std::uint8_t*>(data), end);
  std::string behind(end, static_cast<const std::uint8_t*>(data + size));
  if (below(random, 64) == 0) return LLVMFuzzerMutate(data, size, max_size);
  if (!behind.empty() && below(random, 8) == 0) {
    behind = '\0' + mutated(std::string_view(behind).substr(1));
  } else {
    for (std::size_t times = 1 + below(random, 3); times != 0; --times) {
      const std::vector<Value> values = Scanner(text).values();
      if (values.empty()) return LLVMFuzzerMutate(data, size, max_size);
      text = Change(text, values, random).make();
    }
  }
  text += behind;
  if (text.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
