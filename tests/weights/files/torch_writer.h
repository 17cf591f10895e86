#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "neuroshard/weights.h"

namespace neuroshard::testing {

/// Writes pickles opcode by opcode, as Python would or as it never would.
class PickleWriter {
 public:
  explicit PickleWriter(int protocol = 2);

  PickleWriter& raw(std::string_view bytes);
  PickleWriter& integer(std::int64_t value);
  PickleWriter& text(std::string_view value);
  PickleWriter& tuple(const std::vector<std::int64_t>& values);
  PickleWriter& global(std::string_view module, std::string_view name);
  PickleWriter& empty_ordered_dict();
  /// `elements` numbers of `type` ("FloatStorage", ...) under `key`.
  PickleWriter& storage(std::string_view type, std::string_view key, std::int64_t elements);
  /// A whole tensor.
  PickleWriter& tensor(std::string_view type, std::string_view key, std::int64_t elements,
                       std::int64_t offset, const std::vector<std::int64_t>& shape,
                       const std::vector<std::int64_t>& strides);

  [[nodiscard]] std::string finish() const { return bytes_ + '.'; }

 private:
  int protocol_;
  std::string bytes_;
};

struct ZipEntry {
  std::string name;
  std::string bytes;
};
enum class Packing { kStored, kDeflated };
[[nodiscard]] std::string make_zip(const std::vector<ZipEntry>& entries, Packing packing);
/// The entries of a zip file.
[[nodiscard]] std::vector<ZipEntry> read_zip(const std::string& bytes);

/// Little-endian numbers.
[[nodiscard]] std::string float32_bytes(const std::vector<float>& values);
[[nodiscard]] std::string float64_bytes(const std::vector<double>& values);

/// How `make_compute_checkpoint` writes a model.
struct TorchStyle {
  Packing packing = Packing::kStored;
  bool float64 = false;
  /// All tensors in one storage, the weights column-major.
  bool one_storage = false;
  int protocol = 2;
};
[[nodiscard]] std::string make_compute_checkpoint(const ComputeModel& model,
                                                  const TorchStyle& style = {});

}  // namespace neuroshard::testing
