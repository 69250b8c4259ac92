#include "cudart_doctor/base/text_fields.hpp"

#include "support/catch.hpp"

namespace cudart_doctor {
namespace {

std::string written() {
  FieldWriter out;
  out.put(std::string("a:\0b", 4));
  out.put_number(17);
  out.put_list({"", "x", "12:y"});
  return out.take();
}

TEST_CASE("what was written is read, whatever bytes are in it") {
  const std::string bytes = written();
  FieldReader in(bytes);
  CHECK(in.text() == std::string("a:\0b", 4));
  CHECK(in.number(17) == 17);
  CHECK(in.list() == std::vector<std::string>{"", "x", "12:y"});
  CHECK(in.ended_well());
}

TEST_CASE("bytes that were cut anywhere, or are too many, end badly") {
  const std::string bytes = written();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    FieldReader in(std::string_view(bytes).substr(0, size));
    in.text();
    in.number(17);
    in.list();
    CHECK_FALSE(in.ended_well());
  }
  FieldReader more(bytes);
  more.text();
  CHECK_FALSE(more.ended_well());
}

TEST_CASE("a number beyond its limit, or a count beyond the bytes, is none") {
  FieldReader number("2:18");
  CHECK(number.number(17) == 0);
  CHECK_FALSE(number.sound());
  FieldReader list("19:9999999999999999999");
  CHECK(list.list().empty());
  CHECK_FALSE(list.sound());
}

}  // namespace
}  // namespace cudart_doctor
