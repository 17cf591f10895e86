#pragma once

#include <cstdint>
#include <vector>

#include "weights/lookups/sequential_file.h"

namespace neuroshard {

/// Header of a NumPy file of integers.
struct NpyHeader {
  int element_bytes = 0;  ///< 4 or 8, signed, little-endian.
  std::vector<std::int64_t> shape;
};

/// Reads the header at the start of `file`; the first number follows. Throws Error naming the file
/// if it is not a NumPy file of int32 or int64 numbers in C order.
[[nodiscard]] NpyHeader read_npy_header(SequentialFile& file);

}  // namespace neuroshard
