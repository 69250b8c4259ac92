// What was looked at: the process, its environment, its Python, the machine.
#include "cudart_doctor/analyze/timeline.hpp"
#include "cudart_doctor/base/text.hpp"
#include "render/describe.hpp"
#include "render/html_writer.hpp"
#include "render/redact.hpp"

namespace cudart_doctor {
namespace {

template <typename T>
void write_text_fact(HtmlWriter& page, std::string_view label, const Fact<T>& fact) {
  if (const T* text = fact.get()) {
    page.fact(label, html_code(escape_foreign(*text)));
  } else {
    page.fact_text(label, "unknown: " + printable(fact.reason()));
  }
}

void write_process(HtmlWriter& page, const Snapshot& snapshot) {
  const ProcessFacts& process = snapshot.process;
  page.fact_text("Process", std::to_string(process.pid) + " " + escape_foreign(process.comm));
  if (const auto* command_line = process.command_line.get()) {
    page.fact("Command line",
              html_code(escape_foreign(join(redact_arguments(*command_line), " "))));
  } else {
    page.fact_text("Command line", "unknown: " + printable(process.command_line.reason()));
  }
  write_text_fact(page, "Executable", process.executable);
  page.fact_text("User", process.uid ? std::to_string(*process.uid) : "unknown");
  page.fact_text("C library", process.libc.empty() ? "not seen" : escape_foreign(process.libc));
}

void write_host(HtmlWriter& page, const HostFacts& host) {
  page.fact_text("Node", escape_foreign(host.name));
  page.fact_text("Kernel", escape_foreign(host.kernel));
  if (const auto* module = host.kernel_module.get()) {
    page.fact_text("NVIDIA module", escape_foreign(*module));
  } else {
    page.fact_text("NVIDIA module", "unknown: " + printable(host.kernel_module.reason()));
  }
}

void write_python(HtmlWriter& page, const PythonFacts& python) {
  if (python.site_directories.empty()) return;
  std::vector<std::string> directories;
  for (const auto& each : python.site_directories) directories.push_back(escape_foreign(each));
  page.fact("Python directories", HtmlWriter::list("ul", directories));
  page.fact_text("Found by", printable(python.chosen_by));
}

void write_variables(HtmlWriter& page, const Fact<Environment>& fact) {
  const Environment* environment = fact.get();
  if (environment == nullptr) {
    page.paragraph("The variables are unknown: " + printable(fact.reason()));
    return;
  }
  if (!environment->note.empty()) page.paragraph(printable(environment->note));
  std::size_t told = 0;
  for (const auto& [name, value] : environment->variables) {
    if (!is_reported_variable(name) || ++told > HtmlWriter::kMaxItems) continue;
    if (told == 1) page.begin_table("names", {"Variable", "Value"});
    page.row({"<code>" + html_escaped(escape_foreign(name)) + "</code>",
              is_secret_name(name) ? "withheld: named like a secret"
                                   : html_code(escape_foreign(redact_urls(value)))});
  }
  if (told != 0) page.end_table();
  page.paragraph(count_of(environment->variables.size() - told, "other variable") +
                 (told == 0 ? ", none that bears on CUDA" : ""));
}

}  // namespace

void html_target(HtmlWriter& page, const Report& report) {
  if (nobody_judged(report.snapshot)) return;
  page.begin_section("target", "Environment");
  page.raw("<dl>");
  if (!report.snapshot.environment_only) write_process(page, report.snapshot);
  write_host(page, report.snapshot.host);
  write_python(page, report.snapshot.python);
  page.raw("</dl>");
  write_variables(page, report.snapshot.environment);
  page.end_section();
}

}  // namespace cudart_doctor
