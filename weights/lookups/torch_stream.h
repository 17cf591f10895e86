#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "weights/files/pickle.h"
#include "weights/lookups/sequential_file.h"

namespace neuroshard {

/// A `torch.save` file read from front to back: its pickle, then its storages in the order of the
/// file. For files too large for memory, and for compressed ones, whose directory at the end is out
/// of reach. Throws Error naming the file if it is not such a file.
class TorchStream {
 public:
  /// Reads up to and including the pickle. Borrows `file`.
  explicit TorchStream(SequentialFile& file);

  [[nodiscard]] const pickle::Pickle& pickle() const { return pickle_; }

  /// Moves to the first byte of the next storage of numbers and returns its key; nothing after the
  /// last one. The storage may be read, or left, to any extent.
  [[nodiscard]] std::optional<std::string> next_storage();

 private:
  struct Entry {
    std::string name;
    std::int64_t bytes = -1;  ///< -1: the header does not say.
  };

  [[noreturn]] void fail(const std::string& what) const;
  [[nodiscard]] std::optional<Entry> next_entry();
  void skip_descriptor();
  [[nodiscard]] std::string read_small_entry(const Entry& entry);
  [[nodiscard]] std::int64_t storage_bytes(const std::string& key) const;

  SequentialFile& file_;
  pickle::Pickle pickle_;
  std::string prefix_;             ///< Folder of all entries, with the slash.
  std::int64_t storage_end_ = -1;  ///< Where the storage being read ends; -1: none is.
};

}  // namespace neuroshard
