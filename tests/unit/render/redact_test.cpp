#include "render/redact.hpp"

#include "cudart_doctor/render/render.hpp"
#include "support/catch.hpp"
#include "support/report_builder.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::testing;

TEST_CASE("names of secrets are known by their words, not by substrings") {
  for (const char* name : {"NVIDIA_API_KEY", "--hf-token", "--api-key", "HF_TOKEN", "--password",
                           "CUDA_CLIENT_SECRET", "--ssl-keyfile-password"}) {
    INFO(name);
    CHECK(is_secret_name(name));
  }
  for (const char* name :
       {"--tokenizer", "--max-tokens", "CUDA_VISIBLE_DEVICES", "--keyboard", "TORCH_LOGS", ""}) {
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
