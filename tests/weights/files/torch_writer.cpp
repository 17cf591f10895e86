#include "weights/files/torch_writer.h"

#include <zip.h>

#include <bit>
#include <stdexcept>

namespace neuroshard::testing {
namespace {

template <typename Unsigned>
std::string little_endian(Unsigned value, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xFFU);
  return text;
}

void require(bool good, const char* what) {
  if (!good) throw std::runtime_error(what);
}

/// Tensors of a checkpoint on their way into storages.
class StorageWriter {
 public:
  StorageWriter(const TorchStyle& style, PickleWriter& pickle) : style_(style), pickle_(pickle) {}

  void add(const std::vector<float>& values, const std::vector<std::int64_t>& shape) {
    std::vector<std::int64_t> strides(shape.size(), 1);
    std::vector<float> laid_out = values;
    if (shape.size() == 2) strides[0] = shape[1];
    if (shape.size() == 2 && style_.one_storage) {  // Column-major.
      strides = {1, shape[0]};
      for (std::int64_t row = 0; row < shape[0]; ++row) {
        for (std::int64_t column = 0; column < shape[1]; ++column) {
          laid_out[static_cast<std::size_t>(column * shape[0] + row)] =
              values[static_cast<std::size_t>(row * shape[1] + column)];
        }
      }
    }
    const auto offset = style_.one_storage ? static_cast<std::int64_t>(all_.size()) : 0;
    const auto elements = style_.one_storage ? total_ : static_cast<std::int64_t>(values.size());
    const std::string key = style_.one_storage ? "0" : std::to_string(entries_.size());
    pickle_.tensor(style_.float64 ? "DoubleStorage" : "FloatStorage", key, elements, offset, shape,
                   strides);
    all_.insert(all_.end(), laid_out.begin(), laid_out.end());
    if (!style_.one_storage) entries_.push_back({"model/data/" + key, bytes(laid_out)});
  }

  void set_total(std::int64_t total) { total_ = total; }

  std::vector<ZipEntry> entries() const {
    if (style_.one_storage) return {{"model/data/0", bytes(all_)}};
    return entries_;
  }

 private:
  std::string bytes(const std::vector<float>& values) const {
    return style_.float64 ? float64_bytes({values.begin(), values.end()}) : float32_bytes(values);
  }

  const TorchStyle& style_;
  PickleWriter& pickle_;
  std::int64_t total_ = 0;
  std::vector<float> all_;
  std::vector<ZipEntry> entries_;
};

}  // namespace

PickleWriter::PickleWriter(int protocol)
    : protocol_(protocol), bytes_{'\x80', static_cast<char>(protocol)} {
  if (protocol_ >= 4) raw("\x95").raw(std::string(8, '\0'));  // FRAME
}

PickleWriter& PickleWriter::raw(std::string_view bytes) {
  bytes_ += bytes;
  return *this;
}

PickleWriter& PickleWriter::integer(std::int64_t value) {
  if (value >= 0 && value < 256) return raw("K").raw(little_endian(value, 1));
  if (value >= 0 && value < 65536) return raw("M").raw(little_endian(value, 2));
  if (value == static_cast<std::int32_t>(value)) return raw("J").raw(little_endian(value, 4));
  return raw("\x8a\x08").raw(little_endian(value, 8));  // LONG1
}

PickleWriter& PickleWriter::text(std::string_view value) {
  if (protocol_ >= 4) {
    raw("\x8c").raw(little_endian(value.size(), 1)).raw(value);  // SHORT_BINUNICODE
    return raw("\x94");                                          // MEMOIZE
  }
  return raw("X").raw(little_endian(value.size(), 4)).raw(value);
}

PickleWriter& PickleWriter::tuple(const std::vector<std::int64_t>& values) {
  raw("(");
  for (const std::int64_t value : values) integer(value);
  return raw("t");
}

PickleWriter& PickleWriter::global(std::string_view module, std::string_view name) {
  if (protocol_ >= 4) return text(module).text(name).raw("\x93");  // STACK_GLOBAL
  return raw("c").raw(module).raw("\n").raw(name).raw("\n");
}

PickleWriter& PickleWriter::empty_ordered_dict() {
  return global("collections", "OrderedDict").raw(")R");
}

PickleWriter& PickleWriter::storage(std::string_view type, std::string_view key,
                                    std::int64_t elements) {
  raw("(").text("storage").global("torch", type).text(key).text("cpu").integer(elements);
  return raw("tQ");
}

PickleWriter& PickleWriter::tensor(std::string_view type, std::string_view key,
                                   std::int64_t elements, std::int64_t offset,
                                   const std::vector<std::int64_t>& shape,
                                   const std::vector<std::int64_t>& strides) {
  global("torch._utils", "_rebuild_tensor_v2").raw("(");
  storage(type, key, elements).integer(offset).tuple(shape).tuple(strides);
  return raw("\x89").empty_ordered_dict().raw("tR");
}

std::string make_zip(const std::vector<ZipEntry>& entries, Packing packing) {
  zip_error_t error;
  zip_source_t* target = zip_source_buffer_create(nullptr, 0, 0, &error);
  require(target != nullptr, "zip_source_buffer_create");
  zip_source_keep(target);
  zip_t* archive = zip_open_from_source(target, ZIP_TRUNCATE, &error);
  require(archive != nullptr, "zip_open_from_source");
  for (const ZipEntry& entry : entries) {
    zip_source_t* source =
        zip_source_buffer(archive, entry.bytes.data(), entry.bytes.size(), /*freep=*/0);
    const zip_int64_t index = zip_file_add(archive, entry.name.c_str(), source, ZIP_FL_ENC_UTF_8);
    require(index >= 0, "zip_file_add");
    const auto method = packing == Packing::kStored ? ZIP_CM_STORE : ZIP_CM_DEFLATE;
    require(zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), method, 0) == 0,
            "zip_set_file_compression");
  }
  require(zip_close(archive) == 0, "zip_close");
  zip_stat_t stat;
  require(zip_source_open(target) == 0 && zip_source_stat(target, &stat) == 0, "zip_source_open");
  std::string bytes(stat.size, '\0');
  require(zip_source_read(target, bytes.data(), stat.size) == static_cast<zip_int64_t>(stat.size),
          "zip_source_read");
  zip_source_close(target);
  zip_source_free(target);
  return bytes;
}

std::vector<ZipEntry> read_zip(const std::string& bytes) {
  zip_error_t error;
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  zip_t* archive = zip_open_from_source(source, ZIP_RDONLY, &error);
  require(archive != nullptr, "zip_open_from_source");
  std::vector<ZipEntry> entries;
  for (zip_int64_t i = 0; i < zip_get_num_entries(archive, 0); ++i) {
    const auto index = static_cast<zip_uint64_t>(i);
    zip_stat_t stat;
    require(zip_stat_index(archive, index, 0, &stat) == 0, "zip_stat_index");
    ZipEntry entry{stat.name, std::string(stat.size, '\0')};
    zip_file_t* file = zip_fopen_index(archive, index, 0);
    require(zip_fread(file, entry.bytes.data(), stat.size) == static_cast<zip_int64_t>(stat.size),
            "zip_fread");
    zip_fclose(file);
    entries.push_back(std::move(entry));
  }
  zip_discard(archive);
  return entries;
}

std::string float32_bytes(const std::vector<float>& values) {
  std::string bytes;
  for (const float value : values) bytes += little_endian(std::bit_cast<std::uint32_t>(value), 4);
  return bytes;
}

std::string float64_bytes(const std::vector<double>& values) {
  std::string bytes;
  for (const double value : values) bytes += little_endian(std::bit_cast<std::uint64_t>(value), 8);
  return bytes;
}

std::string make_compute_checkpoint(const ComputeModel& model, const TorchStyle& style) {
  std::size_t total = model.features.mean.size() + model.features.std.size();
  for (const Mlp* mlp : {&model.table_network, &model.head}) {
    for (const DenseLayer& layer : mlp->layers) total += layer.weight.size() + layer.bias.size();
  }
  PickleWriter pickle(style.protocol);
  StorageWriter storages(style, pickle);
  storages.set_total(static_cast<std::int64_t>(total));
  const auto add_vector = [&](const std::string& name, const std::vector<float>& values) {
    pickle.text(name);
    storages.add(values, {static_cast<std::int64_t>(values.size())});
  };
  pickle.raw("}(").text("state_dict").empty_ordered_dict().raw("(");
  for (const auto& [name, mlp] :
       {std::pair{"t_hidden.", &model.table_network}, std::pair{"c_hidden.", &model.head}}) {
    for (std::size_t k = 0; k < mlp->layers.size(); ++k) {
      const DenseLayer& layer = mlp->layers[k];
      pickle.text(name + std::to_string(k) + ".weight");
      storages.add(layer.weight, {layer.outputs, layer.inputs});
      add_vector(name + std::to_string(k) + ".bias", layer.bias);
    }
  }
  pickle.raw("u");
  add_vector("feature_means", model.features.mean);
  add_vector("feature_stds", model.features.std);
  pickle.text("num_table_features").integer(model.table_network.inputs());
  pickle.text("table_mlp_sizes").raw("](").integer(128).integer(32).raw("e").raw("u");

  std::vector<ZipEntry> entries{{"model/data.pkl", pickle.finish()}};
  for (ZipEntry& entry : storages.entries()) entries.push_back(std::move(entry));
  entries.push_back({"model/version", "3\n"});
  return make_zip(entries, style.packing);
}

}  // namespace neuroshard::testing
