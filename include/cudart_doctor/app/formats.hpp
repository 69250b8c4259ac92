// Which format is called what, and who writes it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cudart_doctor/app/options.hpp"
#include "cudart_doctor/render/render.hpp"

namespace cudart_doctor {

struct NamedFormat {
  std::string_view name;  ///< As behind --format.
  Format format = Format::text;
};

/// All formats of a report, in the order in which they are listed.
std::span<const NamedFormat> named_formats();

/// "text|json|line|...": what stands behind --format.
std::string format_names(std::string_view separator);

/// A judged report; `text` counts for Format::text only.
std::string rendered_report(const Report& report, Format format, const TextOptions& text);

/// What goes where a report was asked for and there is none; "" for formats for people, whose
/// message on stderr is enough.
std::string rendered_failure(const Failure& failure, Format format);

}  // namespace cudart_doctor
