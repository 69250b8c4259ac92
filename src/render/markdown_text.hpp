// Text for Markdown (GFM). Nothing that a report says may become markup, a link, a mention or an
// issue reference where it is pasted: every word that could goes into a code span.
#pragma once

#include <string>
#include <string_view>

namespace cudart_doctor {

/// `text` (printable) as one code span, at most kMarkdownCode columns wide; "" for an empty text. A
/// backtick becomes \x60 and a pipe \x7c: neither has an escape that every renderer knows there.
std::string markdown_code(std::string_view text);

/// A sentence (printable): plain words as they are, the others as code spans.
std::string markdown_sentence(std::string_view sentence);

/// Columns of a code span or of a sentence at which it is cut.
inline constexpr std::size_t kMarkdownCode = 400;
inline constexpr std::size_t kMarkdownSentence = 1500;

}  // namespace cudart_doctor
