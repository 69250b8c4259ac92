#include "cudart_doctor/base/text.hpp"

#include "cudart_doctor/base/checked.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;

TEST_CASE("foreign text never reaches a terminal raw") {
  CHECK(escape_foreign("plain /a b/(v2)/lib.so") == "plain /a b/(v2)/lib.so");
  CHECK(escape_foreign("\x1b[31mred") == "\\x1b[31mred");
  CHECK(escape_foreign("a\nb\tc\r") == "a\\nb\\tc\\r");
  CHECK(escape_foreign("back\\slash") == "back\\\\slash");
  CHECK(escape_foreign("\x7f") == "\\x7f");
  CHECK(escape_foreign("\xc2\x9b") == "\\u{9b}");        // C1 CSI
  CHECK(escape_foreign("\xe2\x80\xae") == "\\u{202e}");  // right-to-left override
  CHECK(escape_foreign("\xe2\x80\xa8") == "\\u{2028}");  // line separator
  CHECK(escape_foreign("\xf3\xa0\x81\x81") == "\\u{e0041}");
}

TEST_CASE("bytes that are no UTF-8 become hexadecimal escapes") {
  CHECK(escape_foreign("\xff\xfe") == "\\xff\\xfe");
  CHECK(escape_foreign("\xc0\xaf") == "\\xc0\\xaf");                    // overlong
  CHECK(escape_foreign("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // surrogate
  CHECK(escape_foreign("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
  CHECK(escape_foreign("\xe2\x82") == "\\xe2\\x82");                    // cut
  CHECK(escape_foreign("gr\xc3\xbc\xc3\x9f") == "gr\xc3\xbc\xc3\x9f");
}

TEST_CASE("a number is the whole text or nothing") {
  CHECK(parse_unsigned("18446744073709551615", 10) == UINT64_MAX);
  CHECK_FALSE(parse_unsigned("18446744073709551616", 10));
  CHECK(parse_unsigned("ff", 16) == 255U);
  CHECK_FALSE(parse_unsigned("", 10));
  CHECK_FALSE(parse_unsigned(" 1", 10));
  CHECK_FALSE(parse_unsigned("-1", 10));
  CHECK_FALSE(parse_unsigned("1x", 10));
}

TEST_CASE("versions compare by numbers, then by suffix") {
  CHECK(compare_versions("0.5.9", "0.5.10") < 0);
  CHECK(compare_versions("580.95.05", "580.159.04") < 0);
  CHECK(compare_versions("1.0", "1.0.0") == 0);
  CHECK(compare_versions("0.5.15", "0.5.15.post1") < 0);
  CHECK(compare_versions("0.5.15.post1", "0.5.16") < 0);
  CHECK(compare_versions("1.0rc1", "1.0") < 0);
  CHECK(compare_versions("1.0.dev3", "1.0") < 0);
  CHECK(compare_versions("2.11.0+cu130", "2.11.0") == 0);
  CHECK(compare_versions("0.5.15.post2", "0.5.15.post1") > 0);
}

TEST_CASE("paths are cut at slashes only") {
  CHECK(base_name("/a b/c (deleted)") == "c (deleted)");
  CHECK(base_name("plain") == "plain");
  CHECK(dir_name("/x") == "/");
  CHECK(dir_name("/x/y") == "/x");
  CHECK(dir_name("y") == ".");
  CHECK(split("a::b", ':').size() == 3);
  CHECK(split("", ':').size() == 1);
  CHECK(trim("  a b \r\n") == "a b");
  CHECK(trim(" \t").empty());
}

TEST_CASE("bounds never wrap") {
  CHECK(fits(0, 10, 10));
  CHECK_FALSE(fits(1, 10, 10));
  CHECK_FALSE(fits(UINT64_MAX, 2, 10));
  CHECK_FALSE(fits(2, UINT64_MAX, 10));
  CHECK(saturating_add(UINT64_MAX, 1) == UINT64_MAX);
}

TEST_CASE("counts carry the right noun") {
  CHECK(count_of(1, "object") == "1 object");
  CHECK(count_of(2, "object") == "2 objects");
  CHECK(count_of(0, "copy", "copies") == "0 copies");
}
