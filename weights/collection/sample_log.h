#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace neuroshard {

/// The data.txt of a collection: one line a sample, appended as they are measured. Lines that a
/// killed run has written stay; the part of a line that it may have left at the end is removed.
/// Appended lines reach the disk within a second of the next append, and when the log is closed: a
/// machine that fails loses little more. All functions throw Error (kIo) naming the file.
class SampleLog {
 public:
  /// Opens or creates the file and locks it: throws Error if another collection writes to it.
  explicit SampleLog(std::filesystem::path path);
  ~SampleLog();
  SampleLog(const SampleLog&) = delete;
  SampleLog& operator=(const SampleLog&) = delete;

  /// Whole lines in the file.
  [[nodiscard]] std::uint64_t size() const { return lines_; }
  /// Bytes of a torn last line that were removed.
  [[nodiscard]] std::uint64_t removed_bytes() const { return removed_bytes_; }

  /// Appends `line` and a line end in one write, so that a kill cannot tear it.
  void append(std::string_view line);

 private:
  [[noreturn]] void fail(const char* what, int error_number) const;
  void repair();
  void sync();

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_bytes_ = 0;
  std::uint64_t lines_ = 0;
  std::uint64_t removed_bytes_ = 0;
  std::chrono::steady_clock::time_point synced_ = std::chrono::steady_clock::now();
};

/// "id,id,... cost_ms", and the samples served if they are given. Throws Error unless the cost is
/// finite and positive.
[[nodiscard]] std::string compute_sample_line(std::span<const int> ids, double cost_ms,
                                              std::optional<std::int64_t> samples = {});

/// "devices bytes cost_ms". Throws Error unless the cost is finite and positive.
[[nodiscard]] std::string collective_sample_line(int devices, std::int64_t bytes, double cost_ms);

/// "dim_sum,... start_ms,... forward_ms,... backward_ms,...". Throws Error unless every cost is
/// finite and positive and there are as many of each.
[[nodiscard]] std::string comm_sample_line(std::span<const std::int64_t> dim_sums,
                                           std::span<const double> start_offsets_ms,
                                           std::span<const double> forward_ms,
                                           std::span<const double> backward_ms);

}  // namespace neuroshard
