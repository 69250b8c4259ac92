// Secrets in command lines, by the forms in which programs take them: `--api-key VALUE`,
// `NAME=VALUE`, `Name: VALUE`, members of JSON, passwords of URLs. In doubt more is hidden.
#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "render/redact.hpp"

namespace cudart_doctor {
namespace {

constexpr std::string_view kBlanks = " \t\n\r\v\f";
constexpr std::string_view kUserinfoEnd = "/?# \t\n\r\"'<>";
constexpr std::string_view kWrapping = "\"'\\[](){},;";
constexpr std::string_view kBehindQuote = " \t\n\r\v\f,;:]})\"'\\";

bool is_blank(char letter) { return kBlanks.find(letter) != std::string_view::npos; }

bool is_name_byte(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') || letter == '_' || letter == '-' || letter == '.';
}

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of(kBlanks, at), text.size());
}

std::size_t word_end(std::string_view text, std::size_t at) {
  return std::min(text.find_first_of(kBlanks, at), text.size());
}

/// `word` without the quotes and brackets around it.
std::string_view bare(std::string_view word) {
  const std::size_t first = word.find_first_not_of(kWrapping);
  if (first == std::string_view::npos) return {};
  return word.substr(first, word.find_last_not_of(kWrapping) - first + 1);
}

bool is_any_of(std::string_view word, std::initializer_list<std::string_view> lower_words) {
  return std::any_of(lower_words.begin(), lower_words.end(), [word](std::string_view each) {
    return std::equal(word.begin(), word.end(), each.begin(), each.end(), [](char a, char b) {
      return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b;
    });
  });
}

/// Where the value begins of which the name ends at `at`: behind '=' or ':', with or without a
/// quote that closes the name. npos: no value follows.
std::size_t value_begin(std::string_view text, std::size_t at) {
  while (at < text.size() && text[at] == '\\') ++at;
  if (at < text.size() && (text[at] == '"' || text[at] == '\'')) ++at;
  const std::size_t sign = skip_blanks(text, at);
  if (sign == text.size() || (text[sign] != '=' && text[sign] != ':'))
    return std::string_view::npos;
  if (text.substr(sign).starts_with("://")) return std::string_view::npos;
  // "NAME= command" of a shell sets nothing; "name = value" of a program does.
  return text[sign] == '=' && sign == at ? sign + 1 : skip_blanks(text, sign + 1);
}

/// Goes over arguments and remembers whether the last option was named like a secret: such an
/// option may take several values (vLLM's --api-key does).
class Redactor {
 public:
  std::string argument(std::string_view text) {
    if (is_value(text)) return std::string(kRedacted);
    out_.clear();
    at_ = 0;
    while (at_ < text.size()) {
      const bool begins_word = at_ == 0 || is_blank(text[at_ - 1]);
      if (begins_word && take_word(text)) continue;
      if (take_userinfo(text) || take_named(text)) continue;
      out_ += text[at_++];
    }
    return out_;
  }

  std::string urls_only(std::string_view text) {
    while (at_ < text.size()) {
      if (!take_userinfo(text)) out_ += text[at_++];
    }
    return out_;
  }

 private:
  enum class Expect : std::uint8_t { nothing, first_value, more_values };

  /// Whether `word` is a value of the option before it. The first may begin with '-'.
  bool is_value(std::string_view word) {
    if (expect_ == Expect::nothing || word.empty()) return false;
    if (word.starts_with(expect_ == Expect::first_value ? "--" : "-")) return false;
    expect_ = Expect::more_values;
    return true;
  }

  bool take_word(std::string_view text) {
    const std::size_t end = word_end(text, at_);
    const std::string_view word = bare(text.substr(at_, end - at_));
    if (is_value(word)) {
      hide_until(end);
      return true;
    }
    if (!word.starts_with('-')) return false;
    const bool whole = std::all_of(word.begin(), word.end(), is_name_byte);
    expect_ = whole && is_secret_name(word) ? Expect::first_value : Expect::nothing;
    return false;
  }

  /// "://user:password@", of HTTP the user too: many a token is one.
  bool take_userinfo(std::string_view text) {
    constexpr std::string_view kSlashes = "://";
    if (!text.substr(at_).starts_with(kSlashes)) return false;
    const bool http = out_.ends_with("http") || out_.ends_with("https");
    const std::size_t begin = at_ + kSlashes.size();
    const std::string_view authority =
        text.substr(begin, text.find_first_of(kUserinfoEnd, begin) - begin);
    const std::size_t sign = authority.rfind('@');
    out_ += kSlashes;
    at_ = begin;
    if (sign == std::string_view::npos || sign == 0) return true;
    const std::size_t colon = authority.substr(0, sign).find(':');
    if (!http && colon == std::string_view::npos) return true;
    if (!http) {
      out_ += authority.substr(0, colon + 1);
    }
    hide_until(begin + sign);
    return true;
  }

  /// A name, and its value where the name is one of a secret.
  bool take_named(std::string_view text) {
    std::size_t end = at_;
    while (end < text.size() && is_name_byte(text[end])) ++end;
    if (end == at_) return false;
    const std::string_view name = text.substr(at_, end - at_);
    const bool bearer = is_any_of(name, {"bearer"});
    std::size_t value = bearer ? skip_blanks(text, end) : value_begin(text, end);
    const bool secret = bearer ? value != end : is_secret_name(name);
    if (!secret || value >= text.size()) {
      out_ += name;
      at_ = end;
      return true;
    }
    out_ += text.substr(at_, value - at_);
    at_ = value;
    take_value(text);
    expect_ = Expect::nothing;
    return true;
  }

  void take_value(std::string_view text) {
    const std::string_view rest = text.substr(at_);
    const bool hidden_before = rest.starts_with(kRedacted);
    if (!hidden_before && (rest.front() == '[' || rest.front() == '{')) {
      hide_until(text.size());
      return;
    }
    std::size_t quote = 0;
    while (quote < rest.size() && rest[quote] == '\\') ++quote;
    if (quote < rest.size() && (rest[quote] == '"' || rest[quote] == '\'')) {
      const std::string_view mark = rest.substr(0, quote + 1);
      out_ += mark;
      at_ += mark.size();
      hide_until(closing(text, mark));
      return;
    }
    std::size_t end = word_end(text, at_);
    const std::string_view word = text.substr(at_, end - at_);
    if (is_any_of(word, {"bearer", "basic", "digest", "token", "negotiate"})) {
      end = word_end(text, skip_blanks(text, end));
    }
    hide_until(end);
  }

  /// Where `mark` closes the value that begins at at_.
  [[nodiscard]] std::size_t closing(std::string_view text, std::string_view mark) const {
    for (std::size_t at = text.find(mark, at_); at != std::string_view::npos;
         at = text.find(mark, at + 1)) {
      const std::size_t behind = at + mark.size();
      const bool escaped = at > at_ && text[at - 1] == '\\';
      if (escaped) continue;
      if (behind == text.size() || kBehindQuote.find(text[behind]) != std::string_view::npos) {
        return at;
      }
    }
    return text.size();
  }

  void hide_until(std::size_t end) {
    if (end > at_) out_ += kRedacted;
    at_ = end;
  }

  std::string out_;
  std::size_t at_ = 0;
  Expect expect_ = Expect::nothing;
};

}  // namespace

std::vector<std::string> redact_arguments(const std::vector<std::string>& arguments) {
  std::vector<std::string> out;
  out.reserve(arguments.size());
  Redactor redactor;
  for (const std::string& argument : arguments) out.push_back(redactor.argument(argument));
  return out;
}

std::string redact_urls(std::string_view text) { return Redactor().urls_only(text); }

}  // namespace cudart_doctor
