#include "weights/collection/ranks/tcp_group.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "neuroshard/error.h"

namespace neuroshard::ranks {
namespace {

template <typename T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

// Sends as much as the system takes at once; false if the peer is gone.
bool send_some(int socket, std::span<const std::byte>& bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

// Receives as much as there is; false if the peer is gone.
bool receive_some(int socket, std::span<std::byte>& bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN;
    if (count == 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

TcpGroup::TcpGroup(const LaunchedRank& self, const std::filesystem::path& rendezvous,
                   std::chrono::seconds patience) {
  rank_ = self.rank;
  size_ = self.size;
  if (size_ == 1) return;
  TcpConnections connections = meet_by_file(self, rendezvous, patience);
  peers_ = std::move(connections.peers);
  const std::vector<std::string>& names = connections.machines;
  machines_.clear();
  nodes_ = local_rank_ = 0;
  for (int r = 0; r < size_; ++r) {
    const std::string& name = names[static_cast<std::size_t>(r)];
    const auto lowest = static_cast<int>(std::ranges::find(names, name) - names.begin());
    machines_.push_back(lowest);
    if (lowest == r) ++nodes_;
    if (r < rank_ && name == names[static_cast<std::size_t>(rank_)]) ++local_rank_;
  }
}

void TcpGroup::transfer(std::vector<Transfer> transfers) const {
  std::vector<pollfd> waited;
  for (;;) {
    waited.clear();
    for (Transfer& one : transfers) {
      const int socket = peers_[static_cast<std::size_t>(one.peer)].descriptor();
      if (!send_some(socket, one.to_send) || !receive_some(socket, one.to_receive)) {
        throw Error("rank " + std::to_string(one.peer) + " is gone; its own message says why",
                    ErrorKind::kBackend);
      }
      short events = 0;
      if (!one.to_send.empty()) events |= POLLOUT;
      if (!one.to_receive.empty()) events |= POLLIN;
      if (events != 0) waited.push_back({socket, events, 0});
    }
    if (waited.empty()) return;
    if (::poll(waited.data(), waited.size(), -1) < 0 && errno != EINTR) {
      throw Error(std::string("poll: ") + std::strerror(errno), ErrorKind::kBackend);
    }
  }
}

void TcpGroup::send(int peer, std::span<const std::byte> bytes) const {
  transfer({{peer, bytes, {}}});
}

void TcpGroup::receive(int peer, std::span<std::byte> bytes) const {
  transfer({{peer, {}, bytes}});
}

void TcpGroup::broadcast(std::span<std::byte> bytes) const {
  if (rank_ != 0) return receive(0, bytes);
  std::vector<Transfer> transfers;
  for (int peer = 1; peer < size_; ++peer) transfers.push_back({peer, bytes, {}});
  transfer(std::move(transfers));
}

template <typename T>
std::vector<T> TcpGroup::gathered(T value) const {
  if (rank_ != 0) {
    send(0, bytes_of(value));
    return {};
  }
  std::vector<T> all(static_cast<std::size_t>(size_), value);
  std::vector<Transfer> transfers;
  for (int peer = 1; peer < size_; ++peer) {
    transfers.push_back({peer, {}, bytes_of(all[static_cast<std::size_t>(peer)])});
  }
  transfer(std::move(transfers));
  return all;
}

std::vector<double> TcpGroup::gather(double value) const { return gathered(value); }

std::int64_t TcpGroup::largest(std::int64_t number) const {
  const std::vector<std::int64_t> all = gathered(number);
  std::int64_t most = all.empty() ? 0 : *std::ranges::max_element(all);
  broadcast(bytes_of(most));
  return most;
}

bool TcpGroup::any(bool value) const { return largest(value ? 1 : 0) != 0; }

void TcpGroup::all_to_all(const void* send, const PeerParts& sent, void* receive,
                          const PeerParts& received, std::size_t element_bytes) const {
  const auto bytes_at = [&](auto* buffer, const PeerParts& parts, int peer) {
    const auto p = static_cast<std::size_t>(peer);
    return std::span(buffer + static_cast<std::size_t>(parts.first[p]) * element_bytes,
                     static_cast<std::size_t>(parts.counts[p]) * element_bytes);
  };
  const auto* const from = static_cast<const std::byte*>(send);
  auto* const to = static_cast<std::byte*>(receive);
  std::vector<Transfer> transfers;
  // Each begins with the one after it, so that not all send to the same one.
  for (int i = 1; i < size_; ++i) {
    const int peer = (rank_ + i) % size_;
    transfers.push_back({peer, bytes_at(from, sent, peer), bytes_at(to, received, peer)});
  }
  const std::span<const std::byte> own = bytes_at(from, sent, rank_);
  if (!own.empty()) std::memcpy(bytes_at(to, received, rank_).data(), own.data(), own.size());
  transfer(std::move(transfers));
}

// Each rank adds up a part, in the order of the ranks, and sends it to all.
void TcpGroup::add_up(std::span<float> values) const {
  const auto size = static_cast<std::size_t>(size_);
  PeerParts parts{std::vector<std::int64_t>(size), std::vector<std::int64_t>(size)};
  for (std::size_t r = 0; r < size; ++r) {
    const std::size_t first = values.size() * r / size;
    parts.first[r] = static_cast<std::int64_t>(first);
    parts.counts[r] = static_cast<std::int64_t>(values.size() * (r + 1) / size - first);
  }
  const std::int64_t own = parts.counts[static_cast<std::size_t>(rank_)];
  const PeerParts mine = PeerParts::packed(std::vector<std::int64_t>(size, own));
  const auto count = static_cast<std::size_t>(own);
  std::vector<float> of_all(count * size);
  all_to_all(values.data(), parts, of_all.data(), mine, sizeof(float));
  std::vector<float> sums(count, 0.0F);
  for (std::size_t r = 0; r < size; ++r) {
    for (std::size_t i = 0; i < count; ++i) sums[i] += of_all[r * count + i];
  }
  const PeerParts same{mine.counts, std::vector<std::int64_t>(size, 0)};
  all_to_all(sums.data(), same, values.data(), parts, sizeof(float));
}

Clock::time_point TcpGroup::common_start(std::chrono::nanoseconds ahead) const {
  const std::int64_t last = largest(nanoseconds_now() + ahead_.count());
  return Clock::time_point(std::chrono::nanoseconds(last) - ahead_ + ahead);
}

void TcpGroup::compare_clocks() {
  ahead_ = clock_behind_rank_0(
      rank_, machines_, [&](int other, int rounds) { return compare_clock_with(other, rounds); });
}

ClockDifference TcpGroup::compare_clock_with(int other, int rounds) const {
  std::int64_t shown = 0;
  if (rank_ == other) {
    return clock_difference(rounds, [&] {
      send(0, bytes_of(shown));
      receive(0, bytes_of(shown));
      return shown;
    });
  }
  for (int round = 0; rank_ == 0 && round < rounds; ++round) {
    receive(other, bytes_of(shown));
    shown = nanoseconds_now();
    send(other, bytes_of(shown));
  }
  return {};
}

}  // namespace neuroshard::ranks
