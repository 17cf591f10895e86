#include "weights/collection/ranks/tcp_socket.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "neuroshard/error.h"

namespace neuroshard::ranks {
namespace {

// Longest line: addresses of all ranks.
constexpr std::size_t kMostLineBytes = std::size_t{1} << 20;

// False when the time is up.
bool wait_for(const Socket& socket, short events, SocketClock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SocketClock::now());
    if (left.count() <= 0) return false;
    pollfd waited{socket.descriptor(), events, 0};
    const int ready =
        ::poll(&waited, 1, static_cast<int>(std::min<std::int64_t>(left.count(), 1000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

// Small messages go at once; a machine that is gone without a word is noticed within a minute.
void set_options(const Socket& socket) {
  const auto set = [&](int level, int option, int value) {
    (void)::setsockopt(socket.descriptor(), level, option, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 20);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_KEEPCNT, 4);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 60'000);
}

sockaddr_in address_of(in_addr_t ip, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ip;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

// Of the interface of the name `wanted`, unless that is null.
std::vector<std::string> own_addresses(const char* wanted) {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) {
    throw Error(
        std::string("the addresses of this machine cannot be read: ") + std::strerror(errno),
        ErrorKind::kBackend);
  }
  std::vector<std::string> outer;
  std::vector<std::string> loopback;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    if ((one->ifa_flags & IFF_UP) == 0) continue;
    if (wanted != nullptr && std::strcmp(one->ifa_name, wanted) != 0) continue;
    sockaddr_in address{};
    std::memcpy(&address, one->ifa_addr, sizeof address);
    std::array<char, INET_ADDRSTRLEN> text{};
    if (::inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size()) == nullptr) continue;
    ((one->ifa_flags & IFF_LOOPBACK) != 0 ? loopback : outer).emplace_back(text.data());
  }
  ::freeifaddrs(all);
  outer.insert(outer.end(), loopback.begin(), loopback.end());
  if (outer.empty()) {
    throw Error(wanted != nullptr ? "NEUROSHARD_INTERFACE is '" + std::string(wanted) +
                                        "', which is no network interface with an IPv4 address "
                                        "here; 'ip -4 address' lists them"
                                  : "this machine has no IPv4 address",
                ErrorKind::kBackend);
  }
  return outer;
}

}  // namespace

Socket::~Socket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Listener listen_on_free_port() {
  const char* const interface = std::getenv("NEUROSHARD_INTERFACE");
  Listener listener{Socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)), 0,
                    own_addresses(interface)};
  sockaddr_in address = address_of(htonl(INADDR_ANY), 0);
  if (interface != nullptr) {
    listener.addresses.resize(1);
    (void)::inet_pton(AF_INET, listener.addresses[0].c_str(), &address.sin_addr);
  }
  socklen_t length = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  const int descriptor = listener.socket.descriptor();
  if (descriptor < 0 || ::bind(descriptor, generic, length) != 0 ||
      ::listen(descriptor, SOMAXCONN) != 0 || ::getsockname(descriptor, generic, &length) != 0) {
    throw Error(std::string("no TCP port to listen on: ") + std::strerror(errno),
                ErrorKind::kBackend);
  }
  listener.port = ntohs(address.sin_port);
  return listener;
}

std::optional<Socket> accept_one(const Listener& listener, SocketClock::time_point deadline) {
  while (wait_for(listener.socket, POLLIN, deadline)) {
    Socket socket(
        ::accept4(listener.socket.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.descriptor() < 0) continue;  // Who called is gone again.
    set_options(socket);
    return socket;
  }
  return std::nullopt;
}

std::optional<Socket> connect_to(const std::string& address, int port,
                                 SocketClock::time_point deadline) {
  in_addr ip{};
  if (::inet_pton(AF_INET, address.c_str(), &ip) != 1) return std::nullopt;
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.descriptor() < 0) return std::nullopt;
  const sockaddr_in to = address_of(ip.s_addr, port);
  if (::connect(socket.descriptor(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
    if (errno != EINPROGRESS && errno != EINTR) return std::nullopt;
    int error = 0;
    socklen_t length = sizeof error;
    if (!wait_for(socket, POLLOUT, deadline) ||
        ::getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &length) != 0 ||
        error != 0) {
      return std::nullopt;
    }
  }
  set_options(socket);
  return socket;
}

bool is_closed(const Socket& socket) {
  char byte = 0;
  const ssize_t count = ::recv(socket.descriptor(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR);
}

bool send_line(const Socket& socket, const std::string& line, SocketClock::time_point deadline) {
  const std::string text = line + '\n';
  std::size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t count =
        ::send(socket.descriptor(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count >= 0) {
      sent += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN || errno == EINTR) {
      if (!wait_for(socket, POLLOUT, deadline)) return false;
    } else {
      return false;
    }
  }
  return true;
}

// Byte by byte: what comes after the line is for others to read.
std::optional<std::string> receive_line(const Socket& socket, SocketClock::time_point deadline) {
  std::string line;
  while (line.size() < kMostLineBytes) {
    char byte = 0;
    const ssize_t count = ::recv(socket.descriptor(), &byte, 1, 0);
    if (count == 1) {
      if (byte == '\n') return line;
      line += byte;
      continue;
    }
    const bool may_come = count < 0 && (errno == EAGAIN || errno == EINTR);
    if (!may_come || !wait_for(socket, POLLIN, deadline)) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace neuroshard::ranks
