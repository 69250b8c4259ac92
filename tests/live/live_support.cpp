#include "live_support.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace live {

using namespace cudart_doctor;

Scratch::Scratch() {
  std::string pattern = (std::filesystem::temp_directory_path() / "doctor-live-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
  directory_ = std::filesystem::canonical(pattern).string();
  ::chmod(directory_.c_str(), 0777);
}

Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

std::string Scratch::path(std::string_view name) const {
  return directory_ + "/" + std::string(name);
}

std::string Scratch::copy_toy(std::string_view from, std::string_view name) const {
  copy_file(toy(from), path(name));
  return path(name);
}

std::string toy(std::string_view name) { return LIVE_TOYS "/" + std::string(name) + ".so"; }

void copy_file(const std::string& from, const std::string& to) {
  std::filesystem::copy_file(from, to);
  ::chmod(to.c_str(), 0755);
}

void write_text(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Victim::Victim(const std::function<void()>& before_exec) {
  int commands[2] = {};
  int answers[2] = {};
  if (::pipe2(commands, O_CLOEXEC) != 0 || ::pipe2(answers, O_CLOEXEC) != 0) {
    throw std::runtime_error("pipe");
  }
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(commands[0], 0);
    ::dup2(answers[1], 1);
    if (before_exec) before_exec();
    ::execl(LIVE_VICTIM, LIVE_VICTIM, nullptr);
    ::_exit(127);
  }
  ::close(commands[0]);
  ::close(answers[1]);
  commands_ = commands[1];
  answers_ = answers[0];
  if (read_line() != "ready") throw std::runtime_error("the victim did not start");
}

Victim::~Victim() {
  end();
  ::close(commands_);
  ::close(answers_);
}

void Victim::end() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

std::string Victim::read_line() {
  std::string line;
  char c = 0;
  while (::read(answers_, &c, 1) == 1 && c != '\n') line += c;
  return line;
}

std::string Victim::tell(const std::string& verb, const std::string& argument) {
  std::string bytes = verb;
  bytes += '\0';
  bytes += argument;
  bytes += '\0';
  if (::write(commands_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    return {};
  return read_line();
}

CaptureRules rules() {
  const auto is_cuda_name = [](std::string_view path) {
    const auto name = path.substr(path.rfind('/') + 1);
    return name.find("cudart") != std::string_view::npos ||
           name.find("libcuda") != std::string_view::npos;
  };
  CaptureRules result;
  result.plan = [is_cuda_name](const ElfFacts&, std::string_view path) {
    const bool suspect = is_cuda_name(path);
    return ScanPlan{suspect, suspect, false};
  };
  result.is_cuda_name = is_cuda_name;
  return result;
}

Result<Snapshot> capture(pid_t pid) {
  CaptureOptions options;
  options.pid = pid;
  return capture_process(options, rules());
}

const LoadedObject* object_at(const Snapshot& snapshot, std::string_view path) {
  for (const auto& object : snapshot.objects) {
    if (object.path() == path) return &object;
  }
  return nullptr;
}

const LoadedObject* object_with_soname(const Snapshot& snapshot, std::string_view soname) {
  for (const auto& object : snapshot.objects) {
    if (object.elf.get() != nullptr && object.elf.get()->soname == soname) return &object;
  }
  return nullptr;
}

void skip_program(std::string_view reason) {
  std::printf("skipped: %.*s\n", static_cast<int>(reason.size()), reason.data());
  std::fflush(stdout);
  ::_exit(77);
}

}  // namespace live
