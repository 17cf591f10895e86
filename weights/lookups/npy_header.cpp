#include "weights/lookups/npy_header.h"

#include <charconv>
#include <string>

#include "neuroshard/error.h"
#include "weights/files/little_endian.h"

namespace neuroshard {
namespace {

// The text between the colon after 'key' and `end` in a Python dict's text; empty if it is absent.
std::string_view value_of(std::string_view dict, std::string_view key, std::string_view end) {
  const std::size_t found = dict.find(key);
  if (found == std::string_view::npos) return {};
  const std::size_t colon = dict.find(':', found + key.size());
  if (colon == std::string_view::npos) return {};
  const std::size_t first = dict.find_first_not_of(' ', colon + 1);
  const std::size_t last = dict.find(end, first);
  if (first == std::string_view::npos || last == std::string_view::npos) return {};
  return dict.substr(first, last - first);
}

}  // namespace

NpyHeader read_npy_header(SequentialFile& file) {
  const auto fail = [&](const std::string& what) { throw Error(file.name() + ": " + what); };
  const std::string_view start = file.peek(12);
  if (!start.starts_with("\x93NUMPY") || start.size() < 12) fail("is not a NumPy file (.npy)");
  const int version = static_cast<unsigned char>(start[6]);
  // The length of the header takes 2 bytes in version 1, 4 later.
  const std::size_t fixed = version == 1 ? 10 : 12;
  const auto length = little_endian<std::size_t>(start.substr(8, fixed - 8));
  if (version < 1 || version > 3 || fixed + length > SequentialFile::kMaxPeek) {
    fail("has a NumPy header of version " + std::to_string(version) + ", " +
         std::to_string(length) + " bytes; expected a version from 1 to 3 and a short header");
  }
  const std::string_view all = file.peek(fixed + length);
  if (all.size() < fixed + length) fail("is cut short in its header");
  const std::string dict(all.substr(fixed));
  file.skip_to(static_cast<std::int64_t>(fixed + length));

  NpyHeader header;
  const std::string_view type = value_of(dict, "'descr'", ",");
  if (type == "'<i8'") header.element_bytes = 8;
  if (type == "'<i4'") header.element_bytes = 4;
  if (header.element_bytes == 0) {
    fail("holds numbers of type " + std::string(type.substr(0, 20)) +
         "; save them as int32 or int64");
  }
  if (value_of(dict, "'fortran_order'", ",") != "False") fail("is not in C order; save a copy");
  std::string_view shape = value_of(dict, "'shape'", ")");
  if (!shape.starts_with('(')) fail("does not state its shape");
  shape.remove_prefix(1);
  while (!shape.empty()) {
    std::int64_t size = 0;
    const auto [end, error] = std::from_chars(shape.data(), shape.data() + shape.size(), size);
    if (error != std::errc() || size < 0) fail("has a shape that cannot be read");
    header.shape.push_back(size);
    shape.remove_prefix(static_cast<std::size_t>(end - shape.data()));
    const std::size_t next = shape.find_first_not_of(", ");
    shape.remove_prefix(next == std::string_view::npos ? shape.size() : next);
  }
  return header;
}

}  // namespace neuroshard
