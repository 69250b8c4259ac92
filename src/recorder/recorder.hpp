// What the recorder knows of its process, and what it says of it. Called through the loader's audit
// interface, under the loader's lock.
#pragma once

#include <link.h>

#include <cstdint>
#include <string_view>

#include "batch.hpp"
#include "connection.hpp"
#include "cudart_doctor/formats/recorder_limits.hpp"
#include "family.hpp"
#include "fields.hpp"
#include "native_caller.hpp"
#include "python_stack.hpp"

namespace cudart_doctor::recorder {

class Recorder {
 public:
  /// Some object asks the loader for `name`.
  void ask(std::string_view name, link_map* requester);
  /// An object was mapped. `cookie` holds its address; a recorded object's is marked in it.
  void arrive(link_map* map, Lmid_t space, std::uintptr_t* cookie);
  /// The loader says that it unloads an object.
  void depart(const std::uintptr_t* cookie);
  /// The loader is done with a batch of loads or unloads.
  void settle();

 private:
  void notice_fork();
  void introduce();
  void record_with_requesters(Arrival& arrival);
  void record_load(Arrival& arrival);
  void add_cause(const Arrival& arrival);
  void add_unasked();
  void add_caller(const NativeCaller& caller);
  void record_departures();
  void wait_for_launcher();
  void begin(std::string_view kind);
  void send();
  void tell_lost();
  [[nodiscard]] std::string_view path_of(const link_map& map);
  std::string_view program_path();

  long pid_ = 0;
  const link_map* program_ = nullptr;
  char program_path_[4096] = {};
  std::size_t program_path_size_ = 0;
  std::uint32_t objects_ = 0;
  std::int64_t lost_ = 0;
  bool started_ = false;       ///< The program's own batch is over.
  bool introduced_ = false;    ///< `start` was sent, or could not be.
  bool asked_ = false;         ///< The launcher was asked once how to go on.
  bool is_ending_ = false;     ///< The program is announced to be unloaded.
  bool checks_leaks_ = false;  ///< LeakSanitizer is in the process.
  bool held_ = false;          ///< It wants to be asked at each batch.
  char request_[4096] = {};
  std::size_t request_size_ = 0;
  link_map* requester_ = nullptr;
  Batch batch_;
  Interest interest_ = Interest::none;  ///< The greatest of the batch.
  Departures departures_;
  Fields<kMaxRecord> record_;
  PythonStack python_;
  OwnStack stack_;
  Connection connection_;
};

/// The object that a cookie stands for.
link_map* object_of(const std::uintptr_t* cookie);

}  // namespace cudart_doctor::recorder
