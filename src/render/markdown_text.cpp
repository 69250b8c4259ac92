// A word is plain where nothing in it means anything to a Markdown renderer or to what issue
// trackers add to it: @mentions, #references, links without markup, hashes of commits.
#include "render/markdown_text.hpp"

#include <algorithm>

#include "cudart_doctor/base/text.hpp"
#include "render/style.hpp"

namespace cudart_doctor {
namespace {

constexpr std::string_view kOpening = "(\"'";
constexpr std::string_view kClosing = ").,;:\"'?!";
constexpr std::size_t kHashDigits = 7;  // Shorter ones are taken for no commit.

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

bool is_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}

bool is_hash_digit(char letter) {
  return is_digit(letter) || (letter >= 'a' && letter <= 'f') || (letter >= 'A' && letter <= 'F');
}

/// A run of hexadecimal digits, by itself or between '-' and '.', that could be a commit's.
bool has_hash(std::string_view core) {
  std::size_t run = 0;
  bool hash = true;
  for (const char letter : core) {
    if (letter == '-' || letter == '.' || letter == '\'') {
      if (hash && run >= kHashDigits) return true;
      run = 0;
      hash = true;
      continue;
    }
    ++run;
    hash = hash && is_hash_digit(letter);
  }
  return hash && run >= kHashDigits;
}

/// "https", "10/11", "3.12", "FlashInfer", "re-exports": letters, digits, and between them what
/// joins words.
bool is_plain(std::string_view core) {
  const auto is_alnum = [](char letter) { return is_digit(letter) || is_letter(letter); };
  if (core.empty() || !is_alnum(core.front()) || !is_alnum(core.back())) return false;
  const auto is_joined = [&](char letter) {
    return is_alnum(letter) || letter == '.' || letter == '-' || letter == '\'';
  };
  const bool fraction = std::all_of(core.begin(), core.end(),
                                    [](char letter) { return is_digit(letter) || letter == '/'; });
  if (!fraction && !std::all_of(core.begin(), core.end(), is_joined)) return false;
  return !has_hash(core) && !core.starts_with("www.") && !core.starts_with("GH-") &&
         !core.starts_with("gh-");
}

/// `first` words must not begin a list: "1.", "2)".
std::string word_text(std::string_view word, bool first) {
  std::size_t begin = 0;
  while (begin < word.size() && kOpening.find(word[begin]) != std::string_view::npos) ++begin;
  std::size_t end = word.size();
  while (end > begin && kClosing.find(word[end - 1]) != std::string_view::npos) --end;
  const std::string_view core = word.substr(begin, end - begin);
  if (core.empty()) return std::string(word);
  const bool numbers = std::all_of(core.begin(), core.end(), is_digit) && end < word.size();
  if (is_plain(core) && !(first && numbers)) return std::string(word);
  return std::string(word.substr(0, begin)).append(markdown_code(core)).append(word.substr(end));
}

}  // namespace

std::string markdown_code(std::string_view text) {
  const std::string cut = cut_middle(trim(text), kMarkdownCode);
  if (cut.empty()) return {};
  std::string out = "`";
  for (const char letter : cut) {
    switch (letter) {
      case '`': out += "\\x60"; break;
      case '|': out += "\\x7c"; break;
      default: out += letter;
    }
  }
  return out += '`';
}

std::string markdown_sentence(std::string_view sentence) {
  const std::string cut = cut_end(sentence, kMarkdownSentence);
  std::string out;
  for (const std::string_view word : split(cut, ' ')) {
    if (word.empty()) continue;
    const bool first = out.empty();
    if (!first) out += ' ';
    out += word_text(word, first);
  }
  return out;
}

}  // namespace cudart_doctor
