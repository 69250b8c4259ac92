// fuzz_seeds FOLDER CASE...: writes inputs that parse, as FOLDER/TARGET-N, for the formats that
// nobody can write by hand, and the process of each case as a snapshot. scripts/fuzz adds the
// texts.
#include <elf.h>

#include <array>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "cases/case_snapshot.hpp"
#include "cudart_doctor/collect/bundle.hpp"
#include "cudart_doctor/probe/protocol.hpp"
#include "support/elf_builder.hpp"

namespace {

using namespace cudart_doctor;
using namespace cudart_doctor::test;

std::map<std::string, int> numbers;  // NOLINT: how many seeds a target has
std::string folder;                  // NOLINT

void write(const std::string& target, std::string_view bytes) {
  std::ofstream out(folder + "/" + target + "-" + std::to_string(numbers[target]++),
                    std::ios::binary);
  out << bytes;
  if (!out.flush()) throw std::runtime_error("cannot write into " + folder);
}

template <typename T>
std::string bytes_of(const T& value) {
  std::string out(sizeof value, '\0');
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}

void write_elf() {
  ElfSpec spec;
  spec.soname = "libcudart.so.12";
  spec.runpath = "$ORIGIN/../lib";
  spec.rpath = "/opt/lib:$LIB";
  spec.needed = {"libc.so.6", "libdl.so.2"};
  spec.version_base = "libcudart.so.12";
  spec.version_definitions = {"libcudart.so.12"};
  spec.version_needs = {{"libc.so.6", {"GLIBC_2.2.5"}}};
  spec.symbols = {{"cudaMalloc", true, 2, 1, "libcudart.so.12"},
                  {"cudaFree", true, 2, 1, "libcudart.so.12", 16},
                  {"cudaRuntimeGetVersion", true, 2, 1, "libcudart.so.12", 32},
                  {"dlopen", false, 2, 1, "GLIBC_2.2.5"}};
  spec.notes = {{"GNU", 3, std::string(20, '\x5a')}};
  spec.sections = {{".nv_fatbin", 1, "cudart"}};
  spec.code = std::string("\xb8\xe8\x2e\0\0\xc3", 6) + std::string(64, '\x90');
  spec.data = "cudaErrorStubLibrary\0Cuda Runtime API\0";
  for (const ElfHash hash : {ElfHash::gnu, ElfHash::sysv, ElfHash::both, ElfHash::none}) {
    spec.hash = hash;
    spec.section_headers = hash != ElfHash::none;
    spec.machine = hash == ElfHash::both ? 183 : 62;
    spec.relocations = {{0x200, 6, "cudaMalloc"}, {0x208, 8, "", 0x100}};
    spec.jump_relocations = {{0x210, 7, "dlopen"}};
    const BuiltElf built = build_elf(spec);
    write("elf", {reinterpret_cast<const char*>(built.bytes.data()), built.bytes.size()});
  }
}

/// A program's headers, its dynamic section, r_debug of two namespaces and three link maps.
void write_link_map() {
  constexpr std::uint64_t kBase = 0x400000;
  std::string memory(0x400, '\0');
  const auto put = [&memory](std::size_t at, const std::string& bytes) {
    memory.replace(at, bytes.size(), bytes);
  };
  Elf64_Phdr self = {};
  self.p_type = PT_PHDR;
  self.p_vaddr = sizeof(Elf64_Ehdr);
  Elf64_Phdr dynamic = {};
  dynamic.p_type = PT_DYNAMIC;
  dynamic.p_vaddr = 0x100;
  put(sizeof(Elf64_Ehdr), bytes_of(self) + bytes_of(dynamic));
  put(0x100, bytes_of(std::array<std::uint64_t, 4>{DT_DEBUG, kBase + 0x140, DT_NULL, 0}));
  put(0x140, bytes_of(std::array<std::uint64_t, 6>{2, kBase + 0x200, 0, 0, 0, kBase + 0x180}));
  put(0x180, bytes_of(std::array<std::uint64_t, 6>{2, kBase + 0x280, 0, 0, 0, 0}));
  put(0x200, bytes_of(std::array<std::uint64_t, 5>{kBase, kBase + 0x300, kBase, kBase + 0x228}));
  put(0x228, bytes_of(std::array<std::uint64_t, 5>{kBase, kBase + 0x310, kBase, 0}));
  put(0x280, bytes_of(std::array<std::uint64_t, 5>{kBase, kBase + 0x310, kBase, 0}));
  put(0x300, "/bin/python3");
  put(0x310, "/usr/lib/libcudart.so.12");
  write("link_map", memory);
  put(0x228 + 24, bytes_of(std::uint64_t{kBase + 0x200}));
  write("link_map", memory);
}

void write_ld_cache() {
  const std::string names = std::string("libcudart.so.12\0/usr/lib/libcudart.so.12\0", 41);
  std::string cache = "glibc-ld.so.cache1.1" + bytes_of(std::uint32_t{1}) +
                      bytes_of(static_cast<std::uint32_t>(names.size())) + '\2';
  cache.append(48 - cache.size(), '\0');
  cache += bytes_of(std::int32_t{0x0303}) + bytes_of(std::uint32_t{72}) +
           bytes_of(std::uint32_t{88}) + bytes_of(std::uint32_t{0}) + bytes_of(std::uint64_t{0});
  write("ld_cache", cache + names);
  write("ld_cache", std::string("ld.so-1.7.0\0\0\0\0\0", 16) + cache + names);
}

void write_frames() {
  for (const FrameKind kind :
       {FrameKind::begin, FrameKind::end, FrameKind::names, FrameKind::versions, FrameKind::device,
        FrameKind::driver, FrameKind::mechanism, FrameKind::done}) {
    Frame frame;
    frame.kind = kind;
    frame.missing = {"cudaIpcOpenMemHandle"};
    frame.elsewhere = {"cudaMalloc"};
    frame.runtime_version = 12080;
    frame.driver_version = 13000;
    Frame done;
    done.kind = FrameKind::done;
    write("frames", encode_frame(frame) + encode_frame(done));
  }
  ProbeOrder order;
  order.runtimes = {{0, 10, false}};
  order.bound_names = {"cudaMalloc"};
  write("frames", encode_order(order));
}

void write_records() {
  const auto record = [](std::initializer_list<std::string_view> fields) {
    std::string out;
    for (const std::string_view field : fields) out.append(field).push_back('\0');
    write("recorder_wire", out);
  };
  record({"kind=start", "pid=7", "ppid=1", "tid=7", "t=12345"});
  record({"kind=load",
          "pid=7",
          "tid=8",
          "t=12345",
          "order=3",
          "ns=0",
          "base=7f0000000000",
          "dev=254:1",
          "ino=99",
          "path=/usr/lib/libcudart.so.12",
          "cause=dlopen",
          "name=libcudart.so.12",
          "by=/usr/lib/libtorch.so",
          "callerobj=/usr/lib/libtorch.so",
          "calleroff=1f0",
          "pyfile=/srv/serve.py",
          "pyline=17",
          "pyfunc=load",
          "pymod=serve",
          "pyfile=/srv/main.py",
          "pyline=1"});
  record({"kind=unload", "pid=7", "tid=7", "t=1", "ns=1", "base=7f0000000000", "path=/a"});
  record({"kind=lost", "pid=7", "count=5"});
  record({"kind=sync", "pid=7", "leakcheck=1"});
}

template <typename T>
T value_of(Result<T> result, const std::string& file) {
  if (!result) throw std::runtime_error(file + ": " + result.error().message);
  return std::move(*result);
}

void write_case(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw std::runtime_error("cannot read " + file);
  for (const CaseRun& run : value_of(parse_case(text.str(), file), file)) {
    const Snapshot snapshot = value_of(make_snapshot(run), file);
    write("pipeline", snapshot_to_json(snapshot) + '\0' + snapshot.maps.text);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: fuzz_seeds FOLDER CASE...\n";
    return 2;
  }
  folder = argv[1];
  try {
    write_elf();
    write_link_map();
    write_ld_cache();
    write_frames();
    write_records();
    for (int i = 2; i < argc; ++i) write_case(argv[i]);
  } catch (const std::exception& error) {
    std::cerr << "fuzz_seeds: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
