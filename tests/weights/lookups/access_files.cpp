#include "weights/lookups/access_files.h"

#include <zlib.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "core/base/random.h"
#include "weights/files/torch_writer.h"

namespace neuroshard::testing {
namespace {

std::string low_bytes(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xFFU);
  return text;
}

// An entry as PyTorch writes it: sizes zero in the header, data on a multiple of 64 bytes.
std::string torch_entry(const std::string& name, const std::string& data, std::size_t position,
                        bool large) {
  std::size_t padding = 4;
  while ((position + 30 + name.size() + padding) % 64 != 0) ++padding;
  const std::string extra = "FB" + low_bytes(padding - 4, 2) + std::string(padding - 4, 'Z');
  const std::uint64_t checksum =
      crc32(0, reinterpret_cast<const Bytef*>(data.data()), static_cast<uInt>(data.size()));
  const auto size = static_cast<std::uint64_t>(data.size());
  return "PK\x03\x04" + low_bytes(0, 2) + low_bytes(0x0808, 2) + std::string(18, '\0') +
         low_bytes(name.size(), 2) + low_bytes(extra.size(), 2) + name + extra + data +
         "PK\x07\x08" + low_bytes(checksum, 4) + low_bytes(size, large ? 8 : 4) +
         low_bytes(size, large ? 8 : 4);
}

}  // namespace

std::vector<Table> Accesses::expected_profile(int row_parts) const {
  std::vector<Table> profile;
  for (std::int64_t t = 0; t < tables; ++t) {
    std::map<std::int64_t, std::int64_t> touches;
    std::int64_t lookups = 0;
    for (std::int64_t i = offsets[t * batch]; i < offsets[(t + 1) * batch]; ++i) {
      ++touches[indices[i]];
      ++lookups;
    }
    Table table{
        .rows = touches.empty() ? 100 : std::max<std::int64_t>(100, touches.rbegin()->first + 1),
        .dim = 128,
        .pooling_factor = static_cast<double>(lookups) / static_cast<double>(batch)};
    for (const auto& [row, count] : touches) {
      int bin = 0;
      for (std::int64_t last = 1; bin < 16 && count > last; last *= 2) ++bin;
      table.access_histogram[bin] += 1.0;
    }
    for (double& share : table.access_histogram) {
      if (!touches.empty()) share /= static_cast<double>(touches.size());
    }
    if (row_parts > 0 && lookups > 0) {
      // Each row in as many cells as there are parts, of which each lies in one.
      std::vector<std::int64_t> of_parts(static_cast<std::size_t>(row_parts));
      for (const auto& [row, count] : touches) {
        for (int cell = 0; cell < row_parts; ++cell) {
          of_parts[static_cast<std::size_t>((row * row_parts + cell) / table.rows)] += count;
        }
      }
      for (const std::int64_t cells : of_parts) {
        table.row_shares.push_back(static_cast<double>(cells) /
                                   static_cast<double>(lookups * row_parts));
      }
    }
    profile.push_back(table);
  }
  return profile;
}

Accesses random_accesses(std::uint64_t seed, std::int64_t tables, std::int64_t batch, bool large) {
  Random random(seed);
  Accesses accesses;
  accesses.tables = tables;
  accesses.batch = batch;
  accesses.offsets.push_back(0);
  for (std::int64_t t = 0; t < tables; ++t) {
    const auto rows = static_cast<double>(std::uint64_t{1} << random.below(24));
    const std::uint64_t longest = t % 4 == 3 ? 1 : 1 + random.below(30);
    for (std::int64_t s = 0; s < batch; ++s) {
      std::uint64_t length = random.below(longest);
      if (large && t == 0) length = 1'200'000 / static_cast<std::uint64_t>(batch);
      for (std::uint64_t i = 0; i < length; ++i) {
        const double u = random.uniform();
        auto row = static_cast<std::int64_t>(rows * u * u * u * u);
        if (large && t == 0) row = row % 30 * row % 30;
        accesses.indices.push_back(row);
      }
      accesses.lengths.push_back(static_cast<std::int64_t>(length));
      accesses.offsets.push_back(static_cast<std::int64_t>(accesses.indices.size()));
    }
  }
  return accesses;
}

std::string integer_bytes(const std::vector<std::int64_t>& numbers, int element_bytes) {
  std::string bytes;
  bytes.reserve(numbers.size() * static_cast<std::size_t>(element_bytes));
  for (const std::int64_t number : numbers) {
    bytes += low_bytes(static_cast<std::uint64_t>(number), element_bytes);
  }
  return bytes;
}

std::string torch_file(const Accesses& accesses, int element_bytes, bool large) {
  const std::string type = element_bytes == 4 ? "IntStorage" : "LongStorage";
  const auto count = [](const auto& numbers) { return static_cast<std::int64_t>(numbers.size()); };
  PickleWriter pickle;
  pickle.tensor(type, "0", count(accesses.indices), 0, {count(accesses.indices)}, {1})
      .tensor(type, "1", count(accesses.offsets), 0, {count(accesses.offsets)}, {1})
      .tensor(type, "2", count(accesses.lengths), 0, {accesses.tables, accesses.batch},
              {accesses.batch, 1})
      .raw("\x87");  // TUPLE3
  std::string file;
  const std::vector<ZipEntry> entries = {
      {"batch/data.pkl", pickle.finish()},
      {"batch/byteorder", "little"},
      {"batch/data/0", integer_bytes(accesses.indices, element_bytes)},
      {"batch/data/1", integer_bytes(accesses.offsets, element_bytes)},
      {"batch/data/2", integer_bytes(accesses.lengths, element_bytes)},
      {"batch/version", "3\n"}};
  for (const ZipEntry& entry : entries)
    file += torch_entry(entry.name, entry.bytes, file.size(), large);
  return file + "PK\x01\x02 the directory, which nobody reads";
}

std::string npy_file(const std::vector<std::int64_t>& numbers, const std::string& shape,
                     int element_bytes) {
  std::string dict = "{'descr': '<i" + std::to_string(element_bytes) +
                     "', 'fortran_order': False, 'shape': " + shape + ", }";
  while ((10 + dict.size() + 1) % 64 != 0) dict += ' ';
  dict += '\n';
  return "\x93NUMPY" + low_bytes(1, 2) + low_bytes(dict.size(), 2) + dict +
         integer_bytes(numbers, element_bytes);
}

std::string gzip(const std::string& bytes) {
  z_stream stream{};
  constexpr int kGzip = 16 + MAX_WBITS;
  if (deflateInit2(&stream, 1, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("deflateInit2");
  }
  std::string packed(deflateBound(&stream, static_cast<uLong>(bytes.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) throw std::runtime_error("deflate");
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace neuroshard::testing
