#include "weights/files/safetensors.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/base/message_text.h"
#include "neuroshard/error.h"
#include "weights/files/json_reader.h"
#include "weights/files/little_endian.h"

namespace neuroshard {
namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 16U << 20U;
constexpr std::size_t kMaxRank = 8;
const char* const kMetadata = "__metadata__";

/// Where a tensor's bytes are, counted from the end of the header.
struct Extent {
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

Extent parse_extent(const std::string& name, JsonValue value, std::int64_t data_bytes,
                    const std::string& where) {
  const JsonObject entry(value, where + ": tensor '" + name + "'");
  Extent extent{name, {}, 0, 0};
  if (const std::string dtype = entry.text("dtype"); dtype != "F32") {
    throw Error(entry.place("dtype") + " is '" + dtype + "'; weights must be F32");
  }
  const JsonArray shape = entry.array("shape");
  if (shape.size() > kMaxRank) {
    throw Error(entry.place("shape") + " has " + std::to_string(shape.size()) +
                " dimensions; weights have 1 or 2");
  }
  // Each size is at most the data's, so that the product below cannot overflow unnoticed.
  std::int64_t bytes = 4;
  for (const JsonValue size : shape) {
    const std::int64_t extent_size = json_integer(size, entry.place("shape"), 1, data_bytes);
    if (bytes > data_bytes / extent_size) {
      throw Error(entry.place("shape") + " asks for more than the " + std::to_string(data_bytes) +
                  " bytes of data; the file is cut short or damaged");
    }
    bytes *= extent_size;
    extent.shape.push_back(extent_size);
  }
  const JsonArray offsets = entry.array("data_offsets");
  const std::string place = entry.place("data_offsets");
  if (offsets.size() != 2) throw Error(place + " must be two numbers, begin and end");
  extent.begin = json_integer(offsets.at(0), place, 0, data_bytes);
  extent.end = json_integer(offsets.at(1), place, extent.begin, data_bytes);
  if (extent.begin % 4 != 0) throw Error(place + " begins at an odd place; use a multiple of 4");
  if (extent.end - extent.begin != bytes) {
    throw Error(place + " spans " + std::to_string(extent.end - extent.begin) +
                " bytes; the shape " + shape_text(extent.shape) + " has " + std::to_string(bytes));
  }
  entry.reject_unknown_fields();
  return extent;
}

void require_exact_cover(std::vector<Extent>& extents, std::int64_t data_bytes,
                         const std::string& where) {
  std::ranges::sort(extents, {}, &Extent::begin);
  std::int64_t position = 0;
  for (const Extent& extent : extents) {
    if (extent.begin != position) {
      throw Error(where + ": tensor '" + extent.name + "': begins at byte " +
                  std::to_string(extent.begin) + " of the data; expected " +
                  std::to_string(position) + ", where the one before it ends");
    }
    position = extent.end;
  }
  if (position != data_bytes) {
    throw Error(where + ": has " + std::to_string(data_bytes) + " bytes of data, but its tensors " +
                "end at " + std::to_string(position) + "; the file is damaged");
  }
}

std::string quoted(const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    throw Error("weights: a name or a metadata text is not valid UTF-8");
  }
}

}  // namespace

Safetensors parse_safetensors(std::string_view bytes, const std::string& where) {
  if (bytes.size() < kLengthBytes) {
    throw Error(where + ": has " + std::to_string(bytes.size()) +
                " bytes; too few for a safetensors file");
  }
  const auto header_bytes = little_endian<std::uint64_t>(bytes.substr(0, kLengthBytes));
  if (header_bytes > kMaxHeaderBytes || header_bytes > bytes.size() - kLengthBytes) {
    throw Error(where + ": says that its header has " + std::to_string(header_bytes) +
                " bytes; the file has " + std::to_string(bytes.size()) +
                "; it is cut short or not a safetensors file");
  }
  const std::string_view data = bytes.substr(kLengthBytes + header_bytes);
  const auto data_bytes = static_cast<std::int64_t>(data.size());
  const auto header =
      parse_json(bytes.substr(kLengthBytes, header_bytes), where + ": safetensors header");

  Safetensors contents;
  std::vector<Extent> extents;
  const JsonObject root(header.root(), where + ": safetensors header");
  for (const std::string_view name : root.names()) {
    if (name == kMetadata) {
      const JsonObject metadata = root.object(kMetadata);
      for (const std::string_view key : metadata.names()) {
        contents.metadata[std::string(key)] = metadata.text(key);
      }
    } else {
      extents.push_back(parse_extent(std::string(name), root.value(name), data_bytes, where));
    }
  }
  require_exact_cover(extents, data_bytes, where);
  for (Extent& extent : extents) {
    Tensor& tensor = contents.tensors[extent.name];
    tensor.values.resize(static_cast<std::size_t>(extent.end - extent.begin) / 4);
    std::memcpy(tensor.values.data(), data.data() + extent.begin, 4 * tensor.values.size());
    tensor.shape = std::move(extent.shape);
  }
  return contents;
}

std::string serialize_safetensors(const Safetensors& contents) {
  // Put together without nlohmann::json's objects: where there is no memory their destructors end
  // the process.
  std::map<std::string, std::string> entries;
  if (!contents.metadata.empty()) {
    std::string metadata;
    for (const auto& [key, value] : contents.metadata) {
      metadata.append(metadata.empty() ? "{" : ",").append(quoted(key)).append(":");
      metadata.append(quoted(value));
    }
    entries[kMetadata] = metadata.append("}");
  }
  std::size_t position = 0;
  for (const auto& [name, tensor] : contents.tensors) {
    const std::size_t end = position + 4 * tensor.values.size();
    std::string& entry = entries[name];
    entry.append("{\"data_offsets\":[").append(std::to_string(position)).append(",");
    entry.append(std::to_string(end)).append("],\"dtype\":\"F32\",\"shape\":[");
    entry.append(joined(tensor.shape, ",")).append("]}");
    position = end;
  }
  std::string text = "{";
  for (const auto& [name, entry] : entries) {
    text.append(text.size() == 1 ? "" : ",").append(quoted(name)).append(":").append(entry);
  }
  text += "}";
  text.append((8 - text.size() % 8) % 8, ' ');  // Data start at a multiple of 8.
  std::string bytes;
  bytes.reserve(kLengthBytes + text.size() + position);
  const std::uint64_t header_bytes = text.size();
  bytes.append(reinterpret_cast<const char*>(&header_bytes), kLengthBytes).append(text);
  for (const auto& [name, tensor] : contents.tensors) {
    bytes.append(reinterpret_cast<const char*>(tensor.values.data()), 4 * tensor.values.size());
  }
  return bytes;
}

}  // namespace neuroshard
