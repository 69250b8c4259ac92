// A snapshot without the names of persons and machines, to be shown to strangers. Pure: every text
// of the snapshot is gone through by the fields that a bundle has, so that none is forgotten.
#pragma once

#include <string>
#include <string_view>

#include "cudart_doctor/collect/private_names.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

/// Learns first, replaces then: what is learned after the first replacement has no stand-in.
class Anonymizer {
 public:
  void learn(Snapshot snapshot);
  /// A text that is printed beside the snapshot's: a line of a log, a message.
  void learn(std::string_view text);
  /// The users that USER, HOME and their like name.
  void learn_users(const Environment& environment);

  [[nodiscard]] Snapshot replaced(Snapshot snapshot);
  [[nodiscard]] std::string replaced(std::string_view text);

 private:
  PrivateNames& settled();

  PrivateNames names_;
  bool is_settled_ = false;
};

/// `snapshot` with a stand-in for each name. A second time changes nothing more.
Snapshot anonymized(Snapshot snapshot);

}  // namespace cudart_doctor
