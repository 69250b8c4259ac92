// Directories in the target's view, and the names that are kept of them.
#include "cudart_doctor/sys/target_files.hpp"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace cudart_doctor;
using Names = std::vector<std::string>;

namespace {

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/doctor-names-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }

  void add(const std::string& name) const { std::ofstream(path_ + "/" + name) << "x"; }
  [[nodiscard]] Result<Names> names(const TargetFiles& files, std::string_view filter,
                                    std::size_t cap = 10) const {
    auto found = files.find(path_);
    if (!found) return tl::unexpected(found.error());
    return files.list(*found, filter, cap);
  }

 private:
  std::string path_;
};

TargetFiles own_files() {
  auto process = ProcDirectory::open("/proc/self");
  REQUIRE(process);
  auto files = TargetFiles::open(*process);
  REQUIRE(files);
  return std::move(*files);
}

}  // namespace

TEST_CASE("every filter is answered from one reading of a directory") {
  const TargetFiles files = own_files();
  const Folder folder;
  for (const char* name : {"b.so", "a.so.1", "c.txt"}) folder.add(name);
  CHECK(*folder.names(files, ".so") == Names{"a.so.1", "b.so"});
  folder.add("d.so");
  CHECK(*folder.names(files, ".txt") == Names{"c.txt"});
  CHECK(*folder.names(files, "") == Names{"a.so.1", "b.so", "c.txt"});
  CHECK(*folder.names(own_files(), ".so") == Names{"a.so.1", "b.so", "d.so"});
}

TEST_CASE("more names than the cap are an error, read or known") {
  const TargetFiles files = own_files();
  const Folder folder;
  for (const char* name : {"a", "b", "c"}) folder.add(name);
  for (int i = 0; i < 2; ++i) {
    const auto names = folder.names(files, "", 2);
    REQUIRE_FALSE(names);
    CHECK(names.error().kind == ErrorKind::limit);
    CHECK(folder.names(files, "", 3)->size() == 3);
  }
}

TEST_CASE("names that take too much room are not kept") {
  DirectoryCache cache;
  const FileKey small{8, 1, 1};
  const FileKey large{8, 1, 2};
  cache.keep(small, std::string("a\0b\0", 4));
  cache.keep(large, std::string(DirectoryCache::kMostOfOne + 1, 'x'));
  REQUIRE(cache.find(small) != nullptr);
  CHECK(cache.find(small)->size() == 4);
  CHECK(cache.find(large) == nullptr);
  std::uint64_t inode = 10;
  for (; inode < 18; ++inode) cache.keep({8, 1, inode}, std::string(1U << 20U, 'x'));
  CHECK(cache.find({8, 1, 10}) != nullptr);
  CHECK(cache.find({8, 1, 17}) == nullptr);
}
