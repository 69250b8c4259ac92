// Building blocks of the JSON report. Rule of the format: every key is always there; a value that
// is not known is null, and its sibling `<key>_reason` says why; null without such a sibling means
// that there is none.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/model/comparison.hpp"
#include "cudart_doctor/model/report.hpp"

namespace cudart_doctor {

using Json = nlohmann::ordered_json;

/// Foreign bytes, escaped: dump() throws on anything that is no UTF-8.
Json json_bytes(std::string_view bytes);
/// A sentence of the model (foreign text in it is escaped already).
Json json_sentence(std::string_view sentence);
Json json_bytes_list(const std::vector<std::string>& items);
Json json_sentence_list(const std::vector<std::string>& items);
/// null for an empty text: there is none.
Json json_bytes_or_null(std::string_view bytes);
Json json_sentence_or_null(std::string_view sentence);

/// `key` with a known value and a null `key_reason`.
void put_known(Json& object, const std::string& key, Json value);
/// `key` as null and why.
void put_unknown(Json& object, const std::string& key, std::string_view reason);
/// A text that is unknown when empty.
void put_text(Json& object, const std::string& key, std::string_view bytes,
              std::string_view reason);

/// "0x7f1a10000000"
std::string json_address(std::uint64_t address);
/// "fe:02", as maps writes it.
std::string json_device(const FileKey& key);

/// The parts of the document.
Json json_target(const Snapshot& snapshot);
Json json_host(const HostFacts& host);
Json json_environment(const Environment& environment);
Json json_python(const PythonFacts& python);
Json json_capture(const Snapshot& snapshot);
Json json_runtimes(const Report& report);
Json json_companions(const Report& report);
Json json_installed(const Report& report);
Json json_link_map(const Report& report);
Json json_global_names(const Report& report);
/// Who brought the candidate and who uses it, into its part of the document.
void put_provenance(Json& out, const Report& report, std::size_t candidate);
Json json_consumers(const Report& report);
Json json_selections(const Report& report);
Json json_findings(const Report& report);
Json json_probe(const Report& report);
Json json_peers(const Snapshot& snapshot);
/// What differs between two reports (docs/diff.md).
Json json_changes(const std::vector<Change>& changes);
Json json_run(const Report& report, const Recording& recording);

}  // namespace cudart_doctor
