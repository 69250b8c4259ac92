// Names of persons and machines in texts, and their stand-ins: the same name gets the same
// stand-in everywhere in one document, and two names never get one. Pure.
//
// Found by their form: the name behind /home/, /Users/ and /users/, mail addresses, UUIDs of GPUs;
// in command lines and values also IP addresses and the hosts of URLs. Found as words where they
// are known from elsewhere: the users of those folders, the host.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cudart_doctor {

enum class PrivateKind : std::uint8_t { user, host, address, mail, gpu };

/// Where a text stands: an address has the form of a version (12.8.4.1), and is looked for only
/// where there can be one.
enum class TextPlace : std::uint8_t {
  anywhere,   ///< Paths, names of libraries.
  sentences,  ///< Notes: a user's name can be a word, a version is no address.
  words,      ///< Command lines, values of variables, output.
};

class PrivateNames {
 public:
  /// Takes note of all names in `text` that show by their form.
  void learn(std::string_view text, TextPlace place);
  /// A user, also outside of paths ("$USER"). Words that mean something in every path, and very
  /// short ones, are not looked for elsewhere.
  void add_user(std::string_view name);
  /// The machine's own name.
  void add_host(std::string_view name);
  /// The value of an option that is named like an address ("--host"): "node-5:8000".
  void learn_endpoint(std::string_view text);

  /// `text` with a stand-in for each name. Whatever was not learned before stays.
  [[nodiscard]] std::string replaced(std::string_view text, TextPlace place) const;
  [[nodiscard]] std::string replaced_endpoint(std::string_view text) const;
  [[nodiscard]] std::string replaced_host(std::string_view name) const;

  /// Gives out the stand-ins; to be called between learning and replacing. Stand-ins that are in
  /// the texts already stay what they are, so that a second pass changes nothing.
  void settle();

 private:
  static constexpr std::size_t kKinds = 5;
  using Resolve = std::function<std::string(PrivateKind, std::string_view)>;

  std::string rewritten(std::string_view text, TextPlace place, const Resolve& resolve) const;
  static std::string rewritten_endpoint(std::string_view text, const Resolve& resolve);
  [[nodiscard]] Resolve recorder();
  [[nodiscard]] Resolve replacer() const;
  [[nodiscard]] std::string_view known_word(std::string_view text, std::size_t at,
                                            TextPlace place) const;
  void note_stand_ins(std::string_view text);
  void settle_numbers(PrivateKind kind);
  void settle_gpus();
  void add_word(PrivateKind kind, std::string_view name);

  std::array<std::map<std::string, std::string, std::less<>>, kKinds> names_;
  std::array<std::set<std::uint64_t>, kKinds> taken_;  ///< Numbers that texts hold already.
  /// Names to be looked for as words, by their first byte in lower case.
  std::map<char, std::vector<std::pair<std::string, PrivateKind>>> words_;
};

}  // namespace cudart_doctor
