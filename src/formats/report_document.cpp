#include "report_document.hpp"

#include <string>
#include <utility>
#include <vector>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/formats/report_json.hpp"

namespace cudart_doctor {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxDepth = 32;          // A report has 8.
constexpr std::size_t kMaxValues = 1'000'000;  // A large server's report has some 20,000.
constexpr std::string_view kNotKept = "steps";

/// Builds a document from what the parser meets. Its functions are named by nlohmann.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return false; }  // JSON's text has none.
  bool start_object(std::size_t /*elements*/) override { return enter(Json::object()); }
  bool start_array(std::size_t /*elements*/) override { return enter(Json::array()); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool key(string_t& name) override {
    if (!count()) return false;
    if (skipped_ != 0) return true;
    skip_next_ = name == kNotKept;
    // Of equal keys the last one counts.
    member_ = skip_next_ ? nullptr : &(*open_.back())[std::move(name)];
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const Json::exception& /*error*/) override {
    broken_at_ = position;
    return false;
  }

  [[nodiscard]] const std::string& exceeded() const { return exceeded_; }
  [[nodiscard]] std::size_t broken_at() const { return broken_at_; }
  Json take() { return std::move(root_); }

 private:
  bool count() {
    if (++values_ <= kMaxValues) return true;
    exceeded_ = "it holds more than a million values";
    return false;
  }

  /// Where the next value belongs.
  Json* place(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    // What is open above stays where it is: only the innermost array grows.
    if (open_.back()->is_array()) return &open_.back()->emplace_back(std::move(value));
    *member_ = std::move(value);
    return member_;
  }

  bool put(Json value) {
    if (!count()) return false;
    if (skipped_ == 0 && !std::exchange(skip_next_, false)) place(std::move(value));
    return true;
  }

  bool enter(Json container) {
    if (++depth_ > kMaxDepth) {
      exceeded_ = "it is nested deeper than 32 levels";
      return false;
    }
    if (!count()) return false;
    if (skipped_ != 0 || std::exchange(skip_next_, false)) {
      ++skipped_;
    } else {
      open_.push_back(place(std::move(container)));
    }
    return true;
  }

  bool leave() {
    --depth_;
    if (skipped_ != 0) {
      --skipped_;
    } else {
      open_.pop_back();
    }
    return true;
  }

  Json root_;
  std::vector<Json*> open_;  ///< Containers that are kept, the innermost last.
  Json* member_ = nullptr;   ///< Of the innermost object: what the last key names.
  std::size_t skipped_ = 0;  ///< Containers that are open and not kept.
  bool skip_next_ = false;
  std::size_t depth_ = 0;
  std::size_t values_ = 0;
  std::size_t broken_at_ = 0;
  std::string exceeded_;
};

}  // namespace

Result<Json> parse_document(std::string_view text) {
  if (text.size() > kMaxReportBytes) return fail(ErrorKind::limit, "it is larger than 16 MiB");
  if (trim(text).empty()) return fail(ErrorKind::malformed, "it is empty");
  Builder builder;
  if (!Json::sax_parse(text, &builder)) {
    if (!builder.exceeded().empty()) return fail(ErrorKind::limit, builder.exceeded());
    return fail(ErrorKind::malformed,
                "it is no JSON: wrong at byte " + std::to_string(builder.broken_at()));
  }
  return builder.take();
}

}  // namespace cudart_doctor
