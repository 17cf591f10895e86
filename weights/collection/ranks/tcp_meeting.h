#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "weights/collection/ranks/launched_rank.h"
#include "weights/collection/ranks/tcp_socket.h"

namespace neuroshard::ranks {

/// A rank's connections to all others.
struct TcpConnections {
  std::vector<Socket> peers;          ///< [size]; its own is empty.
  std::vector<std::string> machines;  ///< [size]: the same text for ranks whose clock is the same.
};

/// How all ranks of a run find each other: rank 0 writes where it listens into the file
/// `rendezvous`, in a folder that all machines see, for its owner alone to read, and takes it away
/// when all have come or it gives up. What an earlier run has left there does no harm. Throws Error
/// (kBackend) naming the ranks that did not come within `patience`, or if they were started as
/// parts of another number of ranks; Error (kIo) if the file cannot be written.
[[nodiscard]] TcpConnections meet_by_file(const LaunchedRank& self,
                                          const std::filesystem::path& rendezvous,
                                          std::chrono::seconds patience);

}  // namespace neuroshard::ranks
