// Each type has one function that goes through its fields, for writing and for reading: what is
// written is what is read.
#include "tree_wire.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "cudart_doctor/base/text_fields.hpp"

namespace cudart_doctor {
namespace {

class Out {
 public:
  void operator()(const std::string& text) { fields_.put(text); }
  template <typename T>
    requires std::is_integral_v<T>
  void operator()(const T& number) {
    fields_.put_number(static_cast<std::uint64_t>(number));
  }
  template <typename T>
    requires std::is_enum_v<T>
  void of(const T& value, T /*last*/) {
    fields_.put_number(static_cast<std::uint64_t>(value));
  }
  template <typename T>
  void operator()(const std::vector<T>& list) {
    fields_.put_number(list.size());
    for (const T& each : list) item(each);
  }
  template <typename T>
  void operator()(const std::optional<T>& value) {
    fields_.put_number(value ? 1 : 0);
    if (value) item(*value);
  }
  template <typename T>
  void operator()(const Fact<T>& fact) {
    fields_.put_number(fact.is_known() ? 1 : 0);
    if (fact.is_known()) {
      item(*fact.get());
    } else {
      fields_.put(fact.reason());
    }
  }
  template <typename T>
  void item(const T& value);

  std::string take() { return fields_.take(); }

 private:
  FieldWriter fields_;
};

class In {
 public:
  explicit In(std::string_view bytes) : fields_(bytes) {}

  void operator()(std::string& text) { text = fields_.text(); }
  template <typename T>
    requires std::is_integral_v<T>
  void operator()(T& number) {
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<T>::max());
    number = static_cast<T>(fields_.number(kMost));
  }
  template <typename T>
    requires std::is_enum_v<T>
  void of(T& value, T last) {
    value = static_cast<T>(fields_.number(static_cast<std::uint64_t>(last)));
  }
  template <typename T>
  void operator()(std::vector<T>& list) {
    for (std::size_t left = fields_.count(); left > 0 && fields_.sound(); --left) {
      item(list.emplace_back());
    }
  }
  template <typename T>
  void operator()(std::optional<T>& value) {
    if (fields_.number(1) == 1) item(value.emplace());
  }
  template <typename T>
  void operator()(Fact<T>& fact) {
    if (fields_.number(1) == 0) {
      fact = Fact<T>::unknown(fields_.text());
      return;
    }
    T value{};
    item(value);
    fact = Fact<T>::known(std::move(value));
  }
  template <typename T>
  void item(T& value);

  [[nodiscard]] bool ended_well() const { return fields_.ended_well(); }

 private:
  FieldReader fields_;
};

/// `T` is the type itself where it is read, and const where it is written.
template <typename T, typename Of>
concept Is = std::is_same_v<std::remove_const_t<T>, Of>;

template <typename Archive>
void fields(Archive& archive, Is<Attribute> auto& value) {
  archive(value.name);
  archive(value.value);
  archive(value.known);
}

template <typename Archive>
void fields(Archive& archive, Is<Trait> auto& value) {
  archive.of(value.area, Area::namespaces);
  for (auto& key : value.keys) archive(key);
  archive(value.title);
  archive(value.attributes);
}

template <typename Archive>
void fields(Archive& archive, Is<UnreadArea> auto& value) {
  archive.of(value.area, Area::namespaces);
  archive(value.reason);
  archive(value.is_gap);
}

template <typename Archive>
void fields(Archive& archive, Is<ReportDigest> auto& value) {
  archive(value.tool_version);
  archive(value.host);
  archive(value.generated_at);
  archive(value.title);
  archive(value.sentence);
  archive(value.policy);
  archive(value.worst);
  archive(value.undecided);
  archive(value.traits);
  archive(value.unread);
  archive(value.order);
  archive(value.order_titles);
  archive(value.blind);
}

template <typename Archive>
void fields(Archive& archive, Is<Finding> auto& value) {
  archive(value.id);
  archive(value.slug);
  archive.of(value.severity, Severity::critical);
  archive.of(value.owner, Owner::user);
  archive(value.headline);
  archive(value.effect);
  archive(value.evidence);
  archive(value.fixes);
  archive(value.no_help);
  archive(value.consumer);
}

template <typename Archive>
void fields(Archive& archive, Is<FindingTag> auto& value) {
  archive(value.id);
  archive.of(value.severity, Severity::critical);
  archive.of(value.owner, Owner::user);
}

template <typename Archive>
void fields(Archive& archive, Is<AllowedTag> auto& value) {
  archive(value.id);
  archive.of(value.severity, Severity::critical);
  archive(value.by);
}

template <typename Archive>
void fields(Archive& archive, Is<Severity> auto& value) {
  archive.of(value, Severity::critical);
}

template <typename Archive>
void fields(Archive& archive, Is<std::pair<std::string, std::string>> auto& value) {
  archive(value.first);
  archive(value.second);
}

template <typename Archive>
void fields(Archive& archive, Is<ProcessVerdict> auto& value) {
  archive.of(value.end, RunEnd::undecided);
  archive(value.worst);
  archive(value.undecided);
  archive(value.sentence);
  fields(archive, value.lead);
  archive(value.findings);
  archive(value.allowed);
  archive(value.ended);
  archive(value.runtimes);
  archive(value.consumers);
  archive(value.blind);
}

template <typename Archive>
void fields(Archive& archive, Is<ProcessFacts> auto& value) {
  archive(value.pid);
  archive(value.parent_pid);
  archive(value.start_ticks);
  archive(value.uid);
  archive(value.comm);
  archive(value.command_line);
  archive(value.executable);
  archive(value.ns_pids);
  archive(value.rights.cgroup);
}

template <typename Archive>
void fields(Archive& archive, Is<NodeProcess> auto& value) {
  fields(archive, value.facts);
  archive.of(value.state, ProcessState::unjudged);
  archive.of(value.reason, ErrorKind::unsupported);
  archive(value.note);
  archive(value.likeness);
  archive(value.gpus);
  archive(value.verdict);
}

template <typename Archive>
void fields(Archive& archive, Is<ProcessAnswer> auto& value) {
  fields(archive, value.process);
  archive(value.host);
  archive(value.digest);
  archive(value.naming.variables);
}

/// A text, a number or a list by itself; else its fields.
template <typename Archive, typename T>
void go_through(Archive& archive, T& value) {
  if constexpr (requires { archive(value); }) {
    archive(value);
  } else {
    fields(archive, value);
  }
}

template <typename T>
void Out::item(const T& value) {
  go_through(*this, value);
}

template <typename T>
void In::item(T& value) {
  go_through(*this, value);
}

void limit(Fact<std::vector<std::string>>& command_line) {
  constexpr std::size_t kMost = 4096;
  auto* const words = command_line.get();
  if (words == nullptr) return;
  std::size_t used = 0;
  std::size_t kept = 0;
  while (kept < words->size() && used < kMost) {
    std::string& word = (*words)[kept++];
    word.resize(std::min(word.size(), kMost - used));
    used += word.size() + 1;
  }
  words->resize(kept);
}

}  // namespace

std::string write_answer(ProcessAnswer answer) {
  limit(answer.process.facts.command_line);
  Out out;
  fields(out, std::as_const(answer));
  return out.take();
}

Result<ProcessAnswer> parse_answer(std::string_view bytes) {
  In in(bytes);
  ProcessAnswer answer;
  fields(in, answer);
  if (!in.ended_well()) return fail(ErrorKind::malformed, "the look's answer is not whole");
  return answer;
}

}  // namespace cudart_doctor
