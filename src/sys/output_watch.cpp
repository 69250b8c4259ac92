#include "cudart_doctor/sys/output_watch.hpp"

namespace cudart_doctor {

struct OutputWatch::State {};
Result<OutputWatch> OutputWatch::start(std::function<bool(std::string_view)>) {
  return fail(ErrorKind::unsupported, "the output is not looked at");
}
OutputWatch::OutputWatch(std::unique_ptr<State> s) : state_(std::move(s)) {}
OutputWatch::OutputWatch(OutputWatch&&) noexcept = default;
OutputWatch::~OutputWatch() = default;
int OutputWatch::command_out() const { return -1; }
int OutputWatch::command_err() const { return -1; }
void OutputWatch::close_command_ends() {}
std::vector<int> OutputWatch::descriptors() const { return {}; }
bool OutputWatch::pump() { return false; }
void OutputWatch::stop_looking() {}

}  // namespace cudart_doctor
