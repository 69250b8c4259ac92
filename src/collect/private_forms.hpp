// What shows by its form that it names a person or a machine. Each function looks at one place of
// a text and gives the length of what is there, 0 for nothing. Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace cudart_doctor {

/// The part of a path in front of a user's name, "/home/"; 0 where none begins at `at`.
std::size_t home_prefix(std::string_view text, std::size_t at);
/// The user's name behind such a prefix.
std::size_t home_name(std::string_view text, std::size_t at);

/// "name@example.org"
std::size_t mail_at(std::string_view text, std::size_t at);

/// "GPU-cc1d84a2-...", "MIG-...": a UUID, or its beginning of 8 digits at least.
std::size_t gpu_at(std::string_view text, std::size_t at);

/// An IPv4 or IPv6 address that stands alone, not one that is no secret (loopback, any).
std::size_t address_at(std::string_view text, std::size_t at);

/// The host of "tcp://node-5:29500", where `at` is behind the slashes; not "localhost".
std::size_t url_host_at(std::string_view text, std::size_t at);

/// A host's name, "node-5.example"; not "localhost".
std::size_t host_name_at(std::string_view text, std::size_t at);

/// True for words that a path, a command line or a rule may hold for reasons of their own
/// ("torch", "ubuntu"): as a user's name they are replaced behind /home/ only.
bool is_common_word(std::string_view name);

/// True for a name that rules which look for the runtime could take for its name.
bool is_library_word(std::string_view name);

/// True for the letters, digits and '_' of a word.
bool is_word_byte(char letter);

}  // namespace cudart_doctor
