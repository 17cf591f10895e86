#include "weights/lookups/npy_writer.h"

#include <bit>
#include <string>

#include "neuroshard/error.h"

namespace neuroshard {
namespace {

static_assert(std::endian::native == std::endian::little, "the header says little-endian");

// Format version 1.0: magic, version, header length in two bytes, header padded to 64 bytes.
std::string header_of(const std::vector<std::int64_t>& shape) {
  std::string dict = "{'descr': '<i8', 'fortran_order': False, 'shape': (";
  for (const std::int64_t size : shape) dict += std::to_string(size) + ",";
  dict += ")}";
  constexpr std::size_t kFixed = 10;
  while ((kFixed + dict.size() + 1) % 64 != 0) dict += ' ';
  dict += '\n';
  std::string header = "\x93NUMPY";
  header += '\x01';
  header += '\x00';
  header += static_cast<char>(dict.size() & 0xff);
  header += static_cast<char>(dict.size() >> 8);
  return header + dict;
}

}  // namespace

NpyWriter::NpyWriter(const std::filesystem::path& path, const std::vector<std::int64_t>& shape)
    : file_(path), missing_(1) {
  for (const std::int64_t size : shape) missing_ *= size;
  file_.write(header_of(shape));
}

void NpyWriter::write(std::span<const std::int64_t> numbers) {
  missing_ -= static_cast<std::int64_t>(numbers.size());
  file_.write({reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()});
}

void NpyWriter::commit() {
  if (missing_ != 0) {
    throw Error(std::to_string(missing_) + " numbers of a NumPy file were not written");
  }
  file_.commit();
}

}  // namespace neuroshard
