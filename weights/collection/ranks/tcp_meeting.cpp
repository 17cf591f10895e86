#include "weights/collection/ranks/tcp_meeting.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>
#include <thread>
#include <utility>

#include "core/fingerprint.h"
#include "neuroshard/error.h"
#include "neuroshard/version.h"
#include "weights/files/atomic_file.h"

// Who connects says in a line who it is, whom it wants, and where it listens; the other answers
// with kWelcome. So a port that something else, or a rank of an earlier run, listens on by now is
// found out, as is an address that many machines have (172.17.0.1).

namespace neuroshard::ranks {
namespace {

constexpr const char* kGreeting = "neuroshard.ranks";
constexpr const char* kWelcome = "welcome";
constexpr std::chrono::seconds kHandshake{5};
// Until a rank has been to all before it and listens to those behind it.
constexpr std::chrono::seconds kTurn{30};

// Where a rank listens.
struct Address {
  std::string machine;
  int port = 0;
  std::vector<std::string> ips;
};

std::string text_of(const Address& address) {
  std::string text = address.machine + ' ' + std::to_string(address.port) + ' ' +
                     std::to_string(address.ips.size());
  for (const std::string& ip : address.ips) text += ' ' + ip;
  return text;
}

std::optional<Address> read_address(std::istream& from) {
  Address address;
  std::size_t count = 0;
  if (!(from >> address.machine >> address.port >> count) || count > 1000) return std::nullopt;
  address.ips.resize(count);
  for (std::string& ip : address.ips) {
    if (!(from >> ip)) return std::nullopt;
  }
  return address;
}

// What ranks share whose clocks are the same: one start of one machine, containers or not.
std::string machine_name() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string name;
  return file >> name ? name : "unknown";
}

class FileMeeting {
 public:
  FileMeeting(const LaunchedRank& self, const std::filesystem::path& rendezvous,
              std::chrono::seconds patience)
      : self_(self),
        rendezvous_(rendezvous),
        patience_(patience),
        deadline_(SocketClock::now() + patience),
        listener_(listen_on_free_port()),
        own_{machine_name(), listener_.port, listener_.addresses},
        peers_(static_cast<std::size_t>(self.size)) {}

  FileMeeting(const FileMeeting&) = delete;
  FileMeeting& operator=(const FileMeeting&) = delete;
  ~FileMeeting() { take_file_away(); }

  TcpConnections run() {
    const std::vector<Address> all = self_.rank == 0 ? gather_all() : join();
    // Each connects to those before it, which by then listen.
    for (int peer = 1; self_.rank != 0 && peer < self_.rank; ++peer) {
      while (!try_rank(peer, all[static_cast<std::size_t>(peer)])) wait_more();
    }
    for (int missing = self_.rank == 0 ? 0 : self_.size - 1 - self_.rank; missing > 0;) {
      if (accept_rank(nullptr)) --missing;
    }
    TcpConnections connections{std::move(peers_), {}};
    for (const Address& address : all) connections.machines.push_back(address.machine);
    return connections;
  }

 private:
  // Rank 0: shows where it is, waits for all, and tells each where the others are.
  std::vector<Address> gather_all() {
    std::random_device random;
    token_ = hex_digits((std::uint64_t{random()} << 32) | random());
    // Who can read the token can take a rank's place.
    AtomicFile file(rendezvous_, 0600);
    file.write(std::string(kGreeting) + ' ' + NEUROSHARD_VERSION + ' ' + token_ + ' ' +
               text_of(own_) + '\n');
    file.commit();
    shown_ = true;
    std::vector<Address> all(peers_.size());
    all[0] = own_;
    for (int missing = self_.size - 1; missing > 0;) {
      if (accept_rank(&all)) --missing;
    }
    take_file_away();
    std::string table;
    for (const Address& address : all) table += text_of(address) + ' ';
    for (int peer = 1; peer < self_.size; ++peer) {
      if (!send_line(peers_[static_cast<std::size_t>(peer)], table, deadline_)) fail_gone(peer);
    }
    return all;
  }

  void take_file_away() {
    std::error_code ignored;
    if (std::exchange(shown_, false)) std::filesystem::remove(rendezvous_, ignored);
  }

  std::vector<Address> join() {
    while (!try_rank_0()) wait_more();
    const auto table = receive_line(peers_[0], deadline_);
    if (!table) fail_gone(0);
    std::istringstream text(*table);
    std::vector<Address> all;
    for (int rank = 0; rank < self_.size; ++rank) {
      const std::optional<Address> address = read_address(text);
      if (!address) fail_gone(0);
      all.push_back(*address);
    }
    return all;
  }

  bool try_rank_0() {
    std::ifstream file(rendezvous_);
    std::string greeting;
    std::string version;
    if (!(file >> greeting >> version >> token_) || greeting != kGreeting) return false;
    const std::optional<Address> first = read_address(file);
    return first && version == NEUROSHARD_VERSION && try_rank(0, *first);
  }

  bool try_rank(int peer, const Address& address) {
    for (const std::string& ip : address.ips) {
      const auto end = SocketClock::now() + kHandshake;
      std::optional<Socket> socket = connect_to(ip, address.port, end);
      if (!socket || !send_line(*socket, hello_to(peer), end)) continue;
      const std::optional<std::string> answer =
          receive_line(*socket, peer == 0 ? end : std::min(deadline_, end + kTurn));
      if (answer != kWelcome) continue;
      peers_[static_cast<std::size_t>(peer)] = std::move(*socket);
      return true;
    }
    return false;
  }

  std::string hello_to(int peer) const {
    return std::string(kGreeting) + ' ' + token_ + ' ' + std::to_string(self_.rank) + ' ' +
           std::to_string(peer) + ' ' + std::to_string(self_.size) + ' ' + text_of(own_);
  }

  // True if another rank has come, for the first time. Its address goes to `all`, unless that is
  // null.
  bool accept_rank(std::vector<Address>* all) {
    std::optional<Socket> socket = accept_one(listener_, deadline_);
    if (!socket) fail_missing();
    const auto end = SocketClock::now() + kHandshake;
    const std::optional<std::string> hello = receive_line(*socket, end);
    if (!hello) return false;
    std::istringstream text(*hello);
    std::string greeting;
    std::string token;
    int rank = 0;
    int wanted = 0;
    int size = 0;
    if (!(text >> greeting >> token >> rank >> wanted >> size) || greeting != kGreeting ||
        token != token_ || wanted != self_.rank) {
      return false;
    }
    const std::optional<Address> address = read_address(text);
    if (size != self_.size || rank <= self_.rank || rank >= size || !address) {
      throw Error("a rank came as " + std::to_string(rank) + " of " + std::to_string(size) +
                      " to one of " + std::to_string(self_.size) +
                      " ranks; start all ranks of a run by one command",
                  ErrorKind::kBackend);
    }
    Socket& place = peers_[static_cast<std::size_t>(rank)];
    // A rank whose handshake took too long hangs up and calls again.
    const bool again = place.descriptor() >= 0;
    if (again && !is_closed(place)) {
      throw Error("rank " + std::to_string(rank) + " came twice; give each run a file of its own",
                  ErrorKind::kBackend);
    }
    if (!send_line(*socket, kWelcome, end)) return false;
    if (all != nullptr) (*all)[static_cast<std::size_t>(rank)] = *address;
    place = std::move(*socket);
    return !again;
  }

  void wait_more() const {
    if (SocketClock::now() >= deadline_) fail_missing();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }

  [[noreturn]] void fail_missing() const {
    std::string missing;
    const bool first = self_.rank == 0;
    for (int peer = first ? 1 : 0; peer < self_.size; ++peer) {
      if (peer == self_.rank || peers_[static_cast<std::size_t>(peer)].descriptor() >= 0) continue;
      missing += (missing.empty() ? "" : ", ") + std::to_string(peer);
    }
    throw Error(rendezvous_.string() + ": rank " + std::to_string(self_.rank) + " waited " +
                    std::to_string(patience_.count()) + " s in vain for rank " + missing +
                    "; all machines must see this file and reach each other by TCP "
                    "(NEUROSHARD_INTERFACE names the network interface to use)",
                ErrorKind::kBackend);
  }

  [[noreturn]] static void fail_gone(int peer) {
    throw Error("rank " + std::to_string(peer) + " is gone; its own message says why",
                ErrorKind::kBackend);
  }

  LaunchedRank self_;
  std::filesystem::path rendezvous_;
  std::chrono::seconds patience_;
  SocketClock::time_point deadline_;
  Listener listener_;
  Address own_;
  std::string token_;
  bool shown_ = false;  ///< The file is there.
  std::vector<Socket> peers_;
};

}  // namespace

TcpConnections meet_by_file(const LaunchedRank& self, const std::filesystem::path& rendezvous,
                            std::chrono::seconds patience) {
  return FileMeeting(self, rendezvous, patience).run();
}

}  // namespace neuroshard::ranks
