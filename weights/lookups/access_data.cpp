#include "weights/lookups/access_data.h"

#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "neuroshard/error.h"
#include "weights/lookups/integer_stream.h"
#include "weights/lookups/npy_header.h"
#include "weights/lookups/torch_stream.h"

namespace neuroshard {
namespace {

constexpr std::int64_t kMaxTables = 1'000'000;

std::string place_of(const std::string& file, std::int64_t position, std::int64_t batch) {
  return file + ": table " + std::to_string(position / batch) + ", sample " +
         std::to_string(position % batch);
}

// It also keeps tables * batch + 1 from overflowing.
void check_shape(const std::string& where, std::int64_t tables, std::int64_t batch) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() - 1;
  if (tables >= 1 && tables <= kMaxTables && batch >= 1 && batch <= kMost / tables) return;
  throw Error(where + ": lengths are [" + std::to_string(tables) + ", " + std::to_string(batch) +
              "]; expected [tables, batch] with 1 to " + std::to_string(kMaxTables) + " tables");
}

void check_batches(const std::string& where, std::int64_t batch, std::int64_t batches) {
  if (batches >= 1 && batch % batches == 0) return;
  throw Error(where + ": its " + std::to_string(batch) + " samples are not " +
              std::to_string(batches) + " equal batches; give how many they are");
}

// Boundaries of all batches of all tables.
void set_bounds(AccessData& data, std::vector<std::int64_t> batch_begin) {
  const auto batches = static_cast<std::size_t>(data.batches);
  data.table_begin.clear();
  for (std::size_t i = 0; i < batch_begin.size(); i += batches) {
    data.table_begin.push_back(batch_begin[i]);
  }
  data.batch_begin = std::move(batch_begin);
}

// Boundaries from lengths, or from offsets, or from both if they agree: after each `part` samples.
std::vector<std::int64_t> bounds_from_lengths(SequentialFile& file, int element_bytes,
                                              std::int64_t tables, std::int64_t batch,
                                              std::int64_t part) {
  file.require(tables * batch, element_bytes, "lengths");
  std::vector<std::int64_t> bounds{0};
  std::int64_t sum = 0;
  for_each_integer(file, element_bytes, tables * batch, [&](std::int64_t i, std::int64_t length) {
    if (length < 0 || length > std::numeric_limits<std::int64_t>::max() - sum) {
      throw Error(place_of(file.name(), i, batch) + ": has " + std::to_string(length) +
                  " lookups; the lengths are damaged");
    }
    sum += length;
    if ((i + 1) % part == 0) bounds.push_back(sum);
  });
  return bounds;
}

std::vector<std::int64_t> bounds_from_offsets(SequentialFile& file, int element_bytes,
                                              std::int64_t tables, std::int64_t batch,
                                              std::int64_t part) {
  file.require(tables * batch + 1, element_bytes, "offsets");
  std::vector<std::int64_t> bounds;
  std::int64_t before = 0;
  for_each_integer(file, element_bytes, tables * batch + 1,
                   [&](std::int64_t i, std::int64_t offset) {
                     if (offset < before || (i == 0 && offset != 0)) {
                       throw Error(place_of(file.name(), i, batch) + ": starts at lookup " +
                                   std::to_string(offset) + ", the one before at " +
                                   std::to_string(before) + "; offsets start at 0 and never fall");
                     }
                     before = offset;
                     if (i % part == 0) bounds.push_back(offset);
                   });
  return bounds;
}

void check_total(const std::string& file, std::int64_t total, std::int64_t indices) {
  if (total == indices) return;
  throw Error(file + ": has " + std::to_string(indices) + " indices, but the batch makes " +
              std::to_string(total) + " lookups; is it cut short, or of another batch?");
}

// One of the three tensors of a published file.
struct TensorPlace {
  std::string key;
  int element_bytes = 0;
  std::vector<std::int64_t> shape;
  std::int64_t elements = 1;
};

TensorPlace tensor_place(const pickle::Pickle& pickle, pickle::Id id, const std::string& name,
                         std::size_t rank, const std::string& where) {
  const auto* view = pickle.get_if<pickle::TensorView>(id);
  if (view == nullptr) throw Error(where + ": " + name + " is not a tensor");
  const auto& storage = std::get<pickle::Storage>(pickle[view->storage]);
  if (storage.type != pickle::ElementType::kInt64 && storage.type != pickle::ElementType::kInt32) {
    throw Error(where + ": " + name + " does not hold integers; save it as int64");
  }
  TensorPlace place{storage.key, static_cast<int>(element_bytes(storage.type)), view->shape};
  bool plain = view->shape.size() == rank && view->strides.size() == rank && view->offset == 0;
  for (std::size_t axis = rank; plain && axis-- > 0;) {
    const std::int64_t size = view->shape[axis];
    plain = view->strides[axis] == place.elements || size == 1;
    plain = plain && (size == 0 || place.elements <= storage.elements / size);
    place.elements = plain ? place.elements * size : 0;
  }
  if (!plain || place.elements != storage.elements) {
    throw Error(where + ": " + name + " is not a contiguous tensor of " + std::to_string(rank) +
                " dimension(s) with a storage of its own; save " + name + ".contiguous().clone()");
  }
  return place;
}

}  // namespace

AccessData open_torch_accesses(const std::filesystem::path& path, std::int64_t batches) {
  SequentialFile file(path);
  const std::string& where = file.name();
  TorchStream stream(file);
  const pickle::Pickle& pickle = stream.pickle();
  const auto* tuple = pickle.get_if<pickle::Tuple>(pickle.root);
  if (tuple == nullptr || tuple->items.size() != 3) {
    throw Error(where + ": is not a tuple (indices, offsets, lengths)");
  }
  const TensorPlace indices = tensor_place(pickle, tuple->items[0], "indices", 1, where);
  const TensorPlace offsets = tensor_place(pickle, tuple->items[1], "offsets", 1, where);
  const TensorPlace lengths = tensor_place(pickle, tuple->items[2], "lengths", 2, where);
  const std::int64_t tables = lengths.shape[0];

  AccessData data;
  data.path = path;
  data.compressed = file.compressed();
  data.element_bytes = indices.element_bytes;
  data.batch = lengths.shape[1];
  check_shape(where, tables, data.batch);
  check_batches(where, data.batch, batches);
  data.batches = batches;
  const std::int64_t part = data.batch / batches;
  if (offsets.elements != lengths.elements + 1) {
    throw Error(where + ": has " + std::to_string(offsets.elements) + " offsets for " +
                std::to_string(lengths.elements) + " lengths; expected one more");
  }
  std::optional<std::vector<std::int64_t>> from_offsets;
  std::optional<std::vector<std::int64_t>> from_lengths;
  bool found_indices = false;
  while (const std::optional<std::string> key = stream.next_storage()) {
    if (*key == indices.key) {
      file.require(indices.elements, indices.element_bytes, "indices");
      data.first_byte = file.position();
      found_indices = true;
    } else if (*key == offsets.key) {
      data.samples = {path, file.position(), offsets.element_bytes, true, file.compressed()};
      from_offsets = bounds_from_offsets(file, offsets.element_bytes, tables, data.batch, part);
    } else if (*key == lengths.key) {
      from_lengths = bounds_from_lengths(file, lengths.element_bytes, tables, data.batch, part);
    }
    if (found_indices && from_offsets && from_lengths) break;
  }
  if (!found_indices || !from_offsets || !from_lengths) {
    throw Error(where + ": lacks the numbers of a tensor; it is cut short");
  }
  for (std::int64_t i = 0; i <= tables * batches; ++i) {
    if ((*from_offsets)[i] == (*from_lengths)[i]) continue;
    throw Error(
        where + ": table " + std::to_string((i - 1) / batches) + ": its lengths add up to " +
        std::to_string((*from_lengths)[i] - (*from_lengths)[i - 1]) + " lookups, its offsets to " +
        std::to_string((*from_offsets)[i] - (*from_offsets)[i - 1]));
  }
  set_bounds(data, *std::move(from_offsets));
  check_total(where, data.lookups(), indices.elements);
  return data;
}

namespace {

AccessData open_npy(const std::filesystem::path& path) {
  SequentialFile file(path);
  const NpyHeader header = read_npy_header(file);
  if (header.shape.size() != 1) {
    throw Error(file.name() + ": has " + std::to_string(header.shape.size()) +
                " dimensions; indices have one");
  }
  file.require(header.shape[0], header.element_bytes, "indices");
  AccessData data;
  data.path = path;
  data.first_byte = file.position();
  data.element_bytes = header.element_bytes;
  data.compressed = file.compressed();
  data.table_begin = {header.shape[0]};  // One table, until the boundaries are known.
  return data;
}

/// Divides the lookups into `tables` times `batch` samples by `file`, whose header is read.
AccessData divided(AccessData data, SequentialFile& file, const std::filesystem::path& path,
                   bool by_offsets, int element_bytes, std::int64_t tables, std::int64_t batch,
                   std::int64_t batches) {
  check_shape(file.name(), tables, batch);
  check_batches(file.name(), batch, batches);
  const std::int64_t indices = data.lookups();
  data.batch = batch;
  data.batches = batches;
  data.samples = {path, file.position(), element_bytes, by_offsets, file.compressed()};
  const auto& bounds = by_offsets ? bounds_from_offsets : bounds_from_lengths;
  set_bounds(data, bounds(file, element_bytes, tables, batch, batch / batches));
  check_total(data.path.string(), data.lookups(), indices);
  return data;
}

}  // namespace

AccessData open_npy_accesses(const std::filesystem::path& indices,
                             const std::filesystem::path& lengths, std::int64_t batches) {
  AccessData data = open_npy(indices);
  SequentialFile file(lengths);
  const NpyHeader header = read_npy_header(file);
  if (header.shape.size() != 2) {
    throw Error(file.name() + ": has " + std::to_string(header.shape.size()) +
                " dimensions; lengths are [tables, batch]");
  }
  return divided(std::move(data), file, lengths, false, header.element_bytes, header.shape[0],
                 header.shape[1], batches);
}

AccessData open_npy_offsets(const std::filesystem::path& indices,
                            const std::filesystem::path& offsets, std::int64_t batch,
                            std::int64_t batches) {
  AccessData data = open_npy(indices);
  SequentialFile file(offsets);
  const NpyHeader header = read_npy_header(file);
  if (header.shape.size() != 1 || batch < 1 || header.shape[0] < 2 ||
      (header.shape[0] - 1) % batch != 0) {
    throw Error(file.name() +
                ": offsets must have tables * batch + 1 entries in one dimension, "
                "with a batch of " +
                std::to_string(batch));
  }
  return divided(std::move(data), file, offsets, true, header.element_bytes,
                 (header.shape[0] - 1) / batch, batch, batches);
}

namespace {

/// Samples of a table: so many from `first_sample` on, of which the lookups begin at `first`.
AccessStream read_samples(const AccessData& data, std::size_t table, std::int64_t first_sample,
                          std::int64_t count, std::int64_t first, std::int64_t end) {
  const auto& samples = data.samples;
  for (const auto& [path, compressed] :
       {std::pair(data.path, data.compressed), std::pair(samples.path, samples.compressed)}) {
    if (!compressed) continue;
    throw Error(path.string() + ": is compressed, and tables are read one by one; unpack it first",
                ErrorKind::kIo);
  }
  AccessStream stream;
  stream.indices.resize(static_cast<std::size_t>(end - first));
  IndexReader(data).read(first, stream.indices);
  SequentialFile file(samples.path);
  file.skip_to(samples.first_byte + (static_cast<std::int64_t>(table) * data.batch + first_sample) *
                                        samples.element_bytes);
  std::vector<std::int32_t> narrow;
  stream.offsets.assign(static_cast<std::size_t>(count) + 1, 0);
  const std::span<std::int64_t> all(stream.offsets);
  if (samples.offsets) {
    read_integers(file, samples.element_bytes, all, narrow);
    for (std::int64_t& offset : stream.offsets) offset -= first;
  } else {
    read_integers(file, samples.element_bytes, all.subspan(1), narrow);
    std::partial_sum(stream.offsets.begin(), stream.offsets.end(), stream.offsets.begin());
  }
  return stream;
}

}  // namespace

AccessStream read_stream(const AccessData& data, std::size_t table, std::int64_t rows) {
  AccessStream stream = read_samples(data, table, 0, data.batch, data.table_begin[table],
                                     data.table_begin[table + 1]);
  for (const std::int64_t index : stream.indices) {
    if (index >= 0 && index < rows) continue;
    throw Error(data.path.string() + ": table " + std::to_string(table) + ": looks up row " +
                std::to_string(index) + " of " + std::to_string(rows) +
                "; take the tables that 'neuroshard profile' makes of this file");
  }
  return stream;
}

AccessStream read_batch(const AccessData& data, std::size_t table, std::int64_t batch) {
  const std::int64_t samples = data.batch / data.batches;
  const std::size_t at =
      table * static_cast<std::size_t>(data.batches) + static_cast<std::size_t>(batch);
  return read_samples(data, table, batch * samples, samples, data.batch_begin[at],
                      data.batch_begin[at + 1]);
}

IndexReader::IndexReader(const AccessData& data) : data_(data), file_(data.path) {}

void IndexReader::read(std::int64_t first, std::span<std::int64_t> indices) {
  file_.skip_to(data_.first_byte + first * data_.element_bytes);
  read_integers(file_, data_.element_bytes, indices, narrow_);
}

}  // namespace neuroshard
