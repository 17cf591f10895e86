#include "weights/lookups/torch_stream.h"

#include <variant>
#include <vector>

#include "neuroshard/error.h"
#include "weights/files/little_endian.h"

namespace neuroshard {
namespace {

// A zip file is a run of entries: local header, name, extra field, data, and, as PyTorch writes
// them, a descriptor with the sizes that the header leaves open.
constexpr std::string_view kHeaderMagic = "PK\x03\x04";
constexpr std::string_view kDescriptorMagic = "PK\x07\x08";
constexpr std::size_t kHeaderBytes = 30;
constexpr std::size_t kMaxSmallEntry = SequentialFile::kMaxPeek - 64;

}  // namespace

TorchStream::TorchStream(SequentialFile& file) : file_(file) {
  const std::string_view start = file_.peek(kHeaderMagic.size());
  if (start != kHeaderMagic) {
    fail(
        "is not a zip file of torch.save; files of PyTorch before 1.6 must be saved anew by a "
        "later version");
  }
  const std::optional<Entry> entry = next_entry();
  constexpr std::string_view kPickle = "data.pkl";
  if (!entry || !entry->name.ends_with(kPickle)) fail("does not start with its data.pkl");
  prefix_ = entry->name.substr(0, entry->name.size() - kPickle.size());
  pickle_ = pickle::parse(read_small_entry(*entry), file_.name());
}

void TorchStream::fail(const std::string& what) const { throw Error(file_.name() + ": " + what); }

std::optional<TorchStream::Entry> TorchStream::next_entry() {
  if (file_.peek(kHeaderMagic.size()) != kHeaderMagic) return std::nullopt;  // The directory.
  const std::string header(file_.peek(kHeaderBytes));
  if (header.size() < kHeaderBytes) fail("is cut short");
  const auto field = [&](std::size_t offset, std::size_t size) {
    return little_endian<std::int64_t>(std::string_view(header).substr(offset, size));
  };
  const std::int64_t flags = field(6, 2);
  const std::int64_t method = field(8, 2);
  const std::int64_t packed = field(18, 4);
  const std::int64_t unpacked = field(22, 4);
  std::vector<char> name(static_cast<std::size_t>(field(26, 2)));
  const std::int64_t extra_bytes = field(28, 2);

  file_.skip_to(file_.position() + static_cast<std::int64_t>(kHeaderBytes));
  file_.read(name);
  Entry entry{std::string(name.begin(), name.end()), -1};
  if (method != 0 || (flags & 1) != 0) {
    fail("entry '" + entry.name + "' is packed or encrypted; torch.save does neither");
  }
  // With flag 8 the sizes come after the data; sizes of 32 ones are in the extra field (zip64).
  constexpr std::int64_t kSizesFollow = 8;
  constexpr std::int64_t kSizesElsewhere = 0xFFFFFFFF;
  const std::string extra(file_.peek(static_cast<std::size_t>(extra_bytes)));
  if ((flags & kSizesFollow) == 0 && packed == unpacked) {
    if (unpacked != kSizesElsewhere) {
      entry.bytes = unpacked;
    } else if (extra.size() >= 12 && extra[0] == 1 && extra[1] == 0) {
      entry.bytes = little_endian<std::int64_t>(std::string_view(extra).substr(4, 8));
    }
  }
  file_.skip_to(file_.position() + extra_bytes);
  return entry;
}

// Signature, checksum and two sizes of 4 or, in large files, of 8 bytes; told apart by what
// follows.
void TorchStream::skip_descriptor() {
  const std::string_view next = file_.peek(26);
  if (!next.starts_with(kDescriptorMagic)) return;
  const bool large = next.size() >= 26 && next.substr(24, 2) == "PK" && next.substr(16, 2) != "PK";
  file_.skip_to(file_.position() + (large ? 24 : 16));
}

std::string TorchStream::read_small_entry(const Entry& entry) {
  std::size_t bytes = 0;
  if (entry.bytes >= 0) {
    bytes = static_cast<std::size_t>(entry.bytes);
    if (bytes > kMaxSmallEntry) fail("entry '" + entry.name + "' is unexpectedly large");
  } else {
    // Ends at a descriptor that states the very length read so far.
    const std::string_view ahead = file_.peek(SequentialFile::kMaxPeek);
    bytes = ahead.find(kDescriptorMagic);
    while (bytes != std::string_view::npos && bytes + 16 <= ahead.size() &&
           little_endian<std::int64_t>(ahead.substr(bytes + 8, 4)) !=
               static_cast<std::int64_t>(bytes)) {
      bytes = ahead.find(kDescriptorMagic, bytes + 1);
    }
    if (bytes == std::string_view::npos || bytes > kMaxSmallEntry) {
      fail("entry '" + entry.name + "' does not end");
    }
  }
  std::string contents(bytes, '\0');
  file_.read(contents);
  skip_descriptor();
  return contents;
}

std::int64_t TorchStream::storage_bytes(const std::string& key) const {
  for (const pickle::Node& node : pickle_.nodes) {
    const auto* storage = std::get_if<pickle::Storage>(&node);
    if (storage == nullptr || storage->key != key) continue;
    constexpr std::int64_t kMost = std::int64_t{1} << 50;
    if (storage->elements > kMost) fail("storage '" + key + "' claims to be impossibly large");
    return storage->elements * pickle::element_bytes(storage->type);
  }
  fail("has a storage '" + key + "' that its pickle does not mention");
}

std::optional<std::string> TorchStream::next_storage() {
  if (storage_end_ >= 0) {
    file_.skip_to(storage_end_);
    storage_end_ = -1;
    skip_descriptor();
  }
  const std::string folder = prefix_ + "data/";
  while (const std::optional<Entry> entry = next_entry()) {
    if (!entry->name.starts_with(folder)) {
      (void)read_small_entry(*entry);  // "version", "byteorder", ...
      continue;
    }
    const std::string key = entry->name.substr(folder.size());
    const std::int64_t bytes = storage_bytes(key);
    if (entry->bytes >= 0 && entry->bytes != bytes) {
      fail("storage '" + key + "' has " + std::to_string(entry->bytes) + " bytes, not " +
           std::to_string(bytes));
    }
    storage_end_ = file_.position() + bytes;
    return key;
  }
  return std::nullopt;
}

}  // namespace neuroshard
