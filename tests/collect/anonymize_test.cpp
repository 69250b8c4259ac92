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
  Recording recording;
  recording.command = {"serve", "--host", "node-6", "/home/alice/srv.py"};
  LoadEvent event;
  event.path = "/home/alice/lib/libcudart.so.12";
  event.python = {{"/home/erin/app/mhc.py", 12, "<module>", "mhc"}};
  recording.events = {event};
  RecordedProcess process;
  process.command_line = {"worker", "--master-addr=node-7", "/home/erin/x"};
  process.not_judged = "/home/frank: denied";
  process.headline = "FlashInfer 0.6.17 would take a stub.";
  recording.processes = {process};
  snapshot.recording = RecordingFact::known(recording);
  return snapshot;
}

}  // namespace

TEST_CASE("no field of a snapshot keeps a name") {
  const Snapshot clean = anonymized(snapshot_of_alice());
  const std::string all = snapshot_to_json(clean) + clean.maps.text;
  for (const char* name : {"/alice", "alice-train", "carol", "dave", "bob", "gpu-17", "node-5",
                           "erin", "frank", "node-6", "node-7", "10.0.0.", "a@b", "cc1d84a2"}) {
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

TEST_CASE("a recording keeps its versions and places without the names") {
  const Snapshot clean = anonymized(snapshot_of_alice());
  const Recording& recording = *clean.recording.get();
  CHECK(recording.events[0].path == clean.objects[0].path());
  CHECK(recording.events[0].python[0].file.ends_with("/app/mhc.py"));
  CHECK(recording.processes[0].headline == "FlashInfer 0.6.17 would take a stub.");
  CHECK(recording.command[1] == "--host");
  CHECK(recording.processes[0].command_line[1].starts_with("--master-addr=host-"));
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
        "/home/user-1 and /home/user-7 on address-3, address-1");
}

TEST_CASE("every host of a command line's list has a stand-in") {
  struct Row {
    std::vector<std::string> given;
    std::vector<std::string> shown;
  };
  const std::vector<Row> rows = {
      {{"--host", "a1.corp:8,b2.corp:8"}, {"--host", "host-1:8,host-2:8"}},
      {{"--host=a1,b2"}, {"--host=host-1,host-2"}},
      {{"--rdzv-endpoint=a1,b2"}, {"--rdzv-endpoint=host-1,host-2"}},
      {{"--hosts", "a1"}, {"--hosts", "host-1"}},
      {{"-H", "n1:8,n2:8"}, {"-H", "host-1:8,host-2:8"}},
      {{"--nodelist", "n[1-4,7]"}, {"--nodelist", "host-1[1-4,7]"}},
      {{"--host=[n1]:1"}, {"--host=[host-1]:1"}},
      {{"--host", "localhost,0.0.0.0"}, {"--host", "localhost,0.0.0.0"}},
      {{"-H", "Accept: x"}, {"-H", "Accept: x"}},
      {{"http://u:p@n1:8/x"}, {"http://u:p@host-1:8/x"}},
      {{"http://[redacted]@n1:8/x"}, {"http://[redacted]@host-1:8/x"}},
      {{"tcp://n1:8"}, {"tcp://host-1:8"}},
  };
  for (const Row& row : rows) {
    Snapshot snapshot;
    snapshot.process.command_line = Fact<std::vector<std::string>>::known(row.given);
    INFO(row.given.back());
    CHECK(*anonymized(snapshot).process.command_line.get() == row.shown);
  }
}

TEST_CASE("a user is found behind '_' and '-' in folders, and as a word in notes") {
  Snapshot snapshot = snapshot_of_alice();
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"/tmp/torchinductor_alice/x", "/tmp/torchinductor_user-1/x"},
      {"/tmp/env-alice", "/tmp/env-user-1"},
      {"/x/libfoo_alice.so.1", "/x/libfoo_alice.so.1"},
      {"/x/site-packages/pkg_alice/y", "/x/site-packages/pkg_alice/y"},
      {"kept for (alice), version 12.8.4.1", "kept for (user-1), version 12.8.4.1"},
  };
  for (const auto& [given, shown] : rows) {
    INFO(given);
    snapshot.capture.notes = {given};
    CHECK(anonymized(snapshot).capture.notes == std::vector<std::string>{shown});
  }
}

TEST_CASE("a user called like a part of a path that rules know changes no such path") {
  for (const std::string user : {"x86_64-linux-gnu", "targets", "sgl_kernel", "cuda_runtime"}) {
    INFO(user);
    Snapshot snapshot;
    Environment environment;
    environment.variables = {{"USER", user}};
    snapshot.environment = Fact<Environment>::known(environment);
    const std::string path = "/opt/" + user + "/lib/libcudart.so.12";
    snapshot.process.executable = Fact<std::string>::known(path);
    CHECK(*anonymized(snapshot).process.executable.get() == path);
  }
}
