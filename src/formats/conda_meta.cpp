// A file in conda-meta, read without keeping the document: the list of files and two texts.
#include <nlohmann/json.hpp>

#include "cudart_doctor/formats/package_lists.hpp"

namespace cudart_doctor {
namespace {

using Json = nlohmann::json;

/// Keeps what stands directly in the document's object, and the texts of its array "files".
class CondaSax {
 public:
  explicit CondaSax(const KeepPath& keep) : keep_(keep) {}

  bool null() { return true; }
  bool boolean(bool /*value*/) { return true; }
  bool number_integer(Json::number_integer_t /*value*/) { return true; }
  bool number_unsigned(Json::number_unsigned_t /*value*/) { return true; }
  bool number_float(Json::number_float_t /*value*/, const std::string& /*text*/) { return true; }
  bool binary(Json::binary_t& /*value*/) { return true; }
  bool string(std::string& value) {
    if (depth_ == 1 && key_ == "name") record_.name = value;
    if (depth_ == 1 && key_ == "version") record_.version = value;
    if (depth_ == 2 && in_files_ && keep_(value)) record_.paths.push_back(value);
    return true;
  }
  bool start_object(std::size_t /*size*/) { return open(); }
  bool end_object() { return close(); }
  bool start_array(std::size_t /*size*/) {
    if (depth_ == 1) in_files_ = key_ == "files";
    return open();
  }
  bool end_array() { return close(); }
  bool key(std::string& value) {
    if (depth_ == 1) {
      key_ = value;
      in_files_ = false;
    }
    return true;
  }
  // NOLINTNEXTLINE(readability-convert-member-functions-to-static): nlohmann calls it on an object.
  bool parse_error(std::size_t /*at*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) {
    return false;
  }

  PackageRecord take() { return std::move(record_); }

 private:
  bool open() {
    ++depth_;
    return true;
  }
  bool close() {
    --depth_;
    return true;
  }

  const KeepPath& keep_;
  PackageRecord record_;
  std::size_t depth_ = 0;
  std::string key_;
  bool in_files_ = false;
};

}  // namespace

Result<PackageRecord> parse_conda_meta(std::string_view text, const KeepPath& keep) {
  CondaSax sax(keep);
  if (!Json::sax_parse(text.begin(), text.end(), &sax)) {
    return fail(ErrorKind::malformed, "no JSON document");
  }
  PackageRecord record = sax.take();
  if (record.name.empty()) return fail(ErrorKind::malformed, "it does not name its package");
  return record;
}

}  // namespace cudart_doctor
