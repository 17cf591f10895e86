#pragma once

#include <map>
#include <string>
#include <string_view>

#include "weights/files/pickle.h"
#include "weights/files/tensor.h"
#include "weights/files/zip_archive.h"

namespace neuroshard {

/// A file of `torch.save`: a zip of one pickle and the numbers that its tensors refer to. Every
/// function throws Error naming the file.
class TorchFile {
 public:
  /// Borrows `bytes`.
  TorchFile(std::string_view bytes, std::string where);

  [[nodiscard]] const pickle::Pickle& pickle() const { return pickle_; }
  /// The dict at the root.
  [[nodiscard]] const pickle::Dict& root() const;

  /// The tensor at `id`, made contiguous and rounded to fp32. `what` names it in messages.
  [[nodiscard]] Tensor tensor(pickle::Id id, const std::string& what);

  [[nodiscard]] const std::string& where() const { return where_; }

 private:
  /// Throws Error if this file's tensors take more memory than any model does.
  void count_bytes(std::size_t bytes, const std::string& place);
  const std::string& storage_bytes(const pickle::Storage& storage, const std::string& place);

  std::string where_;
  ZipArchive archive_;
  std::string prefix_;  ///< Prefix of all entries: a folder named like the file when it was saved.
  pickle::Pickle pickle_;
  std::map<std::string, std::string> storages_;
  std::size_t bytes_read_ = 0;
};

}  // namespace neuroshard
