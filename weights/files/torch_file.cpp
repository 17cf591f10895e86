#include "weights/files/torch_file.h"

#include <cmath>
#include <limits>
#include <utility>

#include "neuroshard/error.h"
#include "weights/files/little_endian.h"

namespace neuroshard {
namespace {

using pickle::element_bytes;
using pickle::ElementType;

/// Limit for all storages and tensors of a file together, unpacked.
constexpr std::size_t kMaxBytes = std::size_t{1} << 28;

float element(std::string_view bytes, ElementType type, std::int64_t index) {
  const auto size = static_cast<std::size_t>(element_bytes(type));
  bytes = bytes.substr(static_cast<std::size_t>(index) * size, size);
  if (type == ElementType::kFloat32) return little_endian<float>(bytes);
  if (type == ElementType::kInt32) return static_cast<float>(little_endian<std::int32_t>(bytes));
  const double value = type == ElementType::kFloat64
                           ? little_endian<double>(bytes)
                           : static_cast<double>(little_endian<std::int64_t>(bytes));
  // The conversion of a number that fp32 cannot hold is undefined; validation rejects infinity.
  if (std::fabs(value) > std::numeric_limits<float>::max()) {
    return std::numeric_limits<float>::infinity();
  }
  return static_cast<float>(value);
}

[[noreturn]] void fail_too_large(const std::string& place) {
  throw Error(place + ": with it the tensors take more than 256 MiB; no cost model does");
}

/// Number of elements of a view; throws unless all of them lie in the storage, each one once.
std::int64_t checked_elements(const pickle::TensorView& view, const pickle::Storage& storage,
                              const std::string& place) {
  if (view.shape.size() != view.strides.size()) {
    throw Error(place + ": has " + std::to_string(view.shape.size()) + " sizes, but " +
                std::to_string(view.strides.size()) + " strides");
  }
  const auto outside = [&] {
    return Error(place + ": reaches outside of its storage of " + std::to_string(storage.elements) +
                 " numbers");
  };
  std::int64_t elements = 1;
  if (view.offset >= storage.elements) throw outside();
  std::int64_t last = view.offset;
  for (std::size_t axis = 0; axis < view.shape.size(); ++axis) {
    const std::int64_t size = view.shape[axis];
    if (size == 0) throw Error(place + ": is empty, shape " + shape_text(view.shape));
    // Also bounds what a view may repeat (stride 0): no tensor is larger than its storage.
    if (size > storage.elements / elements) throw outside();
    elements *= size;
    const std::int64_t stride = view.strides[axis];
    if (size > 1 && stride > (storage.elements - 1 - last) / (size - 1)) throw outside();
    last += (size - 1) * stride;
  }
  return elements;
}

}  // namespace

TorchFile::TorchFile(std::string_view bytes, std::string where)
    : where_(std::move(where)), archive_(bytes, where_) {
  constexpr std::string_view kPickle = "data.pkl";
  for (const std::string& name : archive_.names()) {
    const std::size_t slash = name.find('/');
    if (slash == std::string::npos || name.substr(slash + 1) != kPickle) continue;
    if (!prefix_.empty()) throw Error(where_ + ": has more than one " + std::string(kPickle));
    prefix_ = name.substr(0, slash + 1);
  }
  if (prefix_.empty()) {
    throw Error(where_ + ": has no " + std::string(kPickle) +
                "; expected a file of torch.save (PyTorch 1.6 or later)");
  }
  if (archive_.contains(prefix_ + "byteorder")) {
    const std::string order = archive_.read(prefix_ + "byteorder", 16);
    if (order != "little")
      throw Error(where_ + ": its byte order is '" + order + "', not 'little'");
  }
  pickle_ =
      pickle::parse(archive_.read(prefix_ + std::string(kPickle), pickle::kMaxPickleBytes), where_);
}

const pickle::Dict& TorchFile::root() const {
  const auto* dict = pickle_.get_if<pickle::Dict>(pickle_.root);
  if (dict == nullptr) throw Error(where_ + ": holds no dict; expected a checkpoint");
  return *dict;
}

void TorchFile::count_bytes(std::size_t bytes, const std::string& place) {
  if (bytes > kMaxBytes - bytes_read_) fail_too_large(place);
  bytes_read_ += bytes;
}

const std::string& TorchFile::storage_bytes(const pickle::Storage& storage,
                                            const std::string& place) {
  const auto size = static_cast<std::size_t>(element_bytes(storage.type));
  const auto elements = static_cast<std::size_t>(storage.elements);
  if (elements > kMaxBytes / size) fail_too_large(place);
  const auto [known, is_new] = storages_.try_emplace(storage.key);
  std::string& bytes = known->second;
  if (is_new) {
    count_bytes(elements * size, place);
    bytes = archive_.read(prefix_ + "data/" + storage.key, elements * size);
  }
  if (bytes.size() != elements * size) {
    throw Error(place + ": its storage '" + storage.key + "' has " + std::to_string(bytes.size()) +
                " bytes; " + std::to_string(elements) + " numbers take " +
                std::to_string(elements * size));
  }
  return bytes;
}

Tensor TorchFile::tensor(pickle::Id id, const std::string& what) {
  const std::string place = where_ + ": " + what;
  const auto* view = pickle_.get_if<pickle::TensorView>(id);
  if (view == nullptr) throw Error(place + ": is not a tensor");
  const auto& storage = std::get<pickle::Storage>(pickle_[view->storage]);
  const std::string& bytes = storage_bytes(storage, place);
  const std::int64_t elements = checked_elements(*view, storage, place);
  count_bytes(static_cast<std::size_t>(elements) * sizeof(float), place);

  Tensor tensor{view->shape, {}};
  tensor.values.reserve(static_cast<std::size_t>(elements));
  std::vector<std::int64_t> index(view->shape.size(), 0);
  std::int64_t position = view->offset;
  for (std::int64_t i = 0; i < elements; ++i) {
    tensor.values.push_back(element(bytes, storage.type, position));
    // The next index in row-major order, last axis fastest.
    for (std::size_t axis = index.size(); axis-- > 0;) {
      if (view->shape[axis] == 1) continue;  // Its stride means nothing and may be anything.
      position += view->strides[axis];
      if (++index[axis] < view->shape[axis]) break;
      position -= view->shape[axis] * view->strides[axis];
      index[axis] = 0;
    }
  }
  return tensor;
}

}  // namespace neuroshard
