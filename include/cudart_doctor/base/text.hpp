// Small text helpers shared by all layers. Pure; foreign bytes stay bytes until escaped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cudart_doctor {

/// Parts of `text` between `separator`, empty parts kept. An empty text gives one empty part.
std::vector<std::string_view> split(std::string_view text, char separator);

/// `text` without blanks, tabs, CR and LF at both ends.
std::string_view trim(std::string_view text);

/// The part after the last '/', the whole text where there is none.
std::string_view base_name(std::string_view path);

/// The part before the last '/' ("/" for a file in the root, "." where there is no '/').
std::string_view dir_name(std::string_view path);

/// Whole `text` as an unsigned number in `base` (10 or 16); nothing on any other character,
/// overflow or emptiness. Never throws.
std::optional<std::uint64_t> parse_unsigned(std::string_view text, int base);

/// `text` made safe to print and to put into JSON: valid UTF-8 printable text stays; control
/// characters (C0, DEL, C1), bidirectional overrides, line separators and bytes that are no valid
/// UTF-8 become \n, \t, \xHH or \u{HHHH}; a backslash is doubled. The result is always valid UTF-8.
std::string escape_foreign(std::string_view text);

/// `items` joined by `separator`.
std::string join(const std::vector<std::string>& items, std::string_view separator);

/// "1 object", "2 objects": the count and the noun, with `plural` where it is not noun + "s".
std::string count_of(std::uint64_t count, std::string_view noun, std::string_view plural = {});

/// Compares dotted versions number by number: negative, 0 or positive, like strcmp. Suffixes such
/// as ".post1" or "rc1" count after the numbers ("0.5.15" < "0.5.15.post1", "1.0rc1" < "1.0").
int compare_versions(std::string_view a, std::string_view b);

}  // namespace cudart_doctor
