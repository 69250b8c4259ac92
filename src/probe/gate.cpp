// Before a probe: whose cards are these? NVML's answer, from a child, and /proc's, put together.
#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "card_users.hpp"
#include "child_stream.hpp"
#include "collect/json_archive.hpp"
#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/probe/runner.hpp"
#include "cudart_doctor/sys/proc_root.hpp"
#include "cudart_doctor/sys/target_files.hpp"
#include "descendants.hpp"
#include "pair.hpp"
#include "program_file.hpp"
#include "rights.hpp"
#include "runner_environment.hpp"
#include "start_child.hpp"

namespace cudart_doctor {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kPatience{5000};
constexpr std::size_t kMostAnswer = 1u << 20;

Result<ProbeGate> parse_gate(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  ProbeGate gate;
  JsonReader reader(json);
  if (!json.is_discarded()) reader.decode(json, gate);
  if (json.is_discarded() || reader.error()) {
    return fail(ErrorKind::malformed, "NVML's child gave no answer that can be read");
  }
  return gate;
}

/// All that the child writes until it ends; its progress is ours.
Result<std::string> read_answer(ChildStream& stream, SteadyTime end,
                                const ProbeRunOptions& options) {
  constexpr milliseconds kHeartbeat{500};
  std::string text;
  std::array<char, 64u << 10> buffer;
  while (true) {
    const bool ended = stream.look();
    const ssize_t count = ::read(stream.results_fd(), buffer.data(), buffer.size());
    if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
    stream.read_output();
    if (text.size() > kMostAnswer) return fail(ErrorKind::limit, "NVML's child does not end");
    if (count > 0 || (count < 0 && errno == EINTR)) continue;
    if (count == 0) return text;
    if (ended) return text;
    if (steady_clock::now() >= end || Descendants::interrupted()) {
      return fail(ErrorKind::timeout, "NVML gave no answer in time");
    }
    if (options.progress) options.progress("ask NVML who uses the cards");
    std::array<pollfd, 3> watched = {pollfd{stream.results_fd(), POLLIN, 0},
                                     pollfd{stream.output_fd(), POLLIN, 0},
                                     pollfd{stream.handle(), POLLIN, 0}};
    const SteadyTime until = std::min(end, steady_clock::now() + kHeartbeat);
    ::poll(watched.data(), watched.size(), std::max(1, milliseconds_until(until)));
  }
}

/// One try in one view. Errors say why NVML could not be asked.
Result<ProbeGate> ask_child(const ChildRequest& request, const ProbeRunOptions& options,
                            Descendants& descendants) {
  constexpr milliseconds kReaping{900};
  constexpr milliseconds kOrphans{900};
  auto child = start_child(request);
  if (!child) return tl::unexpected(child.error());
  if (child->failure) {
    return fail(ErrorKind::io, "NVML's child did not start: " + describe(*child->failure));
  }
  ChildStream stream(ProbeSide::exporter, std::move(*child));
  auto answer = read_answer(stream, request.end, options);
  // It ends by itself after its answer; its status tells whether it gave one.
  if (answer) stream.reap(std::min(request.end, steady_clock::now() + kReaping));
  stream.kill();
  stream.reap(steady_clock::now() + kReaping);
  descendants.end_all(steady_clock::now() + kOrphans);
  if (!answer) return tl::unexpected(answer.error());
  if (answer->empty() && stream.status()) {
    return fail(ErrorKind::io, "NVML ended its child with " + describe_status(*stream.status()));
  }
  return parse_gate(*answer);
}

Result<ProbeGate> ask_nvml(const ProcDirectory& proc, const ProbePlan& plan,
                           const ProbeRunOptions& options) {
  const auto rights = read_rights(proc, plan.identity);
  if (!rights) return tl::unexpected(rights.error());
  const auto executable = open_program(options.executable, *rights);
  if (!executable) return tl::unexpected(executable.error());
  auto environment = child_environment(plan.environment);
  Descendants descendants(proc);
  const bool numbered = rights->pid_namespace.valid();
  if (const std::string mark = numbered ? make_mark() : std::string(); !mark.empty()) {
    environment.push_back(mark);
    descendants.know_by(mark);
  }
  ChildRequest request{.argument = kGateChildArgument,
                       .rights = &*rights,
                       .view = View::target,
                       .environment = &environment,
                       .executable = executable->get(),
                       .files = {},
                       .end = steady_clock::now() + std::min(kPatience, options.deadline)};
  auto answer = ask_child(request, options, descendants);
  if (answer && numbered) {
    // The numbers of another PID namespace; /proc tells those of ours.
    for (CardUse& card : answer->cards) card.users.clear();
  }
  // Where the program does not run in the target's root it does in ours: then nothing of the target
  // may reach our loader.
  if (answer || !rights->root.valid() || answer.error().kind != ErrorKind::io) return answer;
  const std::vector<std::string> nothing;
  request.view = View::own;
  request.environment = &nothing;
  return ask_child(request, options, descendants);
}

/// Nodes of cards in the target's /dev.
std::vector<std::string> card_nodes(const TargetFiles& files) {
  std::vector<std::string> nodes;
  constexpr std::size_t kMost = 4096;
  const auto folder = files.find("/dev");
  if (!folder) return nodes;
  for (const std::string& name :
       files.list(*folder, "nvidia", kMost).value_or(std::vector<std::string>())) {
    if (is_card_node("/dev/" + name)) nodes.push_back("/dev/" + name);
  }
  return nodes;
}

bool has_card(const std::string& node, const std::vector<CardUse>& cards) {
  return std::any_of(cards.begin(), cards.end(),
                     [&](const CardUse& card) { return card.node == node; });
}

CardUse& card_at(const std::string& node, std::vector<CardUse>& cards) {
  const auto known = std::find_if(cards.begin(), cards.end(),
                                  [&](const CardUse& card) { return card.node == node; });
  if (known != cards.end()) return *known;
  cards.emplace_back().node = node;
  return cards.back();
}

/// Where MPS listens in the target's view; "" where nothing is there.
std::string mps_control(const TargetFiles& files, const ProbePlan& plan) {
  std::string folder = "/tmp/nvidia-mps";
  for (const auto& [name, value] : plan.environment) {
    if (name == "CUDA_MPS_PIPE_DIRECTORY" && !value.empty()) folder = value;
  }
  const std::string control = folder + "/control";
  return files.stat(control) ? control : std::string();
}

}  // namespace

ProbeGate look_at_cards(const ProbePlan& plan, const ProbeRunOptions& options) {
  ProbeGate gate;
  const auto proc = ProcDirectory::open(options.proc_root);
  if (!proc) {
    gate.cards_note = proc.error().message;
    return gate;
  }
  auto answer = ask_nvml(*proc, plan, options);
  if (answer) {
    gate.cards = std::move(answer->cards);
    gate.cards_note = std::move(answer->cards_note);
  } else {
    gate.cards_note = answer.error().message;
  }
  gate.asked = true;

  const auto process =
      proc->child(plan.identity.pid == 0 ? "self" : std::to_string(plan.identity.pid));
  const auto files = process ? TargetFiles::open(*process) : tl::unexpected(process.error());
  const NodeUsers users = find_node_users(*proc);
  if (files) {
    gate.mps = mps_control(*files, plan);
    // NVML names the cards of its view; without it every node is one.
    if (gate.cards.empty()) {
      for (const std::string& node : card_nodes(*files)) card_at(node, gate.cards);
    }
  }
  for (const auto& [node, pids] : users.by_node) {
    // A node that the target's view does not have is none of its cards.
    if (files && !has_card(node, gate.cards)) continue;
    auto& all = card_at(node, gate.cards).users;
    all.insert(all.end(), pids.begin(), pids.end());
  }
  for (CardUse& card : gate.cards) {
    std::sort(card.users.begin(), card.users.end());
    card.users.erase(std::unique(card.users.begin(), card.users.end()), card.users.end());
  }
  if (!gate.cards_note.empty() && users.unreadable > 0) {
    gate.cards_note += "; the open files of " + count_of(users.unreadable, "process", "processes") +
                       " could not be read";
  }
  return gate;
}

}  // namespace cudart_doctor
