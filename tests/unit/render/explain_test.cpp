// `explain` as text and JSON: width, harmless output, one document.
#include "cudart_doctor/render/explain.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cudart_doctor/base/text.hpp"
#include "support/catch.hpp"
#include "support/report_builder.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::testing;

namespace {

LogPage log_of(std::string_view text) {
  LogReader reader;
  reader.feed(text);
  return {reader.finish(), false};
}

std::vector<ExplainPage> all_pages() {
  std::vector<ExplainPage> pages{FindingsPage{}};
  for (const CatalogueEntry& entry : catalogue()) pages.emplace_back(FindingPage{&entry});
  for (const CodeEntry& entry : code_entries()) pages.emplace_back(CodePage{entry.code});
  pages.emplace_back(CodePage{700});
  std::string log;
  for (const Signature& signature : signatures()) {
    std::string line(signature.patterns.front());
    std::erase_if(line, [](char letter) { return letter == '*' || letter == '|'; });
    log += line + "\n";
  }
  for (const CodeEntry& entry : code_entries()) {
    log += "CUDA error " + std::to_string(entry.code) + "\n";
  }
  pages.emplace_back(log_of(log));
  pages.emplace_back(log_of(""));
  return pages;
}

std::size_t widest(const std::string& text) {
  std::size_t most = 0;
  for (const auto line : split(text, '\n')) most = std::max(most, line.size());
  return most;
}

}  // namespace

TEST_CASE("no page of explain is wider than 80 columns, with a report or without") {
  const Report report = critical_report();
  for (const ExplainPage& page : all_pages()) {
    for (const Report* const each : {static_cast<const Report*>(nullptr), &report}) {
      const std::string text = render_explain_text({page, each, 0}, {});
      INFO(text);
      CHECK(widest(text) <= 80);
      CHECK(text.ends_with("\n"));
    }
  }
}

TEST_CASE("a foreign line is escaped in text and JSON") {
  for (const std::string& nasty : nasty_texts()) {
    const LogPage page = log_of("CUDA error 400 " + nasty);
    const Report report = hostile_report(nasty);
    for (const Report* const each : {static_cast<const Report*>(nullptr), &report}) {
      const std::string text = render_explain_text({page, each, 0}, {});
      CHECK(std::none_of(text.begin(), text.end(), [](char letter) {
        const auto byte = static_cast<unsigned char>(letter);
        return (byte < 0x20 && byte != '\n') || byte == 0x7f;
      }));
      CHECK_NOTHROW(nlohmann::json(text).dump());
      CHECK_NOTHROW(nlohmann::json::parse(render_explain_json({page, each, 0})));
    }
  }
}

TEST_CASE("the causes say what stands in the report") {
  const Report report = critical_report();
  const LogPage page = log_of("/x/libcudart_stub.so: undefined symbol: cudaDeviceReset");
  const std::string text = render_explain_text({page, &report, 0}, {});
  INFO(text);
  CHECK(text.find("confirmed here: RT04 stands, critical") != std::string::npos);
  CHECK(text.find("LOOKED   at pid 4121") != std::string::npos);
  const auto document = nlohmann::json::parse(render_explain_json({page, &report, 0}));
  CHECK(document["log"]["symptoms"][0]["causes"][0]["here"]["state"] == "confirmed");
  CHECK(document["looked_at_pid"] == 4121);
}

TEST_CASE("every JSON page has its kind and the same frame") {
  for (const ExplainPage& page : all_pages()) {
    const auto document = nlohmann::json::parse(render_explain_json({page, nullptr, 3}));
    CHECK(document["schema_version"] == 1);
    CHECK(document["exit_code"] == 3);
    CHECK(document["looked_at_pid"].is_null());
    const std::string kind = document["kind"];
    CHECK(document.contains(kind));
  }
}
