// Writes every report of the builder as JSON, and the schema, into the folder given; with "formats"
// behind it in every format for programs, with the name of another format in that. Input of the
// tests that have an oracle in Python, and a look at the output for people.
#include <fstream>
#include <iostream>
#include <string>

#include "cudart_doctor/render/render.hpp"
#include "support/report_builder.hpp"
#include "support/report_files.hpp"

using namespace cudart_doctor;

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: write_reports FOLDER [json|text|verbose|formats|markdown|html]\n";
    return 2;
  }
  const std::string folder = std::string(argv[1]) + "/";
  const std::string form = argc > 2 ? argv[2] : "json";
  std::ofstream(folder + "schema.json") << json_schema();
  for (const auto& [name, report] : testing::all_reports()) {
    if (form == "json") {
      std::ofstream(folder + name + ".report.json") << render_json(report);
    } else if (form == "formats") {
      testing::write_formats(folder + name, report);
    } else if (form == "markdown") {
      std::ofstream(folder + name + ".md") << render_markdown(report);
    } else if (form == "html") {
      std::ofstream(folder + name + ".html") << render_html(report);
    } else {
      std::ofstream(folder + name + ".txt") << render_text(report, {.verbose = form == "verbose"});
    }
  }
  return 0;
}
