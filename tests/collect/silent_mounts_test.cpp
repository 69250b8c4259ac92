// Which file systems are left alone once a file of theirs did not answer.
#include "cudart_doctor/collect/silent_mounts.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/catch.hpp"

using namespace cudart_doctor;
using Paths = std::set<std::string>;

namespace {

/// A folder that looks like /proc/PID.
class FakeProcess {
 public:
  FakeProcess() {
    std::string name = std::filesystem::temp_directory_path() / "cudart-doctor-test.XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    root_ = name;
    std::filesystem::create_directory(root_ / "7");
    std::ofstream(root_ / "7/mountinfo") << "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
                                            "36 22 0:40 / /mnt/a rw - fuse silent rw\n"
                                            "37 36 0:41 / /mnt/a/inner rw - tmpfs none rw\n";
  }
  ~FakeProcess() { std::filesystem::remove_all(root_); }
  FakeProcess(const FakeProcess&) = delete;
  FakeProcess& operator=(const FakeProcess&) = delete;

  [[nodiscard]] Paths silent(const Paths& paths) const {
    const auto process = ProcDirectory::open(root_ / "7");
    REQUIRE(process.has_value());
    return silent_mounts(*process, paths);
  }
  [[nodiscard]] std::string inside(const std::string& name) const { return root_ / name; }

 private:
  std::filesystem::path root_;
};

}  // namespace

TEST_CASE("of a silent file the innermost mount is left alone, never the root") {
  const FakeProcess process;
  CHECK(process.silent({"/mnt/a/lib/b.so"}) == Paths{"/mnt/a"});
  CHECK(process.silent({"/mnt/a/inner/b.so", "/mnt/a"}) == Paths{"/mnt/a", "/mnt/a/inner"});
  CHECK(process.silent({"/usr/lib/b.so", "/mnt/ab/c.so", "/"}).empty());
  CHECK(process.silent({process.inside("7/exe")}).empty());
}

TEST_CASE("what is no absolute path has no mount") {
  // The kernel's word for what lies below no mount of ours.
  CHECK(FakeProcess()
            .silent({"(unreachable)/lib/b.so", "b.so", "", "a/", "//x", " (deleted)"})
            .empty());
}

TEST_CASE("a folder holds itself and what lies below it") {
  CHECK(lies_in({"/mnt/a"}, "/mnt/a"));
  CHECK(lies_in({"/mnt/a"}, "/mnt/a/b.so"));
  CHECK_FALSE(lies_in({"/mnt/a"}, "/mnt/ab"));
  CHECK_FALSE(lies_in({"/mnt/a"}, "/mnt"));
  CHECK_FALSE(lies_in({}, "/mnt/a"));
}
