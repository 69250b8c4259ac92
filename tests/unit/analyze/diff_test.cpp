// Pairing traits of two reports, and grouping reports, on traits put together by hand.
#include "cudart_doctor/analyze/diff.hpp"

#include <array>

#include "support/catch.hpp"

namespace cudart_doctor {
namespace {

Trait trait(Area area, const std::string& key, const std::string& value) {
  return {area, {key, key, key}, key, {{"value", value, true}}};
}

Trait unknown(Area area, const std::string& key, const std::string& why) {
  return {area, {key, key, key}, key, {{"value", why, false}}};
}

ReportDigest digest(std::vector<Trait> traits) {
  ReportDigest out;
  out.traits = std::move(traits);
  return out;
}

/// "added x", "changed y value 1>2"
std::vector<std::string> told(const std::vector<Change>& changes) {
  constexpr std::array<const char*, 4> kKinds = {"added", "removed", "changed", "not compared"};
  const auto side = [](const std::optional<Attribute>& value) {
    if (!value) return std::string("none");
    return value->known ? value->value : "?";
  };
  std::vector<std::string> out;
  for (const Change& change : changes) {
    out.push_back(std::string(kKinds.at(static_cast<std::size_t>(change.kind))) + " " +
                  change.subject + " " + side(change.before) + ">" + side(change.after));
  }
  return out;
}

using Told = std::vector<std::string>;

TEST_CASE("traits are told by their identity, whatever their order") {
  const auto one = digest({trait(Area::environment, "X", "1"), trait(Area::environment, "Y", "2")});
  const auto two = digest({trait(Area::environment, "Y", "2"), trait(Area::environment, "X", "1")});
  CHECK(differences(one, two).empty());
  CHECK(canonical_text(one) == canonical_text(two));
}

TEST_CASE("removed traits come first, then changed ones, then added ones") {
  const auto one = digest({trait(Area::environment, "A", "1"), trait(Area::environment, "B", "1")});
  const auto two = digest({trait(Area::environment, "C", "1"), trait(Area::environment, "B", "2")});
  CHECK(told(differences(one, two)) == Told{"removed A 1>none", "changed B 1>2", "added C none>1"});
}

TEST_CASE("an unknown value equals an unknown one and no known one") {
  const auto known = digest({trait(Area::driver, "x", "1")});
  const auto empty = digest({trait(Area::driver, "x", "")});
  const auto one = digest({unknown(Area::driver, "x", "no rights")});
  const auto two = digest({unknown(Area::driver, "x", "timeout")});
  CHECK(differences(one, two).empty());
  CHECK(canonical_text(one) == canonical_text(two));
  CHECK(told(differences(known, one)) == Told{"changed x 1>?"});
  CHECK(told(differences(one, empty)) == Told{"changed x ?>"});
}

TEST_CASE("of two alike runtimes each finds the one at its own path") {
  const auto runtime = [](const std::string& path, const std::string& state) {
    return Trait{Area::runtimes,
                 {"b1\n" + path, "b1", path},
                 path,
                 {{"path", path, true}, {"file", state, true}}};
  };
  const auto one = digest({runtime("/a", "same"), runtime("/b", "same")});
  const auto two = digest({runtime("/b", "deleted")});
  CHECK(told(differences(one, two)) == Told{"removed /a /a>none", "changed /b same>deleted"});
}

TEST_CASE("what only looks alike is paired last, and said to be another") {
  Trait before = trait(Area::driver, "/x/libcuda.so.550", "550");
  Trait after = trait(Area::driver, "/x/libcuda.so.580", "550");
  before.keys[2] = after.keys[2] = "driver";
  CHECK(told(differences(digest({before}), digest({after}))) ==
        Told{"changed /x/libcuda.so.580 /x/libcuda.so.550>/x/libcuda.so.580"});
}

TEST_CASE("what changes places between equal identities is no difference") {
  // Two findings of one id and consumer, told apart by their headlines only.
  const auto finding = [](const std::string& headline, const std::string& severity) {
    return Trait{Area::findings,
                 {"RT03\n\n" + headline, "RT03\n", "RT03"},
                 headline,
                 {{"severity", severity, true}}};
  };
  const auto one = digest({finding("a", "warning"), finding("b", "info")});
  const auto two = digest({finding("b", "warning"), finding("a", "info")});
  CHECK(differences(one, two).empty());
  CHECK(canonical_text(one) == canonical_text(two));
}

ReportDigest ordered(const std::vector<std::string>& order) {
  ReportDigest out;
  for (const std::string& each : order) out.traits.push_back(trait(Area::runtimes, each, each));
  out.order = out.order_titles = order;
  return out;
}

TEST_CASE("the order of addresses counts, of what both have as often") {
  CHECK(told(differences(ordered({"a", "b"}), ordered({"b", "a"}))) ==
        Told{"changed runtimes by address a, b>b, a"});
  CHECK(told(differences(ordered({"a", "b"}), ordered({"a", "x", "b"}))) == Told{"added x none>x"});
  CHECK(told(differences(ordered({"a", "b", "a"}), ordered({"b", "a"}))) ==
        Told{"removed a a>none"});
  CHECK(told(differences(ordered({"a", "b", "a"}), ordered({"a", "a", "b"}))) ==
        Told{"changed runtimes by address a, b, a>a, a, b"});
}

TEST_CASE("an area that one side could not read is one difference, and nothing in it is gone") {
  ReportDigest unread;
  unread.unread.push_back({Area::environment, "no rights"});
  const auto read = digest({trait(Area::environment, "X", "1")});
  CHECK(told(differences(read, unread)) == Told{"not compared environment read>?"});
  CHECK(told(differences(unread, read)) == Told{"not compared environment ?>read"});
  CHECK(differences(unread, unread).empty());
  CHECK(canonical_text(unread) != canonical_text(digest({})));
}

TEST_CASE("two digests differ exactly where their canonical texts do") {
  std::vector<ReportDigest> all;
  for (const std::string first : {"", "1", "2", "?"}) {
    for (const std::string second : {"", "1", "2"}) {
      for (const auto& order : {std::vector<std::string>{"a", "b"}, {"b", "a"}, {"a"}}) {
        ReportDigest each = ordered(order);
        if (first == "?")
          each.traits.push_back(unknown(Area::driver, "x", second));
        else if (!first.empty())
          each.traits.push_back(trait(Area::driver, "x", first));
        if (!second.empty()) each.traits.push_back(trait(Area::driver, "x", second));
        all.push_back(std::move(each));
      }
    }
  }
  for (const auto& one : all) {
    for (const auto& two : all) {
      CHECK(differences(one, two).empty() == (canonical_text(one) == canonical_text(two)));
    }
  }
}

TEST_CASE("a majority is more than half of three or more") {
  const auto x = digest({trait(Area::driver, "x", "1")});
  const auto y = digest({trait(Area::driver, "x", "2")});
  const auto z = digest({trait(Area::driver, "x", "3")});
  CHECK_FALSE(compare({x, y}).majority.has_value());
  CHECK_FALSE(compare({x, x, y, y}).majority.has_value());
  CHECK_FALSE(compare({x, y, z}).majority.has_value());
  CHECK(compare({x, x, x}).equal());
  const Comparison odd = compare({y, x, z, x, x});
  REQUIRE(odd.majority == std::size_t{0});
  CHECK(odd.groups.front().members == std::vector<std::size_t>{1, 3, 4});
  REQUIRE(odd.pairs.size() == 2);
  CHECK(odd.pairs[0].first == 1);
  CHECK(odd.pairs[0].second == 0);
  CHECK(odd.pairs[1].second == 2);
}

TEST_CASE("what is to be left out is named by its area, or by one thing of it") {
  const auto one = digest({trait(Area::environment, "X", "1"), trait(Area::environment, "Y", "1"),
                           trait(Area::driver, "X", "1")});
  const auto left = [&](std::string_view word) {
    const auto part = parse_ignored(word);
    REQUIRE(part.has_value());
    return without(one, {*part}).traits.size();
  };
  CHECK(left("environment") == 1);
  CHECK(left("environment:X") == 2);
  CHECK(left("environment:Z") == 3);
  CHECK(left("probe") == 3);
  for (const char* const slip : {"", "weather", "environment:", ":X", "Environment"}) {
    CHECK_FALSE(parse_ignored(slip).has_value());
  }
}

}  // namespace
}  // namespace cudart_doctor
