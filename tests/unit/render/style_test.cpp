#include "render/style.hpp"

#include <clocale>
#include <cwchar>

#include "cudart_doctor/base/text.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;

TEST_CASE("a sentence is made printable without doubling its escapes") {
  CHECK(printable("seen at \\x1b[31m") == "seen at \\x1b[31m");
  CHECK(printable("raw \x1b[31m") == "raw \\x1b[31m");
  CHECK(printable("\xff\\\xff") == "\\xff\\\\xff");
  CHECK(printable("").empty());
}

TEST_CASE("wide characters take two columns, escapes all of theirs") {
  CHECK(display_width("abc") == 3);
  CHECK(display_width("gr\xc3\xbc\xc3\x9f") == 4);
  CHECK(display_width("\xe4\xbd\xa0\xe5\xa5\xbd") == 4);
  CHECK(display_width("\xf0\x9f\x98\x80") == 2);
  CHECK(display_width("\\x1b\\u{202e}\\n\\\\") == 4 + 8 + 2 + 2);
}

TEST_CASE("a mark takes no column and stays with what it stands on") {
  const std::string marked = "e\xcc\x81";  // e and a combining acute
  CHECK(display_width(marked) == 1);
  CHECK(display_width("\xe2\x9a\xa0\xef\xb8\x8f") == display_width("\xe2\x9a\xa0"));
  CHECK(cut_end(marked + marked + marked + "xyz", 5) == marked + marked + "...");
  CHECK(cut_middle("abcdefgh" + marked, 7) ==
        "ab..."
        "h" +
            marked);
}

TEST_CASE("no character is counted narrower than the C library draws it") {
  REQUIRE(std::setlocale(LC_CTYPE, "C.UTF-8") != nullptr);
  std::size_t asked = 0;
  for (wchar_t code = 0x20; code < 0x110000; ++code) {
    if (code >= 0xD800 && code <= 0xDFFF) continue;
    const int wanted = ::wcwidth(code);
    char bytes[8] = {};
    std::mbstate_t state{};
    const std::size_t size = std::wcrtomb(bytes, code, &state);
    if (wanted < 0 || size == static_cast<std::size_t>(-1)) continue;
    const std::string text(bytes, size);
    // What is escaped takes the columns of its escape.
    if (escape_foreign(text) != text) continue;
    ++asked;
    if (display_width(text) >= static_cast<std::size_t>(wanted)) continue;
    INFO("code point " << static_cast<std::uint32_t>(code));
    CHECK(display_width(text) == static_cast<std::size_t>(wanted));
  }
  CHECK(asked > 100'000);
}

TEST_CASE("nothing is cut inside an escape or a character") {
  CHECK(cut_end("ab\\x1bcd", 8) == "ab\\x1bcd");
  CHECK(cut_end("ab\\x1bcd", 7) == "ab...");
  CHECK(cut_end("a\\u{202e}bcd", 11) == "a...");
  CHECK(cut_end("\xe4\xbd\xa0\xe4\xbd\xa0\xe4\xbd\xa0", 5) == "\xe4\xbd\xa0...");
  CHECK(cut_middle("\\x01\\x01\\x01\\x01", 12) == "\\x01...\\x01");
  CHECK(cut_middle("0123456789", 9) == "012...789");
}

TEST_CASE("cutting to hardly anything still keeps the width") {
  for (std::size_t width = 0; width < 6; ++width) {
    CHECK(display_width(cut_end("0123456789", width)) <= width);
    CHECK(display_width(cut_middle("0123456789", width)) <= width);
  }
}

TEST_CASE("a shortened path keeps its telling tail, then its root") {
  const std::string path =
      "/opt/venv/lib/python3.12/site-packages/nvidia/cuda_runtime/lib/libcudart.so.12";
  CHECK(shorten_path(path, 100) == path);
  CHECK(shorten_path(path, 57) == "/opt/venv/lib/.../nvidia/cuda_runtime/lib/libcudart.so.12");
  CHECK(shorten_path(path, 44) == ".../nvidia/cuda_runtime/lib/libcudart.so.12");
  CHECK(shorten_path(path, 24) == ".../lib/libcudart.so.12");
  CHECK(shorten_path("/a/libcudart-0123456789abcdef0123456789.so.12", 26) ==
        ".../libcudart...6789.so.12");
}

TEST_CASE("a shortened path is never wider than asked") {
  const std::string paths[] = {"/" + std::string(4096, 'x'),
                               std::string(500, '/'),
                               "a/b",
                               "",
                               "/x/" + escape_foreign(std::string(200, '\x01')),
                               "relative/" + std::string(90, 'y') + "/z.so"};
  for (const auto& path : paths) {
    for (std::size_t width = 0; width <= 90; ++width) {
      INFO(path.substr(0, 20) << " in " << width);
      CHECK(display_width(shorten_path(path, width)) <= width);
    }
  }
}

TEST_CASE("sentences wrap at blanks, with another width from the second line on") {
  const auto lines = wrap("one two three four", {.first = 13, .rest = 14});
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] == "one two three");
  CHECK(lines[1] == "four");
  CHECK(wrap("", {}).size() == 1);
}

TEST_CASE("a long word is shortened, or kept whole to be copied") {
  const std::string path = "/opt/" + std::string(100, 'p') + "/libcudart.so.12";
  const auto shortened = wrap("at " + path + " now", {.first = 40, .rest = 40});
  for (const auto& line : shortened) CHECK(display_width(line) <= 40);
  const auto kept =
      wrap("at " + path + " now", {.first = 40, .rest = 40, .long_words = LongWords::keep});
  REQUIRE(kept.size() == 3);
  CHECK(kept[1] == path);
}

TEST_CASE("a long path stays beside the word before it when enough of it is left") {
  const std::string path = "/opt/" + std::string(60, 'p') + "/nvidia/lib/libcudart.so.12";
  const auto lines = wrap("Taken: " + path, {.first = 71, .rest = 71});
  REQUIRE(lines.size() == 1);
  CHECK(lines[0] == "Taken: /opt/.../nvidia/lib/libcudart.so.12");
}

TEST_CASE("a sentence that is cut says so") {
  const auto lines = wrap("aaaaaaaaaa bbbbbbbbbb cccccccccc dddddddddd",
                          {.first = 12, .rest = 12, .max_lines = 2});
  REQUIRE(lines.size() == 2);
  CHECK(lines[1] == "bbbbbbbb ...");
}

TEST_CASE("colour is off unless asked for") {
  CHECK(paint("REAL", Tone::good, Color::off) == "REAL");
  CHECK(paint("REAL", Tone::plain, Color::on) == "REAL");
  CHECK(paint("REAL", Tone::good, Color::on) == "\x1b[32mREAL\x1b[0m");
}
