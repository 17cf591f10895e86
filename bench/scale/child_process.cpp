#include "bench/scale/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "bench/stopwatch.h"
#include "neuroshard/error.h"

namespace neuroshard::bench {
namespace {

[[noreturn]] void fail(const char* call, int error_number) {
  throw Error(std::string("cannot start a process to measure in: ") + call + ": " +
                  std::strerror(error_number),
              ErrorKind::kIo);
}

/// Standard output of a child.
class OutputPipe {
 public:
  OutputPipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) fail("pipe", errno);
  }
  ~OutputPipe() {
    close(ends_[0]);
    close_writing_end();
  }
  OutputPipe(const OutputPipe&) = delete;
  OutputPipe& operator=(const OutputPipe&) = delete;

  [[nodiscard]] int reading_end() const { return ends_[0]; }
  [[nodiscard]] int writing_end() const { return ends_[1]; }
  void close_writing_end() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

pid_t spawn_self(const std::vector<std::string>& args, const OutputPipe& output) {
  std::string name = "nsbench";
  std::vector<std::string> copies = args;
  std::vector<char*> argv = {name.data()};
  for (std::string& arg : copies) argv.push_back(arg.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output.writing_end(), STDOUT_FILENO);
  pid_t child = -1;
  const int error = posix_spawn(&child, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) fail("posix_spawn", error);
  return child;
}

// Until the child closes its end. False after `timeout_s`.
bool read_all(int descriptor, double timeout_s, std::string& text) {
  const Stopwatch watch;
  std::array<char, 4096> buffer{};
  while (true) {
    const double left_ms = timeout_s * 1e3 - watch.elapsed().wall_ms;
    if (left_ms <= 0.0) return false;
    pollfd waiting{.fd = descriptor, .events = POLLIN, .revents = 0};
    if (poll(&waiting, 1, static_cast<int>(left_ms) + 1) <= 0) continue;
    const ssize_t count = read(descriptor, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

ChildResult run_self(const std::vector<std::string>& args, double timeout_s) {
  ChildResult result;
  OutputPipe output;
  const pid_t child = spawn_self(args, output);
  output.close_writing_end();
  result.timed_out = !read_all(output.reading_end(), timeout_s, result.output);
  if (result.timed_out) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  return result;
}

}  // namespace neuroshard::bench
