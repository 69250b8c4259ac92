#include "cudart_doctor/collect/private_names.hpp"

#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

std::string words(std::string_view text) {
  PrivateNames names;
  names.learn(text, TextPlace::words);
  names.settle();
  return names.replaced(text, TextPlace::words);
}

std::string anywhere(std::string_view text) {
  PrivateNames names;
  names.learn(text, TextPlace::anywhere);
  names.settle();
  return names.replaced(text, TextPlace::anywhere);
}

struct Row {
  const char* text;
  const char* replaced;
};

}  // namespace

TEST_CASE("the name behind a folder of homes is replaced, and nothing else of the path") {
  for (const Row& row : {
           Row{"/home/alice/venv/lib/x.so", "/home/user-1/venv/lib/x.so"},
           Row{"/Users/bob.smith/x", "/Users/user-1/x"},
           Row{"/var/home/ann-marie", "/var/home/user-1"},
           Row{"/mnt/c/Users/bob:/home/alice/lib", "/mnt/c/Users/user-2:/home/user-1/lib"},
           Row{"/home/alice (deleted)", "/home/user-1 (deleted)"},
           Row{"/home/\xff\xfe/x", "/home/user-1/x"},
           Row{"seen at \"/home/alice\"", "seen at \"/home/user-1\""},
           Row{"/home/", "/home/"},
           Row{"/home//x", "/home//x"},
           Row{"/home/../home/alice", "/home/../home/user-1"},
           Row{"/root/venv", "/root/venv"},
           Row{"/opt/homer/x", "/opt/homer/x"},
           // What a rule could take for the runtime's name decides; it stays.
           Row{"/home/libcudart/x.so", "/home/libcudart/x.so"},
       }) {
    INFO(row.text);
    CHECK(anywhere(row.text) == row.replaced);
  }
}

TEST_CASE("addresses, hosts of URLs and mail are found in words, versions are none of them") {
  for (const Row& row : {
           Row{"10.0.0.5", "address-1"},
           Row{"10.0.0.5:8000", "address-1:8000"},
           Row{"tcp://10.0.0.5:1 [10.0.0.6]", "tcp://address-1:1 [address-2]"},
           Row{"[fe80::1]:80 2001:db8:0:0:0:0:0:1", "[address-2]:80 address-1"},
           Row{"127.0.0.1 0.0.0.0 ::1 ::", "127.0.0.1 0.0.0.0 ::1 ::"},
           Row{"12:30:45", "12:30:45"},
           Row{"/opt/cublas/12.8.4.1/lib", "/opt/cublas/12.8.4.1/lib"},
           Row{"libcublas.so.12.8.4.1", "libcublas.so.12.8.4.1"},
           Row{"12.8.4 1.2.3.4.5 1.2.3.400", "12.8.4 1.2.3.4.5 1.2.3.400"},
           Row{"https://node-5.corp.example/x", "https://host-1/x"},
           Row{"http://localhost:1", "http://localhost:1"},
           Row{"alice@corp.example.", "mail-1."},
           Row{"user@1000.service pkg@1.2", "user@1000.service pkg@1.2"},
       }) {
    INFO(row.text);
    CHECK(words(row.text) == row.replaced);
  }
  // nvidia-cublas 12.8.4.1 has the form of an address.
  CHECK(anywhere("12.8.4.1") == "12.8.4.1");
}

TEST_CASE("a GPU's UUID keeps its form, and its beginning stays its beginning") {
  PrivateNames names;
  const std::string uuid = "GPU-cc1d84a2-1111-2222-3333-444455556666";
  for (const auto& text : {uuid, std::string("GPU-cc1d84a2"), std::string("GPU-0a0a0a0a-1"),
                           std::string("MIG-" + uuid + "/1/0")}) {
    names.learn(text, TextPlace::words);
  }
  names.settle();
  CHECK(names.replaced(uuid, TextPlace::words) == "GPU-00000002-0000-0000-0000-000000000000");
  CHECK(names.replaced("GPU-cc1d84a2", TextPlace::words) == "GPU-00000002");
  CHECK(names.replaced("GPU-0a0a0a0a-1", TextPlace::words) == "GPU-00000001-0");
  CHECK(names.replaced("MIG-" + uuid + "/1/0", TextPlace::words) ==
        "MIG-GPU-00000002-0000-0000-0000-000000000000/1/0");
  CHECK(names.replaced("GPU-0,GPU-", TextPlace::words) == "GPU-0,GPU-");
}

TEST_CASE("a user known from a home is found in other paths, as a word only") {
  PrivateNames names;
  names.learn("/home/alice/x", TextPlace::anywhere);
  names.learn("/home/torch/x", TextPlace::anywhere);
  names.learn("/home/al/x", TextPlace::anywhere);
  names.settle();
  const auto path = [&](std::string_view text) {
    return names.replaced(text, TextPlace::anywhere);
  };
  const auto word = [&](std::string_view text) { return names.replaced(text, TextPlace::words); };
  CHECK(path("/data/alice/m") == "/data/user-2/m");
  CHECK(path("/data/alice_2/m") == "/data/user-2_2/m");
  CHECK(path("/data/alicetown/m") == "/data/alicetown/m");
  CHECK(path("/data/malice/m") == "/data/malice/m");
  CHECK(path("alice is a word of ours here") == "alice is a word of ours here");
  CHECK(word("--user=alice su alice") == "--user=user-2 su user-2");
  CHECK(path("/v/site-packages/alice/x") == "/v/site-packages/alice/x");
  // Words that mean something, and very short ones, are replaced behind /home/ only.
  CHECK(path("/v/torch/lib /data/al/x") == "/v/torch/lib /data/al/x");
  CHECK(path("/home/torch /home/al") == "/home/user-3 /home/user-1");
}

TEST_CASE("the host is found by its full and by its short name") {
  PrivateNames names;
  names.add_host("gpu-17.corp.example");
  names.settle();
  CHECK(names.replaced_host("gpu-17.corp.example") == "host-2");
  CHECK(names.replaced("tcp://gpu-17.corp.example:1", TextPlace::words) == "tcp://host-2:1");
  CHECK(names.replaced("/scratch/gpu-17/x", TextPlace::anywhere) == "/scratch/host-1/x");
  CHECK(names.replaced("on GPU-17: x", TextPlace::words) == "on host-1: x");
}

TEST_CASE("the value of an option that is named like an address is a host") {
  PrivateNames names;
  names.learn_endpoint("node-5:8000");
  names.learn_endpoint("localhost:8000");
  names.settle();
  CHECK(names.replaced_endpoint("node-5:8000") == "host-1:8000");
  CHECK(names.replaced_endpoint("localhost:8000") == "localhost:8000");
  CHECK(names.replaced_endpoint("0.0.0.0") == "0.0.0.0");
}

TEST_CASE("different names get different stand-ins, none that is in the texts already") {
  PrivateNames names;
  for (const char* text : {"/home/alice", "/home/bob", "/data/user-1/x", "/home/user-2"}) {
    names.learn(text, TextPlace::anywhere);
  }
  names.settle();
  CHECK(names.replaced("/home/alice /home/bob", TextPlace::anywhere) ==
        "/home/user-3 /home/user-4");
  CHECK(names.replaced("/data/user-1/x /home/user-2", TextPlace::anywhere) ==
        "/data/user-1/x /home/user-2");
}

TEST_CASE("a second pass changes nothing") {
  std::string text;
  for (int i = 0; i < 12; ++i) text += "/home/n" + std::to_string(i) + "/x ";
  text += "10.0.0.1 10.0.0.2 a@b.org https://n.example GPU-cc1d84a2-1111 GPU-cc1d84a2";
  const std::string once = words(text);
  CHECK(once != text);
  CHECK(words(once) == once);
}
