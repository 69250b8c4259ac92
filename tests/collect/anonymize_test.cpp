#include "cudart_doctor/collect/anonymize.hpp"

#include "cudart_doctor/collect/bundle.hpp"
#include "cudart_doctor/formats/proc_text.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

Snapshot snapshot_of_alice() {
  Snapshot snapshot;
  snapshot.host.name = "gpu-17";
  snapshot.process.comm = "alice-train";
  snapshot.process.command_line = Fact<std::vector<std::string>>::known(
      {"/home/alice/venv/bin/python", "--host", "10.0.0.5", "--master-addr=gpu-17", "--dist-addr",
       "node-5:29500", "--alice", "serve --host 10.0.0.6 --mail=a@b.org"});
  snapshot.process.executable = Fact<std::string>::unknown("/home/alice: denied");
  Environment environment;
  environment.variables = {{"HOME", "/nfs/people/carol"},
                           {"USER", "dave"},
                           {"alice", "1"},
                           {"LD_LIBRARY_PATH", "/home/alice/lib:/data/carol/lib:/data/dave"}};
  snapshot.environment = Fact<Environment>::known(environment);
  snapshot.maps =
      parse_maps(
          "7f0000000000-7f0000001000 r-xp 00000000 fe:02 12 /home/alice/lib/libcudart.so.12\n"
          "7f0000002000-7f0000003000 rw-p 00000000 00:00 0 \n"
          "7f0000004000-7f0000005000 r-xp 00000000 fe:02 13 /home/bob/lib/libcudart.so.12\n")
          .value();
  LoadedObject object;
  object.paths = {"/home/alice/lib/libcudart.so.12"};
  ElfFacts facts;
  facts.soname = "libcudart.so.12";
  facts.runpath = "/home/alice/lib";
  object.elf = Fact<ElfFacts>::known(facts);
  snapshot.objects = {object};
  snapshot.disk["/home/alice/lib"].names = {"x"};
  snapshot.disk["/home/bob/lib"].kind = DiskKind::directory;
  snapshot.process.namespaces = {{"mnt", 1}};
  snapshot.probe.devices.emplace_back().uuid = "GPU-cc1d84a2-1111";
  snapshot.probe.environment = {{"CUDA_VISIBLE_DEVICES", "GPU-cc1d84a2"}};
  return snapshot;
}

}  // namespace

TEST_CASE("no field of a snapshot keeps a name") {
  const Snapshot clean = anonymized(snapshot_of_alice());
  const std::string all = snapshot_to_json(clean) + clean.maps.text;
  for (const char* name : {"/alice", "alice-train", "carol", "dave", "bob", "gpu-17", "node-5",
                           "10.0.0.", "a@b", "cc1d84a2"}) {
    INFO(name);
    CHECK(all.find(name) == std::string::npos);
  }
}

TEST_CASE("a name has one stand-in in all fields, and two paths stay two") {
  const Snapshot clean = anonymized(snapshot_of_alice());
  const std::string path = "/home/user-1/lib/libcudart.so.12";
  CHECK(clean.objects[0].path() == path);
  CHECK(clean.maps.path(clean.maps.rows[0]) == path);
  CHECK(clean.maps.path(clean.maps.rows[2]) == "/home/user-2/lib/libcudart.so.12");
  CHECK(clean.objects[0].elf.get()->runpath == "/home/user-1/lib");
  CHECK(clean.disk.contains("/home/user-1/lib"));
  CHECK(clean.disk.contains("/home/user-2/lib"));
  CHECK(clean.process.executable.reason() == "/home/user-1: denied");
  CHECK(*clean.environment.get()->find("LD_LIBRARY_PATH") ==
        "/home/user-1/lib:/data/user-3/lib:/data/user-4");
  CHECK(clean.host.name == "host-1");
  CHECK(*clean.process.command_line.get() ==
        std::vector<std::string>{"/home/user-1/venv/bin/python", "--host", "address-1",
                                 "--master-addr=host-1", "--dist-addr", "host-2:29500", "--alice",
                                 "serve --host address-2 --mail=mail-1"});
}

TEST_CASE("what rules go by stays as it was") {
  const Snapshot before = snapshot_of_alice();
  const Snapshot clean = anonymized(before);
  CHECK(clean.maps.rows.size() == before.maps.rows.size());
  CHECK(clean.maps.rows[2].lo == before.maps.rows[2].lo);
  CHECK(clean.objects[0].elf.get()->soname == "libcudart.so.12");
  CHECK(clean.environment.get()->find("alice") != nullptr);
  CHECK(clean.process.namespaces.contains("mnt"));
}

TEST_CASE("an anonymized snapshot is one already, byte for byte") {
  const Snapshot once = anonymized(snapshot_of_alice());
  const Snapshot twice = anonymized(once);
  CHECK(snapshot_to_json(twice) == snapshot_to_json(once));
  CHECK(twice.maps.text == once.maps.text);
}

TEST_CASE("a text beside the snapshot has the same stand-ins") {
  Anonymizer names;
  names.learn(snapshot_of_alice());
  names.learn("RuntimeError at /home/zoe/x on 10.0.0.7");
  CHECK(names.replaced("/home/alice and /home/zoe on 10.0.0.7, 10.0.0.5") ==
        "/home/user-1 and /home/user-5 on address-3, address-1");
}
