#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace neuroshard::ranks {

/// A socket that does not block; closed at the end.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket();
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

using SocketClock = std::chrono::steady_clock;

/// Listens on a free port of all IPv4 addresses of this machine, or only of the first one of the
/// network interface that NEUROSHARD_INTERFACE names, if it is set.
struct Listener {
  Socket socket;
  int port = 0;
  /// Where others may reach it, the address of the machine itself last.
  std::vector<std::string> addresses;
};
/// Throws Error (kBackend) if the system has no sockets, or no interface of that name.
[[nodiscard]] Listener listen_on_free_port();

/// Nothing if nobody comes, or answers, in time.
[[nodiscard]] std::optional<Socket> accept_one(const Listener& listener,
                                               SocketClock::time_point deadline);
[[nodiscard]] std::optional<Socket> connect_to(const std::string& address, int port,
                                               SocketClock::time_point deadline);

/// True if the other end is gone and all that it sent has been read.
[[nodiscard]] bool is_closed(const Socket& socket);

/// A line of text, without its end; false, or nothing, if it does not get through in time.
[[nodiscard]] bool send_line(const Socket& socket, const std::string& line,
                             SocketClock::time_point deadline);
[[nodiscard]] std::optional<std::string> receive_line(const Socket& socket,
                                                      SocketClock::time_point deadline);

}  // namespace neuroshard::ranks
