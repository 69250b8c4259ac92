#include "recorder.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "system_calls.hpp"

namespace cudart_doctor::recorder {
namespace {

/// A recorded object's namespace plus one is kept in the cookie above the address: no kernel maps
/// there unless it is asked to. The eight bits above may be a tag of aarch64, part of the pointer.
constexpr unsigned kMarkShift = 48;
constexpr std::uintptr_t kMarkMask = std::uintptr_t{0xFF} << kMarkShift;

/// The loader replaces tokens ("$ORIGIN/x.so") before it asks; what is behind them stays.
bool is_asked_for(std::string_view needed, std::string_view name) {
  std::size_t token = needed.size();
  while (token > 0 && needed[token - 1] != '$') --token;
  if (token == 0) return needed == name;
  while (token < needed.size() && needed[token] != '/') ++token;
  needed.remove_prefix(token);
  return !needed.empty() && name.ends_with(needed);
}

bool needs(const link_map& object, std::string_view name) {
  return LoadedObject(object).any_needed(
      [&](std::string_view needed) { return is_asked_for(needed, name); });
}

template <typename Record>
void add_file(Record& record, const char* path) {
  struct stat file{};
  const long result = call({.number = __NR_newfstatat,
                            .first = AT_FDCWD,
                            .second = address(path),
                            .third = address(&file)});
  if (result != 0) return;
  // As the kernel encodes a device: 12 bits of major; the bits around them are the minor's.
  const std::uint64_t major = file.st_dev >> 8U & 0xFFFU;
  const std::uint64_t minor = (file.st_dev & 0xFFU) | (file.st_dev >> 12U & 0xFFF00U);
  record.add_pair("dev", major, minor);
  record.add("ino", Digits(file.st_ino).view());
}

bool is_mapped(const void* place) {
  // The kernel wants the beginning of one of its pages (EINVAL), and aarch64's have three sizes.
  constexpr std::uintptr_t kPages[] = {4096, 16384, 65536};
  unsigned char resident = 0;
  long result = -EINVAL;
  for (const std::uintptr_t size : kPages) {
    if (result != -EINVAL) break;
    const long page = address(place) & ~static_cast<long>(size - 1);
    do {
      result =
          call({.number = __NR_mincore, .first = page, .second = 1, .third = address(&resident)});
    } while (result == -EAGAIN);
  }
  return result != -ENOMEM;
}

}  // namespace

link_map* object_of(const std::uintptr_t* cookie) {
  return pointer_to<link_map*>(*cookie & ~kMarkMask);
}

void Recorder::notice_fork() {
  const long now = process_id();
  if (now == pid_) return;
  const bool is_fork = pid_ != 0;
  pid_ = now;
  if (!is_fork) return;
  // Of the parent, whose other threads may have been in the middle of a batch.
  connection_.close();
  batch_.clear();
  departures_.clear();
  interest_ = Interest::none;
  lost_ = 0;
  asked_ = held_ = false;
}

void Recorder::ask(std::string_view name, link_map* requester) {
  requester_ = requester;
  request_size_ = 0;
  if (name.size() > sizeof request_) return;
  for (const char c : name) request_[request_size_++] = c;
}

std::string_view Recorder::path_of(const link_map& map) {
  if (&map == program_) return program_path();
  return map.l_name == nullptr ? std::string_view() : std::string_view(map.l_name);
}

std::string_view Recorder::program_path() {
  if (program_path_size_ == 0) {
    const long size = call({.number = __NR_readlinkat,
                            .first = AT_FDCWD,
                            .second = address("/proc/self/exe"),
                            .third = address(program_path_),
                            .fourth = sizeof program_path_ - 1});
    program_path_size_ = size > 0 ? static_cast<std::size_t>(size) : 0;
  }
  return {program_path_, program_path_size_};
}

void Recorder::arrive(link_map* map, Lmid_t space, std::uintptr_t* cookie) {
  notice_fork();
  if (program_ == nullptr) program_ = map;
  Arrival arrival{.map = map,
                  .cookie = cookie,
                  .requester = requester_,
                  .name = {request_, request_size_},
                  .space = space,
                  .order = objects_++};
  requester_ = nullptr;
  request_size_ = 0;
  if (space == LM_ID_BASE) python_.arrive(*map);
  Arrival* const kept = batch_.add(arrival);
  // A program is of the family by what it defines and needs; its name is read where it is told,
  // which few of the many short-lived ones of a build have to pay for.
  const std::string_view path = map == program_ ? std::string_view() : path_of(*map);
  const LoadedObject object(*map);
  if (checks_leaks(object)) checks_leaks_ = true;
  const Interest interest = interest_in(object, path);
  if (interest == Interest::none) return;
  interest_ = std::max(interest_, interest);
  record_with_requesters(kept == nullptr ? arrival : *kept);
}

/// Who asked for an object is told down to whoever opened the first of them, though those between
/// may be no objects of CUDA.
void Recorder::record_with_requesters(Arrival& arrival) {
  constexpr std::size_t kMaxDepth = 32;
  Arrival* chain[kMaxDepth] = {&arrival};
  std::size_t depth = 1;
  while (depth < kMaxDepth) {
    Arrival* const above = batch_.find(chain[depth - 1]->requester);
    if (above == nullptr || above->is_recorded != 0) break;
    chain[depth++] = above;
  }
  while (depth > 0) record_load(*chain[--depth]);
}

void Recorder::record_load(Arrival& arrival) {
  introduce();
  arrival.is_recorded = 1;
  const auto mark = static_cast<std::uintptr_t>(arrival.space + 1) << kMarkShift;
  *arrival.cookie = (*arrival.cookie & ~kMarkMask) | mark;
  const link_map& map = *arrival.map;
  begin("load");
  record_.add_number("tid", thread_id());
  record_.add_number("t", monotonic());
  record_.add_number("order", arrival.order);
  record_.add_number("ns", arrival.space);
  record_.add_hex("base", map.l_addr);
  add_file(record_, &map == program_ ? "/proc/self/exe" : map.l_name);
  record_.add("path", path_of(map));
  add_cause(arrival);
  if (started_) record_.add_all(python_.fields());
  send();
}

void Recorder::add_cause(const Arrival& arrival) {
  if (arrival.map == program_) {
    record_.add("cause", "program");
    return;
  }
  if (arrival.requester == nullptr) {
    add_unasked();
    return;
  }
  const link_map& requester = *arrival.requester;
  const bool is_needed = needs(requester, arrival.name);
  const bool is_opened = !is_needed && started_;
  const bool is_preload = !is_needed && !started_ && &requester == program_;
  record_.add("cause", is_needed    ? "needed"
                       : is_opened  ? "opened"
                       : is_preload ? "preload"
                                    : "unknown");
  record_.add("name", arrival.name);
  record_.add("by", path_of(requester));
  if (!is_opened) return;
  stack_.read(program_);
  add_caller(stack_.find(requester));
}

/// dlmopen into another namespace asks in nobody's name. Before the program's start it is the
/// loader itself.
void Recorder::add_unasked() {
  if (!started_) {
    record_.add("cause", "unknown");
    return;
  }
  record_.add("cause", "opened");
  stack_.read(program_);
  const NativeCaller caller = stack_.find_in_any();
  if (caller.object != nullptr) record_.add("by", path_of(*caller.object));
  add_caller(caller);
}

void Recorder::add_caller(const NativeCaller& caller) {
  if (caller.object == nullptr) return;
  record_.add("callerobj", path_of(*caller.object));
  record_.add_hex("calleroff", caller.offset);
}

void Recorder::depart(const std::uintptr_t* cookie) {
  notice_fork();
  const link_map* const map = object_of(cookie);
  // It was of a batch that failed: its address may be another object's soon.
  if (Arrival* const arrival = batch_.find(map)) *arrival = {};
  python_.depart(map);
  // At its end everything is announced, the program too.
  if (map == program_) is_ending_ = true;
  const std::uintptr_t mark = (*cookie & kMarkMask) >> kMarkShift;
  if (mark == 0) return;
  const bool is_kept = departures_.add({.base = map->l_addr,
                                        .inside = map->l_ld,
                                        .path = path_of(*map),
                                        .space = static_cast<Lmid_t>(mark - 1)});
  if (!is_kept) ++lost_;
}

/// Only what is no longer mapped was unloaded: at a program's end the loader announces the
/// unloading of every object, and unloads none.
void Recorder::record_departures() {
  for (const Departure& departure : departures_) {
    if (is_mapped(departure.inside)) continue;
    begin("unload");
    record_.add_number("tid", thread_id());
    record_.add_number("t", monotonic());
    record_.add_number("ns", departure.space);
    record_.add_hex("base", departure.base);
    record_.add("path", departure.path);
    send();
  }
  departures_.clear();
}

void Recorder::settle() {
  introduce();
  record_departures();
  // Of the last record of a process nothing else would tell.
  tell_lost();
  if (interest_ == Interest::family && (!asked_ || held_)) wait_for_launcher();
  connection_.close();
  batch_.clear();
  interest_ = Interest::none;
  python_.settle();
  started_ = true;
}

void Recorder::wait_for_launcher() {
  asked_ = true;
  held_ = false;
  if (connection_.given_up()) return;
  begin("sync");
  if (checks_leaks_) record_.add("leakcheck", "1");
  if (connection_.send(record_.view())) held_ = connection_.wait() == Answer::hold;
}

/// All kinds have the process's number behind their name.
void Recorder::begin(std::string_view kind) {
  record_.cut(0);
  record_.add("kind", kind);
  record_.add_number("pid", pid_);
}

void Recorder::introduce() {
  if (introduced_) return;
  introduced_ = true;
  notice_fork();
  begin("start");
  record_.add_number("ppid", parent_id());
  record_.add_number("tid", thread_id());
  record_.add_number("t", monotonic());
  send();
}

/// Behind the first record that arrives again: how many did not.
void Recorder::send() {
  if (!connection_.send(record_.view())) {
    ++lost_;
    return;
  }
  tell_lost();
}

void Recorder::tell_lost() {
  if (lost_ == 0) return;
  // Nothing else will tell of them.
  if (is_ending_) connection_.insist();
  is_ending_ = false;
  begin("lost");
  record_.add_number("count", lost_);
  if (connection_.send(record_.view())) lost_ = 0;
}

}  // namespace cudart_doctor::recorder
