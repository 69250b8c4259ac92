#include "cudart_doctor/app/formats.hpp"

#include <array>

namespace cudart_doctor {
namespace {

constexpr std::array kFormats = {
    NamedFormat{"text", Format::text},   NamedFormat{"json", Format::json},
    NamedFormat{"line", Format::line},   NamedFormat{"markdown", Format::markdown},
    NamedFormat{"html", Format::html},   NamedFormat{"prometheus", Format::prometheus},
    NamedFormat{"junit", Format::junit},
};

}  // namespace

std::span<const NamedFormat> named_formats() { return kFormats; }

std::string format_names(std::string_view separator) {
  std::string out;
  for (const NamedFormat& each : kFormats) {
    if (!out.empty()) out += separator;
    out += each.name;
  }
  return out;
}

std::string rendered_report(const Report& report, Format format, const TextOptions& text) {
  switch (format) {
    case Format::text: return render_text(report, text);
    case Format::json: return render_json(report);
    case Format::line: return render_line(report);
    case Format::markdown: return render_markdown(report);
    case Format::html: return render_html(report);
    case Format::prometheus: return render_prometheus(report);
    case Format::junit: return render_junit(report);
  }
  return {};
}

std::string rendered_failure(const Failure& failure, Format format) {
  switch (format) {
    case Format::text:
    case Format::markdown:
    case Format::html: return {};
    case Format::json: return render_error_json(failure);
    case Format::line: return render_error_line(failure);
    case Format::prometheus: return render_error_prometheus();
    case Format::junit: return render_error_junit(failure);
  }
  return {};
}

}  // namespace cudart_doctor
