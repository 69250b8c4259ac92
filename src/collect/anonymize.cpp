#include "cudart_doctor/collect/anonymize.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <type_traits>
#include <utility>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/collect/snapshot_fields.hpp"
#include "cudart_doctor/formats/proc_text.hpp"

namespace cudart_doctor {
namespace {

/// What is done with a text; learning gives it back as it is.
struct TextUse {
  std::function<std::string(std::string_view, TextPlace)> text;
  std::function<std::string(std::string_view)> endpoint;
  std::function<std::string(std::string_view)> host;
};

/// Fields of words rather than of paths and of sentences of our own.
TextPlace place_of(std::string_view field) {
  constexpr std::array<std::string_view, 7> kWords = {
      "comm", "variables", "visible_devices", "environment", "output", "cgroup", "ready_when"};
  constexpr std::array<std::string_view, 8> kSentences = {"notes",       "self_notes", "limits",
                                                          "python_note", "unrecorded", "not_judged",
                                                          "headline",    "undecided"};
  if (std::ranges::find(kSentences, field) != kSentences.end()) return TextPlace::sentences;
  return std::ranges::find(kWords, field) != kWords.end() ? TextPlace::words : TextPlace::anywhere;
}

/// "--host", "--master-addr", "--rdzv-endpoint": one of the parts says that a place follows.
bool is_endpoint_option(std::string_view option) {
  static constexpr std::array<std::string_view, 12> kParts = {
      "host",    "hosts",     "hostname", "hostnames", "addr", "addrs",
      "address", "addresses", "endpoint", "endpoints", "ip",   "nodelist"};
  if (option == "-H") return true;  // Of mpirun. A header's name ends with ':'.
  std::string name(option);
  std::replace(name.begin(), name.end(), '_', '-');
  const auto parts = split(name, '-');
  return option.starts_with('-') && std::any_of(parts.begin(), parts.end(), [](auto part) {
           return std::find(kParts.begin(), kParts.end(), part) != kParts.end();
         });
}

/// An archive over the fields of a snapshot that hands each text to a TextUse.
class TextArchive {
 public:
  template <typename T>
  using Ref = T&;

  explicit TextArchive(const TextUse& use) : use_(use) {}

  template <typename T>
  void operator()(const char* name, T& value) {
    const std::string_view field = name;
    const TextPlace outer = std::exchange(place_, place_of(field));
    if constexpr (std::is_same_v<T, Fact<std::vector<std::string>>>) {
      if (field == "command_line" && value.get() != nullptr) {
        change_arguments(*value.get());
        place_ = outer;
        return;
      }
    }
    if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      if (field == "command_line" || field == "command") {
        change_arguments(value);
        place_ = outer;
        return;
      }
    }
    change(value);
    place_ = outer;
  }

  /// All but the maps.
  void all(Snapshot& snapshot) {
    // By itself the name has no form; the other passes find it as a word.
    snapshot.host.name = use_.host(snapshot.host.name);
    describe(*this, snapshot);
  }

  std::string maps(std::string_view text) const {
    std::string out;
    bool first = true;
    for (const std::string_view line : split(text, '\n')) {
      if (!first) out += '\n';
      first = false;
      out += use_.text(line, TextPlace::anywhere);
    }
    return out;
  }

 private:
  void change(std::string& value) { value = use_.text(value, place_); }
  /// A variable's name is no foreign text that matters here, and rules know it.
  void change(std::pair<std::string, std::string>& value) { change(value.second); }
  template <typename T>
  void change(std::optional<T>& value) {
    if (value) change(*value);
  }
  template <typename T>
  void change(Fact<T>& value) {
    if (T* known = value.get()) {
      change(*known);
    } else if (value.is_unknown()) {
      value = Fact<T>::unknown(use_.text(value.reason(), place_));
    }
  }
  template <typename T>
  void change(std::vector<T>& values) {
    if constexpr (!std::is_arithmetic_v<T>) {
      for (T& value : values) change(value);
    }
  }
  template <typename T>
  void change(std::map<std::string, T>& values) {
    std::map<std::string, T> out;
    for (auto& [key, value] : values) {
      std::string name = use_.text(key, TextPlace::anywhere);
      change(value);
      out.emplace(std::move(name), std::move(value));
    }
    values = std::move(out);
  }
  template <typename T>
  void change(T& value) {
    if constexpr (!std::is_arithmetic_v<T> && !std::is_enum_v<T>) describe(*this, value);
  }

  /// An argument with blanks is a process title that replaced argv: word by word.
  void change_arguments(std::vector<std::string>& arguments) const {
    bool after_option = false;
    for (std::string& argument : arguments) {
      std::string out;
      bool first = true;
      for (const std::string_view word : split(argument, ' ')) {
        if (!first) out += ' ';
        first = false;
        out += changed_word(word, after_option);
        after_option = is_endpoint_option(word) && word.find('=') == std::string_view::npos;
      }
      argument = std::move(out);
    }
  }

  [[nodiscard]] std::string changed_word(std::string_view word, bool after_option) const {
    std::string out;
    const std::size_t equals = word.find('=');
    if (!after_option && equals != std::string_view::npos &&
        is_endpoint_option(word.substr(0, equals))) {
      out = word.substr(0, equals + 1);
      word.remove_prefix(equals + 1);
      after_option = true;
    }
    if (after_option) {
      const std::string endpoint = use_.endpoint(word);
      return out + use_.text(endpoint, TextPlace::words);
    }
    // An option's own name is no place for a user's.
    if (word.starts_with('-')) {
      const std::size_t name = std::min(word.find('='), word.size());
      out = word.substr(0, name);
      word.remove_prefix(name);
    }
    return out + use_.text(word, TextPlace::words);
  }

  const TextUse& use_;
  TextPlace place_ = TextPlace::anywhere;
};

void learn_user(PrivateNames& names, const Environment& environment) {
  for (const char* name : {"USER", "LOGNAME", "USERNAME", "SUDO_USER"}) {
    if (const std::string* value = environment.find(name)) names.add_user(*value);
  }
  const std::string* home = environment.find("HOME");
  // "/root", "/nonexistent": a folder of the first level is nobody's.
  if (home == nullptr || std::count(home->begin(), home->end(), '/') < 2) return;
  names.add_user(base_name(*home));
}

}  // namespace

void Anonymizer::learn(Snapshot snapshot) {
  names_.add_host(snapshot.host.name);
  if (const Environment* environment = snapshot.environment.get()) {
    learn_user(names_, *environment);
  }
  const TextUse use{.text =
                        [this](std::string_view text, TextPlace place) {
                          names_.learn(text, place);
                          return std::string(text);
                        },
                    .endpoint =
                        [this](std::string_view text) {
                          names_.learn_endpoint(text);
                          return std::string(text);
                        },
                    .host = [](std::string_view name) { return std::string(name); }};
  TextArchive archive(use);
  archive.all(snapshot);
  archive.maps(snapshot.maps.text);
}

void Anonymizer::learn(std::string_view text) { names_.learn(text, TextPlace::words); }

void Anonymizer::learn_users(const Environment& environment) { learn_user(names_, environment); }

PrivateNames& Anonymizer::settled() {
  if (!is_settled_) names_.settle();
  is_settled_ = true;
  return names_;
}

Snapshot Anonymizer::replaced(Snapshot snapshot) {
  const PrivateNames& names = settled();
  const TextUse use{
      .text = [&names](std::string_view text,
                       TextPlace place) { return names.replaced(text, place); },
      .endpoint = [&names](std::string_view text) { return names.replaced_endpoint(text); },
      .host = [&names](std::string_view name) { return names.replaced_host(name); }};
  TextArchive archive(use);
  archive.all(snapshot);
  // The rows point into the text. What was a table before is one again; too large a text is none.
  snapshot.maps = parse_maps(archive.maps(snapshot.maps.text)).value_or(MapsTable{});
  return snapshot;
}

std::string Anonymizer::replaced(std::string_view text) {
  return settled().replaced(text, TextPlace::words);
}

Snapshot anonymized(Snapshot snapshot) {
  Anonymizer names;
  names.learn(snapshot);
  return names.replaced(std::move(snapshot));
}

}  // namespace cudart_doctor
