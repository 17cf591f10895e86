#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "weights/files/atomic_file.h"

namespace neuroshard {

/// A NumPy file of int64 numbers, written as they come. Throws Error (kIo) naming the file.
class NpyWriter {
 public:
  NpyWriter(const std::filesystem::path& path, const std::vector<std::int64_t>& shape);

  void write(std::span<const std::int64_t> numbers);
  /// Makes the file appear. Throws Error unless as many numbers were written as the shape holds.
  void commit();

 private:
  AtomicFile file_;
  std::int64_t missing_;
};

}  // namespace neuroshard
