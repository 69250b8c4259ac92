#include "render/redact.hpp"

#include "cudart_doctor/render/render.hpp"
#include "support/catch.hpp"
#include "support/report_builder.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::testing;

TEST_CASE("names of secrets are known by their words, not by substrings") {
  for (const char* name :
       {"NVIDIA_API_KEY", "--hf-token", "--api-key", "HF_TOKEN", "--password", "CUDA_CLIENT_SECRET",
        "--ssl-keyfile-password", "--accessToken", "APIKey", "apiKey", "hftoken", "--pass",
        "DB_PASS", "--pwd", "Authorization", "x.api.key"}) {
    INFO(name);
    CHECK(is_secret_name(name));
  }
  for (const char* name :
       {"--tokenizer", "--max-tokens", "CUDA_VISIBLE_DEVICES", "--keyboard", "TORCH_LOGS", "",
        "--pass-through", "-p", "maxTokens", "--bypass", "monkey"}) {
    INFO(name);
    CHECK_FALSE(is_secret_name(name));
  }
}

TEST_CASE("values of secret options are replaced, all of them, and nothing else is") {
  using Words = std::vector<std::string>;
  CHECK(redact_arguments({"vllm", "serve", "--api-key", "k1", "k2", "--tokenizer", "t"}) ==
        Words{"vllm", "serve", "--api-key", "[redacted]", "[redacted]", "--tokenizer", "t"});
  CHECK(redact_arguments({"--api-key=k1", "model"}) == Words{"--api-key=[redacted]", "model"});
  CHECK(redact_arguments({"server --hf-token abc --tp 8"}) ==
        Words{"server --hf-token [redacted] --tp 8"});
  CHECK(redact_arguments({}).empty());
}

TEST_CASE("a secret is replaced in every form in which a command line takes one") {
  struct Row {
    std::vector<std::string> given;
    std::vector<std::string> shown;
  };
  const std::string json = R"({"api_key": "S\"S S", "n": 1, "hfToken":'S', "auth":["S"]})";
  const std::vector<Row> rows = {
      {{"HF_TOKEN=S", "python"}, {"HF_TOKEN=[redacted]", "python"}},
      {{"-e", "HF_TOKEN=S", "image"}, {"-e", "HF_TOKEN=[redacted]", "image"}},
      {{"--env=HF_TOKEN=S"}, {"--env=HF_TOKEN=[redacted]"}},
      {{"-x", "API_KEY=S S", "n"}, {"-x", "API_KEY=[redacted] S", "n"}},
      {{"--accessToken", "S"}, {"--accessToken", "[redacted]"}},
      {{"--pass", "S", "--pwd=S"}, {"--pass", "[redacted]", "--pwd=[redacted]"}},
      {{"--api-key", "S S", "-p", "80"}, {"--api-key", "[redacted]", "-p", "80"}},
      {{"--api-key\tS"}, {"--api-key\t[redacted]"}},
      {{"--api-key", "-S"}, {"--api-key", "[redacted]"}},
      {{"--aws-secret-access-key:S"}, {"--aws-secret-access-key:[redacted]"}},
      {{"redis://:S@h:1/"}, {"redis://:[redacted]@h:1/"}},
      {{"amqp://u:S:S@S@h/x"}, {"amqp://u:[redacted]@h/x"}},
      {{"--url=http://u:S@h"}, {"--url=http://[redacted]@h"}},
      {{"https://S@h/x@y"}, {"https://[redacted]@h/x@y"}},
      {{"-H", "Authorization: Bearer S"}, {"-H", "Authorization: [redacted]"}},
      {{"-H", "X-Api-Key: S", "x"}, {"-H", "X-Api-Key: [redacted]", "x"}},
      {{"auth bearer S x"}, {"auth bearer [redacted] x"}},
      {{"--config", R"({"api_key":"S","n":1})"}, {"--config", R"({"api_key":"[redacted]","n":1})"}},
      {{R"({\"apiKey\": \"S\", \"n\": 1})"}, {R"({\"apiKey\": \"[redacted]\", \"n\": 1})"}},
      {{json}, {R"({"api_key": "[redacted]", "n": 1, "hfToken":'[redacted]', "auth":[redacted])"}},
      {{"sh -c 'x \"--api-key\" \"S\" --tp 8'"}, {"sh -c 'x \"--api-key\" [redacted] --tp 8'"}},
  };
  for (const Row& row : rows) {
    INFO(row.given.back());
    CHECK(redact_arguments(row.given) == row.shown);
    CHECK(redact_arguments(row.shown) == row.shown);
  }
}

TEST_CASE("what only looks like a secret stays in a command line") {
  const std::vector<std::string> harmless = {"vllm",
                                             "-p",
                                             "8000",
                                             "--tokenizer=t",
                                             "tcp://node-5:29500",
                                             "http://h:80/x?n=1",
                                             "ssh://git@h/x",
                                             "--max-tokens",
                                             "5",
                                             R"({"model": "m", "sizes": [1]})",
                                             "/models/monkey",
                                             ""};
  CHECK(redact_arguments(harmless) == harmless);
}

TEST_CASE("the password of a URL in a variable is replaced, a list of folders is not") {
  CHECK(redact_urls("amqp://u:S@h/") == "amqp://u:[redacted]@h/");
  CHECK(redact_urls("/x/key:/y:/z=1") == "/x/key:/y:/z=1");
}

TEST_CASE("only variables that bear on CUDA are reported") {
  for (const char* name :
       {"LD_LIBRARY_PATH", "LD_PRELOAD", "LD_AUDIT", "CUDA_HOME", "VLLM_CUDART_SO_PATH",
        "CUDNN_FRONTEND_CUDART_LIB_NAME", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH",
        "TORCH_CUDA_ARCH_LIST", "PYTORCH_CUDA_ALLOC_CONF", "NVIDIA_VISIBLE_DEVICES"}) {
    INFO(name);
    CHECK(is_reported_variable(name));
  }
  for (const char* name : {"PATH", "HOME", "AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "MY_CUDA_X"}) {
    INFO(name);
    CHECK_FALSE(is_reported_variable(name));
  }
}

TEST_CASE("what is kept of a process holds no secret, and gives the same report") {
  Report report = critical_report();
  report.snapshot.process.command_line =
      Fact<std::vector<std::string>>::known({"vllm", "serve", "--api-key", "k1"});
  auto& variables = report.snapshot.environment.get()->variables;
  variables = {{"HF_HOME", "private"}, {"NVIDIA_API_KEY", "private"}, {"CUDA_HOME", "/c"}};
  const std::string before = render_json(report);
  report.snapshot = redacted(std::move(report.snapshot));
  CHECK(render_json(report) == before);
  CHECK(variables.at(0).second == kRedacted);
  CHECK(variables.at(1).second == kRedacted);
  CHECK(variables.at(2).second == "/c");
  CHECK(report.snapshot.process.command_line.get()->back() == kRedacted);
}
