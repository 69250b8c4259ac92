#include "cudart_doctor/render/render.hpp"
#include "render/markdown_text.hpp"
#include "support/catch.hpp"
#include "support/report_builder.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::testing;

TEST_CASE("a word that could mean something to a tracker stands in a code span") {
  struct Row {
    const char* sentence;
    const char* markdown;
  };
  for (const Row& row : {
           Row{"FlashInfer 0.6.14 takes A, and fails.", "FlashInfer 0.6.14 takes A, and fails."},
           Row{"ask @team or a@b.org", "ask `@team` or `a@b.org`"},
           Row{"see #12, owner/name#3 and GH-4", "see `#12`, `owner/name#3` and `GH-4`"},
           Row{"http://x.org www.x.org", "`http://x.org` `www.x.org`"},
           Row{"<b>x</b> [a](b) ![a](b)", "`<b>x</b>` `[a](b`) `![a](b`)"},
           Row{"*a* _b_ ~~c~~ **", "`*a*` `_b_` `~~c~~` `**`"},
           Row{"a|b `c` \\", "`a\\x7cb` `\\x60c\\x60` `\\`"},
           Row{"commit d1d76b6 of 10/11", "commit `d1d76b6` of 10/11"},
           Row{"libx-d0da41ae.so re-exports", "`libx-d0da41ae.so` re-exports"},
           Row{"1. first", "`1`. first"},
           Row{"2) second", "`2`) second"},
           Row{"- dash > quote # head", "`-` dash `>` quote `#` head"},
           Row{":tada: --- ===", "`:tada`: `---` `===`"},
           Row{"&lt; $x$", "`&lt`; `$x$`"},
           Row{"\xe4\xbd\xa0", "`\xe4\xbd\xa0`"},
           Row{"(/opt/lib x)", "(`/opt/lib` x)"},
           Row{"", ""},
       }) {
    INFO(row.sentence);
    CHECK(markdown_sentence(row.sentence) == row.markdown);
  }
}

TEST_CASE("a code span cannot be left") {
  CHECK(markdown_code("a`b|c") == "`a\\x60b\\x7cc`");
  CHECK(markdown_code("  ") == "");
  CHECK(markdown_code(std::string(5000, 'x')).size() == kMarkdownCode + 2);
}

TEST_CASE("the block holds the answer, the tables and what was not seen") {
  const std::string block = render_markdown(critical_report());
  std::size_t at = 0;
  for (const char* line :
       {"## CRITICAL RT04: FlashInfer would take TileLang's stub for the CUDA runtime.\n",
        "- **Target:** pid 4121 `sglang::scheduler_TP0`\n", "- **Effect:** once bound",
        "- **Owner:** image, not node: do not drain\n", "- **Fix:**\n  1. tilelang",
        "| warning RT07 | Which runtime", "| A | SHIM | `7f1a10000000` | `/opt/venv/",
        "| FlashInfer 0.6.14 | A | FAIL undefined symbol: cudaDeviceReset `[order:B]` |\n",
        "Exit 1: 1 critical, 1 warning; 1 at or above"}) {
    INFO(line);
    at = block.find(line, at);
    REQUIRE(at != std::string::npos);
  }
}

TEST_CASE("a block fits into an issue, whatever the target shows") {
  for (const auto& [name, report] : all_reports()) {
    INFO(name);
    CHECK(render_markdown(report).size() < 61'000);
  }
  Report long_one = critical_report();
  Selection& failing = long_one.selections.front();
  failing.missing.clear();
  failing.error_text.clear();
  for (int i = 0; i < 200; ++i) failing.error_text += "/a/b/c/d ";
  for (int i = 0; i < 60; ++i) long_one.selections.push_back(long_one.selections.front());
  const std::string cut = render_markdown(long_one);
  CHECK(cut.size() < 61'000);
  CHECK(cut.ends_with("Cut here: the report is longer than an issue may be.\n"));
}
